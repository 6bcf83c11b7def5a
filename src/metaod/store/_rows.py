"""Read and write records as rows, in the caller's transaction.

Rows are replaced by deleting and inserting, which works in every database.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, Table, and_, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql

from metaod.errors import UserError
from metaod.history import MEASURES, Evaluation, Sketch
from metaod.models import CellState, Mode, ModelSpec
from metaod.store import _schema as schema
from metaod.store._records import (
    Cell,
    DatasetRecord,
    JoinedOrigin,
    MetaFeatureRecord,
    ModelRecord,
    aggregate,
)

_FIGURES = {*MEASURES, *(f"{name}_std" for name in MEASURES), "seconds"}
Trials = TypeVar("Trials", Evaluation, Cell)

_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind) if item.name != "sketch")
    for kind in (DatasetRecord, Evaluation, Cell)
}


def dataset_keys(connection: Connection) -> dict[str, int]:
    table = schema.datasets
    found = connection.execute(select(table.c.fingerprint, table.c.key))
    return {row.fingerprint: row.key for row in found}


def model_keys(connection: Connection) -> dict[str, int]:
    table = schema.models
    return {row.id: row.key for row in connection.execute(select(table.c.id, table.c.key))}


def read_datasets(connection: Connection) -> list[DatasetRecord]:
    """Read all datasets, ordered by collection and name."""
    table = schema.datasets
    query = select(*(table.c[name] for name in _FIELDS[DatasetRecord]))
    order = (table.c.collection, table.c.name, table.c.fingerprint)
    return [DatasetRecord(**row) for row in connection.execute(query.order_by(*order)).mappings()]


def insert_datasets(connection: Connection, records: Iterable[DatasetRecord]) -> int:
    """Add the datasets that are new, and sketches that are lacking; return how many are new."""
    records = list(records)
    known = set(dataset_keys(connection))
    new = {record.fingerprint: record for record in records if record.fingerprint not in known}
    names = _FIELDS[DatasetRecord]
    lines = [{name: getattr(record, name) for name in names} for record in new.values()]
    _insert(connection, schema.datasets, lines)
    insert_sketches(
        connection, {item.fingerprint: item.sketch for item in records if item.sketch is not None}
    )
    return len(new)


def read_sketches(connection: Connection) -> dict[str, Sketch]:
    """Read the sketches of all datasets that have one."""
    table, datasets = schema.sketches, schema.datasets
    query = select(datasets.c.fingerprint, table.c.sketch).join_from(table, datasets)
    found = connection.execute(query.order_by(datasets.c.fingerprint))
    return {row.fingerprint: _to_sketch(row.fingerprint, row.sketch) for row in found}


def _to_sketch(dataset: str, data: bytes) -> Sketch:
    try:
        return Sketch.from_bytes(data)
    except ValueError as error:
        remedy = "restore an older copy of the store"
        raise UserError(f"the sketch of {dataset} {error}", remedy=remedy) from error


def insert_sketches(connection: Connection, sketches: Mapping[str, Sketch]) -> int:
    """Add the sketches that are lacking; return how many."""
    keys = dataset_keys(connection)
    known = {row.dataset for row in connection.execute(select(schema.sketches.c.dataset))}
    lacking = {name: item for name, item in sketches.items() if keys[name] not in known}
    lines = [{"dataset": keys[name], "sketch": s.to_bytes()} for name, s in lacking.items()]
    _insert(connection, schema.sketches, lines)
    return len(lacking)


def read_joined_origins(connection: Connection) -> dict[str, JoinedOrigin]:
    """Read what is known of the datasets whose origins were joined, by fingerprint."""
    table, datasets = schema.joined_origins, schema.datasets
    query = select(datasets.c.fingerprint, table.c.catalogue_origin, table.c.evidence)
    found = connection.execute(query.join_from(table, datasets).order_by(datasets.c.fingerprint))
    return {row.fingerprint: JoinedOrigin(*row) for row in found}


def replace_origin(
    connection: Connection, dataset: str, origin: str, joined: JoinedOrigin | None
) -> None:
    """Write one dataset's origin, and what it was before if it is a joined one."""
    key, table = dataset_keys(connection)[dataset], schema.datasets
    connection.execute(update(table).where(table.c.key == key).values(origin=origin))
    _delete(connection, schema.joined_origins, [{"dataset": key}])
    if joined is not None:
        line = {"catalogue_origin": joined.catalogue_origin, "evidence": joined.evidence}
        _insert(connection, schema.joined_origins, [{"dataset": key} | line])


def read_models(connection: Connection) -> list[ModelRecord]:
    """Read all models, in the order of specs."""
    table = schema.models
    rows = connection.execute(
        select(table.c.family, table.c.params, table.c.scaling, table.c.is_reference)
    )
    records = (
        ModelRecord(ModelSpec(family, json.loads(params), scaling), is_reference)
        for family, params, scaling, is_reference in rows
    )
    return sorted(records, key=lambda record: record.spec)


def insert_models(connection: Connection, records: Iterable[ModelRecord]) -> int:
    """Add the models that are new; return how many."""
    known = set(model_keys(connection))
    new = {record.id: record for record in records if record.id not in known}
    rows = [
        {
            "id": record.id,
            "family": record.spec.detector,
            "params": json.dumps(dict(record.spec.params)),
            "scaling": record.spec.scaling,
            "is_reference": record.is_reference,
        }
        for record in new.values()
    ]
    _insert(connection, schema.models, rows)
    return len(new)


def trial_key(item: Evaluation) -> tuple[str, str, int]:
    return (item.mode, item.model, item.trial)


def read_evaluations(connection: Connection, dataset: int) -> list[Evaluation]:
    """Read one dataset's evaluations, ordered by mode, model and trial."""
    return sorted(_read(connection, dataset, schema.evaluations, Evaluation), key=trial_key)


def replace_evaluations(
    connection: Connection,
    dataset: int,
    evaluations: Iterable[Evaluation],
    models: Mapping[str, int],
) -> None:
    """Write one dataset's evaluations over those of the same trials, and compute their cells.

    An imported cell stays until the store holds as many trials.
    """
    new = {trial_key(item): item for item in evaluations}
    if not new:
        return
    old = {trial_key(item): item for item in read_evaluations(connection, dataset)}
    rows = {key: _to_row(item, dataset, models) for key, item in new.items()}
    _delete(connection, schema.evaluations, [rows[key] for key in new if key in old])
    _insert(connection, schema.evaluations, list(rows.values()))
    changed = {(item.mode, item.model) for item in new.values()}
    trials = (item for item in (old | new).values() if (item.mode, item.model) in changed)
    imported = {
        cell.key: cell.n_trials for cell in read_cells(connection, dataset) if cell.imported
    }
    cells = [cell for cell in aggregate(trials) if cell.n_trials >= imported.get(cell.key, 0)]
    replace_cells(connection, dataset, cells, models)


def read_cells(connection: Connection, dataset: int) -> list[Cell]:
    """Read one dataset's cells, ordered by mode and model."""
    return sorted(_read(connection, dataset, schema.cells, Cell), key=lambda cell: cell.key)


def replace_cells(
    connection: Connection, dataset: int, cells: Iterable[Cell], models: Mapping[str, int]
) -> None:
    """Write one dataset's cells over those of the same mode and model."""
    rows = [_to_row(item, dataset, models) for item in cells]
    if not rows:
        return
    table = schema.cells
    query = select(table.c.mode, table.c.model).where(table.c.dataset == dataset)
    old = {(row.mode, row.model) for row in connection.execute(query)}
    _delete(connection, table, [row for row in rows if (row["mode"], row["model"]) in old])
    _insert(connection, table, rows)


def _to_row(record: Evaluation | Cell, dataset: int, models: Mapping[str, int]) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in _FIELDS[type(record)]}
    for name in _FIGURES & row.keys():
        if math.isnan(row[name]):
            row[name] = None
    row["mode"], row["state"] = record.mode.value, record.state.value
    # the message of any library: not every database stores NUL, and none half a character
    reason = record.reason.replace("\0", "\\x00")
    row["reason"] = reason.encode("utf-8", "backslashreplace").decode()
    row["dataset"], row["model"] = dataset, models[record.model]
    return row


def _read(connection: Connection, dataset: int, table: Table, kind: type[Trials]) -> list[Trials]:
    # columns in the order of the record's fields, the model by its id
    names = _FIELDS[kind]
    query = (
        select(*(schema.models.c.id if name == "model" else table.c[name] for name in names))
        .join_from(table, schema.models)
        .where(table.c.dataset == dataset)
    )
    mode, state = names.index("mode"), names.index("state")
    figures = [names.index(name) for name in names if name in _FIGURES]
    records = []
    for row in connection.execute(query):
        values = list(row)
        values[mode], values[state] = Mode(row[mode]), CellState(row[state])
        for k in figures:
            if row[k] is None:
                values[k] = math.nan
        records.append(kind(*values))
    return records


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


def replace_metafeatures(
    connection: Connection, dataset: int, records: Iterable[MetaFeatureRecord]
) -> None:
    """Write one dataset's meta-features over those of the same schema and version."""
    rows = [
        {
            "dataset": dataset,
            "schema": _schema_key(connection, record),
            "vector": record.values.astype("<f8").tobytes(),
        }
        for record in records
    ]
    _delete(connection, schema.metafeatures, rows)
    _insert(connection, schema.metafeatures, rows)


def read_schemas(connection: Connection) -> dict[tuple[str, int], tuple[int, tuple[str, ...]]]:
    """Return the key and the features of every schema, by name and version."""
    table = schema.metafeature_schemas
    return {
        (row.name, row.version): (row.key, tuple(json.loads(row.features)))
        for row in connection.execute(select(table).order_by(table.c.name, table.c.version))
    }


def _schema_key(connection: Connection, record: MetaFeatureRecord) -> int:
    known = read_schemas(connection)
    if (record.schema, record.version) not in known:
        row = {"name": record.schema, "version": record.version}
        features = json.dumps(record.features)
        _insert_schema(connection, row | {"features": features})
        known = read_schemas(connection)
    key, stored = known[record.schema, record.version]
    if stored != record.features:
        raise UserError(
            f"meta-features of schema {record.schema!r}, version {record.version}, are stored "
            "with other names",
            remedy="features that change need a new version of the schema",
        )
    return key


def _insert_schema(connection: Connection, row: dict[str, Any]) -> None:
    if connection.dialect.name == "postgresql":
        # a task that is recorded at the same time may add the same schema
        query = postgresql.insert(schema.metafeature_schemas).on_conflict_do_nothing()
        connection.execute(query, row)
    else:
        _insert(connection, schema.metafeature_schemas, [row])


def _insert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _delete(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        keys = [column.name for column in table.primary_key]
        found = and_(*(table.c[name] == bindparam(f"key_{name}") for name in keys))
        connection.execute(
            delete(table).where(found),
            [{f"key_{name}": row[name] for name in keys} for row in rows],
        )
