"""The build: find what a store lacks, compute it task by task; it can be stopped at any moment."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from metaod.errors import BadColumn, BadParameter
from metaod.history import FolderEntry, sketch
from metaod.metafeatures import schema
from metaod.models import CellState
from metaod.store._claims import SharedWork
from metaod.store._executors import Executor, SerialExecutor
from metaod.store._queries import missing, stored_schemas
from metaod.store._records import DatasetRecord
from metaod.store._relatives import Placed, place, write_placed
from metaod.store._store import First, Store
from metaod.store._tasks import BuildOptions, BuildTask, ScoreCache, TaskResult, run_task


def _ignore(*_: object) -> None:
    """No-op callback."""


@dataclass(frozen=True)
class Plan:
    """What a build will do.

    `tasks` has one task for each dataset that lacks anything, the most costly first; `duplicates`
    has the names of datasets that are left out, each with its equal; `placed` has all datasets
    with their origins, and notes about related ones.
    """

    tasks: tuple[BuildTask, ...]
    placed: Placed
    duplicates: tuple[tuple[str, str], ...] = ()

    @property
    def datasets(self) -> tuple[DatasetRecord, ...]:
        """All datasets."""
        return self.placed.records

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
    options = options or BuildOptions()
    executor = executor or SerialExecutor()
    start = time.perf_counter()
    states: Counter[CellState] = Counter()
    cache = _score_cache(store, options)
    n_tasks = 0

    def record(result: TaskResult, first: First | None = None) -> None:
        if cache is not None and result.kept:
            cache.write(result.task.fingerprint, result.kept)
        store.record_task(
            result.task.fingerprint, result.evaluations, result.metafeatures, first=first
        )

    with store.only_builder():
        found, duplicates = _read_datasets(store, entries, on_read)
        shared = SharedWork(store) if store.location.is_postgresql else None
        tasks = plan_tasks(store, found, options)
        plan = Plan(tuple(tasks), place(store, list(found.values())), duplicates)
        on_plan(plan)
        if tasks:
            store.add_models(options.specs())
            store.add_models([item.spec for item in options.reference_models()], is_reference=True)
            write_placed(store, plan.placed)
        if shared is None:
            results = _recorded(executor.run(run_task, iter(tasks)), record)
        else:
            replan = partial(_replan, store, found, options)
            results = shared.run(executor, tasks, options.retry, replan, record, on_others)
        for result in results:
            n_tasks += 1
            states.update(item.state for item in result.evaluations)
            on_task(result)
    return BuildReport(plan, states, time.perf_counter() - start, n_tasks)


def _recorded(
    results: Iterable[TaskResult], record: Callable[[TaskResult], None]
) -> Iterable[TaskResult]:
    for result in results:
        record(result)
        yield result


def _read_datasets(
    store: Store, entries: Sequence[FolderEntry], on_read: Callable[[int, int], None]
) -> tuple[Found, tuple[tuple[str, str], ...]]:
    """Read every dataset once; return those that are different, and the names of duplicates."""
    found: Found = {}
    duplicates = []
    sketched = store.sketches()
    for done, entry in enumerate(entries, start=1):
        record = record_of(entry, sketched=sketched)
        first, _ = found.setdefault(record.fingerprint, (record, entry))
        if first is not record:
            duplicates.append((entry.full_name, first.name))
        on_read(done, len(entries))
    return found, tuple(duplicates)


def plan_tasks(store: Store, found: Found, options: BuildOptions) -> list[BuildTask]:
    """Return a task for each dataset on which the store lacks anything, the most costly first."""
    wanted = options.n_trials()
    cache = _score_cache(store, options)
    keep = {model: wanted[model] for model in options.keep_scores}
    look = partial(missing, store, found, wanted, options.mode, retry=options.retry)
    lacking = store.repeat(look)
    known = store.repeat(partial(stored_schemas, store))
    # an average of the available members changes when one of them becomes available
    changing = {
        item.spec.id: {member.id for member in item.members}
        for item in options.reference_models()
        if not item.all_needed
    }
    shared: dict[frozenset[tuple[str, int]], frozenset[tuple[str, int]]] = {}
    tasks = []
    for fingerprint, (record, entry) in found.items():
        models = dict(lacking.get(fingerprint, {}))
        for model, members in changing.items():
            if not members.isdisjoint(models):
                models[model] = tuple(range(wanted[model]))
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
            frozenset() if cache is None else cache.missing(fingerprint, keep),
        )
        if task.lacking or task.schemas or task.keep:
            tasks.append(task)
    return sorted(tasks, key=lambda task: (-task.cost, task.fingerprint))


def _replan(
    store: Store, found: Found, options: BuildOptions, task: BuildTask, retried: Collection[str]
) -> BuildTask | None:
    """Return what remains of a task after another builder, which retried some states."""
    states = frozenset(state for state in options.retry if state not in retried)
    one = {task.fingerprint: found[task.fingerprint]}
    return next(iter(plan_tasks(store, one, replace(options, retry=states))), None)


def record_of(entry: FolderEntry, *, sketched: Collection[str] = ()) -> DatasetRecord:
    """Read a dataset and describe it; refuse one without outliers, or without inliers.

    Parameters
    ----------
    entry : FolderEntry
        The dataset.
    sketched : collection of str
        Fingerprints of datasets whose sketch is not computed, because it is known.
    """
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
        sketch=None if dataset.fingerprint in sketched else sketch(dataset.X),
    )


def _score_cache(store: Store, options: BuildOptions) -> ScoreCache | None:
    if not options.keep_scores:
        return None
    path = store.location.path
    if path is None:
        legal = "empty for a store that is not a file"
        raise BadParameter("build", "keep_scores", legal, options.keep_scores)
    for model in options.keep_scores - options.n_trials().keys():
        raise BadParameter("build", "keep_scores", "the id of a model that is built", model)
    return ScoreCache.beside(path)
