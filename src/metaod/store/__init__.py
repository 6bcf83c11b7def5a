"""The SQL store of evaluations: build, query, merge, export and import."""

from metaod.errors import MissingExtra

try:
    import filelock  # noqa: F401 - checked once, for one clear message
    import sqlalchemy  # noqa: F401 - as above
except ImportError as error:
    package = error.name or "sqlalchemy"
    raise MissingExtra(package, extra="store", needed_for="the store") from error

from metaod.store._build import Plan, build, record_of
from metaod.store._checks import find_inconsistencies, verify
from metaod.store._exchange import export_parquet, import_parquet
from metaod.store._executors import EXECUTORS, Executor, make_executor
from metaod.store._location import StoreLocation
from metaod.store._merging import Conflict, MergeReport, merge
from metaod.store._queries import (
    cells_frame,
    datasets_frame,
    metafeature_matrix,
    missing,
    performance_matrix,
    summarise,
    training_data,
)
from metaod.store._records import (
    Cell,
    DatasetRecord,
    JoinedOrigin,
    MetaFeatureRecord,
    ModelRecord,
)
from metaod.store._relatives import (
    add_datasets,
    datasets_without_sketch,
    join_relatives,
    stored_relatives,
)
from metaod.store._server import hide_password
from metaod.store._store import Store
from metaod.store._tasks import BuildOptions, KeptScores, ScoreCache, TaskResult

__all__ = [
    "EXECUTORS",
    "BuildOptions",
    "Cell",
    "Conflict",
    "DatasetRecord",
    "Executor",
    "JoinedOrigin",
    "KeptScores",
    "MergeReport",
    "MetaFeatureRecord",
    "ModelRecord",
    "Plan",
    "ScoreCache",
    "Store",
    "StoreLocation",
    "TaskResult",
    "add_datasets",
    "build",
    "cells_frame",
    "datasets_frame",
    "datasets_without_sketch",
    "export_parquet",
    "find_inconsistencies",
    "hide_password",
    "import_parquet",
    "join_relatives",
    "make_executor",
    "merge",
    "metafeature_matrix",
    "missing",
    "performance_matrix",
    "record_of",
    "stored_relatives",
    "summarise",
    "training_data",
    "verify",
]
