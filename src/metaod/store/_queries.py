"""Queries over a whole store: its matrices, its missing trials, a summary, training data."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, Double, Select, Table, func, select, type_coerce

from metaod.errors import BadParameter, UserError
from metaod.history import DEFAULT_FOREST, MEASURES, TrainingData
from metaod.metafeatures import SCHEMAS
from metaod.models import CellState, member_ids, model_space
from metaod.store import _rows as rows
from metaod.store import _schema as tables
from metaod.store._database import Database

# datasets a query: all trials of a large store would fill the memory
_BATCH = 64


class Queries(Database):
    """What can be asked of a whole store."""

    def performance_matrix(
        self, measure: str = "ap", *, models: Iterable[str] | None = None
    ) -> pd.DataFrame:
        """Return the performance of every model on every dataset, the paper's P.

        Parameters
        ----------
        measure : {"ap", "roc_auc", "precision_at_n", "seconds"}, default="ap"
            The measure, averaged over the trials of a cell.
        models : iterable of str, optional
            Ids of the columns, in this order; by default all models except references, in the
            order of specs.

        Returns
        -------
        pandas.DataFrame
            Datasets (fingerprints, ordered by collection and name) that have a cell of these
            models × models. NaN where a cell is missing or not ok, never zero.
        """
        legal = (*MEASURES, "seconds")
        if measure not in legal:
            raise BadParameter("performance_matrix", "measure", legal, measure)
        with self.reading() as connection:
            dataset_keys, model_keys = rows.dataset_keys(connection), rows.model_keys(connection)
            if models is None:
                models = [item.id for item in rows.read_models(connection) if not item.is_reference]
            columns = list(models)
            for name in columns:
                if name not in model_keys:
                    raise BadParameter("performance_matrix", "models", "models of the store", name)
            fingerprints = [item.fingerprint for item in rows.read_datasets(connection)]
            found = _read_performance(connection, measure)
        wanted = [model_keys[name] for name in columns]
        found = found[found["column"].isin(wanted)]
        # pivot_table would leave out datasets without any figure
        table = found.pivot(index="row", columns="column", values="P")  # noqa: PD010 - as above
        filled = [name for name in fingerprints if dataset_keys[name] in table.index]
        table = table.reindex(index=[dataset_keys[name] for name in filled], columns=wanted)
        return pd.DataFrame(
            table.to_numpy(),
            index=pd.Index(filled, dtype=object, name="dataset"),
            columns=pd.Index(columns, dtype=object, name="model"),
        )

    def metafeature_matrix(self, schema_name: str, version: int | None = None) -> pd.DataFrame:
        """Return the meta-features of every dataset in one schema, the paper's M.

        Parameters
        ----------
        schema_name : str
            The schema.
        version : int, optional
            Its version; by default the newest that can be read for every dataset, since a version
            has all features of the earlier ones.

        Returns
        -------
        pandas.DataFrame
            Datasets (fingerprints, ordered by collection and name) × features.
        """
        with self.reading() as connection:
            known = rows.read_schemas(connection)
            chosen = [key for key in known if key[0] == schema_name and version in (None, key[1])]
            if not chosen:
                legal = [f"{name} {number}" for name, number in known]
                got = schema_name if version is None else f"{schema_name} {version}"
                raise BadParameter("metafeature_matrix", "schema_name", legal, got)
            vectors = {item: rows.read_vectors(connection, *known[item]) for item in chosen}
            datasets = [record.fingerprint for record in rows.read_datasets(connection)]
        # of each dataset the newest version, and of versions what all of them have
        newest = {name: item for item in chosen for name in vectors[item]}
        parts = []
        for item in sorted({*newest.values()} or {chosen[-1]}):
            names = [name for name in vectors[item] if newest[name] == item]
            values = np.array([vectors[item][name] for name in names], dtype=np.float64)
            shape = (len(names), len(known[item][1]))
            parts.append(pd.DataFrame(values.reshape(shape), names, known[item][1]))
        M, kept = pd.concat(parts, join="inner"), [name for name in datasets if name in newest]
        return pd.DataFrame(
            M.loc[kept].to_numpy(),
            index=pd.Index(kept, dtype=object, name="dataset"),
            columns=pd.Index(M.columns, dtype=object, name="feature"),
        )

    def datasets_frame(self) -> pd.DataFrame:
        """Return all datasets, one per row, ordered by collection and name."""
        with self.reading() as connection:
            records = rows.read_datasets(connection)
        columns = [item.name for item in tables.datasets.c if not item.primary_key]
        frame = pd.DataFrame([asdict(record) for record in records], columns=columns)
        shares = [record.outlier_share for record in records]
        frame.insert(columns.index("n_outliers") + 1, "outlier_share", shares)
        return frame

    def cells_frame(self) -> pd.DataFrame:
        """Return all cells, one per row, ordered by dataset (fingerprint) and model id."""
        with self.reading() as connection:
            return read_frame(connection, tables.cells)

    def training_data(
        self,
        schemas: Sequence[str] = ("paper",),
        *,
        measure: str = "ap",
        space: str | None = None,
        averages: bool = True,
    ) -> TrainingData:
        """Read training data for learners, of datasets with performance and meta-features.

        Parameters
        ----------
        schemas : sequence of {"paper", "scores"}, default=("paper",)
            Schemas of the meta-features, in the newest version that every dataset has.
        measure : {"ap", "roc_auc", "precision_at_n"}, default="ap"
            The measure in P.
        space : {"paper", "extended", "all"}, optional
            Only the models of this space and averages of them; by default every model of the store.
        averages : bool, default=True
            Whether averages are in P too.
        """
        if measure not in MEASURES:
            raise BadParameter("TrainingData", "measure", MEASURES, measure)
        for name in schemas:
            if name not in SCHEMAS:
                raise BadParameter("TrainingData", "schemas", SCHEMAS, name)
        if len(set(schemas)) != len(schemas):
            raise BadParameter("TrainingData", "schemas", "different schemas", list(schemas))
        P = self.performance_matrix(measure, models=self._models_of(space, averages=averages))
        if not P.notna().to_numpy().any():
            remedy = "evaluate models on labelled datasets with: metaod build"
            raise UserError("holds no performance yet", where=str(self), remedy=remedy)
        try:
            reference = self.performance_matrix(measure, models=[DEFAULT_FOREST])[DEFAULT_FOREST]
        except BadParameter:
            reference = None  # the store was built without references
        metafeatures = {name: self._metafeatures(name) for name in schemas}
        datasets = self.datasets_frame().set_index("fingerprint")
        return TrainingData.from_frames(
            P, metafeatures, datasets, reference=reference, measure=measure
        )

    def _models_of(self, space: str | None, *, averages: bool) -> list[str]:
        """Return the ids of the store's models in a space, without the reference models."""
        with self.reading() as connection:
            models = rows.read_models(connection)
        held = [record.id for record in models if not record.is_reference]
        inside = None if space is None else {spec.id for spec in model_space(space)}
        chosen = [
            name
            for name in held
            if (averages or len(member_ids(name)) == 1)
            and (inside is None or inside.issuperset(member_ids(name)))
        ]
        if held and not chosen:
            what = "single model" if space is None else f"model of the space {space!r}"
            remedy = f"evaluate some with: metaod build --space {space or 'extended'}"
            raise UserError(f"holds no {what}", where=str(self), remedy=remedy)
        return chosen

    def _metafeatures(self, name: str) -> pd.DataFrame:
        try:
            return self.metafeature_matrix(name)
        except BadParameter as error:
            what = f"holds no meta-features of schema {name!r}"
            remedy = f"extract them with: metaod build --schema {name}"
            raise UserError(what, where=str(self), remedy=remedy) from error

    def missing(
        self,
        datasets: Iterable[str],
        wanted: Mapping[str, int],
        *,
        retry: Collection[str] = (),
    ) -> dict[str, dict[str, tuple[int, ...]]]:
        """Find the trials of models on datasets that the store lacks.

        Parameters
        ----------
        datasets : iterable of str
            Fingerprints; a dataset that is not in the store lacks everything.
        wanted : mapping of str to int
            Number of trials by model id: 1 for a model that is not random.
        retry : collection of str, optional
            Trials in these states count as missing.

        Returns
        -------
        dict
            For each dataset that lacks trials: for each model that lacks trials, their numbers. An
            imported cell replaces its trials if it has as many as are wanted; else all are missing.

        Examples
        --------
        >>> from metaod.store import Store
        >>> with Store("sqlite://", create=True) as store:
        ...     store.missing(["fp1:" + 32 * "0"], {"HBOS()": 1, "IForest()": 3})
        {'fp1:0...0': {'HBOS()': (0,), 'IForest()': (0, 1, 2)}}
        """
        found: dict[str, dict[str, tuple[int, ...]]] = {}
        names = list(datasets)
        states = [state for state in CellState if state not in retry]
        with self.reading() as connection:
            keys, models = rows.dataset_keys(connection), rows.model_keys(connection)
            by_key = {models[model]: n for model, n in wanted.items() if model in models}
            for start in range(0, len(names), _BATCH):
                batch = names[start : start + _BATCH]
                known = [keys[dataset] for dataset in batch if dataset in keys]
                finished = _finished_trials(connection, known, by_key, states)
                for dataset in batch:
                    done = finished[keys[dataset]] if dataset in keys else set()
                    lacking = {
                        model: tuple(t for t in range(n) if (models.get(model), t) not in done)
                        for model, n in wanted.items()
                    }
                    lacking = {model: trials for model, trials in lacking.items() if trials}
                    if lacking:
                        found[dataset] = lacking
        return found

    def stored_schemas(self) -> set[tuple[str, str, int]]:
        """Return the dataset, schema and version of all meta-features."""
        datasets, schemas = tables.datasets, tables.metafeature_schemas
        vectors = tables.metafeatures
        query = (
            select(datasets.c.fingerprint, schemas.c.name, schemas.c.version)
            .join_from(vectors, datasets)
            .join(schemas, vectors.c.schema == schemas.c.key)
        )
        with self.reading() as connection:
            return {(row.fingerprint, row.name, row.version) for row in connection.execute(query)}

    def summary(self) -> dict[str, Any]:
        """Return the numbers of datasets, models, cells and so on, ready for JSON."""
        with self.reading() as connection:
            return _summary(connection, str(self), self._size(connection))

    def _size(self, connection: Connection) -> int | None:
        if self.location.path is not None:
            return self.location.path.stat().st_size
        if self.location.is_postgresql:
            names = map(func.to_regclass, tables.metadata.tables)
            sizes = connection.execute(select(*map(func.pg_total_relation_size, names))).one()
            return sum(size or 0 for size in sizes)
        return None

    def inconsistencies(self) -> list[str]:
        """Read the whole store and describe each contradiction in it.

        Every record must be legal, and every cell must be the aggregate of its trials; an imported
        cell may have fewer trials than it was computed from.
        """
        with self.reading() as connection:
            found = [] if self.location.is_postgresql else _find_damage(connection)
            for read in (rows.read_datasets, rows.read_models):
                try:
                    read(connection)
                except UserError as error:
                    found.append(str(error))
            for dataset, key in sorted(rows.dataset_keys(connection).items()):
                try:
                    found += [f"{dataset}: {text}" for text in _check_dataset(connection, key)]
                except (ValueError, LookupError, UserError) as error:
                    # the row of an illegal record cannot be read
                    found.append(f"{dataset}: {error}")
        return found


@rows.as_written
def _summary(connection: Connection, store: str, size: int | None) -> dict[str, Any]:
    datasets, models, cells = tables.datasets, tables.models, tables.cells
    schemas = tables.metafeature_schemas

    def count_of(table: Table) -> Select[Any]:
        return select(func.count()).select_from(table)

    def number(query: Select[Any]) -> int:
        return connection.scalar(query) or 0

    def counts(*columns: Any, query: Select[Any] | None = None) -> list[tuple[Any, ...]]:
        query = select(*columns, func.count()) if query is None else query
        return sorted(tuple(row) for row in connection.execute(query.group_by(*columns)))

    facts = {row.key: row.value for row in connection.execute(select(tables.meta))}
    versions = (schemas.c.name, schemas.c.version)
    vectors = select(*versions, func.count()).join(tables.metafeatures)
    return {
        "store": store,
        "schema_version": int(facts["schema_version"]),
        "created": facts["created"],
        "package_version": facts["package_version"],
        "size_bytes": size,
        "datasets": number(count_of(datasets)),
        "origins": number(select(func.count(datasets.c.origin.distinct()))),
        "collections": dict(counts(datasets.c.collection)),
        "models": number(count_of(models).where(models.c.is_reference.is_(False))),
        "references": number(count_of(models).where(models.c.is_reference)),
        "families": dict(counts(models.c.family)),
        "cells": {str(state): count for state, count in counts(cells.c.state)},
        "imported_cells": number(count_of(cells).where(cells.c.imported)),
        "evaluations": number(count_of(tables.evaluations)),
        "most_trials": number(select(func.max(cells.c.n_trials))),
        "engine_versions": dict(counts(tables.evaluations.c.engine_version)),
        "metafeatures": [
            {"schema": name, "version": version, "datasets": count}
            for name, version, count in counts(*versions, query=vectors)
        ],
    }


@rows.as_written
def _read_performance(connection: Connection, measure: str) -> pd.DataFrame:
    cells = tables.cells
    query = select(cells.c.dataset, cells.c.model, type_coerce(cells.c[measure], Double))
    # plain tuples, of which pandas makes columns twice as fast; NULL becomes NaN
    found = [tuple(row) for row in connection.execute(query)]
    return pd.DataFrame(found, columns=["row", "column", "P"]).astype({"P": np.float64})


@rows.as_written
def read_frame(connection: Connection, table: Table) -> pd.DataFrame:
    """Read a table of cells or evaluations, with names for keys, ordered by identity."""
    found = [tuple(row) for row in connection.execute(select(table))]
    frame = pd.DataFrame(found, columns=table.columns.keys())
    keys = {"dataset": rows.dataset_keys(connection), "model": rows.model_keys(connection)}
    for name, known in keys.items():
        frame[name] = frame[name].map({key: text for text, key in known.items()}).astype(str)
    for column in table.columns:
        if column.type.python_type in (float, bool):
            frame[column.name] = frame[column.name].astype(column.type.python_type)
    return frame.sort_values([item.name for item in table.primary_key], ignore_index=True)


def _finished_trials(
    connection: Connection,
    datasets: Sequence[int],
    wanted: Mapping[int, int],
    states: Sequence[CellState],
) -> defaultdict[int, set[tuple[int | None, int]]]:
    found: defaultdict[int, set[tuple[int | None, int]]] = defaultdict(set)
    trials, cells = tables.evaluations, tables.cells
    query = select(trials.c.dataset, trials.c.model, trials.c.trial).where(
        trials.c.dataset.in_(datasets), trials.c.state.in_(states)
    )
    for dataset, model, trial in connection.execute(query):
        found[dataset].add((model, trial))
    imported = select(cells.c.dataset, cells.c.model, cells.c.n_trials).where(
        cells.c.dataset.in_(datasets), cells.c.state.in_(states), cells.c.imported
    )
    for dataset, model, n_trials in connection.execute(imported):
        if n_trials >= wanted.get(model, 0):
            found[dataset].update((model, trial) for trial in range(n_trials))
    return found


def _find_damage(connection: Connection) -> list[str]:
    found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return [text for text in found if text != "ok"] + [
        f"a row of {row[0]} refers to a row of {row[2]} that does not exist" for row in orphans
    ]


def _check_dataset(connection: Connection, key: int) -> Iterator[str]:
    content = rows.read_content(connection, key)
    computed = {cell.model: cell for cell in rows.aggregate(content.evaluations)}
    stored = {cell.model: cell for cell in content.cells}
    for model in sorted(computed.keys() | stored.keys()):
        cell, expected = stored.get(model), computed.get(model)
        name = f"the cell of {model}"
        if cell is None:
            yield f"{name} is missing, although it has trials"
        elif expected is None and not cell.imported:
            yield f"{name} has no trials"
        elif expected is not None and cell.imported and cell.n_trials > expected.n_trials:
            continue  # it stays until the store holds as many trials
        # compared as text, in which NaN equals NaN and every number is exact
        elif expected is not None and repr(cell) != repr(expected):
            yield f"{name} is not the aggregate of its trials"
