"""Detect outliers: the estimator, its results, marks, reasons, and files of all of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metaod.detection._comparison import Compared, compare
    from metaod.detection._detect import detect, detect_file, open_stream
    from metaod.detection._estimator import MetaOD, Review, load
    from metaod.detection._reasons import Reason, RowReasons
    from metaod.detection._result import Detection
    from metaod.detection._session import ReviewSession
    from metaod.detection._summary import summarise, write_report
    from metaod.detection._writing import (
        check_target,
        output_path,
        scored_name,
        write_scored,
    )

# each is imported when it is first used: the estimator needs scikit-learn
_HOMES = {
    "Compared": "_comparison",
    "Detection": "_result",
    "MetaOD": "_estimator",
    "Reason": "_reasons",
    "Review": "_estimator",
    "ReviewSession": "_session",
    "RowReasons": "_reasons",
    "check_target": "_writing",
    "compare": "_comparison",
    "detect": "_detect",
    "detect_file": "_detect",
    "load": "_estimator",
    "open_stream": "_detect",
    "output_path": "_writing",
    "scored_name": "_writing",
    "summarise": "_summary",
    "write_report": "_summary",
    "write_scored": "_writing",
}

__all__ = [
    "Compared",
    "Detection",
    "MetaOD",
    "Reason",
    "Review",
    "ReviewSession",
    "RowReasons",
    "check_target",
    "compare",
    "detect",
    "detect_file",
    "load",
    "open_stream",
    "output_path",
    "scored_name",
    "summarise",
    "write_report",
    "write_scored",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"metaod.detection.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
