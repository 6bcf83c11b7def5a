"""Select a model for a table, fit it, and report why it was selected and what to expect."""

from typing import TYPE_CHECKING, Any

from metaod.selection._selecting import select
from metaod.selection._selection import Selection
from metaod.selection._table_notes import table_notes
from metaod.selection._threshold import check_contamination

if TYPE_CHECKING:
    from metaod.selection._estimator import MetaOD
    from metaod.selection._saved import load

__all__ = ["MetaOD", "Selection", "check_contamination", "load", "select", "table_notes"]


def __getattr__(name: str) -> Any:
    # these names need scikit-learn, which is slow to import
    if name == "MetaOD":
        from metaod.selection import _estimator  # noqa: PLC0415 - needs scikit-learn

        return getattr(_estimator, name)
    if name == "load":
        from metaod.selection import _saved  # noqa: PLC0415 - needs scikit-learn

        return getattr(_saved, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
