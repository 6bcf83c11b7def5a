"""MetaOD: selects an outlier detector and its hyperparameters for a table without labels.

The names below are imported when they are first used, so that ``import metaod`` is fast.
"""

from typing import TYPE_CHECKING

import metaod.errors  # noqa: F401 - refuses the original distribution in the same folder
from metaod._lazy import exports
from metaod._version import __version__

if TYPE_CHECKING:
    from metaod import cluster, plot
    from metaod.detection import MetaOD, Review, check, compare, detect_file, load, update
    from metaod.history import fingerprint
    from metaod.metafeatures import extract
    from metaod.models import ModelSpec, model_space, register_family
    from metaod.selection import Selection, select
    from metaod.tables import Preparation, Table, load_example, prepare, read_table
    from metaod.wrong_cells import WrongCellFinder, find_wrong_cells

__all__ = [
    "MetaOD",
    "ModelSpec",
    "Preparation",
    "Review",
    "Selection",
    "Table",
    "WrongCellFinder",
    "__version__",
    "check",
    "cluster",
    "compare",
    "detect_file",
    "extract",
    "find_wrong_cells",
    "fingerprint",
    "load",
    "load_example",
    "model_space",
    "plot",
    "prepare",
    "read_table",
    "register_family",
    "select",
    "update",
]


__getattr__ = exports(__name__)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
