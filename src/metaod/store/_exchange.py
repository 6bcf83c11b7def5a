"""A store to Parquet files and back: what is shared, committed and read by other programs."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from sqlalchemy import Connection, select

from metaod.errors import BadParameter, UserError
from metaod.store import _exchange_format as form
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store._exchange_reader import ExportedStore
from metaod.store._matrix import cells_frame, metafeature_matrix
from metaod.store._merging import MergeReport, Prefer, merge
from metaod.store._store import Store

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["export_parquet", "import_parquet"]


def export_parquet(
    store: Store,
    folder: str | PathLike[str],
    *,
    decimals: int | None = 4,
    evaluations: bool = False,
) -> Path:
    """Write a store's content as Parquet files, with a manifest.

    See :mod:`metaod.store._exchange_format` for the files.

    Parameters
    ----------
    store : Store
        What to write.
    folder : path-like
        Where; made where there is none. What an earlier export left there is replaced.
    decimals : int or None, default=4
        Digits to which the cells' measures are rounded, and their times to three significant
        ones; None for all. Evaluations and meta-features are never rounded.
    evaluations : bool, default=False
        Whether to write every trial, too; otherwise cells arrive without their trials.

    Returns
    -------
    Path
        The folder.
    """
    if decimals is not None and not 1 <= decimals <= 15:
        raise BadParameter("export_parquet", "decimals", "in [1, 15] or None", decimals)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = form.read_manifest(folder) if (folder / form.MANIFEST).exists() else {}
        # what refers before what it refers to, so that a builder that adds meanwhile does not hurt
        files = {"cells.parquet": _cells(store, decimals)} | _metafeatures(store)
        if evaluations:
            files["evaluations.parquet"] = _evaluations(store)
        files["datasets.parquet"] = _datasets(store)
        files["models.parquet"] = _models(store)
        entries = {
            file: form.write_table(folder / file, _to_arrow(file, frame))
            for file, frame in files.items()
        }
        form.write_manifest(folder, entries, decimals)
        for file in earlier.keys() - entries.keys():
            (folder / file).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be written ({error.strerror or error})",
            where=str(folder),
            remedy="name another folder, or free some space",
        ) from error
    return folder


def _datasets(store: Store) -> pd.DataFrame:
    with store.reading() as connection:
        return _frame(connection, schema.datasets).sort_values("fingerprint")


def _models(store: Store) -> pd.DataFrame:
    with store.reading() as connection:
        return _frame(connection, schema.models).sort_values("id")


def _cells(store: Store, decimals: int | None) -> pd.DataFrame:
    frame = cells_frame(store)
    if decimals is not None:
        for name, kind in form.TABLES["cells.parquet"].items():
            if kind == "double" and name != "seconds":
                frame[name] = frame[name].round(decimals)
        frame["seconds"] = [float(f"{value:.2e}") for value in frame["seconds"]]
    return frame


def _evaluations(store: Store) -> pd.DataFrame:
    with store.reading() as connection:
        frame = _frame(connection, schema.evaluations)
        for name, keys in (
            ("dataset", rows.dataset_keys(connection)),
            ("model", rows.model_keys(connection)),
        ):
            frame[name] = frame[name].map({key: text for text, key in keys.items()})
    return frame.sort_values(["dataset", "mode", "model", "trial"])


def _metafeatures(store: Store) -> dict[str, pd.DataFrame]:
    with store.reading() as connection:
        known = list(rows.read_schemas(connection))
    return {
        form.metafeature_file(*place): metafeature_matrix(store, *place).sort_index().reset_index()
        for place in known
    }


def _frame(connection: Connection, table: Any) -> pd.DataFrame:
    found = connection.execute(select(table)).all()
    return pd.DataFrame(found, columns=list(table.columns.keys()), dtype=object)


def _to_arrow(file: str, frame: pd.DataFrame) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few need it

    kinds = form.TABLES.get(file)
    if kinds is None:
        kinds = dict.fromkeys(frame.columns, "double") | {"dataset": "string"}
    columns = [(name, pa.type_for_alias(kind)) for name, kind in kinds.items()]
    arrays = [pa.array(frame[name], kind, from_pandas=True) for name, kind in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema(columns))


def import_parquet(
    store: Store, folder: str | PathLike[str], *, prefer: Prefer = "target"
) -> MergeReport:
    """Merge what :func:`export_parquet` wrote into a store.

    Everything is read and checked first (checksums, columns, types, ranges, references); one
    wrong value and nothing is written. Cells whose trials are not among the files are marked as
    imported.

    Parameters
    ----------
    store : Store
        What to add to.
    folder : path-like
        Where the files are.
    prefer : {"target", "source"}, default="target"
        Whose values are kept in a conflict; see :func:`~metaod.store._merging.merge`.
    """
    exported = ExportedStore(Path(folder))
    with Store("sqlite://", create=True) as read:
        with read.writing() as connection:
            _fill(connection, exported)
        return merge(store, read, prefer=prefer)


def _fill(connection: Connection, exported: ExportedStore) -> None:
    rows.insert_datasets(connection, exported.datasets)
    rows.insert_models(connection, exported.models)
    datasets, models = rows.dataset_keys(connection), rows.model_keys(connection)
    with_trials: dict[str, set[tuple[str, str]]] = {}
    for dataset, evaluations in exported.evaluations():
        rows.replace_evaluations(connection, datasets[dataset], evaluations, models)
        with_trials[dataset] = {(item.mode, item.model) for item in evaluations}
    for dataset, cells in exported.cells():
        there = with_trials.get(dataset, set())
        bare = [item for item in cells if (item.mode, item.model) not in there]
        rows.replace_cells(connection, datasets[dataset], bare, models)
    for dataset, vector in exported.metafeatures():
        rows.replace_metafeatures(connection, datasets[dataset], [vector])
