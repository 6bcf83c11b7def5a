"""Merging two stores: what is missing is added, what contradicts is reported."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES, Evaluation
from metaod.store import _rows as rows
from metaod.store._records import Cell, DatasetRecord
from metaod.store._store import Store

__all__ = ["MAX_EXAMPLES", "Conflict", "MergeReport", "Prefer", "merge"]

Prefer = Literal["target", "source"]

MAX_EXAMPLES = 1000
"""How many conflicts a report holds in full; the others are counted."""

_METRIC_TOLERANCE = 1e-9
# cells that come without their trials may have been rounded to four digits
_CELL_TOLERANCE = 1.01e-4


@dataclass(frozen=True)
class Conflict:
    """Something that two stores say differently.

    Parameters
    ----------
    kind : str
        ``"name"`` (one name, two fingerprints), ``"dataset"``, ``"model"``, ``"evaluation"``,
        ``"cell"`` or ``"meta-features"``.
    where : str
        Dataset, model and trial, as far as they matter.
    target, source : str
        What each of the stores says.
    """

    kind: str
    where: str
    target: str
    source: str

    def __str__(self) -> str:
        return f"{self.kind} of {self.where}: {self.target} here, {self.source} there"


@dataclass
class MergeReport:
    """What a merge added, and what it found to contradict.

    Parameters
    ----------
    added, replaced : collections.Counter
        Numbers of datasets, models, evaluations, cells (those that came without their trials)
        and meta-features.
    conflict_counts : collections.Counter
        Number of conflicts by kind.
    conflicts : list of Conflict
        The first of them.
    """

    added: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    conflict_counts: Counter[str] = field(default_factory=Counter)
    conflicts: list[Conflict] = field(default_factory=list)

    @property
    def n_conflicts(self) -> int:
        """Number of conflicts."""
        return self.conflict_counts.total()

    def note(self, kind: str, where: str, target: object, source: object) -> None:
        """Note a conflict."""
        self.conflict_counts[kind] += 1
        if len(self.conflicts) < MAX_EXAMPLES:
            self.conflicts.append(Conflict(kind, where, str(target), str(source)))


def merge(target: Store, source: Store, *, prefer: Prefer = "target") -> MergeReport:
    """Add to one store what another has and it lacks, in one transaction.

    The same evaluation (dataset, model, trial and mode) with another state, or with a measure
    that differs by more than 1e-9, is a conflict; so is one fingerprint with another name,
    collection, origin or shape, one name with two fingerprints (both datasets are kept), one
    model that is a reference in one store alone, and meta-features that differ by more than 1e-9
    of their size. Times, reasons, versions, sources and licences may differ; the target's stay.

    Trials stand before an aggregate: a cell that was imported without its trials gives way to
    evaluations of it, and is otherwise a conflict where it differs by more than 1e-4 from another.

    Merging twice changes nothing more; and without conflicts it does not matter, for what is
    compared here, which store is merged into which.

    Parameters
    ----------
    target : Store
        The store that is written.
    source : Store
        The store that is read.
    prefer : {"target", "source"}, default="target"
        Whose evaluations, imported cells and meta-features are kept in a conflict.

    Returns
    -------
    MergeReport
        What was added, and the conflicts.
    """
    if prefer not in ("target", "source"):
        raise BadParameter("merge", "prefer", ("target", "source"), prefer)
    if target.engine is source.engine or target.place.path == source.place.path is not None:
        raise UserError("a store cannot be merged into itself", where=str(target))
    report = MergeReport()
    with (
        target.writer_lock(),
        source.reading() as there,
        target.writing() as here,
    ):
        _merge_datasets(here, there, report)
        _merge_models(here, there, report)
        targets, sources = rows.dataset_keys(here), rows.dataset_keys(there)
        models = rows.model_keys(here)
        for dataset in sorted(sources):
            pair = _Pair(here, there, dataset, targets[dataset], sources[dataset], models, report)
            pair.merge_trials(prefer)
            pair.merge_metafeatures(prefer)
    return report


def _merge_datasets(here: Connection, there: Connection, report: MergeReport) -> None:
    mine = {item.fingerprint: item for item in rows.read_datasets(here)}
    named = {(item.collection, item.name): item.fingerprint for item in mine.values()}
    theirs = rows.read_datasets(there)
    for item in theirs:
        known = mine.get(item.fingerprint)
        if known is not None:
            if _identity(known) != _identity(item):
                report.note("dataset", item.fingerprint, _identity(known), _identity(item))
            continue
        other = named.get((item.collection, item.name))
        if other is not None:
            report.note("name", item.name, other, item.fingerprint)
    report.added["datasets"] += rows.insert_datasets(here, theirs)


def _identity(item: DatasetRecord) -> tuple[object, ...]:
    shape = (item.n_rows, item.n_columns, item.n_outliers)
    return (item.collection, item.name, item.origin, *shape)


def _merge_models(here: Connection, there: Connection, report: MergeReport) -> None:
    mine = {item.id: item for item in rows.read_models(here)}
    theirs = rows.read_models(there)
    for item in theirs:
        known = mine.get(item.id, item)
        if known.is_reference != item.is_reference:
            names = {True: "a reference", False: "a model to pick"}
            report.note("model", item.id, names[known.is_reference], names[item.is_reference])
    report.added["models"] += rows.insert_models(here, theirs)


@dataclass(frozen=True)
class _Pair:
    """One dataset in both stores."""

    here: Connection
    there: Connection
    dataset: str
    target: int
    source: int
    models: Mapping[str, int]
    report: MergeReport

    def merge_trials(self, prefer: Prefer) -> None:
        """Add evaluations, and the imported cells of which neither side has trials."""
        mine = {cell.place: cell for cell in rows.read_cells(self.here, self.target)}
        theirs = rows.read_cells(self.there, self.source)
        for cell in theirs:
            if cell.place in mine and not _cells_agree(mine[cell.place], cell):
                self._note_cell(mine[cell.place], cell)
        self._merge_evaluations(prefer)
        write = []
        for cell in (cell for cell in theirs if cell.imported):
            known = mine.get(cell.place)
            if known is None:
                self.report.added["cells"] += 1
                write.append(cell)
            elif known.imported and not _cells_agree(known, cell) and prefer == "source":
                self.report.replaced["cells"] += 1
                write.append(cell)
        rows.replace_cells(self.here, self.target, write, self.models)

    def _merge_evaluations(self, prefer: Prefer) -> None:
        mine = {rows.trial_of(item): item for item in rows.read_evaluations(self.here, self.target)}
        write = []
        for item in rows.read_evaluations(self.there, self.source):
            known = mine.get(rows.trial_of(item))
            if known is None:
                self.report.added["evaluations"] += 1
                write.append(item)
            elif not _agree(known, item, _METRIC_TOLERANCE):
                where = f"{item.model} on {self.dataset}, trial {item.trial}, {item.mode}"
                self.report.note("evaluation", where, _figures(known), _figures(item))
                if prefer == "source":
                    self.report.replaced["evaluations"] += 1
                    write.append(item)
        rows.replace_evaluations(self.here, self.target, write, self.models)

    def _note_cell(self, known: Cell, item: Cell) -> None:
        where = f"{item.model} on {self.dataset}, {item.mode}"
        self.report.note(
            "cell",
            where,
            f"{_figures(known)} in {known.n_trials} trials",
            f"{_figures(item)} in {item.n_trials} trials",
        )

    def merge_metafeatures(self, prefer: Prefer) -> None:
        mine = {
            (item.schema, item.version): item
            for item in rows.read_metafeatures(self.here, self.target)
        }
        for item in rows.read_metafeatures(self.there, self.source):
            known = mine.get((item.schema, item.version))
            where = f"{self.dataset}, schema {item.schema} {item.version}"
            named = rows.read_schemas(self.here).get((item.schema, item.version))
            if named is not None and named[1] != item.features:
                # never written: the names of the vectors that are there would become wrong
                self.report.note("meta-features", where, "its own names", "other names")
            elif known is None:
                self.report.added["meta-features"] += 1
                rows.replace_metafeatures(self.here, self.target, [item])
            elif not np.allclose(
                known.values, item.values, rtol=_METRIC_TOLERANCE, atol=1e-12, equal_nan=True
            ):
                self.report.note("meta-features", where, known.values, item.values)
                if prefer == "source":
                    self.report.replaced["meta-features"] += 1
                    rows.replace_metafeatures(self.here, self.target, [item])


def _cells_agree(one: Cell, other: Cell) -> bool:
    """Whether cells can both be right; of two with trials, the trials are compared instead."""
    if not one.imported and not other.imported:
        return True
    if one.n_trials != other.n_trials:
        # an aggregate of more trials, or fewer, than are there need not be the same
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
