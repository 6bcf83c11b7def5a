"""MetaOD: picks an outlier detector and its hyperparameters for a table without labels.

The names below are imported when they are first used, so that ``import metaod`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metaod._version import __version__

if TYPE_CHECKING:
    from metaod.datasets import (
        Preparation,
        Table,
        catalogue,
        fingerprint,
        load_dataset,
        load_example,
        prepare,
        read_table,
    )
    from metaod.detectors import (
        ModelSpec,
        model_space,
        register_family,
    )
    from metaod.metafeatures import extract
    from metaod.selection import MetaOD, Selection, load, select

_HOMES = {
    "MetaOD": "metaod.selection",
    "ModelSpec": "metaod.detectors",
    "Preparation": "metaod.datasets",
    "Selection": "metaod.selection",
    "Table": "metaod.datasets",
    "catalogue": "metaod.datasets",
    "extract": "metaod.metafeatures",
    "fingerprint": "metaod.datasets",
    "load": "metaod.selection",
    "load_dataset": "metaod.datasets",
    "load_example": "metaod.datasets",
    "model_space": "metaod.detectors",
    "prepare": "metaod.datasets",
    "read_table": "metaod.datasets",
    "register_family": "metaod.detectors",
    "select": "metaod.selection",
}

__all__ = [
    "MetaOD",
    "ModelSpec",
    "Preparation",
    "Selection",
    "Table",
    "__version__",
    "catalogue",
    "extract",
    "fingerprint",
    "load",
    "load_dataset",
    "load_example",
    "model_space",
    "prepare",
    "read_table",
    "register_family",
    "select",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'metaod' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
