"""One task of a build: one dataset, the models that lack trials on it, and their evaluations."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from metaod.errors import BadFile, UserError
from metaod.history import Evaluation, FolderEntry, Reference, evaluate_models
from metaod.metafeatures import extract, schema
from metaod.models import Budget, CellState, Mode, ModelSpec, Scored
from metaod.store._records import MetaFeatureRecord
from metaod.store._score_cache import Kept, ScoreCache
from metaod.tables import PreparedTable, prepare

__all__ = ["BuildTask", "TaskResult", "run_task"]


@dataclass(frozen=True)
class BuildTask:
    """What one task has to do; it holds no table, so that it can travel.

    Parameters
    ----------
    entry : FolderEntry
        The dataset.
    fingerprint : str
        Its content when the build was planned.
    specs : tuple of ModelSpec
        Models that lack trials.
    references : tuple of Reference
        Reference models that lack trials.
    lacking : frozenset of (str, int)
        Model ids and trials that are missing: what is written of all that is computed.
    schemas : tuple of str
        Schemas of meta-features that are missing.
    trials : int
        Trials of a random model.
    mode : Mode
        How faithful to PyOD's own bits the scores are.
    budget : Budget
        What one cell may cost.
    cost : float
        Relative cost, by which tasks are ordered and the time left is foretold.
    scores : Path or None
        Folder that keeps scores.
    keep : frozenset of str
        Ids of the models whose scores are kept there.
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
    scores: Path | None = None
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TaskResult:
    """What a finished task gives.

    Parameters
    ----------
    task : BuildTask
        The task.
    evaluations : tuple of Evaluation
        One for each model and trial that was lacking, by model id and trial.
    metafeatures : tuple of MetaFeatureRecord
        One for each schema that was lacking; none of a table that cannot be prepared.
    seconds : float
        What the whole task took.
    """

    task: BuildTask
    evaluations: tuple[Evaluation, ...]
    metafeatures: tuple[MetaFeatureRecord, ...]
    seconds: float


def run_task(task: BuildTask) -> TaskResult:
    """Read the dataset, score and measure; on one thread, as tasks run beside each other.

    A table that cannot be prepared, or an error nobody foresaw, fails the task's cells with its
    reason: one bad dataset must not end a build of hundreds. Want of memory or of disk is no
    fault of a model: it ends the build, and nothing of the task is recorded.
    """
    start = time.perf_counter()
    dataset = task.entry.load()
    if dataset.fingerprint != task.fingerprint:
        raise BadFile(
            dataset.path,
            "changed while the build was running",
            remedy="start the build again",
        )
    kept: Kept = {}
    metafeatures: tuple[MetaFeatureRecord, ...] = ()
    with threadpool_limits(1):
        try:
            prepared = prepare(dataset.table)
        except UserError as error:
            evaluations = _all_failed(task, str(error))
            metafeatures = _undefined(task.schemas)
        else:
            metafeatures = _describe(prepared, task.schemas)
            evaluations = _evaluate(task, prepared.X, dataset.y, kept)
    if kept and task.scores is not None:
        _keep(task, kept)
    evaluations.sort(key=lambda item: (item.model, item.trial))
    return TaskResult(task, tuple(evaluations), metafeatures, time.perf_counter() - start)


def _keep(task: BuildTask, kept: Kept) -> None:
    assert task.scores is not None  # noqa: S101 - for the type checker; the caller asked
    try:
        ScoreCache(task.scores).write(task.fingerprint, kept)
    except OSError as error:
        raise UserError(
            f"scores cannot be kept ({error.strerror})",
            where=str(task.scores),
            remedy="make room or rights for the folder, and start the build again",
        ) from error


def _undefined(schemas: tuple[str, ...]) -> tuple[MetaFeatureRecord, ...]:
    """Meta-features of a table that cannot be prepared: none is defined."""
    parts = [schema(name) for name in schemas]
    return tuple(
        MetaFeatureRecord(part.name, part.version, part.names, np.full(len(part.names), np.nan))
        for part in parts
    )


def _describe(prepared: PreparedTable, schemas: tuple[str, ...]) -> tuple[MetaFeatureRecord, ...]:
    if not schemas:
        return ()
    found = extract(prepared, schemas)
    records, start = [], 0
    for part in found.schemas:
        values = found.values[start : start + len(part.features)]
        records.append(MetaFeatureRecord(part.name, part.version, part.names, values))
        start += len(part.features)
    return tuple(records)


def _evaluate(
    task: BuildTask, X: npt.NDArray[np.float64], y: npt.NDArray[np.int8], kept: Kept
) -> list[Evaluation]:
    if not task.lacking and not task.keep:
        return []

    def keep(scored: Scored) -> None:
        if scored.spec.id in task.keep and scored.scores is not None:
            kept[scored.spec.id, scored.trial] = scored.scores.astype(np.float32)

    try:
        return [
            evaluation
            for evaluation in evaluate_models(
                X,
                y,
                task.specs,
                trials=task.trials,
                mode=task.mode,
                budget=task.budget,
                references=task.references,
                keep=keep if task.keep else None,
            )
            if (evaluation.model, evaluation.trial) in task.lacking
        ]
    except (MemoryError, OSError) as error:
        raise UserError(
            f"scoring ended with {type(error).__name__}: {error}",
            where=str(task.entry.path),
            remedy="use fewer --jobs or a smaller --max-memory, and start the build again",
        ) from error
    except Exception as error:  # see run_task; the reason is stored and `--retry failed` repeats
        return _all_failed(task, f"{type(error).__name__}: {error}")


def _all_failed(task: BuildTask, reason: str) -> list[Evaluation]:
    random = {spec.id for spec in task.specs if spec.is_random}
    random |= {item.spec.id for item in task.references if item.is_random}
    return [
        Evaluation(
            model,
            trial,
            task.mode,
            CellState.FAILED,
            seed=trial if model in random else None,
            reason=reason,
        )
        for model, trial in task.lacking
    ]
