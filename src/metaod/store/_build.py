"""The build: find what a store lacks, compute it task by task; it can be stopped at any moment."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from metaod._legal import Whole
from metaod.errors import BadColumn, BadParameter, UserError
from metaod.history import MEASURES, Evaluation, FolderEntry, evaluate_models
from metaod.learners import OnStep
from metaod.metafeatures import schema
from metaod.models import Budget, CellState, ModelSpec
from metaod.store._claims import SharedWork
from metaod.store._executors import Executor, SerialExecutor
from metaod.store._schema import ROUNDED_TOLERANCE, TOLERANCE, Cell, DatasetRecord
from metaod.store._store import First, Store
from metaod.store._tasks import BuildOptions, BuildTask, TaskResult, run_task
from metaod.tables import prepare


def _ignore(*_: object) -> None:
    """No-op callback."""


@dataclass(frozen=True)
class Plan:
    """What a build will do.

    `tasks` has one task for each dataset that lacks anything, the most costly first; `duplicates`
    has the names of datasets that are left out, each with its equal.
    """

    tasks: tuple[BuildTask, ...]
    datasets: tuple[DatasetRecord, ...]
    duplicates: tuple[tuple[str, str], ...] = ()

    @property
    def cost(self) -> float:
        """Relative cost of all tasks."""
        return sum(task.cost for task in self.tasks)


@dataclass(frozen=True)
class BuildReport:
    """What a build did: its plan, the number of evaluations by state, and the time it took.

    `n_tasks` counts the tasks that it computed; other builders computed the rest of the plan.
    """

    plan: Plan
    states: "Counter[CellState]"
    seconds: float
    n_tasks: int


Found = dict[str, tuple[DatasetRecord, FolderEntry]]
"""Datasets that were read, by fingerprint."""


def build(
    store: Store,
    entries: Sequence[FolderEntry],
    options: BuildOptions | None = None,
    *,
    executor: Executor | None = None,
    on_read: Callable[[int, int], None] = _ignore,
    on_plan: Callable[[Plan], None] = _ignore,
    on_task: Callable[[TaskResult], None] = _ignore,
    on_others: Callable[[int], None] = _ignore,
) -> BuildReport:
    """Compute what the store lacks and write each finished task in one transaction.

    If the process ends early, for any reason, the same call continues where it stopped, and the
    final content of the store is the same, except for timings.

    Several builders may work on a store on PostgreSQL at the same time: each computes tasks that
    no other has claimed, and then waits until the others have finished theirs. It takes over the
    tasks of a builder that was killed after three minutes.

    Parameters
    ----------
    store : Store
        The store that is written; by one builder at a time if it is a file.
    entries : sequence of FolderEntry
        The labelled datasets; see :func:`metaod.history.iter_folder`.
    options : BuildOptions, optional
        What to compute.
    executor : Executor, optional
        What runs the tasks; by default this process.
    on_read, on_plan, on_task, on_others : callable, optional
        Called after each dataset read (with the number read and the total), with the plan, after
        each finished task, and, while it waits for other builders, with the number of tasks that
        they have claimed.
    """
    options = (options or BuildOptions()).checked("build")
    executor = executor or SerialExecutor()
    start = time.perf_counter()
    states: Counter[CellState] = Counter()
    n_tasks = 0

    def record(result: TaskResult, first: First | None = None) -> None:
        store.record_task(
            result.task.fingerprint, result.evaluations, result.metafeatures, first=first
        )

    with store.writer_lock():
        found, duplicates = _read_datasets(entries, on_read)
        shared = SharedWork(store) if store.location.is_postgresql else None
        tasks = plan_tasks(store, found, options)
        plan = Plan(tuple(tasks), tuple(record for record, _ in found.values()), duplicates)
        on_plan(plan)
        if tasks:
            store.add_models(options.specs())
            mega = options.mega_ensemble()
            references = (*options.reference_models(), *([mega.spec] if mega else []))
            store.add_models(references, is_reference=True)
            store.add_datasets(plan.datasets)
        if shared is None:
            results = executor.run(run_task, iter(tasks))
        else:
            replan = partial(_replan, store, found, options)
            results = shared.run(executor, tasks, tuple(options.retry), replan, record, on_others)
        for result in results:
            if shared is None:
                record(result)
            n_tasks += 1
            states.update(item.state for item in result.evaluations)
            on_task(result)
    return BuildReport(plan, states, time.perf_counter() - start, n_tasks)


def _read_datasets(
    entries: Sequence[FolderEntry], on_read: Callable[[int, int], None]
) -> tuple[Found, tuple[tuple[str, str], ...]]:
    """Read every dataset once; return those that are different, and the names of duplicates."""
    found: Found = {}
    duplicates = []
    for done, entry in enumerate(entries, start=1):
        record = record_of(entry)
        first, _ = found.setdefault(record.fingerprint, (record, entry))
        if first is not record:
            duplicates.append((entry.full_name, first.name))
        on_read(done, len(entries))
    return found, tuple(duplicates)


def plan_tasks(store: Store, found: Found, options: BuildOptions) -> list[BuildTask]:
    """Return a task for each dataset on which the store lacks anything, the most costly first."""
    wanted = options.n_trials()
    lacking = store.repeat(partial(store.missing, found, wanted, retry=tuple(options.retry)))
    known = store.repeat(store.stored_schemas)
    mega = options.mega_ensemble()
    members = {member.id for member in mega.members} if mega else set()
    shared: dict[frozenset[tuple[str, int]], frozenset[tuple[str, int]]] = {}
    tasks = []
    for fingerprint, (record, entry) in found.items():
        models = dict(lacking.get(fingerprint, {}))
        # the mean of the available members changes when one of them becomes available
        if mega is not None and not members.isdisjoint(models):
            models[mega.spec.id] = tuple(range(wanted[mega.spec.id]))
        pairs = frozenset((model, trial) for model, trials in models.items() for trial in trials)
        task = BuildTask(
            entry,
            fingerprint,
            (record.n_rows, record.n_columns),
            options,
            # most datasets of a new store lack the same: ten thousand tasks share one set
            shared.setdefault(pairs, pairs),
            tuple(
                name
                for name in options.schemas
                if (fingerprint, name, schema(name).version) not in known
            ),
        )
        if task.lacking or task.schemas:
            tasks.append(task)
    return sorted(tasks, key=lambda task: (-task.cost, task.fingerprint))


def _replan(
    store: Store, found: Found, options: BuildOptions, task: BuildTask, retried: Collection[str]
) -> BuildTask | None:
    """Return what remains of a task after another builder, which retried some states."""
    states = tuple(state for state in options.retry if state not in retried)
    one = {task.fingerprint: found[task.fingerprint]}
    return next(iter(plan_tasks(store, one, replace(options, retry=states))), None)


def record_of(entry: FolderEntry) -> DatasetRecord:
    """Read a dataset and describe it; refuse one without outliers, or without inliers."""
    dataset = entry.load()
    outliers = int(dataset.y.sum())
    if outliers in (0, len(dataset.y)):
        what = f"has {outliers} outliers among {len(dataset.y)} rows, so no ranking can be measured"
        remedy = "leave the dataset out, or name the right label"
        raise BadColumn(entry.label, what, path=entry.path, remedy=remedy)
    return DatasetRecord(
        fingerprint=dataset.fingerprint,
        name=entry.full_name,
        origin=entry.origin,
        n_rows=dataset.X.shape[0],
        n_columns=dataset.X.shape[1],
        n_outliers=outliers,
        collection=entry.collection,
        source=entry.source or entry.path.name,
        licence=entry.licence or "unknown",
    )


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
    budget: Budget | None = None,
    progress: OnStep | None = None,
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
    budget : Budget, optional
        What the cells were allowed to cost when they were built.
    progress : callable, optional
        Called with ``"cells"`` and the numbers of cells done and in all.
    """
    if not Whole(1).allows(sample):
        raise BadParameter("verify", "sample", str(Whole(1)), sample)
    available = _stored_entries(store, entries)
    specs = {item.id: item.spec for item in store.models() if not item.is_reference}
    candidates = [
        (fingerprint, cell)
        for fingerprint in sorted(available)
        for cell in store.cells(fingerprint)
        if cell.model in specs and cell.state != CellState.OVER_BUDGET
    ]
    if not candidates:
        remedy = "check the folder of datasets, or build first"
        raise UserError("no cell can be recomputed", where=str(store), remedy=remedy)
    chosen = np.random.default_rng(seed).permutation(len(candidates))[:sample]
    drawn: dict[str, list[Cell]] = defaultdict(list)
    for position in sorted(chosen):
        fingerprint, cell = candidates[position]
        drawn[fingerprint].append(cell)
    differences: list[Difference] = []
    n_done = 0
    for fingerprint, cells in drawn.items():
        differences += _recompute(available[fingerprint], cells, specs, budget)
        n_done += len(cells)
        if progress is not None:
            progress("cells", n_done, len(chosen))
    return Verification(len(chosen), len(drawn), tuple(differences))


def _stored_entries(store: Store, entries: Sequence[FolderEntry]) -> dict[str, FolderEntry]:
    stored = {record.fingerprint: record.name for record in store.datasets()}
    names = set(stored.values())
    found = {}
    for entry in entries:
        # reading every file of a large folder would take longer than the verification
        if entry.full_name in names:
            fingerprint = entry.load().fingerprint
            if fingerprint in stored:
                found[fingerprint] = entry
    if not found:
        remedy = "name the folder that it was built from"
        raise UserError("none of the store's datasets was found", where=str(store), remedy=remedy)
    return found


def _recompute(
    entry: FolderEntry,
    cells: list[Cell],
    specs: dict[str, ModelSpec],
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
        tolerance = ROUNDED_TOLERANCE if cell.imported else TOLERANCE
        for measure in MEASURES:
            stored = getattr(cell, measure)
            mean = np.mean([getattr(item, measure) for item in items])
            if not abs(stored - mean) <= tolerance:
                return f"{measure} {stored:.6f}", f"{mean:.6f}"
    return None
