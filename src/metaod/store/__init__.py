"""The SQL store of evaluations: build, query, merge, export and import."""

from metaod.errors import MissingExtra

try:
    import sqlalchemy  # noqa: F401 - checked once, for one clear message
except ImportError as error:
    raise MissingExtra("sqlalchemy", extra="store", needed_for="the store") from error

from metaod.store._build import build, record_of, verify
from metaod.store._exchange import export_parquet, import_parquet
from metaod.store._executors import make_executor
from metaod.store._merging import merge
from metaod.store._schema import DatasetRecord, MetaFeatureRecord
from metaod.store._store import Store
from metaod.store._tasks import BuildOptions

__all__ = [
    "BuildOptions",
    "DatasetRecord",
    "MetaFeatureRecord",
    "Store",
    "build",
    "export_parquet",
    "import_parquet",
    "make_executor",
    "merge",
    "record_of",
    "verify",
]
