"""Merging: add to a store what another source has and it lacks, and report contradictions."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from sqlalchemy import Connection

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES, Evaluation
from metaod.learners import OnStep
from metaod.store import _rows as rows
from metaod.store._rows import Content
from metaod.store._schema import (
    ROUNDED_TOLERANCE,
    TOLERANCE,
    Cell,
    DatasetRecord,
    MetaFeatureRecord,
    ModelRecord,
)
from metaod.store._store import Store

# how many conflicts a report holds in full; the others are counted
_MAX_EXAMPLES = 1000


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


class Mergeable(Protocol):
    """Something that can be merged into a store."""

    datasets: list[DatasetRecord]
    models: list[ModelRecord]

    def contents(self) -> Iterator[tuple[str, Content]]:
        """Yield the content of each dataset with its fingerprint."""


class _OtherStore:
    def __init__(self, connection: Connection) -> None:
        self.datasets = rows.read_datasets(connection)
        self.models = rows.read_models(connection)
        self._connection = connection

    def contents(self) -> Iterator[tuple[str, Content]]:
        for dataset, key in sorted(rows.dataset_keys(self._connection).items()):
            yield dataset, rows.read_content(self._connection, key)


def merge(
    target: Store,
    source: Store,
    *,
    prefer: str = "target",
    progress: OnStep | None = None,
) -> MergeReport:
    """Add to one store what another has and it lacks, in one transaction.

    Conflicts are:

    - the same evaluation (dataset, model and trial) with another state, or with a measure that
      differs by more than 1e-9;
    - one fingerprint with another name, collection, shape or origin;
    - one name with two fingerprints (both datasets are kept);
    - one model that is a reference in only one store;
    - meta-features that differ by more than 1e-9 of their size.

    Times, reasons, versions, sources and licences may differ; the target's stay.

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
    check_preference(prefer)
    in_memory = target.location.path is None and not target.location.is_postgresql
    if target.engine is source.engine or (target.location == source.location and not in_memory):
        raise UserError("a store cannot be merged into itself", where=str(target))
    with source.reading() as connection:
        return merge_source(target, _OtherStore(connection), prefer, progress)


def check_preference(prefer: str) -> None:
    """Refuse what is neither of the two stores."""
    if prefer not in ("target", "source"):
        raise BadParameter("merge", "prefer", ("target", "source"), prefer)


def merge_source(
    target: Store, source: Mergeable, prefer: str, progress: OnStep | None = None
) -> MergeReport:
    report = MergeReport()
    with target.writer_lock(), target.writing() as connection:
        _merge_datasets(connection, source, report)
        _merge_models(connection, source.models, report)
        keys, models = rows.dataset_keys(connection), rows.model_keys(connection)
        schemas = {key: names for key, (_, names) in rows.read_schemas(connection).items()}
        for done, (dataset, theirs) in enumerate(source.contents(), start=1):
            mine = rows.read_content(connection, keys[dataset])
            merger = _Merger(dataset, mine, schemas, report, prefer)
            rows.write_content(connection, keys[dataset], merger.new(theirs), models)
            if progress is not None:
                progress("datasets", done, len(source.datasets))
    return report


def _merge_datasets(connection: Connection, source: Mergeable, report: MergeReport) -> None:
    mine = {item.fingerprint: item for item in rows.read_datasets(connection)}
    named = {(item.collection, item.name): item.fingerprint for item in mine.values()}
    for item in source.datasets:
        known = mine.get(item.fingerprint)
        if known is not None:
            here, there = _identity(known), _identity(item)
            if here != there:
                report.add_conflict("dataset", item.fingerprint, here, there)
            continue
        other = named.get((item.collection, item.name))
        if other is not None:
            report.add_conflict("name", item.name, other, item.fingerprint)
    report.added["datasets"] += rows.insert_datasets(connection, source.datasets)


def _identity(item: DatasetRecord) -> tuple[object, ...]:
    shape = (item.n_rows, item.n_columns, item.n_outliers)
    return (item.collection, item.name, item.origin, *shape)


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
class _Merger:
    """Compares what a source has about one dataset with what the target has."""

    dataset: str
    mine: Content
    schemas: dict[tuple[str, int], tuple[str, ...]]
    report: MergeReport
    prefer: str

    def new(self, theirs: Content) -> Content:
        """Return what is written: what is lacking, and what the source is preferred for."""
        return Content(
            [*self._evaluations(theirs.evaluations)],
            [*self._cells(theirs.cells)],
            [*self._metafeatures(theirs.metafeatures)],
        )

    def _is_new(self, kind: str, *, is_known: bool, agrees: bool) -> bool:
        """Count a record, and return whether it is written."""
        if not is_known:
            self.report.added[kind] += 1
        elif not agrees and self.prefer == "source":
            self.report.replaced[kind] += 1
        return not is_known or (not agrees and self.prefer == "source")

    def _evaluations(self, theirs: Sequence[Evaluation]) -> Iterator[Evaluation]:
        mine = {(item.model, item.trial): item for item in self.mine.evaluations}
        for item in theirs:
            known = mine.get((item.model, item.trial))
            agrees = known is None or _agree(known, item, TOLERANCE)
            if known is not None and not agrees:
                where = f"{item.model} on {self.dataset}, trial {item.trial}"
                self.report.add_conflict("evaluation", where, _figures(known), _figures(item))
            if self._is_new("evaluations", is_known=known is not None, agrees=agrees):
                yield item

    def _cells(self, theirs: Sequence[Cell]) -> Iterator[Cell]:
        mine = {cell.model: cell for cell in self.mine.cells}
        for cell in theirs:
            known = mine.get(cell.model)
            agrees = known is None or _cells_agree(known, cell)
            if known is not None and not agrees:
                figures = [f"{_figures(c)} in {c.n_trials} trials" for c in (known, cell)]
                self.report.add_conflict("cell", f"{cell.model} on {self.dataset}", *figures)
            # cells with trials follow from these
            if not cell.imported or (known is not None and not known.imported):
                continue
            if self._is_new("cells", is_known=known is not None, agrees=agrees):
                yield cell

    def _metafeatures(self, theirs: Sequence[MetaFeatureRecord]) -> Iterator[MetaFeatureRecord]:
        mine = {item.key: item for item in self.mine.metafeatures}
        for item in theirs:
            known = mine.get(item.key)
            where = f"{self.dataset}, schema {item.schema} {item.version}"
            if self.schemas.setdefault(item.key, item.features) != item.features:
                # never written: the stored vectors would get wrong names
                self.report.add_conflict("meta-features", where, "its own names", "other names")
                continue
            agrees = known is None or np.allclose(
                known.values, item.values, rtol=TOLERANCE, atol=1e-12, equal_nan=True
            )
            if known is not None and not agrees:
                self.report.add_conflict("meta-features", where, known.values, item.values)
            if self._is_new("meta-features", is_known=known is not None, agrees=agrees):
                yield item


def _cells_agree(one: Cell, other: Cell) -> bool:
    if not one.imported and not other.imported:
        return True  # their trials are compared instead
    if one.n_trials != other.n_trials:
        # an aggregate of another number of trials need not be the same
        return not (one.imported and other.imported)
    return _agree(one, other, ROUNDED_TOLERANCE)


def _agree(one: Evaluation | Cell, other: Evaluation | Cell, tolerance: float) -> bool:
    if one.state != other.state:
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in MEASURES)
    return all((math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance for a, b in pairs)


def _figures(item: Evaluation | Cell) -> str:
    if math.isnan(item.ap):
        return str(item.state)
    return ", ".join(f"{name} {getattr(item, name):.10g}" for name in MEASURES)
