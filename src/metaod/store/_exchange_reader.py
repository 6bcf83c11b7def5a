"""Records out of an exported store's files, each checked as it is read."""

import json
import math
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from metaod.errors import BadFile
from metaod.history import Evaluation
from metaod.models import CellState, Mode, ModelSpec
from metaod.store import _exchange_format as form
from metaod.store._records import Cell, DatasetRecord, MetaFeatureRecord, ModelRecord

__all__ = ["ExportedStore"]

Record = TypeVar("Record")
Row = dict[str, Any]

_CELL = ("dataset", "mode", "model")
_BATCH = 20_000


class ExportedStore:
    """The content of a folder that :func:`~metaod.store._exchange.export_parquet` wrote.

    Every row must be in its place by the order of identities, which also means once only, hold
    legal values, and refer to datasets and models that are there; else :class:`BadFile`.

    Parameters
    ----------
    folder : Path
        Where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = form.read_manifest(folder)
        for file in form.TABLES:
            if file not in self._entries and file != "evaluations.parquet":
                raise BadFile(
                    folder / form.MANIFEST, f"does not list {file}", remedy="export it again"
                )
        self._datasets: set[str] = set()
        self._models: set[str] = set()
        self.datasets = list(
            self._records("datasets.parquet", ("fingerprint",), lambda row: DatasetRecord(**row))
        )
        self.models = list(self._records("models.parquet", ("id",), _model))
        self._datasets = {item.fingerprint for item in self.datasets}
        self._models = {item.id for item in self.models}

    def evaluations(self) -> Iterator[tuple[str, list[Evaluation]]]:
        """Each dataset's evaluations."""
        if "evaluations.parquet" in self._entries:
            found = self._records("evaluations.parquet", (*_CELL, "trial"), _of_dataset(Evaluation))
            yield from _by_dataset(found)

    def cells(self) -> Iterator[tuple[str, list[Cell]]]:
        """Each dataset's cells, all as imported."""
        yield from _by_dataset(self._records("cells.parquet", _CELL, _of_dataset(_imported_cell)))

    def metafeatures(self) -> Iterator[tuple[str, MetaFeatureRecord]]:
        """Every vector, with its dataset."""
        for file in sorted(self._entries):
            place = form.schema_of(file)
            if place is not None:
                yield from self._records(file, ("dataset",), _vector_of(*place))

    def _records(
        self, file: str, identity: tuple[str, ...], build: Callable[[Row], Record]
    ) -> Iterator[Record]:
        path = self.folder / file
        last: tuple[Any, ...] = ()
        number = 0
        for batch in form.read_table(self.folder, file, self._entries[file]).to_batches(_BATCH):
            for row in batch.to_pylist():
                number += 1
                place = tuple(row[name] for name in identity)
                if place <= last:
                    raise BadFile(path, f"row {number} is not after the one before it")
                last = place
                if "dataset" in identity and row["dataset"] not in self._datasets:
                    raise BadFile(path, f"row {number} names an unknown dataset", column="dataset")
                if "model" in identity and row["model"] not in self._models:
                    raise BadFile(path, f"row {number} names an unknown model", column="model")
                try:
                    yield build(row)
                except (ValueError, TypeError, AttributeError) as error:
                    raise BadFile(path, f"row {number}: {error}") from error


def _model(row: Row) -> ModelRecord:
    spec = ModelSpec(row["family"], json.loads(row["params"]), row["scaling"])
    if spec.id != row["id"]:
        raise ValueError(f"{row['id']} has the hyperparameters of {spec.id}")
    return ModelRecord(spec, row["is_reference"])


def _of_dataset(build: Callable[..., Record]) -> Callable[[Row], tuple[str, Record]]:
    def pair(row: Row) -> tuple[str, Record]:
        dataset = row.pop("dataset")
        row["mode"], row["state"] = Mode(row["mode"]), CellState(row["state"])
        for name, value in row.items():
            if value is None and name != "seed":
                row[name] = math.nan
        return dataset, build(**row)

    return pair


def _imported_cell(**row: Any) -> Cell:
    return Cell(**row, imported=True)


def _vector_of(schema: str, version: int) -> Callable[[Row], tuple[str, MetaFeatureRecord]]:
    def pair(row: Row) -> tuple[str, MetaFeatureRecord]:
        dataset = row.pop("dataset")
        values = [math.nan if value is None else value for value in row.values()]
        return dataset, MetaFeatureRecord(schema, version, tuple(row), values)

    return pair


def _by_dataset(pairs: Iterator[tuple[str, Record]]) -> Iterator[tuple[str, list[Record]]]:
    for dataset, group in groupby(pairs, key=lambda pair: pair[0]):
        yield dataset, [record for _, record in group]
