"""Select a model for a table, fit it, and report why it was selected and what to expect."""

from typing import TYPE_CHECKING, Any

from metaod.selection._comparison import (
    Compared,
    checked_label,
    compare,
    compare_with_forest,
    mean_measures,
    run_adengine,
)
from metaod.selection._explanation import family_names
from metaod.selection._select import Selection, select
from metaod.selection._threshold import (
    TOO_MANY_TIES,
    check_contamination,
    clear_gap,
    estimated_share,
    threshold_of,
)
from metaod.selection._trust import table_notes

if TYPE_CHECKING:
    from metaod.selection._estimator import MetaOD, Review, load
    from metaod.selection._reasons import Reason, RowReasons

__all__ = [
    "TOO_MANY_TIES",
    "Compared",
    "MetaOD",
    "Reason",
    "Review",
    "RowReasons",
    "Selection",
    "check_contamination",
    "checked_label",
    "clear_gap",
    "compare",
    "compare_with_forest",
    "estimated_share",
    "family_names",
    "load",
    "mean_measures",
    "run_adengine",
    "select",
    "table_notes",
    "threshold_of",
]


def __getattr__(name: str) -> Any:
    if name in ("MetaOD", "Review", "load"):
        from metaod.selection import _estimator  # noqa: PLC0415 - needs scikit-learn

        return getattr(_estimator, name)
    if name in ("Reason", "RowReasons"):
        from metaod.selection import _reasons  # noqa: PLC0415 - needs scikit-learn

        return getattr(_reasons, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
