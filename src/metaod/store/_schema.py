"""The records of a store, its tables, which follow from them, and the version of the layout.

Rows refer to each other by small integer keys that are valid in one database only. The identity
of a row is in its unique columns: a dataset's fingerprint, a model's id, a schema's name and
version. So 700,000 evaluations take tens of megabytes, and two stores can be merged. The record of
one trial is :class:`metaod.history.Evaluation`.
"""

import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from metaod._version import __version__
from metaod.errors import BadFile, BadParameter, UserError
from metaod.history import FINGERPRINT_FORMAT, Evaluation, check_figures
from metaod.models import CellState, ModelSpec

SCHEMA_VERSION = 1
"""Version of the tables below; a store of another version is refused."""

TOLERANCE = 1e-9
"""How far results of the same computation may be apart."""

ROUNDED_TOLERANCE = 1.01e-4
"""The same for cells that were imported: exports are rounded to four decimals or more."""


def _require(owner: str, *checks: tuple[str, str, object, object]) -> None:
    """Raise an error for the first check (name, legal set, value, whether it holds) that fails."""
    for name, legal, value, holds in checks:
        if not holds:
            raise BadParameter(owner, name, legal, value)


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """A labelled dataset: one row of the performance matrix.

    Parameters
    ----------
    fingerprint : str
        Its identity; see :func:`metaod.history.fingerprint`.
    name : str
        Its name for people.
    origin : str
        Datasets that come from one source share it; a fair split does not separate them.
    n_rows, n_columns, n_outliers : int
        Its shape, and the number of rows that are labelled outliers.
    collection : str, optional
        The collection that it belongs to.
    source : str, optional
        The file or address that it came from.
    licence : str, default="unknown"
        Its licence.
    """

    fingerprint: str
    name: str
    origin: str
    n_rows: int
    n_columns: int
    n_outliers: int
    collection: str = ""
    source: str = ""
    licence: str = "unknown"

    def __post_init__(self) -> None:
        is_fingerprint = re.fullmatch(FINGERPRINT_FORMAT, self.fingerprint)
        is_count = 0 <= self.n_outliers <= self.n_rows
        _require(
            "DatasetRecord",
            ("fingerprint", f"of the form {FINGERPRINT_FORMAT}", self.fingerprint, is_fingerprint),
            ("name", "a non-empty text", self.name, self.name),
            ("origin", "a non-empty text", self.origin, self.origin),
            ("n_rows", "at least 1", self.n_rows, self.n_rows >= 1),
            ("n_columns", "at least 1", self.n_columns, self.n_columns >= 1),
            ("n_outliers", f"in [0, {self.n_rows}]", self.n_outliers, is_count),
        )

    @property
    def outlier_share(self) -> float:
        """Share of the rows that are labelled outliers."""
        return self.n_outliers / self.n_rows


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model: one column of the performance matrix.

    Parameters
    ----------
    spec : ModelSpec
        The model; its id is the record's identity.
    is_reference : bool, default=False
        Whether it is only compared with, and never picked.
    """

    spec: ModelSpec
    is_reference: bool = False

    @property
    def id(self) -> str:
        """The model's id."""
        return self.spec.id


@dataclass(frozen=True, slots=True)
class Cell:
    """Performance of one model on one dataset over all its trials: a cell of the matrix.

    Parameters
    ----------
    model : str
        The model's id.
    n_trials : int
        Number of trials.
    state : CellState
        ok if every trial is, else failed, over budget or not applicable: the first that occurs.
    ap, roc_auc, precision_at_n : float
        Means over the trials; NaN unless the state is ok.
    ap_std, roc_auc_std, precision_at_n_std : float
        Standard deviations over the trials (n - 1 in the denominator); NaN for a single trial.
    seconds : float
        Mean over the trials; NaN unless the state is ok.
    reason : str
        Why the state is not ok, or how the scores were repaired.
    imported : bool
        Whether it was imported as an aggregate, without its trials.
    """

    model: str
    n_trials: int
    state: CellState
    ap: float = math.nan
    ap_std: float = math.nan
    roc_auc: float = math.nan
    roc_auc_std: float = math.nan
    precision_at_n: float = math.nan
    precision_at_n_std: float = math.nan
    seconds: float = math.nan
    reason: str = ""
    imported: bool = False

    def __post_init__(self) -> None:
        _require("Cell", ("n_trials", "at least 1", self.n_trials, self.n_trials >= 1))
        ok = self.state == CellState.OK
        check_figures(self, ("ap", "roc_auc", "precision_at_n"), 1.0, expected=ok)
        # the standard deviation of numbers in [0, 1] is largest for two: 1 / sqrt(2)
        spreads = ("ap_std", "roc_auc_std", "precision_at_n_std")
        check_figures(self, spreads, 0.7072, expected=ok and self.n_trials > 1)
        check_figures(self, ("seconds",), sys.float_info.max, expected=ok)


@dataclass(frozen=True, eq=False)
class MetaFeatureRecord:
    """A dataset's meta-features by one schema.

    Parameters
    ----------
    schema : str
        The schema's name: small letters, digits and underscores.
    version : int
        The schema's version; other features, or another order of them, need another version.
    features : sequence of str
        The features' names.
    values : array-like of float
        Their values; NaN where undefined, never infinite.
    """

    schema: str
    version: int
    features: tuple[str, ...]
    values: npt.NDArray[np.float64] = field(repr=False)

    def __init__(
        self, schema: str, version: int, features: Iterable[str], values: npt.ArrayLike
    ) -> None:
        features, values = tuple(features), np.asarray(values, dtype=np.float64)
        known = {"schema": schema, "version": version, "features": features, "values": values}
        for name, value in known.items():
            object.__setattr__(self, name, value)
        shape = (len(features),)
        is_name = re.fullmatch(r"[a-z][a-z0-9_]{0,63}", self.schema)
        # a table of vectors has a column of fingerprints called "dataset"
        are_names = len(set(features)) == len(features) and not {"", "dataset"} & set(features)
        _require(
            "MetaFeatureRecord",
            ("schema", "small letters, digits and underscores", self.schema, is_name),
            ("version", "at least 0", self.version, self.version >= 0),
            ("features", "distinct names, none of them 'dataset'", features, are_names),
            ("values", f"of shape {shape}", values.shape, values.shape == shape),
            ("values", "finite or NaN", values, not np.isinf(values).any()),
        )

    @property
    def key(self) -> tuple[str, int]:
        """Its identity within a dataset."""
        return (self.schema, self.version)


class Figure(sa.TypeDecorator[float]):
    """A measure or a time: NULL in the database where it is NaN in a record."""

    impl = sa.Double
    cache_ok = True

    @property
    def python_type(self) -> type[float]:
        return float

    # processors instead of `process_bind_param` and `process_result_value`: half as many calls
    def bind_processor(self, _dialect: object) -> Any:
        return lambda value: None if value is None or math.isnan(value) else value

    def result_processor(self, _dialect: object, _coltype: object) -> Any:
        return lambda value: math.nan if value is None else value


def _text(length: int | None = None) -> sa.Text | sa.String:
    # ordered byte by byte in every database; PostgreSQL would follow the rules of a language
    kind = sa.Text if length is None else sa.String
    return kind(length).with_variant(kind(length, collation="C"), "postgresql")


_STATE = sa.Enum(
    CellState, native_enum=False, length=16, values_callable=lambda kind: [*map(str, kind)]
)
_TYPES: dict[Any, Any] = {
    str: _text(), int: sa.BigInteger(), int | None: sa.BigInteger(), float: Figure(),
    bool: sa.Boolean(), CellState: _STATE,
}  # fmt: skip

metadata = sa.MetaData()


def _columns(record: type, *, without: Iterable[str]) -> list[sa.Column[Any]]:
    """Return a column for each field of a record, except those that are keys or stored apart."""
    return [
        sa.Column(item.name, _TYPES[item.type], nullable=item.type in (float, int | None))
        for item in fields(record)
        if item.name not in without
    ]


def _key(table: sa.Table) -> sa.ForeignKey:
    return sa.ForeignKey(table.c.key)


def _figures_only_if_ok(*names: str) -> sa.CheckConstraint:
    # the database itself refuses a figure, such as zero, for a trial that failed
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    absent = " AND ".join(f"{name} IS NULL" for name in names)
    return sa.CheckConstraint(f"(state = 'ok' AND {present}) OR (state <> 'ok' AND {absent})")


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
    *_columns(DatasetRecord, without=("fingerprint",)),
)

models = sa.Table(
    "models",
    metadata,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("id", _text(700), nullable=False, unique=True),
    *(sa.Column(name, _text(), nullable=False) for name in ("family", "params", "scaling")),
    sa.Column("is_reference", sa.Boolean, nullable=False),
)

evaluations = sa.Table(
    "evaluations",
    metadata,
    sa.Column("dataset", _key(datasets), primary_key=True),
    sa.Column("model", _key(models), primary_key=True),
    sa.Column("trial", sa.Integer, primary_key=True),
    *_columns(Evaluation, without=("model", "trial")),
    _figures_only_if_ok("ap", "roc_auc", "precision_at_n"),
    # rows are stored in the primary key's tree: those of a dataset are adjacent
    sqlite_with_rowid=False,
)

cells = sa.Table(
    "cells",
    metadata,
    sa.Column("dataset", _key(datasets), primary_key=True),
    sa.Column("model", _key(models), primary_key=True),
    *_columns(Cell, without=("model",)),
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
    sa.Column("dataset", _key(datasets), primary_key=True),
    sa.Column("schema", _key(metafeature_schemas), primary_key=True),
    # little-endian float64, in the order of the schema's features
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# Who computes what in a store that several builders share; a store in a file has no such table.
# A row stays when its task is finished; `retried` has the states of trials that were repeated.
claims = sa.Table(
    "claims",
    sa.MetaData(),
    sa.Column("fingerprint", _text(128), primary_key=True),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("owner", _text()),
    sa.Column("expires", sa.DateTime(timezone=True)),
    sa.Column("finished", sa.DateTime(timezone=True)),
    sa.Column("retried", _text(), nullable=False, server_default=""),
)

_APPLICATION = "metaod"


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


def has_tables(connection: sa.Connection, where: str) -> bool:
    """Return whether a database holds a store; refuse another program's, or another version."""
    if not sa.inspect(connection).has_table(meta.name):
        return False
    found = connection.execute(sa.select(meta.c.key, meta.c.value)).all()
    facts = {str(row.key): str(row.value) for row in found}
    if facts.get("application") != _APPLICATION:
        raise not_a_store(where, "its table 'meta' is another program's")
    version = facts.get("schema_version")
    if version != str(SCHEMA_VERSION):
        what = f"the store has schema version {version}, this package has {SCHEMA_VERSION}"
        remedy = "export it with the version of metaod that made it, and import that"
        raise UserError(what, where=where, remedy=remedy, code="schema-version")
    columns = sa.inspect(connection).get_multi_columns()
    known = {name: {item["name"] for item in items} for (_, name), items in columns.items()}
    for name, table in metadata.tables.items():
        lacking = set(table.columns.keys()) - known.get(name, set())
        if lacking:
            raise not_a_store(where, f"its table {name!r} lacks {', '.join(sorted(lacking))}")
    return True


def not_a_store(where: str, why: str) -> BadFile:
    """Build the error for a database that holds no store."""
    return BadFile(
        where,
        f"is not a store: {why}",
        remedy="name another, or make one with: metaod db init",
        code="not-a-store",
    )
