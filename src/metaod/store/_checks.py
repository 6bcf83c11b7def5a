"""Checks of a store: its consistency, and a recomputation of a random sample of its cells."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection
from threadpoolctl import threadpool_limits

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES, Evaluation, FolderEntry, evaluate_models
from metaod.learners import Progress
from metaod.models import Budget, CellState, Mode, ModelSpec
from metaod.store import _rows as rows
from metaod.store._records import Cell, aggregate
from metaod.store._store import Store
from metaod.tables import prepare

# how far a recomputed mean may be from a stored one, and from an imported one, which is rounded
_TOLERANCE = 1e-9
_IMPORTED_TOLERANCE = 1e-4


def find_inconsistencies(store: Store) -> list[str]:
    """Read the whole store and describe each contradiction in it.

    Every record must be legal, and every cell must be the aggregate of its trials; an imported
    cell may have fewer trials than it was computed from.
    """
    with store.reading() as connection:
        found = _find_damage(connection) if store.location.is_sqlite else []
        for dataset, key in sorted(rows.dataset_keys(connection).items()):
            try:
                found += [f"{dataset}: {problem}" for problem in _check_dataset(connection, key)]
            except ValueError as error:
                # the row of an illegal record cannot be read
                found.append(f"{dataset}: {error}")
    return found


def _find_damage(connection: Connection) -> list[str]:
    found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return [text for text in found if text != "ok"] + [
        f"a row of {row[0]} refers to a row of {row[2]} that does not exist" for row in orphans
    ]


def _check_dataset(connection: Connection, key: int) -> Iterator[str]:
    rows.read_metafeatures(connection, key)
    computed = {cell.key: cell for cell in aggregate(rows.read_evaluations(connection, key))}
    stored = {cell.key: cell for cell in rows.read_cells(connection, key)}
    for mode, model in sorted(computed.keys() | stored.keys()):
        cell, expected = stored.get((mode, model)), computed.get((mode, model))
        name = f"the {mode} cell of {model}"
        if cell is None:
            yield f"{name} is missing, although it has trials"
        elif expected is None and not cell.imported:
            yield f"{name} has no trials"
        elif expected is not None and cell.imported and cell.n_trials > expected.n_trials:
            continue  # it stays until the store holds as many trials
        # compared as text, in which NaN equals NaN and every number is exact
        elif expected is not None and repr(cell) != repr(expected):
            yield f"{name} is not the aggregate of its trials"


@dataclass(frozen=True)
class Difference:
    """A cell that differs from its recomputation."""

    dataset: str
    model: str
    stored: str
    recomputed: str

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model}: stored {self.stored}, found {self.recomputed}"


@dataclass(frozen=True)
class Verification:
    """The result of a verification: how many cells were recomputed, and those that differ."""

    n_cells: int
    n_datasets: int
    differences: tuple[Difference, ...]


def verify(
    store: Store,
    entries: Sequence[FolderEntry],
    *,
    sample: int = 50,
    seed: int = 0,
    mode: Mode = Mode.FAST,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Recompute a random sample of a store's cells and compare.

    Parameters
    ----------
    store : Store
        The store.
    entries : sequence of FolderEntry
        The datasets; those that are not in the store are ignored.
    sample : int, default=50
        Number of cells. Cells over budget and reference models are not drawn.
    seed : int, default=0
        Seed of the draw.
    mode : Mode, default="fast"
        The mode of the cells.
    budget : Budget, optional
        What the cells were allowed to cost when they were built.
    progress : callable, optional
        Called with ``"cells"`` and the numbers of cells done and in all.
    """
    if sample < 1:
        raise BadParameter("verify", "sample", "an int in the range [1, inf)", sample)
    available = _stored_entries(store, entries)
    specs = {item.id: item.spec for item in store.models() if not item.is_reference}
    candidates = [
        (fingerprint, cell)
        for fingerprint in sorted(available)
        for cell in store.cells(fingerprint)
        if cell.mode == mode and cell.model in specs and cell.state != CellState.OVER_BUDGET
    ]
    if not candidates:
        what = f"no cell of mode {mode.value!r} can be recomputed"
        remedy = "check --data and --mode, or build first"
        raise UserError(what, where=str(store), remedy=remedy)
    chosen = np.random.default_rng(seed).permutation(len(candidates))[:sample]
    drawn: dict[str, list[Cell]] = defaultdict(list)
    for position in sorted(chosen):
        fingerprint, cell = candidates[position]
        drawn[fingerprint].append(cell)
    differences: list[Difference] = []
    n_done = 0
    for fingerprint, cells in drawn.items():
        differences += _recompute(available[fingerprint], cells, specs, mode, budget)
        n_done += len(cells)
        if progress is not None:
            progress("cells", n_done, len(chosen))
    return Verification(len(chosen), len(drawn), tuple(differences))


def _stored_entries(store: Store, entries: Sequence[FolderEntry]) -> dict[str, FolderEntry]:
    names = {record.name for record in store.datasets()}
    fingerprints = {record.fingerprint for record in store.datasets()}
    found = {}
    for entry in entries:
        # reading every file of a large folder would take longer than the verification
        if entry.full_name in names:
            fingerprint = entry.load().fingerprint
            if fingerprint in fingerprints:
                found[fingerprint] = entry
    if not found:
        remedy = "name the folder that it was built from with --data"
        raise UserError("none of the store's datasets was found", where=str(store), remedy=remedy)
    return found


def _recompute(
    entry: FolderEntry,
    cells: list[Cell],
    specs: dict[str, ModelSpec],
    mode: Mode,
    budget: Budget | None,
) -> list[Difference]:
    dataset = entry.load()
    try:
        prepared = prepare(dataset.table)
    except UserError:
        # then no model has scores, and each of its cells must have failed
        return [
            Difference(entry.full_name, cell.model, cell.state.value, CellState.FAILED.value)
            for cell in cells
            if cell.state != CellState.FAILED
        ]
    models = [specs[cell.model] for cell in cells]
    trials = max(cell.n_trials for cell in cells)
    found = defaultdict(list)
    with threadpool_limits(1):
        for item in evaluate_models(
            prepared.X,
            dataset.y,
            models,
            trials=trials,
            mode=mode,
            budget=budget,
            fixed=prepared.fixed,
        ):
            found[item.model].append(item)
    differences = []
    for cell in cells:
        pair = _difference(cell, [t for t in found[cell.model] if t.trial < cell.n_trials])
        if pair is not None:
            differences.append(Difference(entry.full_name, cell.model, *pair))
    return differences


def _difference(cell: Cell, items: list[Evaluation]) -> tuple[str, str] | None:
    states = {item.state for item in items}
    if states != {cell.state}:
        return cell.state.value, "/".join(sorted(states))
    if cell.state == CellState.OK:
        tolerance = _IMPORTED_TOLERANCE if cell.imported else _TOLERANCE
        for measure in MEASURES:
            stored = getattr(cell, measure)
            mean = np.mean([getattr(item, measure) for item in items])
            if not abs(stored - mean) <= tolerance:
                return f"{measure} {stored:.6f}", f"{mean:.6f}"
    return None
