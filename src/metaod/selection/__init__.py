"""The online half: pick a model for a table, fit it, say why and how sure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metaod.selection.estimator import MetaOD
    from metaod.selection.saved import load
    from metaod.selection.selecting import select
    from metaod.selection.selection import Selection

# the estimator needs scikit-learn, which picking does without
_HOMES = {
    "MetaOD": "metaod.selection.estimator",
    "Selection": "metaod.selection.selection",
    "load": "metaod.selection.saved",
    "select": "metaod.selection.selecting",
}

__all__ = ["MetaOD", "Selection", "load", "select"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metaod.selection' has no attribute {name!r}")
