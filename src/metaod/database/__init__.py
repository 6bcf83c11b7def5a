"""The store of evaluations and meta-features, and what fills it, merges it and carries it."""

from metaod.database.consistency import find_faults
from metaod.database.exchange import export_parquet, import_parquet
from metaod.database.matrix import (
    cells_frame,
    datasets_frame,
    metafeature_matrix,
    performance_matrix,
)
from metaod.database.merging import Conflict, MergeReport, merge
from metaod.database.planning import missing
from metaod.database.records import (
    Cell,
    DatasetRecord,
    MetaFeatureRecord,
    ModelRecord,
)
from metaod.database.store import Store
from metaod.database.summary import summarise

__all__ = [
    "Cell",
    "Conflict",
    "DatasetRecord",
    "MergeReport",
    "MetaFeatureRecord",
    "ModelRecord",
    "Store",
    "cells_frame",
    "datasets_frame",
    "export_parquet",
    "find_faults",
    "import_parquet",
    "merge",
    "metafeature_matrix",
    "missing",
    "performance_matrix",
    "summarise",
]
