"""The tables of a store, and the version of their layout.

Rows refer to each other by small integers that mean nothing outside their file; what a row *is*
stands in the unique columns: a dataset's fingerprint, a model's id, a schema's name and version.
That keeps 700,000 evaluations in tens of megabytes, and lets two stores be merged.
"""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "APPLICATION",
    "SCHEMA_VERSION",
    "cells",
    "datasets",
    "evaluations",
    "meta",
    "metadata",
    "metafeature_schemas",
    "metafeatures",
    "models",
]

APPLICATION = "metaod"
"""Value of the key ``application``, by which a store is recognised."""

SCHEMA_VERSION = 1
"""Version of the layout below; a change of layout adds a migration and 1 to this number."""

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
    # a failed or missing figure is never a zero: the database itself refuses it
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
    # rows live in the primary key's own tree, so that those of a dataset lie together
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
