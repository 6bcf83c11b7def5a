"""Read and write records as rows, in the caller's transaction."""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy import Connection, Table, select
from sqlalchemy.dialects import postgresql, sqlite

from metaod.errors import BadFile, UserError
from metaod.history import MEASURES, Evaluation
from metaod.models import CellState, ModelSpec
from metaod.store import _schema as schema
from metaod.store._schema import Cell, DatasetRecord, MetaFeatureRecord, ModelRecord
from metaod.store._sqlite import RESTORE

Record = TypeVar("Record", Evaluation, Cell)
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True)
class Content:
    """What is known of one dataset: by a store, an export, or a finished task."""

    evaluations: Sequence[Evaluation] = ()
    cells: Sequence[Cell] = ()
    metafeatures: Sequence[MetaFeatureRecord] = ()


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, except those whose identity is known."""
    if rows:
        query = _INSERT[connection.dialect.name](table).on_conflict_do_nothing()
        connection.execute(query, rows)


def upsert(
    connection: Connection,
    table: Table,
    rows: Sequence[dict[str, Any]],
    *,
    keep_if: sa.ColumnElement[bool] | None = None,
) -> None:
    """Insert rows over those of the same primary key, unless a condition on the old row holds."""
    if not rows:
        return
    query = _INSERT[connection.dialect.name](table)
    values = {item.name: query.excluded[item.name] for item in table.c if not item.primary_key}
    where = None if keep_if is None else sa.not_(keep_if)
    query = query.on_conflict_do_update(
        index_elements=list(table.primary_key), set_=values, where=where
    )
    connection.execute(query, rows)


def as_written(
    read: Callable[Concatenate[Connection, _Given], _Found],
) -> Callable[Concatenate[Connection, _Given], _Found]:
    """Refuse values that metaod did not write, where they are read."""

    def checked(connection: Connection, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
        try:
            return read(connection, *args, **kwargs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            location = connection.get_execution_options().get("where")
            where = location or connection.engine.url.database or "the store"
            what = f"is damaged: it holds values that metaod did not write ({error})"
            raise BadFile(where, what, remedy=RESTORE) from error

    return update_wrapper(checked, read)


def dataset_keys(connection: Connection) -> dict[str, int]:
    table = schema.datasets
    found = connection.execute(select(table.c.fingerprint, table.c.key))
    return {row.fingerprint: row.key for row in found}


def model_keys(connection: Connection) -> dict[str, int]:
    table = schema.models
    return {row.id: row.key for row in connection.execute(select(table.c.id, table.c.key))}


@as_written
def read_datasets(connection: Connection) -> list[DatasetRecord]:
    """Read all datasets, ordered by collection and name."""
    table = schema.datasets
    query = select(*(item for item in table.c if not item.primary_key))
    order = (table.c.collection, table.c.name, table.c.fingerprint)
    return [DatasetRecord(*row) for row in connection.execute(query.order_by(*order))]


def insert_datasets(connection: Connection, records: Iterable[DatasetRecord]) -> int:
    """Add the datasets that are new; return how many."""
    records = list(records)
    new = {item.fingerprint for item in records} - dataset_keys(connection).keys()
    insert_new(connection, schema.datasets, [asdict(record) for record in records])
    return len(new)


@as_written
def read_models(connection: Connection) -> list[ModelRecord]:
    """Read all models, in the order of specs."""
    table = schema.models
    rows = connection.execute(
        select(table.c.id, table.c.family, table.c.params, table.c.scaling, table.c.is_reference)
    )
    records = []
    for model, family, params, scaling, is_reference in rows:
        records.append(ModelRecord(ModelSpec(family, json.loads(params), scaling), is_reference))
        if records[-1].id != model:
            raise ValueError(f"{model} has the hyperparameters of {records[-1].id}")
    return sorted(records, key=lambda record: record.spec)


def insert_models(connection: Connection, records: Iterable[ModelRecord]) -> int:
    """Add the models that are new; return how many."""
    records = list(records)
    new = {record.id for record in records} - model_keys(connection).keys()
    rows = [
        {
            "id": record.id,
            "family": record.spec.detector,
            "params": json.dumps(dict(record.spec.params)),
            "scaling": record.spec.scaling,
            "is_reference": record.is_reference,
        }
        for record in records
    ]
    insert_new(connection, schema.models, rows)
    return len(new)


def read_content(connection: Connection, dataset: int) -> Content:
    """Read everything about one dataset."""
    return Content(
        read_evaluations(connection, dataset),
        read_cells(connection, dataset),
        read_metafeatures(connection, dataset),
    )


def write_content(
    connection: Connection, dataset: int, content: Content, models: Mapping[str, int]
) -> None:
    """Write evaluations, cells and meta-features of one dataset over those of the same identity.

    Evaluations replace the cells that follow from them; an imported cell stays until the store
    holds as many trials.
    """
    new = {(item.model, item.trial): item for item in content.evaluations}
    if new:
        known = {(item.model, item.trial): item for item in read_evaluations(connection, dataset)}
        upsert(connection, schema.evaluations, _to_rows(content.evaluations, dataset, models))
        changed = {model for model, _ in new}
        cells = aggregate(item for (model, _), item in (known | new).items() if model in changed)
        table = schema.cells
        excluded = _INSERT[connection.dialect.name](table).excluded
        has_more = table.c.imported & (table.c.n_trials > excluded.n_trials)
        upsert(connection, table, _to_rows(cells, dataset, models), keep_if=has_more)
    upsert(connection, schema.cells, _to_rows(content.cells, dataset, models))
    vectors = [
        {
            "dataset": dataset,
            "schema": _schema_key(connection, record),
            "vector": record.values.astype("<f8").tobytes(),
        }
        for record in content.metafeatures
    ]
    upsert(connection, schema.metafeatures, vectors)


def _to_rows(
    records: Sequence[Record], dataset: int, models: Mapping[str, int]
) -> list[dict[str, Any]]:
    if not records:
        return []
    names = [item.name for item in fields(records[0])]
    rows = []
    for record in records:
        row = {name: getattr(record, name) for name in names}
        # the message of any library: not every database stores NUL, and none half a character
        reason = record.reason.replace("\0", "\\x00")
        row["reason"] = reason.encode("utf-8", "backslashreplace").decode()
        row["dataset"], row["model"] = dataset, models[record.model]
        rows.append(row)
    return rows


@as_written
def read_evaluations(connection: Connection, dataset: int) -> list[Evaluation]:
    """Read one dataset's evaluations, ordered by model and trial."""
    found = _read(connection, dataset, schema.evaluations, Evaluation)
    return sorted(found, key=lambda item: (item.model, item.trial))


@as_written
def read_cells(connection: Connection, dataset: int) -> list[Cell]:
    """Read one dataset's cells, ordered by model."""
    found = _read(connection, dataset, schema.cells, Cell)
    return sorted(found, key=lambda cell: cell.model)


def _read(connection: Connection, dataset: int, table: Table, kind: type[Record]) -> list[Record]:
    # columns in the order of the record's fields, the model by its id
    names = [item.name for item in fields(kind)]
    columns = [schema.models.c.id if name == "model" else table.c[name] for name in names]
    query = select(*columns).join_from(table, schema.models).where(table.c.dataset == dataset)
    return [kind(*row) for row in connection.execute(query)]


@as_written
def read_metafeatures(connection: Connection, dataset: int) -> list[MetaFeatureRecord]:
    """Read one dataset's meta-features, ordered by schema and version."""
    names, vectors = schema.metafeature_schemas, schema.metafeatures
    rows = connection.execute(
        select(names.c.name, names.c.version, names.c.features, vectors.c.vector)
        .join(vectors, vectors.c.schema == names.c.key)
        .where(vectors.c.dataset == dataset)
        .order_by(names.c.name, names.c.version)
    )
    return [
        MetaFeatureRecord(name, version, json.loads(features), np.frombuffer(vector, "<f8"))
        for name, version, features, vector in rows
    ]


@as_written
def read_vectors(
    connection: Connection, schema_key: int, features: Sequence[str]
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the vectors of all datasets in one schema, by fingerprint."""
    datasets, vectors = schema.datasets, schema.metafeatures
    query = (
        select(datasets.c.fingerprint, vectors.c.vector)
        .join(vectors, vectors.c.dataset == datasets.c.key)
        .where(vectors.c.schema == schema_key)
    )
    return {
        name: np.frombuffer(vector, "<f8").reshape(len(features))
        for name, vector in connection.execute(query)
    }


@as_written
def read_schemas(connection: Connection) -> dict[tuple[str, int], tuple[int, tuple[str, ...]]]:
    """Return the key and the features of every schema, by name and version."""
    table = schema.metafeature_schemas
    return {
        (row.name, row.version): (row.key, tuple(json.loads(row.features)))
        for row in connection.execute(select(table).order_by(table.c.name, table.c.version))
    }


def _schema_key(connection: Connection, record: MetaFeatureRecord) -> int:
    row = {"name": record.schema, "version": record.version}
    features = json.dumps(record.features)
    insert_new(connection, schema.metafeature_schemas, [row | {"features": features}])
    key, stored = read_schemas(connection)[record.key]
    if stored != record.features:
        raise UserError(
            f"meta-features of schema {record.schema!r}, version {record.version}, are stored "
            "with other names",
            remedy="features that change need a new version of the schema",
        )
    return key


# where trials end in different states, the first of these that occurs is the cell's state
_WORST_FIRST = (CellState.FAILED, CellState.OVER_BUDGET, CellState.NOT_APPLICABLE, CellState.OK)


def aggregate(evaluations: Iterable[Evaluation]) -> list[Cell]:
    """Aggregate one dataset's evaluations over trials, into one cell per model."""
    groups: defaultdict[str, list[Evaluation]] = defaultdict(list)
    for evaluation in evaluations:
        groups[evaluation.model].append(evaluation)
    return [
        _aggregate_trials(sorted(trials, key=lambda item: item.trial))
        for _, trials in sorted(groups.items())
    ]


def _aggregate_trials(trials: list[Evaluation]) -> Cell:
    states = {trial.state for trial in trials}
    state = next(state for state in _WORST_FIRST if state in states)
    reason = next((item.reason for item in trials if item.state == state and item.reason), "")
    figures: dict[str, Any] = {}
    if state == CellState.OK:
        for name in MEASURES:
            values = [getattr(trial, name) for trial in trials]
            figures[name], figures[f"{name}_std"] = _mean_and_std(values)
        figures["seconds"], _ = _mean_and_std([trial.seconds for trial in trials])
    return Cell(trials[0].model, len(trials), state, reason=reason, **figures)


def _mean_and_std(values: list[float]) -> tuple[float, float]:
    # fsum is correctly rounded: the order of the trials does not matter
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
