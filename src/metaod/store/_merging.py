"""Merging: add to a store what another source has and it lacks, and report contradictions."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from sqlalchemy import Connection

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES, Evaluation, Sketch
from metaod.learners import Progress
from metaod.store import _rows as rows
from metaod.store._records import (
    Cell,
    DatasetRecord,
    JoinedOrigin,
    MetaFeatureRecord,
    ModelRecord,
)
from metaod.store._store import Store

Prefer = Literal["target", "source"]

# how many conflicts a report holds in full; the others are counted
_MAX_EXAMPLES = 1000

_TOLERANCE = 1e-9
# cells without their trials may have been rounded to four digits
_CELL_TOLERANCE = 1.01e-4


@dataclass(frozen=True)
class Conflict:
    """Two stores that disagree, for example about one evaluation.

    The kind is ``"name"`` (one name, two fingerprints), ``"dataset"``, ``"model"``,
    ``"evaluation"``, ``"cell"`` or ``"meta-features"``.
    """

    kind: str
    where: str
    target: str
    source: str

    def __str__(self) -> str:
        return f"{self.kind} of {self.where}: {self.target} here, {self.source} there"


@dataclass
class MergeReport:
    """What a merge added, and the conflicts it found.

    The counters `added` and `replaced` count datasets, models, evaluations, cells (those without
    their trials) and meta-features; `conflict_counts` counts conflicts by kind, and `conflicts`
    holds the first of them.
    """

    added: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    conflict_counts: Counter[str] = field(default_factory=Counter)
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def n_conflicts(self) -> int:
        return self.conflict_counts.total()

    def add_conflict(self, kind: str, where: str, target: object, source: object) -> None:
        self.conflict_counts[kind] += 1
        if len(self.conflicts) < _MAX_EXAMPLES:
            self.conflicts.append(Conflict(kind, where, str(target), str(source)))


@dataclass(frozen=True)
class DatasetContent:
    """Everything that a source holds about one dataset."""

    evaluations: Sequence[Evaluation]
    cells: Sequence[Cell]
    metafeatures: Sequence[MetaFeatureRecord]


class Source(Protocol):
    """Something that can be merged into a store."""

    datasets: list[DatasetRecord]
    models: list[ModelRecord]
    sketches: dict[str, Sketch]
    joined_origins: dict[str, JoinedOrigin]

    def contents(self) -> Iterator[tuple[str, DatasetContent]]:
        """Yield the content of each dataset with its fingerprint."""


class _StoreSource:
    def __init__(self, connection: Connection) -> None:
        self.datasets = rows.read_datasets(connection)
        self.models = rows.read_models(connection)
        self.sketches = rows.read_sketches(connection)
        self.joined_origins = rows.read_joined_origins(connection)
        self._connection = connection

    def contents(self) -> Iterator[tuple[str, DatasetContent]]:
        connection = self._connection
        for dataset, key in sorted(rows.dataset_keys(connection).items()):
            trials, cells = rows.read_evaluations(connection, key), rows.read_cells(connection, key)
            yield dataset, DatasetContent(trials, cells, rows.read_metafeatures(connection, key))


def merge(
    target: Store,
    source: Store,
    *,
    prefer: Prefer = "target",
    progress: Progress | None = None,
) -> MergeReport:
    """Add to one store what another has and it lacks, in one transaction.

    The same evaluation (dataset, model, trial and mode) with another state, or with a measure
    that differs by more than 1e-9, is a conflict; so is one fingerprint with another name,
    collection, shape or origin in the catalogue, one name with two fingerprints (both datasets
    are kept), one model that is a reference in only one store, and meta-features that differ by
    more than 1e-9 of their size. Times, reasons, versions, sources and licences may differ; the
    target's stay.

    A cell that was imported without its trials is replaced by evaluations of it, and is otherwise
    in conflict with another cell if it differs by more than 1e-4.

    A second merge changes nothing. Without conflicts both directions give the same content,
    apart from times, reasons and the like.

    Parameters
    ----------
    target : Store
        The store that is written.
    source : Store
        The store that is read.
    prefer : {"target", "source"}, default="target"
        Whose evaluations, imported cells and meta-features are kept in a conflict.
    progress : callable, optional
        Called with ``"datasets"`` and the numbers of datasets done and in all.
    """
    in_memory = target.location.is_sqlite and target.location.path is None
    if target.engine is source.engine or (target.location == source.location and not in_memory):
        raise UserError("a store cannot be merged into itself", where=str(target))
    with source.reading() as connection:
        return merge_source(target, _StoreSource(connection), prefer, progress)


def merge_source(
    target: Store, source: Source, prefer: Prefer, progress: Progress | None = None
) -> MergeReport:
    if prefer not in ("target", "source"):
        raise BadParameter("merge", "prefer", ("target", "source"), prefer)
    report = MergeReport()
    with target.writer_lock(), target.writing() as connection:
        _merge_datasets(connection, source, report)
        _merge_models(connection, source.models, report)
        keys, models = rows.dataset_keys(connection), rows.model_keys(connection)
        for done, (dataset, content) in enumerate(source.contents(), start=1):
            merger = _DatasetMerger(connection, dataset, keys[dataset], models, report, prefer)
            merger.merge(content)
            if progress is not None:
                progress("datasets", done, len(source.datasets))
    return report


def _merge_datasets(connection: Connection, source: Source, report: MergeReport) -> None:
    joined_here = rows.read_joined_origins(connection)
    mine = {item.fingerprint: item for item in rows.read_datasets(connection)}
    named = {(item.collection, item.name): item.fingerprint for item in mine.values()}
    for item in source.datasets:
        known = mine.get(item.fingerprint)
        if known is not None:
            here, there = _identity(known, joined_here), _identity(item, source.joined_origins)
            if here != there:
                report.add_conflict("dataset", item.fingerprint, here, there)
            continue
        other = named.get((item.collection, item.name))
        if other is not None:
            report.add_conflict("name", item.name, other, item.fingerprint)
    report.added["datasets"] += rows.insert_datasets(connection, source.datasets)
    rows.insert_sketches(connection, source.sketches)
    for item in source.datasets:
        joined = source.joined_origins.get(item.fingerprint)
        if joined is not None and item.fingerprint not in mine:
            rows.replace_origin(connection, item.fingerprint, item.origin, joined)


def _identity(item: DatasetRecord, joined: Mapping[str, JoinedOrigin]) -> tuple[object, ...]:
    shape = (item.n_rows, item.n_columns, item.n_outliers)
    before = joined.get(item.fingerprint)
    origin = item.origin if before is None else before.catalogue_origin
    return (item.collection, item.name, origin, *shape)


def _merge_models(
    connection: Connection, theirs: Sequence[ModelRecord], report: MergeReport
) -> None:
    mine = {item.id: item for item in rows.read_models(connection)}
    for item in theirs:
        known = mine.get(item.id, item)
        if known.is_reference != item.is_reference:
            roles = ("a model to pick", "a reference")
            mine_is, theirs_is = roles[known.is_reference], roles[item.is_reference]
            report.add_conflict("model", item.id, mine_is, theirs_is)
    report.added["models"] += rows.insert_models(connection, theirs)


@dataclass(frozen=True)
class _DatasetMerger:
    connection: Connection
    dataset: str
    key: int
    models: Mapping[str, int]
    report: MergeReport
    prefer: Prefer

    def merge(self, content: DatasetContent) -> None:
        mine = {cell.key: cell for cell in rows.read_cells(self.connection, self.key)}
        for cell in content.cells:
            if cell.key in mine and not _cells_agree(mine[cell.key], cell):
                figures = [f"{_figures(c)} in {c.n_trials} trials" for c in (mine[cell.key], cell)]
                where = f"{cell.model} on {self.dataset}, {cell.mode}"
                self.report.add_conflict("cell", where, *figures)
        self._merge_evaluations(content.evaluations)
        write = []
        for cell in content.cells:
            known = mine.get(cell.key)
            if not cell.imported:
                continue
            if known is None:
                self.report.added["cells"] += 1
                write.append(cell)
            elif known.imported and not _cells_agree(known, cell) and self.prefer == "source":
                self.report.replaced["cells"] += 1
                write.append(cell)
        rows.replace_cells(self.connection, self.key, write, self.models)
        self._merge_metafeatures(content.metafeatures)

    def _merge_evaluations(self, theirs: Sequence[Evaluation]) -> None:
        if not theirs:
            return
        found = rows.read_evaluations(self.connection, self.key)
        mine = {rows.trial_key(item): item for item in found}
        write = []
        for item in theirs:
            known = mine.get(rows.trial_key(item))
            if known is None:
                self.report.added["evaluations"] += 1
                write.append(item)
            elif not _agree(known, item, _TOLERANCE):
                where = f"{item.model} on {self.dataset}, trial {item.trial}, {item.mode}"
                self.report.add_conflict("evaluation", where, _figures(known), _figures(item))
                if self.prefer == "source":
                    self.report.replaced["evaluations"] += 1
                    write.append(item)
        rows.replace_evaluations(self.connection, self.key, write, self.models)

    def _merge_metafeatures(self, theirs: Sequence[MetaFeatureRecord]) -> None:
        mine = {
            (item.schema, item.version): item
            for item in rows.read_metafeatures(self.connection, self.key)
        }
        for item in theirs:
            known = mine.get((item.schema, item.version))
            where = f"{self.dataset}, schema {item.schema} {item.version}"
            stored = rows.read_schemas(self.connection).get((item.schema, item.version))
            if stored is not None and stored[1] != item.features:
                # never written: the stored vectors would get wrong names
                self.report.add_conflict("meta-features", where, "its own names", "other names")
            elif known is None:
                self.report.added["meta-features"] += 1
                rows.replace_metafeatures(self.connection, self.key, [item])
            elif not np.allclose(
                known.values, item.values, rtol=_TOLERANCE, atol=1e-12, equal_nan=True
            ):
                self.report.add_conflict("meta-features", where, known.values, item.values)
                if self.prefer == "source":
                    self.report.replaced["meta-features"] += 1
                    rows.replace_metafeatures(self.connection, self.key, [item])


def _cells_agree(one: Cell, other: Cell) -> bool:
    if not one.imported and not other.imported:
        return True  # their trials are compared instead
    if one.n_trials != other.n_trials:
        # an aggregate of another number of trials need not be the same
        return not (one.imported and other.imported)
    return _agree(one, other, _CELL_TOLERANCE)


def _agree(one: Evaluation | Cell, other: Evaluation | Cell, tolerance: float) -> bool:
    if one.state != other.state:
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in MEASURES)
    return all((math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance for a, b in pairs)


def _figures(item: Evaluation | Cell) -> str:
    if math.isnan(item.ap):
        return str(item.state)
    return ", ".join(f"{name} {getattr(item, name):.10g}" for name in MEASURES)
