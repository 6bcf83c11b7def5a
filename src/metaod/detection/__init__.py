"""Detect outliers: the estimator, its results, marks, reasons, and files of all of them."""

from metaod.detection._comparison import Compared, compare
from metaod.detection._detect import detect, detect_file
from metaod.detection._estimator import MetaOD, Review, load
from metaod.detection._reasons import Reason, RowReasons
from metaod.detection._result import Detection
from metaod.detection._session import Cell, CellAnswer, ReviewSession
from metaod.detection._summary import describe_finding, describe_findings, summarise, write_report
from metaod.detection._writing import check_target, output_path, scored_name, write_scored

__all__ = [
    "Cell",
    "CellAnswer",
    "Compared",
    "Detection",
    "MetaOD",
    "Reason",
    "Review",
    "ReviewSession",
    "RowReasons",
    "check_target",
    "compare",
    "describe_finding",
    "describe_findings",
    "detect",
    "detect_file",
    "load",
    "output_path",
    "scored_name",
    "summarise",
    "write_report",
    "write_scored",
]
