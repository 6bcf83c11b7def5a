"""What a store holds, in one plain dictionary."""

from typing import Any

from sqlalchemy import Connection, Select, func, select

from metaod.store import _schema as schema
from metaod.store._store import Store

__all__ = ["summarise"]


def summarise(store: Store) -> dict[str, Any]:
    """Count what a store holds; everything in it goes into JSON as it is.

    Examples
    --------
    >>> with Store("sqlite://", create=True) as store:
    ...     summarise(store)["datasets"]
    0
    """
    datasets, models, cells = schema.datasets, schema.models, schema.cells
    trials, vectors = schema.evaluations, schema.metafeatures
    path = store.place.path
    with store.reading() as connection:
        known = dict(_pairs(connection, select(schema.meta.c.key, schema.meta.c.value)))
        by_state: dict[str, dict[str, int]] = {}
        for mode, state, count in connection.execute(
            select(cells.c.mode, cells.c.state, func.count())
            .group_by(cells.c.mode, cells.c.state)
            .order_by(cells.c.mode, cells.c.state)
        ):
            by_state.setdefault(mode, {})[state] = count
        names = schema.metafeature_schemas
        metafeatures = connection.execute(
            select(names.c.name, names.c.version, func.count())
            .join(vectors, vectors.c.schema == names.c.key)
            .group_by(names.c.name, names.c.version)
            .order_by(names.c.name, names.c.version)
        ).all()
        return {
            "store": str(store),
            "schema_version": int(known["schema_version"]),
            "created": known["created"],
            "package_version": known["package_version"],
            "size_bytes": None if path is None else path.stat().st_size,
            "datasets": _count(connection, select(func.count()).select_from(datasets)),
            "origins": _count(connection, select(func.count(datasets.c.origin.distinct()))),
            "collections": dict(_by(connection, datasets.c.collection)),
            "models": _count(
                connection,
                select(func.count()).select_from(models).where(models.c.is_reference.is_(False)),
            ),
            "references": _count(
                connection, select(func.count()).select_from(models).where(models.c.is_reference)
            ),
            "families": dict(_by(connection, models.c.family)),
            "cells": by_state,
            "imported_cells": _count(
                connection, select(func.count()).select_from(cells).where(cells.c.imported)
            ),
            "evaluations": _count(connection, select(func.count()).select_from(trials)),
            "most_trials": _count(connection, select(func.max(cells.c.n_trials))),
            "engine_versions": dict(_by(connection, trials.c.engine_version)),
            "metafeatures": [
                {"schema": name, "version": version, "datasets": count}
                for name, version, count in metafeatures
            ],
        }


def _count(connection: Connection, query: Select[Any]) -> int:
    return connection.scalar(query) or 0


def _by(connection: Connection, column: Any) -> list[tuple[str, int]]:
    return _pairs(connection, select(column, func.count()).group_by(column).order_by(column))


def _pairs(connection: Connection, query: Select[Any]) -> list[tuple[Any, Any]]:
    return [(row[0], row[1]) for row in connection.execute(query)]
