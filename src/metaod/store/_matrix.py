"""What learners read: the performance matrix P, the meta-features M, and the cells in long form."""

from collections.abc import Iterable
from dataclasses import asdict

import numpy as np
import pandas as pd
from sqlalchemy import select

from metaod.errors import BadParameter
from metaod.history import MEASURES
from metaod.models import Mode
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store._store import Store

__all__ = ["cells_frame", "datasets_frame", "metafeature_matrix", "performance_matrix"]


def performance_matrix(
    store: Store,
    measure: str = "ap",
    *,
    mode: Mode = Mode.FAST,
    models: Iterable[str] | None = None,
) -> pd.DataFrame:
    """Performance of every model on every dataset, the paper's P.

    Parameters
    ----------
    store : Store
        Where the cells are.
    measure : {"ap", "roc_auc", "precision_at_n", "seconds"}, default="ap"
        What a cell holds: the mean over its trials.
    mode : Mode, default=Mode.FAST
        How faithful to PyOD's own bits the scores are.
    models : iterable of str, optional
        Ids of the columns, in this order; without it all models that are no references, in the
        order of specs.

    Returns
    -------
    pandas.DataFrame
        Datasets (fingerprints, ordered by collection and name) that have a cell of these models
        in this mode × models. NaN where there is no cell or it is not ok: never a zero.
    """
    legal = (*MEASURES, "seconds")
    if measure not in legal:
        raise BadParameter("performance_matrix", "measure", legal, measure)
    table = schema.cells
    with store.reading() as connection:
        dataset_keys, model_keys = rows.dataset_keys(connection), rows.model_keys(connection)
        if models is None:
            columns = [item.id for item in rows.read_models(connection) if not item.is_reference]
        else:
            columns = list(models)
        for name in columns:
            if name not in model_keys:
                raise BadParameter("performance_matrix", "models", "models of the store", name)
        fingerprints = [item.fingerprint for item in rows.read_datasets(connection)]
        found = connection.execute(
            select(table.c.dataset, table.c.model, table.c[measure]).where(
                table.c.mode == mode.value
            )
        ).all()
    dataset, model, value = zip(*found, strict=True) if found else ((), (), ())
    # places of keys in the matrix; -1 for what is not asked for
    row_of = _places(dataset_keys, fingerprints)
    column_of = _places(model_keys, columns)
    i, j = row_of[np.array(dataset, dtype=np.intp)], column_of[np.array(model, dtype=np.intp)]
    P = np.full((len(fingerprints), len(columns)), np.nan)
    P[i[j >= 0], j[j >= 0]] = np.array(value, dtype=np.float64)[j >= 0]
    filled = np.zeros(len(fingerprints), dtype=bool)
    filled[i[j >= 0]] = True
    frame = pd.DataFrame(
        P,
        index=pd.Index(fingerprints, dtype=object, name="dataset"),
        columns=pd.Index(columns, dtype=object, name="model"),
    )
    return frame[filled]


def _places(keys: dict[str, int], names: list[str]) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    places = np.full(max(keys.values(), default=0) + 1, -1, dtype=np.intp)
    places[[keys[name] for name in names]] = np.arange(len(names))
    return places


def metafeature_matrix(store: Store, schema_name: str, version: int | None = None) -> pd.DataFrame:
    """Meta-features of every dataset by one schema, the paper's M.

    Parameters
    ----------
    store : Store
        Where the vectors are.
    schema_name : str
        The schema.
    version : int, optional
        Its version; without it the newest that the store holds.

    Returns
    -------
    pandas.DataFrame
        Datasets (fingerprints, ordered by collection and name) that have a vector × features.
    """
    vectors, names = schema.metafeatures, schema.datasets
    with store.reading() as connection:
        known = rows.read_schemas(connection)
        chosen = [
            place for place in known if place[0] == schema_name and version in (None, place[1])
        ]
        if not chosen:
            raise BadParameter(
                "metafeature_matrix",
                "schema_name",
                [f"{name} {number}" for name, number in known],
                schema_name if version is None else f"{schema_name} {version}",
            )
        key, features = known[max(chosen)]
        found = connection.execute(
            select(names.c.fingerprint, vectors.c.vector)
            .join(vectors, vectors.c.dataset == names.c.key)
            .where(vectors.c.schema == key)
            .order_by(names.c.collection, names.c.name, names.c.fingerprint)
        ).all()
    M = np.array([np.frombuffer(item.vector, "<f8") for item in found], dtype=np.float64)
    return pd.DataFrame(
        M.reshape(len(found), len(features)),
        index=pd.Index([item.fingerprint for item in found], dtype=object, name="dataset"),
        columns=pd.Index(features, dtype=object, name="feature"),
    )


def datasets_frame(store: Store) -> pd.DataFrame:
    """All datasets, one a row, by collection and name."""
    records = store.datasets()
    columns = list(schema.datasets.columns.keys())[1:]
    frame = pd.DataFrame([asdict(record) for record in records], columns=columns)
    frame.insert(
        columns.index("n_outliers") + 1,
        "outlier_share",
        [record.outlier_share for record in records],
    )
    return frame


def cells_frame(store: Store, *, mode: Mode | None = None) -> pd.DataFrame:
    """All cells, one a row, ordered by dataset (fingerprint), mode and model id.

    Parameters
    ----------
    store : Store
        Where the cells are.
    mode : Mode, optional
        Only those of this mode.
    """
    table = schema.cells
    query = select(table)
    if mode is not None:
        query = query.where(table.c.mode == mode.value)
    with store.reading() as connection:
        datasets = {key: name for name, key in rows.dataset_keys(connection).items()}
        models = {key: name for name, key in rows.model_keys(connection).items()}
        found = connection.execute(query).all()
    frame = pd.DataFrame(found, columns=list(table.columns.keys()))
    frame["dataset"] = frame["dataset"].map(datasets).astype(str)
    frame["model"] = frame["model"].map(models).astype(str)
    for column in table.columns:
        if column.type.python_type is float:
            frame[column.name] = frame[column.name].astype(np.float64)
    frame["imported"] = frame["imported"].astype(bool)
    return frame.sort_values(["dataset", "mode", "model"], ignore_index=True)
