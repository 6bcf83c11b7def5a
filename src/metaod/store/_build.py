"""The build: find what a store lacks, compute it task by task; it can be stopped at any moment."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from metaod.errors import BadColumn, BadParameter
from metaod.history import (
    FIXED_REFERENCES,
    Evaluation,
    FolderEntry,
    Reference,
    mega_ensemble,
    sketch,
)
from metaod.metafeatures import schema
from metaod.models import (
    Budget,
    CellState,
    Mode,
    ModelSpec,
    Scored,
    candidate_averages,
    model_space,
)
from metaod.store._claims import Others, builder_of
from metaod.store._executors import Executor, SerialExecutor
from metaod.store._queries import missing, stored_schemas, written_trials
from metaod.store._records import DatasetRecord
from metaod.store._relatives import Placed, place, write_placed
from metaod.store._slices import Slicer
from metaod.store._store import First, Store
from metaod.store._sums import SlicedReferences, disjoint
from metaod.store._tasks import BuildTask, KeptScores, ScoreCache, TaskResult, keep_scores


def _ignore(*_: object) -> None:
    """No-op callback."""


@dataclass(frozen=True)
class BuildOptions:
    """The models and meta-features that a build computes on each dataset.

    Parameters
    ----------
    space : str, default="paper"
        Name of the model space.
    detectors : tuple of str, optional
        Only these families; the Mega Ensemble, which needs all, is then left out.
    averages : bool, default=False
        Whether to evaluate the averages of representatives among the models too.
    trials : int, default=5
        Trials of a random model; trial t uses seed t.
    mode : Mode, default="fast"
        Whether scores are the fast ones or PyOD's own, bit for bit.
    budget : Budget
        The time and memory that one cell may take.
    references : bool, default=True
        Whether to evaluate the reference models too.
    schemas : tuple of str, default=("paper", "scores")
        Schemas of the meta-features to extract.
    retry : frozenset of CellState
        Trials in these states are computed again.
    keep_scores : frozenset of str
        Ids of models whose scores are kept in a folder beside the store.
    """

    space: str = "paper"
    detectors: tuple[str, ...] | None = None
    averages: bool = False
    trials: int = 5
    mode: Mode = Mode.FAST
    budget: Budget = field(default_factory=Budget)
    references: bool = True
    schemas: tuple[str, ...] = ("paper", "scores")
    retry: frozenset[CellState] = frozenset()
    keep_scores: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise BadParameter("build", "trials", "an int in the range [1, inf)", self.trials)
        for name in self.schemas:
            schema(name)

    def specs(self) -> tuple[ModelSpec, ...]:
        """Return the models, and the averages if there are any."""
        models = model_space(self.space, detectors=self.detectors)
        if not self.averages:
            return models
        averages = candidate_averages(models)
        if not averages:
            legal = "left out: no average that may be picked has all its members among these models"
            remedy = "Use the space 'extended' with all of its families"
            raise BadParameter("build", "averages", legal, self.averages, remedy=remedy)
        return (*models, *averages)

    def reference_models(self) -> tuple[Reference, ...]:
        """Return the reference models."""
        if not self.references:
            return ()
        if self.detectors is not None:
            return FIXED_REFERENCES
        return (*FIXED_REFERENCES, mega_ensemble(model_space(self.space), self.space))


@dataclass(frozen=True)
class Plan:
    """What a build will do.

    `tasks` has one task for each dataset or slice that lacks anything, the most costly first;
    `duplicates` has the names of datasets that are left out, each with its equal; `placed` has
    all datasets with their origins, and notes about related ones; `stale` has datasets and
    references with the names of sums over slices whose members are scored anew.
    """

    tasks: tuple[BuildTask, ...]
    placed: Placed
    duplicates: tuple[tuple[str, str], ...] = ()
    stale: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    @property
    def datasets(self) -> tuple[DatasetRecord, ...]:
        """All datasets."""
        return self.placed.records

    @property
    def n_unfinished(self) -> int:
        """Number of datasets that lack anything."""
        return len({task.fingerprint for task in self.tasks})

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


def plan_build(
    store: Store,
    entries: Sequence[FolderEntry],
    options: BuildOptions,
    *,
    on_read: Callable[[int, int], None] = _ignore,
) -> Plan:
    """Read every dataset once for its fingerprint and find which trials the store lacks."""
    specs, references = options.specs(), options.reference_models()
    cache = _score_cache(store, options)
    found: dict[str, tuple[DatasetRecord, FolderEntry]] = {}
    duplicates = []
    sketched = store.sketches()
    for done, entry in enumerate(entries, start=1):
        record = record_of(entry, sketched=sketched)
        first, _ = found.setdefault(record.fingerprint, (record, entry))
        if first is not record:
            duplicates.append((entry.full_name, first.name))
        on_read(done, len(entries))
    wanted = {spec.id: options.trials if spec.is_random else 1 for spec in specs}
    wanted |= {item.spec.id: options.trials if item.is_random else 1 for item in references}
    keep = {model: wanted[model] for model in options.keep_scores}
    sliced = SlicedReferences(store, references, options.trials, options.mode)
    summed = sliced.stored()  # first: what is summed was written with what is evaluated
    look = partial(missing, store, found, wanted, options.mode, retry=options.retry)
    lacking_trials = store.repeat(look)
    stored = {item.fingerprint for item in store.datasets()}
    lacking_schemas = _lacking_schemas(store, found, options.schemas)
    tasks: list[BuildTask] = []
    stale: list[tuple[str, str, tuple[str, ...]]] = []
    slicer = Slicer(specs, references, options.trials, options.budget)
    for fingerprint, (record, entry) in found.items():
        lacking, schemas = lacking_trials.get(fingerprint, {}), lacking_schemas[fingerprint]
        models = dict(lacking)
        for item in references:
            # an average of the available members changes when one of them becomes available
            if not item.all_needed and any(member.id in models for member in item.members):
                models[item.spec.id] = tuple(range(wanted[item.spec.id]))
        unkept = cache.missing(fingerprint, keep) if cache is not None else set()
        if not models and not schemas and not unkept:
            continue
        whole = BuildTask(
            entry,
            fingerprint,
            tuple(spec for spec in specs if spec.id in models or spec.id in unkept),
            tuple(item for item in references if item.spec.id in models or item.spec.id in unkept),
            frozenset((model, trial) for model, trials in models.items() for trial in trials),
            schemas,
            options.trials,
            options.mode,
            options.budget,
            _cost(record),
            frozenset(unkept),
        )
        if fingerprint in stored and (options.retry or models != lacking):
            written = written_trials(store, fingerprint, options.mode)
            replaced = (trial for trial in written if trial[:2] in whole.lacking)
            whole = replace(whole, replaced=frozenset(replaced))
        again = {spec for spec in whole.specs if spec.id in models}
        covered: dict[str, frozenset[ModelSpec]] = {}
        for model, sums in summed.get(fingerprint, {}).items():
            usable = {name: part for name, part in sums.items() if part.isdisjoint(again)}
            covered[model] = frozenset().union(*disjoint(usable).values())
            if len(usable) < len(sums):
                stale.append((fingerprint, model, tuple(sums.keys() - usable.keys())))
        tasks += slicer.cut(whole, record.n_rows, record.n_columns, covered)
    tasks.sort(key=lambda task: (-task.cost, task.fingerprint))
    placed = place(store, list(found.values()))
    return Plan(tuple(tasks), placed, tuple(duplicates), tuple(stale))


def build(
    store: Store,
    entries: Sequence[FolderEntry],
    options: BuildOptions | None = None,
    *,
    executor: Executor | None = None,
    on_read: Callable[[int, int], None] = _ignore,
    on_plan: Callable[[Plan], None] = _ignore,
    on_task: Callable[[TaskResult], None] = _ignore,
    on_others: Callable[[Others], None] = _ignore,
) -> BuildReport:
    """Compute what the store lacks and write each finished task in one transaction.

    If the process ends early, for any reason, the same call continues where it stopped, and the
    final content of the store is the same, except for timings.

    Several builders may work on a store on PostgreSQL at the same time: each computes tasks that
    no other has claimed, and then waits until the others have finished theirs. It takes over the
    tasks of a builder that was killed: at once if it sees that the process has ended (on the same
    machine, not in another container), else after ten minutes.

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
        each finished task, and, while and after it waits for other builders, with the numbers of
        tasks that they have finished and claimed.
    """
    options = options or BuildOptions()
    executor = executor or SerialExecutor()
    start = time.perf_counter()
    states: Counter[CellState] = Counter()
    cache = _score_cache(store, options)
    n_tasks = 0
    with builder_of(store) as builder:
        references = SlicedReferences(
            store,
            options.reference_models(),
            options.trials,
            options.mode,
            partial(_keep, cache, options.keep_scores),
        )
        for fingerprint in store.datasets_with_sums():
            references.finish(fingerprint)
        plan = plan_build(store, entries, options, on_read=on_read)
        on_plan(plan)
        if plan.tasks:
            store.add_models(options.specs())
            store.add_models([item.spec for item in options.reference_models()], is_reference=True)
            write_placed(store, plan.placed)
        for fingerprint, model, names in plan.stale:
            references.drop(fingerprint, model, names)
        record = partial(_record, store, references, cache)
        for result, written in builder.run(executor, plan.tasks, references, record, on_others):
            n_tasks += 1
            states.update(item.state for item in written)
            on_task(result)
        # another builder may have ended between the last slice and this
        for fingerprint in store.repeat(store.datasets_with_sums):
            finished = store.repeat(partial(references.finish, fingerprint))
            states.update(item.state for item in finished)
    return BuildReport(plan, states, time.perf_counter() - start, n_tasks)


def _record(
    store: Store,
    references: SlicedReferences,
    cache: ScoreCache | None,
    result: TaskResult,
    first: First | None,
) -> list[Evaluation]:
    """Write a finished task, and the references that its slice completes."""
    fingerprint = result.task.fingerprint
    if cache is not None and result.kept:
        keep_scores(cache.folder, fingerprint, result.kept)
    store.record_task(
        fingerprint, result.evaluations, result.metafeatures, result.sums, first=first
    )
    if not result.sums:
        return list(result.evaluations)
    return [*result.evaluations, *store.repeat(partial(references.finish, fingerprint))]


def _keep(
    cache: ScoreCache | None, models: Collection[str], fingerprint: str, scored: Iterable[Scored]
) -> None:
    """Keep the scores of those of the models that are wanted."""
    kept: KeptScores = {
        (item.spec.id, item.trial): item.scores.astype(np.float32)
        for item in scored
        if item.spec.id in models and item.scores is not None
    }
    if cache is not None and kept:
        keep_scores(cache.folder, fingerprint, kept)


def _lacking_schemas(
    store: Store, fingerprints: Iterable[str], schemas: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    known = stored_schemas(store)
    return {
        item: tuple(name for name in schemas if (item, name, schema(name).version) not in known)
        for item in fingerprints
    }


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


def _cost(record: DatasetRecord) -> float:
    # measured: the time of OCSVM grows with the square of the rows until the budget ends it, the
    # rest about linearly
    return min(record.n_rows, 25_000) ** 2 + 4_000.0 * record.n_rows


def _score_cache(store: Store, options: BuildOptions) -> ScoreCache | None:
    if not options.keep_scores:
        return None
    path = store.location.path
    if path is None:
        legal = "empty for a store that is not a file"
        raise BadParameter("build", "keep_scores", legal, options.keep_scores)
    known = {spec.id for spec in options.specs()}
    known |= {item.spec.id for item in options.reference_models()}
    for model in options.keep_scores:
        if model not in known:
            raise BadParameter("build", "keep_scores", "the id of a model that is built", model)
    return ScoreCache.beside(path)
