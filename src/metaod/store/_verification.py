"""Does a store hold what a recomputation gives? A random sample of its cells says."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from metaod.errors import BadParameter, UserError
from metaod.history import MEASURES, FolderEntry, evaluate_models
from metaod.models import Budget, CellState, Mode, ModelSpec
from metaod.store._records import Cell
from metaod.store._store import Store
from metaod.tables import prepare

__all__ = ["Difference", "Verification", "verify"]

EXACT = 1e-9
"""How far a recomputed mean may be from one that was computed here."""

ROUNDED = 1e-4
"""How far it may be from one that was imported, and so rounded."""


@dataclass(frozen=True)
class Difference:
    """A cell whose recomputation differs.

    Parameters
    ----------
    dataset, model : str
        Name and id.
    stored, found : str
        What the store holds and what came out.
    """

    dataset: str
    model: str
    stored: str
    found: str

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model}: stored {self.stored}, found {self.found}"


@dataclass(frozen=True)
class Verification:
    """What a verification found.

    Parameters
    ----------
    n_cells, n_datasets : int
        How many cells were recomputed, and on how many datasets.
    differences : tuple of Difference
        Those that differ.
    """

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
) -> Verification:
    """Recompute a random sample of a store's cells and compare.

    Parameters
    ----------
    store : Store
        The store.
    entries : sequence of FolderEntry
        Where the datasets are; those that the store does not know are passed over.
    sample : int, default=50
        Number of cells. Cells over budget are not drawn, nor are reference models.
    seed : int, default=0
        Seed of the draw.
    mode : Mode, default="fast"
        Which cells to draw from.
    budget : Budget, optional
        What the cells were allowed to cost when they were built.
    """
    if sample < 1:
        raise BadParameter("verify", "sample", "an int in the range [1, inf)", sample)
    here = _found(store, entries)
    specs = {item.id: item.spec for item in store.models() if not item.is_reference}
    candidates = [
        (fingerprint, cell)
        for fingerprint in sorted(here)
        for cell in store.cells(fingerprint)
        if cell.mode == mode and cell.model in specs and cell.state != CellState.OVER_BUDGET
    ]
    if not candidates:
        raise UserError(
            f"there is no cell of mode {mode.value!r} to recompute",
            where=str(store),
            remedy="check --data and --mode, or build first",
        )
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(candidates))[:sample]
    drawn: dict[str, list[Cell]] = defaultdict(list)
    for position in sorted(chosen):
        fingerprint, cell = candidates[position]
        drawn[fingerprint].append(cell)
    differences: list[Difference] = []
    for fingerprint, cells in drawn.items():
        differences += _compare(here[fingerprint], cells, specs, mode, budget)
    return Verification(len(chosen), len(drawn), tuple(differences))


def _found(store: Store, entries: Sequence[FolderEntry]) -> dict[str, FolderEntry]:
    """The entries whose content the store knows, by fingerprint."""
    known = {record.name for record in store.datasets()}
    fingerprints = {record.fingerprint for record in store.datasets()}
    here = {}
    for entry in entries:
        # reading every file of a large folder would take longer than the verification
        if entry.full_name in known:
            fingerprint = entry.load().fingerprint
            if fingerprint in fingerprints:
                here[fingerprint] = entry
    if not here:
        raise UserError(
            "none of the store's datasets is there",
            where=str(store),
            remedy="name the folder that it was built from with --data",
        )
    return here


def _compare(
    entry: FolderEntry,
    cells: list[Cell],
    specs: dict[str, ModelSpec],
    mode: Mode,
    budget: Budget | None,
) -> list[Difference]:
    dataset = entry.load()
    try:
        X = prepare(dataset.table).X
    except UserError:
        # then no model has scores, and each of its cells must have failed
        return [
            Difference(entry.full_name, cell.model, cell.state.value, CellState.FAILED.value)
            for cell in cells
            if cell.state != CellState.FAILED
        ]
    trials = max(cell.n_trials for cell in cells)
    found = defaultdict(list)
    with threadpool_limits(1):
        for item in evaluate_models(
            X,
            dataset.y,
            [specs[cell.model] for cell in cells],
            trials=trials,
            mode=mode,
            budget=budget,
        ):
            found[item.model].append(item)
    differences = []
    for cell in cells:
        items = [item for item in found[cell.model] if item.trial < cell.n_trials]
        states = {item.state for item in items}
        tolerance = ROUNDED if cell.imported else EXACT
        if states != {cell.state}:
            stored, now = cell.state.value, "/".join(sorted(states))
        else:
            stored = now = ""
            for measure in MEASURES if cell.state == CellState.OK else ():
                value, mean = getattr(cell, measure), np.mean([getattr(i, measure) for i in items])
                if not abs(value - mean) <= tolerance:
                    stored, now = f"{measure} {value:.6f}", f"{mean:.6f}"
        if stored:
            differences.append(Difference(entry.full_name, cell.model, stored, now))
    return differences
