"""The SQL store of evaluations: build, query, merge, export and import."""

from metaod.errors import MissingExtra

try:
    import sqlalchemy  # noqa: F401 - checked once, for one clear message
except ImportError as error:
    raise MissingExtra("sqlalchemy", extra="lab", needed_for="the store") from error

from metaod.store._build import BuildOptions, Plan, build, record_of
from metaod.store._consistency import find_faults
from metaod.store._exchange import export_parquet, import_parquet
from metaod.store._executors import make_executor
from metaod.store._matrix import (
    cells_frame,
    datasets_frame,
    metafeature_matrix,
    performance_matrix,
)
from metaod.store._merging import Conflict, MergeReport, merge
from metaod.store._place import Place
from metaod.store._planning import missing
from metaod.store._records import Cell, DatasetRecord, MetaFeatureRecord, ModelRecord
from metaod.store._store import Store
from metaod.store._summary import summarise
from metaod.store._tasks import TaskResult
from metaod.store._training_data import training_data
from metaod.store._verification import verify

__all__ = [
    "BuildOptions",
    "Cell",
    "Conflict",
    "DatasetRecord",
    "MergeReport",
    "MetaFeatureRecord",
    "ModelRecord",
    "Place",
    "Plan",
    "Store",
    "TaskResult",
    "build",
    "cells_frame",
    "datasets_frame",
    "export_parquet",
    "find_faults",
    "import_parquet",
    "make_executor",
    "merge",
    "metafeature_matrix",
    "missing",
    "performance_matrix",
    "record_of",
    "summarise",
    "training_data",
    "verify",
]
