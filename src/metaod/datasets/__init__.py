"""A table in, a clean numeric matrix out; and the catalogue of public benchmark sets.

The names below are imported when they are first used: the catalogue can be listed without pandas.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metaod.datasets.cataloguing import Catalogue, CatalogueEntry, catalogue
    from metaod.datasets.examples import load_example
    from metaod.datasets.fingerprinting import fingerprint
    from metaod.datasets.folder import FolderEntry, iter_folder
    from metaod.datasets.labelled import LabelledDataset
    from metaod.datasets.loading import load_dataset
    from metaod.datasets.preparation import (
        ColumnRecord,
        Preparation,
        PreparationRecord,
        PreparedTable,
        prepare,
    )
    from metaod.datasets.readers import read_table
    from metaod.datasets.table import Table

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "ColumnRecord",
    "FolderEntry",
    "LabelledDataset",
    "Preparation",
    "PreparationRecord",
    "PreparedTable",
    "Table",
    "catalogue",
    "fingerprint",
    "iter_folder",
    "load_dataset",
    "load_example",
    "prepare",
    "read_table",
]

_HOMES = {
    "Catalogue": "cataloguing",
    "CatalogueEntry": "cataloguing",
    "ColumnRecord": "preparation",
    "FolderEntry": "folder",
    "LabelledDataset": "labelled",
    "Preparation": "preparation",
    "PreparationRecord": "preparation",
    "PreparedTable": "preparation",
    "Table": "table",
    "catalogue": "cataloguing",
    "fingerprint": "fingerprinting",
    "iter_folder": "folder",
    "load_dataset": "loading",
    "load_example": "examples",
    "prepare": "preparation",
    "read_table": "readers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
