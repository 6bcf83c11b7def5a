"""A store as Parquet files, to be shared, committed and read by other programs.

========================================  =====================================================
``datasets.parquet``                      one row a dataset
``models.parquet``                        one row a model
``cells.parquet``                         one row a dataset and model; figures are null
                                          where the state is not ok
``evaluations.parquet``                   one row a dataset, model and trial (optional)
``metafeatures-SCHEMA-VERSION.parquet``   one row a dataset, one column a feature; an earlier
                                          version only if a later one does not contain it
``manifest.json``                         format, version, and each file's rows and SHA-256
========================================  =====================================================

Rows are sorted by identity and nothing depends on when or where the files are written: the same
content gives the same bytes with the same version of pyarrow. Columns are dictionary-encoded and
compressed with zstd.
"""

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
from sqlalchemy import Connection, Table, select

from metaod._files import replace_file
from metaod.artifacts import check_signature, signature
from metaod.errors import BadFile, BadParameter, UserError
from metaod.history import MEASURES, Evaluation
from metaod.learners import OnStep
from metaod.models import CellState, ModelSpec
from metaod.store import _rows as rows
from metaod.store import _schema as schema
from metaod.store._merging import MergeReport, check_preference, merge_source
from metaod.store._queries import read_frame
from metaod.store._rows import Content
from metaod.store._schema import Cell, DatasetRecord, MetaFeatureRecord, ModelRecord
from metaod.store._store import Store

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT = "metaod-exchange"
_FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
_AGAIN = "export it again, or get another copy"
# ten times the rows of all models on all public datasets; a file that claims more is refused
_MAX_ROWS = 20_000_000

# the table of each file; those of numbers alone need no others
_TABLES: Mapping[str, Table] = {
    "datasets.parquet": schema.datasets,
    "models.parquet": schema.models,
    "cells.parquet": schema.cells,
    "evaluations.parquet": schema.evaluations,
}
_ARROW = {int: "int64", float: "double", bool: "bool", bytes: "binary"}
_METAFEATURE_FILE = re.compile(r"metafeatures-([a-z][a-z0-9_]{0,63})-([0-9]{1,9})\.parquet")


def _columns(file: str) -> dict[str, str]:
    """Return the columns of a file with their types: those of its table, with names for keys."""
    return {
        column.name: "string"
        if column.foreign_keys
        else _ARROW.get(column.type.python_type, "string")
        for column in _TABLES[file].columns
        if column.name not in ("key", "imported")
    }


def export_parquet(
    store: Store,
    folder: str | PathLike[str],
    *,
    decimals: int | None = 4,
    evaluations: bool = False,
    sign: str | PathLike[str] | None = None,
) -> Path:
    """Write a store's content as Parquet files, with a manifest; return the folder.

    See :mod:`metaod.store._exchange` for the files.

    Parameters
    ----------
    store : Store
        The store to write.
    folder : path-like
        The folder; it is created if needed, and the files of an earlier export are replaced.
    decimals : int or None, default=4
        Decimals to which the cells' measures are rounded, and then their times to three
        significant digits; None for no rounding. Evaluations and meta-features are never rounded.
    evaluations : bool, default=False
        Whether to write every trial too; without them cells are imported without their trials.
    sign : path-like, optional
        The file of a key, with which the manifest is signed.
    """
    if decimals is not None and not 4 <= decimals <= 15:  # see ROUNDED_TOLERANCE
        raise BadParameter("export_parquet", "decimals", "in [4, 15] or None", decimals)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # whoever signed them, files of an earlier export are replaced
        is_again = (folder / _MANIFEST).exists()
        earlier = _read_manifest(folder, to_replace=True) if is_again else {}
        entries = {
            file: _write_table(folder / file, _to_arrow(file, frame))
            for file, frame in _frames(store, decimals, evaluations).items()
        }
        _write_manifest(folder, entries, decimals, sign)
        for file in earlier.keys() - entries.keys():
            (folder / file).unlink(missing_ok=True)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        remedy = "name another folder, or free some space"
        raise UserError(what, where=str(folder), remedy=remedy) from error
    return folder


def _frames(store: Store, decimals: int | None, evaluations: bool) -> dict[str, pd.DataFrame]:
    # rows that refer to others are read first, because a build may still be writing
    cells = store.cells_frame()
    if decimals is not None:
        for name in (*MEASURES, *(f"{name}_std" for name in MEASURES)):
            cells[name] = cells[name].round(decimals)
        cells["seconds"] = [float(f"{value:.2e}") for value in cells["seconds"]]
    frames = {"cells.parquet": cells}
    with store.reading() as connection:
        schemas = list(rows.read_schemas(connection))
    matrices = {item: store.metafeature_matrix(*item).sort_index() for item in schemas}
    for (name, version), matrix in matrices.items():
        later = [matrices[item] for item in schemas if item[0] == name and item[1] > version]
        if not any(_contains(other, matrix) for other in later):
            frames[f"metafeatures-{name}-{version}.parquet"] = matrix.reset_index()
    with store.reading() as connection:
        if evaluations:
            frames["evaluations.parquet"] = read_frame(connection, schema.evaluations)
        datasets, models = _read(connection, schema.datasets), _read(connection, schema.models)
        frames["datasets.parquet"] = datasets.sort_values("fingerprint")
        frames["models.parquet"] = models.sort_values("id")
    return frames


def _contains(later: pd.DataFrame, matrix: pd.DataFrame) -> bool:
    """Return whether a later version has all the datasets and features of a matrix."""
    return set(later.index) >= set(matrix.index) and set(later.columns) >= set(matrix.columns)


def _read(connection: Connection, table: Table) -> pd.DataFrame:
    found = connection.execute(select(table)).all()
    return pd.DataFrame(found, columns=list(table.columns.keys()), dtype=object)


def _to_arrow(file: str, frame: pd.DataFrame) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few need it

    types = dict.fromkeys(frame.columns, "double") | {"dataset": "string"}
    types = _columns(file) if file in _TABLES else types
    columns = [(name, pa.type_for_alias(kind)) for name, kind in types.items()]
    arrays = [pa.array(frame[name], kind, from_pandas=True) for name, kind in columns]
    return pa.Table.from_arrays(arrays, schema=pa.schema(columns))


def _write_table(path: Path, table: "pa.Table") -> dict[str, Any]:
    """Write a table; return its entry in the manifest."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import, and few need it

    write = partial(
        pq.write_table,
        table,
        row_group_size=max(1, table.num_rows),
        compression="zstd",
        compression_level=19,
        use_dictionary=True,
        write_statistics=False,
        store_schema=False,
    )
    replace_file(path, write)
    return {"rows": table.num_rows, "sha256": _sha256(path)}


def _write_manifest(
    folder: Path,
    files: Mapping[str, Any],
    decimals: int | None,
    sign: str | PathLike[str] | None,
) -> None:
    header = {"format": _FORMAT, "version": _FORMAT_VERSION, "decimals": decimals}
    manifest = {**header, "files": dict(sorted(files.items()))}
    if sign is not None:
        manifest["signature"] = signature(_signed_part(manifest), sign).hex()
    text = json.dumps(manifest, indent=2) + "\n"
    replace_file(folder / _MANIFEST, lambda stream: stream.write(text.encode()))


def _signed_part(manifest: Mapping[str, Any]) -> bytes:
    unsigned = {name: item for name, item in manifest.items() if name != "signature"}
    return json.dumps(unsigned, sort_keys=True).encode()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def import_parquet(
    store: Store,
    folder: str | PathLike[str],
    *,
    prefer: str = "target",
    progress: OnStep | None = None,
) -> MergeReport:
    """Merge files that :func:`export_parquet` wrote into a store.

    Everything is checked (checksums, columns, types, ranges, references); after one wrong value
    nothing is written. Cells whose trials are not in the files are marked as imported.

    Parameters
    ----------
    store : Store
        The store that is written.
    folder : path-like
        The folder of the files.
    prefer : {"target", "source"}, default="target"
        Whose values are kept in a conflict; see :func:`~metaod.store.merge`.
    progress : callable, optional
        Called with what is imported, how many are done, and how many there are.
    """
    check_preference(prefer)
    return merge_source(store, _ExportedStore(Path(folder)), prefer, progress)


_Record = TypeVar("_Record")
_Row = dict[str, Any]
_BATCH = 20_000


class _ExportedStore:
    """The records of an exported store; rows must be sorted, legal, and refer to known ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries = _read_manifest(folder)
        for file in _TABLES:
            if file not in self._entries and file != "evaluations.parquet":
                manifest = folder / _MANIFEST
                raise BadFile(manifest, f"does not list {file}", remedy="export it again")
        datasets = self._records("datasets.parquet", ("fingerprint",), lambda r: DatasetRecord(**r))
        self.datasets = list(datasets)
        self.models = list(self._records("models.parquet", ("id",), _model))
        self._fingerprints = {item.fingerprint for item in self.datasets}
        self._model_ids = {item.id for item in self.models}

    def contents(self) -> Iterator[tuple[str, Content]]:
        vectors = defaultdict(list)
        for file in sorted(self._entries):
            found = _METAFEATURE_FILE.fullmatch(file)
            if found is not None:
                build = partial(_vector, found[1], int(found[2]))
                for dataset, vector in self._records(file, ("dataset",), build):
                    vectors[dataset].append(vector)
        build_cell = partial(_result, partial(Cell, imported=True))
        cells = self._records("cells.parquet", ("dataset", "model"), build_cell)
        trials: Iterator[tuple[str, Evaluation]] = iter(())
        if "evaluations.parquet" in self._entries:
            identity = ("dataset", "model", "trial")
            trials = self._records("evaluations.parquet", identity, partial(_result, Evaluation))
        names = sorted(self._fingerprints)
        for dataset, evaluations, stored in zip(
            names, _by_dataset(trials, names), _by_dataset(cells, names), strict=True
        ):
            computed = rows.aggregate(evaluations)
            models = {cell.model for cell in computed}
            without_trials = [cell for cell in stored if cell.model not in models]
            yield dataset, Content(evaluations, [*computed, *without_trials], vectors[dataset])

    def _records(
        self, file: str, identity: tuple[str, ...], build: Callable[[_Row], _Record]
    ) -> Iterator[_Record]:
        path = self._folder / file
        last: tuple[Any, ...] = ()
        for number, row in enumerate(_read_rows(self._folder, file, self._entries[file]), start=1):
            key = tuple(row[name] for name in identity)
            if "dataset" in identity and row["dataset"] not in self._fingerprints:
                what = f"row {number} names an unknown dataset"
                raise BadFile(path, what, column="dataset", remedy=_AGAIN)
            if "model" in identity and row["model"] not in self._model_ids:
                what = f"row {number} names an unknown model"
                raise BadFile(path, what, column="model", remedy=_AGAIN)
            if key <= last:
                raise BadFile(path, f"row {number} is not after the one before it", remedy=_AGAIN)
            last = key
            try:
                yield build(row)
            except (ValueError, TypeError, AttributeError) as error:
                raise BadFile(path, f"row {number}: {error}", remedy=_AGAIN) from error


def _by_dataset(
    pairs: Iterator[tuple[str, _Record]], datasets: list[str]
) -> Iterator[list[_Record]]:
    # pairs and datasets are both sorted
    groups = groupby(pairs, key=itemgetter(0))
    following, group = next(groups, (None, iter(())))
    for dataset in datasets:
        if dataset == following:
            yield [record for _, record in group]
            following, group = next(groups, (None, iter(())))
        else:
            yield []


def _model(row: _Row) -> ModelRecord:
    spec = ModelSpec(row["family"], json.loads(row["params"]), row["scaling"])
    if spec.id != row["id"]:
        raise ValueError(f"{row['id']} has the hyperparameters of {spec.id}")
    return ModelRecord(spec, row["is_reference"])


def _result(kind: Callable[..., _Record], row: _Row) -> tuple[str, _Record]:
    state = CellState(row.pop("state"))
    return row.pop("dataset"), kind(state=state, **row)


def _vector(name: str, version: int, row: _Row) -> tuple[str, MetaFeatureRecord]:
    dataset = row.pop("dataset")
    return dataset, MetaFeatureRecord(name, version, tuple(row), list(row.values()))


def _read_rows(folder: Path, file: str, entry: Mapping[str, Any]) -> Iterator[_Row]:
    """Read a table, and refuse one that differs from its entry in the manifest."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and few need it
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    path = folder / file
    if not path.is_file():
        raise BadFile(path, f"is missing, but {_MANIFEST} lists it", remedy=_AGAIN)
    if _sha256(path) != entry["sha256"]:
        raise BadFile(path, f"is not the file that {_MANIFEST} lists", remedy=_AGAIN)
    try:
        with pq.ParquetFile(path) as parquet:
            n_rows = parquet.metadata.num_rows
            if n_rows != entry["rows"] or n_rows > _MAX_ROWS:
                raise BadFile(path, f"has {n_rows} rows, not {entry['rows']}", remedy=_AGAIN)
            _check_columns(path, file, parquet.schema_arrow)
            table = parquet.read()
            table.validate(full=True)  # texts that are none
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadFile(path, f"cannot be read as Parquet: {error}", remedy=_AGAIN) from error
    for name in table.column_names:
        known = _TABLES.get(file)
        if known is not None and not known.c[name].nullable and table[name].null_count:
            raise BadFile(path, "has missing values", column=name, remedy=_AGAIN)
    for batch in table.to_batches(_BATCH):
        columns = [
            (
                column.fill_null(math.nan) if pa.types.is_floating(column.type) else column
            ).to_pylist()
            for column in batch.columns
        ]
        for values in zip(*columns, strict=True):
            yield dict(zip(table.column_names, values, strict=True))


def _check_columns(path: Path, file: str, found: "pa.Schema") -> None:
    columns = {field.name: str(field.type) for field in found}
    vectors = {"dataset": "string"} | dict.fromkeys(found.names[1:], "double")
    legal = _columns(file) if file in _TABLES else vectors
    if list(columns.items()) != list(legal.items()) or len(found.names) != len(columns):
        what = f"has the columns {_shortened(columns)}, not {_shortened(legal)}"
        remedy = "export it again with this version of metaod"
        raise BadFile(path, what, remedy=remedy)


def _shortened(columns: Mapping[str, str]) -> str:
    items = [f"{name}: {kind}" for name, kind in columns.items()]
    return ", ".join(items[:20]) + (", ..." if len(items) > 20 else "")


def _read_manifest(folder: Path, *, to_replace: bool = False) -> dict[str, dict[str, Any]]:
    path = folder / _MANIFEST
    if not path.is_file():
        remedy = "name a folder made with: metaod db export"
        raise BadFile(folder, f"holds no {_MANIFEST}", remedy=remedy)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != _FORMAT:
            raise ValueError(manifest["format"])
        version, files = int(manifest["version"]), dict(manifest["files"])
        signed = bytes.fromhex(manifest["signature"]) if "signature" in manifest else None
        entries = {
            str(file): {"rows": int(item["rows"]), "sha256": str(item["sha256"])}
            for file, item in files.items()
        }
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        remedy = "name another folder" if to_replace else "export it again"
        raise BadFile(path, "is not the manifest of an export", remedy=remedy) from error
    if version != _FORMAT_VERSION:
        what = f"has format version {version}; this package reads version {_FORMAT_VERSION}"
        remedy = "upgrade metaod" if version > _FORMAT_VERSION else "export it again"
        raise BadFile(path, what, remedy=remedy)
    if not to_replace:
        check_signature(path, _signed_part(manifest), signed)
    for file in entries:
        if file not in _TABLES and _METAFEATURE_FILE.fullmatch(file) is None:
            raise BadFile(path, f"lists {file!r}, which is no file of an export", remedy=_AGAIN)
    return entries
