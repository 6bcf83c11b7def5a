"""The tables of a store, the version of their layout, and migrations from older versions.

Rows refer to each other by small integer keys that are valid in one database only. The identity
of a row is in its unique columns: a dataset's fingerprint, a model's id, a schema's name and
version. That keeps 700,000 evaluations in tens of megabytes, and lets two stores be merged.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    update,
)

from metaod._version import __version__
from metaod.errors import BadFile, UserError

_APPLICATION = "metaod"

SCHEMA_VERSION = 1
"""Version of the layout below; a change of layout adds a migration and 1 to this number."""

MIGRATIONS: Final[dict[int, Callable[[Connection], None]]] = {}
"""The step from each older version to the next; no older version exists yet.

A step alters tables and rows through the connection it gets. All steps run in one transaction,
which also writes the new version: an interrupted migration leaves the store as it was.
"""

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("fingerprint", String(128), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("n_rows", Integer, nullable=False),
    Column("n_columns", Integer, nullable=False),
    Column("n_outliers", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("licence", Text, nullable=False),
)

models = Table(
    "models",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("id", String(700), nullable=False, unique=True),
    Column("family", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("scaling", Text, nullable=False),
    Column("is_reference", Boolean, nullable=False),
)


def _figures_only_if_ok(*names: str) -> CheckConstraint:
    # the database itself refuses a figure, such as zero, for a trial that failed
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    absent = " AND ".join(f"{name} IS NULL" for name in names)
    return CheckConstraint(f"(state = 'ok' AND {present}) OR (state <> 'ok' AND {absent})")


evaluations = Table(
    "evaluations",
    metadata,
    Column("dataset", ForeignKey(datasets.c.key), primary_key=True),
    Column("mode", String(16), primary_key=True),
    Column("model", ForeignKey(models.c.key), primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("seed", Integer),
    Column("state", String(16), nullable=False),
    Column("ap", Double),
    Column("roc_auc", Double),
    Column("precision_at_n", Double),
    Column("seconds", Double, nullable=False),
    Column("reason", Text, nullable=False),
    Column("engine_version", String(64), nullable=False),
    _figures_only_if_ok("ap", "roc_auc", "precision_at_n"),
    # rows are stored in the primary key's tree, so that those of a dataset are adjacent
    sqlite_with_rowid=False,
)

cells = Table(
    "cells",
    metadata,
    Column("dataset", ForeignKey(datasets.c.key), primary_key=True),
    Column("mode", String(16), primary_key=True),
    Column("model", ForeignKey(models.c.key), primary_key=True),
    Column("n_trials", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("ap", Double),
    Column("ap_std", Double),
    Column("roc_auc", Double),
    Column("roc_auc_std", Double),
    Column("precision_at_n", Double),
    Column("precision_at_n_std", Double),
    Column("seconds", Double),
    Column("reason", Text, nullable=False),
    Column("imported", Boolean, nullable=False),
    _figures_only_if_ok("ap", "roc_auc", "precision_at_n", "seconds"),
    sqlite_with_rowid=False,
)

metafeature_schemas = Table(
    "metafeature_schemas",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("name", String(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("features", Text, nullable=False),
    UniqueConstraint("name", "version"),
)

metafeatures = Table(
    "metafeatures",
    metadata,
    Column("dataset", ForeignKey(datasets.c.key), primary_key=True),
    Column("schema", ForeignKey(metafeature_schemas.c.key), primary_key=True),
    # little-endian float64, in the order of the schema's features
    Column("vector", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)


def make_tables(connection: Connection) -> None:
    """Create the tables of an empty store."""
    metadata.create_all(connection)
    facts = {
        "application": _APPLICATION,
        "schema_version": str(SCHEMA_VERSION),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "package_version": __version__,
    }
    connection.execute(insert(meta), [{"key": key, "value": value} for key, value in facts.items()])


def read_version(connection: Connection, where: str) -> int | None:
    """Read the version of a store's layout; None where there is no store."""
    if not inspect(connection).has_table(meta.name):
        return None
    found = connection.execute(select(meta.c.key, meta.c.value)).all()
    facts = {str(row.key): str(row.value) for row in found}
    version = facts.get("schema_version", "")
    if facts.get("application") != _APPLICATION or not version.isdecimal():
        raise not_a_store(where, "its table 'meta' is another program's")
    return int(version)


def check_version(version: int, where: str, *, read_only: bool) -> None:
    """Refuse a store whose version cannot be brought to the present one."""
    if version > SCHEMA_VERSION:
        raise UserError(
            f"the store has schema version {version}, newer than version {SCHEMA_VERSION} of this "
            "package",
            where=where,
            remedy="upgrade metaod",
        )
    if any(step not in MIGRATIONS for step in range(version, SCHEMA_VERSION)):
        raise UserError(
            f"the store has schema version {version}, which cannot be migrated to version "
            f"{SCHEMA_VERSION} of this package",
            where=where,
            remedy="export it with the version of metaod that made it, and import that",
        )
    if read_only and version < SCHEMA_VERSION:
        raise UserError(
            f"the store has schema version {version} and must be migrated to version "
            f"{SCHEMA_VERSION}, but it is opened for reading only",
            where=where,
            remedy="open it once for writing, or a copy of it",
        )


def migrate(connection: Connection, version: int) -> None:
    """Run the steps from a version to the present one, inside the caller's transaction."""
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection)
    is_version = meta.c.key == "schema_version"
    connection.execute(update(meta).where(is_version).values(value=str(SCHEMA_VERSION)))


def check_tables(connection: Connection, where: str) -> None:
    """Refuse a database that lacks a table or a column."""
    columns = inspect(connection).get_multi_columns()
    found = {name: {item["name"] for item in items} for (_, name), items in columns.items()}
    for name, table in metadata.tables.items():
        lacking = set(table.columns.keys()) - found.get(name, set())
        if lacking:
            raise not_a_store(where, f"its table {name!r} lacks {', '.join(sorted(lacking))}")


def not_a_store(where: str, why: str) -> BadFile:
    """Build the error for a database that holds no store."""
    return BadFile(where, f"is not a store: {why}", remedy="name another, or create one")
