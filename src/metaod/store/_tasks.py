"""What a build computes on one dataset: options, tasks, and their results."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path
from typing import Self

from threadpoolctl import threadpool_limits

from metaod.errors import BadFile, BadParameter, UserError
from metaod.history import (
    REFERENCE_MODELS,
    Evaluation,
    FolderEntry,
    LabelledDataset,
    MegaEnsemble,
    evaluate_models,
)
from metaod.metafeatures import extract, schema
from metaod.models import (
    Budget,
    CellState,
    ModelSpec,
    candidate_averages,
    expected_costs,
    model_space,
)
from metaod.options import Building, document, option
from metaod.store._schema import MetaFeatureRecord
from metaod.tables import PreparedTable, prepare

USE_LESS = "use fewer processes or allow less memory, and start the build again"
_TABLE_COPIES = 6  # as read, as prepared, as scaled, and temporary ones

_between_cells: ContextVar[Callable[[], None] | None] = ContextVar("between_cells", default=None)


@contextmanager
def while_evaluating(check: Callable[[], None]) -> Iterator[None]:
    """Call a function between the cells of the tasks inside; what it raises ends the task."""
    token = _between_cells.set(check)
    try:
        yield
    finally:
        _between_cells.reset(token)


class OutOfMemory(UserError):
    """A task could not get the memory that it needs."""

    code = "out-of-memory"


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Building):
    """The models and meta-features that a build computes on each dataset.

    Parameters
    ----------
    options : ...
    """

    budget: Budget = option(
        Budget(), "The time and memory that one cell may take.", only_python=True
    )

    def checked(self, owner: str) -> Self:
        """Return them as the code uses them; errors name the owner."""
        found = super().checked(owner)
        for state in found.retry:
            if state not in [*CellState]:
                raise BadParameter(owner, "retry", [*CellState], state)
        for name in found.schemas:
            schema(name)
        return found

    def specs(self) -> tuple[ModelSpec, ...]:
        """Return the models, and the averages if there are any."""
        models = model_space(self.space, detectors=self.detectors or None)
        if not self.averages:
            return models
        averages = candidate_averages(models)
        if not averages:
            legal = "left out: no average that may be picked has all its members among these models"
            remedy = "Use the space 'extended' with all of its families"
            raise BadParameter("build", "averages", legal, self.averages, remedy=remedy)
        return (*models, *averages)

    def reference_models(self) -> tuple[ModelSpec, ...]:
        """Return the reference models, without the Mega Ensemble."""
        return REFERENCE_MODELS if self.references else ()

    def mega_ensemble(self) -> MegaEnsemble | None:
        """Return the Mega Ensemble of the space, if it is built."""
        if not self.references or self.detectors:
            return None
        return MegaEnsemble(self.space, model_space(self.space))

    def n_trials(self) -> dict[str, int]:
        """Return the number of trials of each model and reference, by id."""
        return {model: self.trials if random else 1 for model, random in self.are_random().items()}

    def are_random(self) -> dict[str, bool]:
        """Return whether each model and reference needs a seed, by id."""
        random = {s.id: s.is_random for s in (*self.specs(), *self.reference_models())}
        if (mega := self.mega_ensemble()) is not None:
            random[mega.spec.id] = mega.is_random
        return random


document(BuildOptions, options=BuildOptions.declared())


@dataclass(frozen=True)
class BuildTask:
    """What a store lacks on one dataset.

    A task holds no table, so it can be pickled. `shape` is that of the table and `lacking` has the
    (model id, trial) pairs that are written. `copy` is a copy of the dataset's file on a machine
    that does not have the file.
    """

    entry: FolderEntry
    fingerprint: str
    shape: tuple[int, int]
    options: BuildOptions
    lacking: frozenset[tuple[str, int]]
    schemas: tuple[str, ...] = ()
    copy: Path | None = None

    @property
    def cost(self) -> float:
        """The relative cost, which orders tasks and estimates the remaining time."""
        # measured: the time of OCSVM grows with the square of the rows until the budget ends it,
        # the rest about linearly
        return min(self.shape[0], 25_000) ** 2 + 4_000.0 * self.shape[0]

    @cached_property
    def _models(self) -> set[str]:
        return {model for model, _ in self.lacking}

    @cached_property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The models that are computed, references among them."""
        models = (*self.options.specs(), *self.options.reference_models())
        return tuple(spec for spec in models if spec.id in self._models)

    @cached_property
    def ensemble(self) -> MegaEnsemble | None:
        """The Mega Ensemble, if it is computed."""
        mega = self.options.mega_ensemble()
        return mega if mega is not None and mega.spec.id in self._models else None

    @cached_property
    def n_bytes(self) -> int:
        """The expected memory beyond that of the process: the table, kept scores, largest model."""
        n_rows, n_columns = self.shape
        used = {*self.specs, *(self.ensemble.members if self.ensemble else ())}
        averaged = {member for spec in used if spec.is_average for member in spec.members}
        singles = [spec for spec in used | averaged if not spec.is_average]
        limit = self.options.budget.bytes
        # a cell beyond the budget is not started; nothing is known of a family without a law
        sizes = [cost.n_bytes for cost in expected_costs(singles, n_rows, n_columns)]
        largest = max((size for size in sizes if size <= limit), default=0.0)
        kept = sum(self.options.trials if spec.is_random else 1 for spec in averaged)
        kept += self.options.trials + 1
        return int(8.0 * n_rows * (_TABLE_COPIES * n_columns + kept) + largest)

    def load(self) -> LabelledDataset:
        """Read the dataset; refuse another one than that of the plan."""
        path = self.copy or self.entry.path
        dataset = replace(replace(self.entry, path=path).load(), path=self.entry.path)
        if dataset.fingerprint != self.fingerprint:
            remedy = "start the build again"
            raise BadFile(dataset.path, "changed while the build was running", remedy=remedy)
        return dataset

    def lost(self, reason: str, state: CellState = CellState.FAILED) -> "TaskResult":
        """Return the result of a task that could not be computed."""
        random = self.options.are_random()
        cells = [
            Evaluation(model, trial, state, seed=trial if random[model] else None, reason=reason)
            for model, trial in sorted(self.lacking)
        ]
        return TaskResult(self, tuple(cells))


@dataclass(frozen=True)
class TaskResult:
    """The results of a finished task, ordered by model id and trial."""

    task: BuildTask
    evaluations: tuple[Evaluation, ...]
    metafeatures: tuple[MetaFeatureRecord, ...] = ()


def run_task(task: BuildTask) -> TaskResult:
    """Read the dataset, score and measure, on one thread.

    If the table cannot be prepared, or after an unforeseen error, the task's cells fail with the
    reason, and the build continues. Lack of memory or of disk space is an error.
    """
    dataset = task.load()
    with threadpool_limits(1):
        try:
            prepared = prepare(dataset.table)
        except UserError as error:
            return replace(task.lost(str(error)), metafeatures=_extract(None, task.schemas))
        metafeatures = _extract(prepared, task.schemas)
        return replace(_evaluate(task, prepared, dataset), metafeatures=metafeatures)


def _extract(
    prepared: PreparedTable | None, schemas: tuple[str, ...]
) -> tuple[MetaFeatureRecord, ...]:
    """Return the meta-features by schema; all are undefined without a prepared table."""
    values: Iterator[float] = repeat(math.nan)
    if prepared is not None and schemas:
        values = iter(extract(prepared, schemas).values)
    return tuple(
        MetaFeatureRecord(part.name, part.version, part.names, [*islice(values, len(part.names))])
        for part in map(schema, schemas)
    )


def _evaluate(task: BuildTask, prepared: PreparedTable, dataset: LabelledDataset) -> TaskResult:
    check = _between_cells.get()
    evaluations = []
    try:
        for evaluation in evaluate_models(
            prepared.X,
            dataset.y,
            task.specs,
            trials=task.options.trials,
            budget=task.options.budget,
            ensemble=task.ensemble,
            fixed=prepared.fixed,
        ):
            if (evaluation.model, evaluation.trial) in task.lacking:
                evaluations.append(evaluation)
            if check is not None:
                check()
    except (MemoryError, OSError) as error:
        kind = OutOfMemory if isinstance(error, MemoryError) else UserError
        what = f"scoring ended with {type(error).__name__}: {error}"
        raise kind(what, where=str(task.entry.path), remedy=USE_LESS) from error
    except Exception as error:  # see run_task; the reason is stored, and `--retry failed` repeats
        return task.lost(f"{type(error).__name__}: {error}")
    evaluations.sort(key=lambda item: (item.model, item.trial))
    return TaskResult(task, tuple(evaluations))
