"""Detect outliers: the estimator, its results, marks, reasons, and files of all of them."""

from metaod.detection._cells_file import Correction, read_corrections, write_cells
from metaod.detection._check import Check, check
from metaod.detection._comparison import Compared, compare
from metaod.detection._correcting import write_corrected
from metaod.detection._detect import detect, detect_file
from metaod.detection._estimator import MetaOD, Review
from metaod.detection._formats import may_run
from metaod.detection._history import PickVersion
from metaod.detection._loading import load
from metaod.detection._reasons import Reason, RowReasons
from metaod.detection._result import Detection
from metaod.detection._session import ReviewSession
from metaod.detection._summary import describe_finding, describe_findings, summarise, write_report
from metaod.detection._updating import update
from metaod.detection._workbook import lost_parts
from metaod.detection._writing import check_target, output_path, scored_name, write_scored

__all__ = [
    "Check",
    "Compared",
    "Correction",
    "Detection",
    "MetaOD",
    "PickVersion",
    "Reason",
    "Review",
    "ReviewSession",
    "RowReasons",
    "check",
    "check_target",
    "compare",
    "describe_finding",
    "describe_findings",
    "detect",
    "detect_file",
    "load",
    "lost_parts",
    "may_run",
    "output_path",
    "read_corrections",
    "scored_name",
    "summarise",
    "update",
    "write_cells",
    "write_corrected",
    "write_report",
    "write_scored",
]
