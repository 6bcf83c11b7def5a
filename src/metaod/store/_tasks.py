"""One task of a build: what is missing on a dataset or a slice of its models, computed."""

import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from metaod.errors import BadFile, UserError
from metaod.history import (
    Evaluation,
    FolderEntry,
    LabelledDataset,
    Reference,
    ReferenceScores,
    ReferenceSum,
    evaluate_models,
)
from metaod.metafeatures import extract, schema
from metaod.models import Budget, CellState, Mode, ModelSpec, Scored
from metaod.store._memory import expected_bytes
from metaod.store._records import MetaFeatureRecord, SumRecord, WrittenTrial
from metaod.tables import PreparedTable, prepare

TaskKey = tuple[str, str]
"""A task's identity in a build: the dataset's fingerprint and the slice of its models."""

KeptScores = dict[tuple[str, int], npt.NDArray[np.float32]]


_between_cells: ContextVar[Callable[[], None] | None] = ContextVar("between_cells", default=None)


@contextmanager
def while_evaluating(check: Callable[[], None]) -> Iterator[None]:
    """Call a function between the cells of the tasks inside; what it raises ends the task."""
    token = _between_cells.set(check)
    try:
        yield
    finally:
        _between_cells.reset(token)


@dataclass(frozen=True)
class BuildTask:
    """What is missing on one dataset, or on one slice of its models, named `slice`.

    A task holds no table, so it can be pickled. `specs` and `references` are the models that lack
    trials, and `lacking` the (model id, trial) pairs that are written. `summed` has references
    that are summed over the slices, with their members in this one. `cost` is relative: it orders
    tasks and estimates the remaining time. `shape` is that of the table. The result has the
    scores of the models in `keep`. `replaced` has the trials of the dataset that a store on a
    server has, but which are computed again.
    """

    entry: FolderEntry
    fingerprint: str
    specs: tuple[ModelSpec, ...]
    references: tuple[Reference, ...]
    lacking: frozenset[tuple[str, int]]
    schemas: tuple[str, ...]
    trials: int
    mode: Mode
    budget: Budget
    cost: float
    keep: frozenset[str] = frozenset()
    slice: str = ""
    summed: tuple[Reference, ...] = ()
    shape: tuple[int, int] = (0, 0)
    replaced: frozenset[WrittenTrial] = frozenset()

    @property
    def key(self) -> TaskKey:
        """What names the task: the dataset's fingerprint, and the slice or nothing."""
        return (self.fingerprint, self.slice)

    @cached_property
    def n_bytes(self) -> int:
        """The expected memory beyond that of the process."""
        return expected_bytes(
            self.specs, self.references, self.summed, self.trials, self.budget, self.shape
        )

    @property
    def path(self) -> Path:
        """The file that the task reads."""
        return self.entry.path

    def at(self, path: Path) -> "BuildTask":
        """Return the same task on a copy of its file."""
        return replace(self, entry=replace(self.entry, path=path))

    def lost(self, reason: str, state: CellState = CellState.FAILED) -> "TaskResult":
        """Return the result of a task that could not be computed."""
        random = {spec.id for spec in self.specs if spec.is_random}
        random |= {item.spec.id for item in self.references if item.is_random}
        cell = partial(Evaluation, mode=self.mode, state=state, reason=reason)
        cells = [cell(name, t, seed=t if name in random else None) for name, t in self.lacking]
        sums = ReferenceScores(self.summed, self.trials)
        for member in sums.members:
            for trial in range(self.trials if member.is_random else 1):
                sums.add(Scored(member, trial, state, reason=reason))
        return TaskResult(self, _ordered(cells), sums=_sum_records(self, sums, b""))

    def halves(self) -> "tuple[BuildTask, ...]":
        """Return two tasks that compute the same together; none if there is nothing to halve."""
        summed = [member for item in self.summed for member in item.members]
        models = list(dict.fromkeys([*self.specs, *summed]))
        parts: list[object] = [*models, *self.references, *self.schemas]
        if len(parts) < 2:
            return ()
        middle = len(parts) // 2
        return self._part(parts[:middle]), self._part(parts[middle:])

    def _part(self, parts: list[object]) -> "BuildTask":
        specs = tuple(spec for spec in self.specs if spec in parts)
        references = tuple(item for item in self.references if item in parts)
        ids = {*(spec.id for spec in specs), *(item.spec.id for item in references)}
        sums = (
            replace(item, members=tuple(member for member in item.members if member in parts))
            for item in self.summed
        )
        return replace(
            self,
            specs=specs,
            references=references,
            lacking=frozenset(pair for pair in self.lacking if pair[0] in ids),
            schemas=tuple(name for name in self.schemas if name in parts),
            keep=self.keep & ids,
            summed=tuple(item for item in sums if item.members),
        )

    def joined(self, results: "Iterable[TaskResult]") -> "TaskResult":
        """Return the result of a task from those of its parts."""
        results = list(results)
        records = []
        for item in self.summed:
            total, labels = ReferenceSum(), b""
            for record in (one for result in results for one in result.sums):
                if record.model == item.spec.id:
                    total.add_sum(ReferenceSum.from_bytes(record.content))
                    labels = labels or record.labels
            records.append(_sum_record(self, item, total, labels))
        return TaskResult(
            self,
            _ordered(cell for result in results for cell in result.evaluations),
            tuple(record for result in results for record in result.metafeatures),
            sum(result.seconds for result in results),
            tuple(records),
            {key: scores for result in results for key, scores in result.kept.items()},
        )


@dataclass(frozen=True)
class TaskResult:
    """The results of a finished task, ordered by model id and trial, and its duration."""

    task: BuildTask
    evaluations: tuple[Evaluation, ...]
    metafeatures: tuple[MetaFeatureRecord, ...] = ()
    seconds: float = 0.0
    sums: tuple[SumRecord, ...] = ()
    kept: KeptScores = field(default_factory=dict, repr=False)


def run_task(task: BuildTask) -> TaskResult:
    """Read the dataset, score and measure, on one thread.

    If the table cannot be prepared, or after an unforeseen error, the task's cells fail with the
    reason, and the build continues. Lack of memory or of disk space ends the build.
    """
    start = time.perf_counter()
    dataset = task.entry.load()
    if dataset.fingerprint != task.fingerprint:
        remedy = "start the build again"
        raise BadFile(dataset.path, "changed while the build was running", remedy=remedy)
    with threadpool_limits(1):
        try:
            prepared = prepare(dataset.table)
        except UserError as error:
            result = replace(
                task.lost(str(error)), metafeatures=_undefined_metafeatures(task.schemas)
            )
        else:
            metafeatures = _extract(prepared, task.schemas)
            result = replace(_evaluate(task, prepared, dataset), metafeatures=metafeatures)
    return replace(result, seconds=time.perf_counter() - start)


def _undefined_metafeatures(schemas: tuple[str, ...]) -> tuple[MetaFeatureRecord, ...]:
    return tuple(
        MetaFeatureRecord(part.name, part.version, part.names, np.full(len(part.names), np.nan))
        for part in map(schema, schemas)
    )


def _extract(prepared: PreparedTable, schemas: tuple[str, ...]) -> tuple[MetaFeatureRecord, ...]:
    if not schemas:
        return ()
    found = extract(prepared, schemas)
    records, start = [], 0
    for part in found.schemas:
        values = found.values[start : start + len(part.features)]
        records.append(MetaFeatureRecord(part.name, part.version, part.names, values))
        start += len(part.features)
    return tuple(records)


def _evaluate(task: BuildTask, prepared: PreparedTable, dataset: LabelledDataset) -> TaskResult:
    if not task.lacking and not task.keep and not task.summed:
        return TaskResult(task, ())
    kept: KeptScores = {}

    def keep(scored: Scored) -> None:
        if scored.spec.id in task.keep and scored.scores is not None:
            kept[scored.spec.id, scored.trial] = scored.scores.astype(np.float32)

    sums = ReferenceScores(task.summed, task.trials)
    check = _between_cells.get()
    evaluations = []
    try:
        for evaluation in evaluate_models(
            prepared.X,
            dataset.y,
            task.specs,
            trials=task.trials,
            mode=task.mode,
            budget=task.budget,
            references=task.references,
            sums=sums,
            keep=keep if task.keep else None,
            fixed=prepared.fixed,
        ):
            if (evaluation.model, evaluation.trial) in task.lacking:
                evaluations.append(evaluation)
            if check is not None:
                check()
    except (MemoryError, OSError) as error:
        what = f"scoring ended with {type(error).__name__}: {error}"
        remedy = "use fewer --jobs or a smaller --max-memory, and start the build again"
        raise UserError(what, where=str(task.entry.path), remedy=remedy) from error
    except Exception as error:  # see run_task; the reason is stored, and `--retry failed` repeats
        return task.lost(f"{type(error).__name__}: {error}")
    records = _sum_records(task, sums, dataset.y.astype(np.int8).tobytes())
    return TaskResult(task, _ordered(evaluations), sums=records, kept=kept)


def _ordered(evaluations: Iterable[Evaluation]) -> tuple[Evaluation, ...]:
    return tuple(sorted(evaluations, key=lambda item: (item.model, item.trial)))


def _sum_records(task: BuildTask, sums: ReferenceScores, labels: bytes) -> tuple[SumRecord, ...]:
    pairs = zip(task.summed, sums.sums, strict=True)
    return tuple(_sum_record(task, item, found, labels) for item, found in pairs)


def _sum_record(task: BuildTask, item: Reference, found: ReferenceSum, labels: bytes) -> SumRecord:
    name = SumRecord.name_of((member.id for member in found.members), task.trials)
    count, content = len(found.members), found.to_bytes()
    return SumRecord(item.spec.id, task.mode, name, count, task.trials, labels, content)


def keep_scores(folder: Path, fingerprint: str, kept: KeptScores) -> None:
    """Add scores to those kept in a folder."""
    try:
        ScoreCache(folder).write(fingerprint, kept)
    except OSError as error:
        what = f"scores cannot be kept ({error.strerror})"
        remedy = "free some space or allow writing, and start the build again"
        raise UserError(what, where=str(folder), remedy=remedy) from error


class ScoreCache:
    """Scores (float32) of chosen models, in a folder beside a store: one NPZ file a dataset."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @classmethod
    def beside(cls, store: Path) -> "ScoreCache":
        return cls(store.with_name(store.name + ".scores"))

    def path(self, fingerprint: str) -> Path:
        return self.folder / f"{fingerprint.replace(':', '-')}.npz"

    def write(self, fingerprint: str, scores: KeptScores) -> None:
        """Add scores to a dataset's file; the file is replaced whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(fingerprint)
        merged = (self.read(fingerprint) if path.exists() else {}) | scores
        keys = sorted(merged)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        with unfinished.open("wb") as file:
            np.savez_compressed(
                file,
                models=np.array([model for model, _ in keys], dtype=np.str_),
                trials=np.array([trial for _, trial in keys], dtype=np.int64),
                scores=np.array([merged[key] for key in keys], dtype=np.float32),
            )
        unfinished.replace(path)

    def missing(self, fingerprint: str, wanted: Mapping[str, int]) -> set[str]:
        """Return the models that have fewer kept trials than wanted."""
        kept = set(self.read(fingerprint))
        return {
            model
            for model, trials in wanted.items()
            if any((model, trial) not in kept for trial in range(trials))
        }

    def read(self, fingerprint: str) -> KeptScores:
        """Read the kept scores of one dataset."""
        path = self.path(fingerprint)
        try:
            with np.load(path, allow_pickle=False) as file:
                models, trials, scores = file["models"], file["trials"], file["scores"]
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            raise BadFile(path, "is not a file of scores", remedy="delete it") from error
        return {
            (str(model), int(trial)): row
            for model, trial, row in zip(models, trials, scores, strict=True)
        }
