"""The tables of a store, and the version of their layout.

Rows refer to each other by small integer keys that are valid in one database only. The identity
of a row is in its unique columns: a dataset's fingerprint, a model's id, a schema's name and
version. So 700,000 evaluations take tens of megabytes, and two stores can be merged.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from metaod._version import __version__
from metaod.errors import BadFile, UserError

_APPLICATION = "metaod"

SCHEMA_VERSION = 1
"""Version of the layout below."""

metadata = sa.MetaData()


def _text(length: int | None = None) -> sa.Text | sa.String:
    # ordered byte by byte in every database; PostgreSQL would follow the rules of a language
    kind = sa.Text if length is None else sa.String
    return kind(length).with_variant(kind(length, collation="C"), "postgresql")


def _columns(kind: Any, *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name in names]


meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", _text(64), primary_key=True),
    sa.Column("value", _text(), nullable=False),
)

datasets = sa.Table(
    "datasets",
    metadata,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("fingerprint", _text(128), nullable=False, unique=True),
    *_columns(_text(), "name", "collection", "origin"),
    *_columns(sa.BigInteger, "n_rows", "n_columns", "n_outliers"),
    *_columns(_text(), "source", "licence"),
)

sketches = sa.Table(
    "sketches",
    metadata,
    sa.Column("dataset", sa.ForeignKey(datasets.c.key), primary_key=True),
    sa.Column("sketch", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# the datasets whose origin was joined to another: what it was before, and why
joined_origins = sa.Table(
    "joined_origins",
    metadata,
    sa.Column("dataset", sa.ForeignKey(datasets.c.key), primary_key=True),
    *_columns(_text(), "catalogue_origin", "evidence"),
    sqlite_with_rowid=False,
)

models = sa.Table(
    "models",
    metadata,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("id", _text(700), nullable=False, unique=True),
    *_columns(_text(), "family", "params", "scaling"),
    sa.Column("is_reference", sa.Boolean, nullable=False),
)


def _figures_only_if_ok(*names: str) -> sa.CheckConstraint:
    # the database itself refuses a figure, such as zero, for a trial that failed
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    absent = " AND ".join(f"{name} IS NULL" for name in names)
    return sa.CheckConstraint(f"(state = 'ok' AND {present}) OR (state <> 'ok' AND {absent})")


evaluations = sa.Table(
    "evaluations",
    metadata,
    sa.Column("dataset", sa.ForeignKey(datasets.c.key), primary_key=True),
    sa.Column("mode", _text(16), primary_key=True),
    sa.Column("model", sa.ForeignKey(models.c.key), primary_key=True),
    sa.Column("trial", sa.Integer, primary_key=True),
    sa.Column("seed", sa.BigInteger),
    sa.Column("state", _text(16), nullable=False),
    *_columns(sa.Double, "ap", "roc_auc", "precision_at_n", nullable=True),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("reason", _text(), nullable=False),
    sa.Column("engine_version", _text(64), nullable=False),
    _figures_only_if_ok("ap", "roc_auc", "precision_at_n"),
    # rows are stored in the primary key's tree: those of a dataset are adjacent
    sqlite_with_rowid=False,
)

cells = sa.Table(
    "cells",
    metadata,
    sa.Column("dataset", sa.ForeignKey(datasets.c.key), primary_key=True),
    sa.Column("mode", _text(16), primary_key=True),
    sa.Column("model", sa.ForeignKey(models.c.key), primary_key=True),
    sa.Column("n_trials", sa.Integer, nullable=False),
    sa.Column("state", _text(16), nullable=False),
    *_columns(sa.Double, "ap", "ap_std", "roc_auc", "roc_auc_std", nullable=True),
    *_columns(sa.Double, "precision_at_n", "precision_at_n_std", "seconds", nullable=True),
    sa.Column("reason", _text(), nullable=False),
    sa.Column("imported", sa.Boolean, nullable=False),
    _figures_only_if_ok("ap", "roc_auc", "precision_at_n", "seconds"),
    sqlite_with_rowid=False,
)

metafeature_schemas = sa.Table(
    "metafeature_schemas",
    metadata,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("name", _text(64), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("features", _text(), nullable=False),
    sa.UniqueConstraint("name", "version"),
)

metafeatures = sa.Table(
    "metafeatures",
    metadata,
    sa.Column("dataset", sa.ForeignKey(datasets.c.key), primary_key=True),
    sa.Column("schema", sa.ForeignKey(metafeature_schemas.c.key), primary_key=True),
    # little-endian float64, in the order of the schema's features
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)


# Who computes what in a store that several builders share; a store in a file has no such table.
# A row stays when its task is finished.
claims = sa.Table(
    "claims",
    sa.MetaData(),
    sa.Column("fingerprint", _text(128), primary_key=True),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("owner", _text()),
    sa.Column("expires", sa.DateTime(timezone=True)),
    sa.Column("finished", sa.DateTime(timezone=True)),
    # states of trials that the last builder computed again
    sa.Column("retried", _text(), nullable=False, server_default=""),
)


def make_tables(connection: sa.Connection) -> None:
    metadata.create_all(connection)
    if connection.dialect.name == "postgresql":
        claims.create(connection)
    facts = {
        "application": _APPLICATION,
        "schema_version": str(SCHEMA_VERSION),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "package_version": __version__,
    }
    connection.execute(
        sa.insert(meta), [{"key": key, "value": value} for key, value in facts.items()]
    )


def read_version(connection: sa.Connection, where: str) -> int | None:
    """Read the version of a store's layout; None for a database without a store."""
    if not sa.inspect(connection).has_table(meta.name):
        return None
    found = connection.execute(sa.select(meta.c.key, meta.c.value)).all()
    facts = {str(row.key): str(row.value) for row in found}
    version = facts.get("schema_version", "")
    if facts.get("application") != _APPLICATION or not version.isdecimal():
        raise not_a_store(where, "its table 'meta' is another program's")
    return int(version)


def check_version(version: int | None, where: str) -> None:
    """Refuse a store of another version."""
    if version != SCHEMA_VERSION:
        what = f"the store has schema version {version}, this package has {SCHEMA_VERSION}"
        remedy = "export it with the version of metaod that made it, and import that"
        raise UserError(what, where=where, remedy=remedy, code="schema-version")


def check_tables(connection: sa.Connection, where: str) -> None:
    """Refuse a database that lacks a table or a column."""
    columns = sa.inspect(connection).get_multi_columns()
    found = {name: {item["name"] for item in items} for (_, name), items in columns.items()}
    for name, table in metadata.tables.items():
        lacking = set(table.columns.keys()) - found.get(name, set())
        if lacking:
            raise not_a_store(where, f"its table {name!r} lacks {', '.join(sorted(lacking))}")


def not_a_store(where: str, why: str) -> BadFile:
    """Build the error for a database that holds no store."""
    return BadFile(
        where, f"is not a store: {why}", remedy="name another, or make one with: metaod db init"
    )
