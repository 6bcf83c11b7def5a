"""Detect outliers: the estimator, its results, marks, reasons, and files of all of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metaod.selection import OnProgress, ProgressReport

if TYPE_CHECKING:
    from metaod.detection._advice import Request
    from metaod.detection._comparison import (
        Compared,
        checked_label,
        compare,
        compare_with_forest,
        mean_measures,
        run_adengine,
    )
    from metaod.detection._detect import apply_saved, detect_table
    from metaod.detection._detection import Detection, detection_of
    from metaod.detection._document import document, with_why
    from metaod.detection._estimator import MetaOD, Review, load
    from metaod.detection._reasons import Reason, RowReasons
    from metaod.detection._session import ReviewSession
    from metaod.detection._stream_writing import check_stream_target, write_streamed
    from metaod.detection._streamed import (
        StreamedDetection,
        detect_file,
        detect_stream,
        open_stream,
    )
    from metaod.detection._summary import summarise
    from metaod.detection._threshold import check_contamination, estimated_share, threshold_of
    from metaod.detection._writing import (
        ENDINGS,
        Choice,
        Target,
        check_report,
        check_target,
        ending_of,
        refuse_input,
        write_report,
        write_scored,
    )

# each is imported when it is first used: the estimator needs scikit-learn
_HOMES = {
    "Choice": "_writing",
    "Compared": "_comparison",
    "Detection": "_detection",
    "ENDINGS": "_writing",
    "MetaOD": "_estimator",
    "Reason": "_reasons",
    "Request": "_advice",
    "Review": "_estimator",
    "ReviewSession": "_session",
    "RowReasons": "_reasons",
    "StreamedDetection": "_streamed",
    "Target": "_writing",
    "apply_saved": "_detect",
    "check_contamination": "_threshold",
    "check_report": "_writing",
    "check_stream_target": "_stream_writing",
    "check_target": "_writing",
    "checked_label": "_comparison",
    "compare": "_comparison",
    "compare_with_forest": "_comparison",
    "detect_file": "_streamed",
    "detect_stream": "_streamed",
    "detect_table": "_detect",
    "detection_of": "_detection",
    "document": "_document",
    "ending_of": "_writing",
    "estimated_share": "_threshold",
    "load": "_estimator",
    "mean_measures": "_comparison",
    "open_stream": "_streamed",
    "refuse_input": "_writing",
    "run_adengine": "_comparison",
    "summarise": "_summary",
    "threshold_of": "_threshold",
    "with_why": "_document",
    "write_report": "_writing",
    "write_scored": "_writing",
    "write_streamed": "_stream_writing",
}

__all__ = [
    "ENDINGS",
    "Choice",
    "Compared",
    "Detection",
    "MetaOD",
    "OnProgress",
    "ProgressReport",
    "Reason",
    "Request",
    "Review",
    "ReviewSession",
    "RowReasons",
    "StreamedDetection",
    "Target",
    "apply_saved",
    "check_contamination",
    "check_report",
    "check_stream_target",
    "check_target",
    "checked_label",
    "compare",
    "compare_with_forest",
    "detect_file",
    "detect_stream",
    "detect_table",
    "detection_of",
    "document",
    "ending_of",
    "estimated_share",
    "load",
    "mean_measures",
    "open_stream",
    "refuse_input",
    "run_adengine",
    "summarise",
    "threshold_of",
    "with_why",
    "write_report",
    "write_scored",
    "write_streamed",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"metaod.detection.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
