"""One task of a build: one dataset and what is missing on it, computed and measured."""

import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from metaod.errors import BadFile, UserError
from metaod.history import Evaluation, FolderEntry, Reference, evaluate_models
from metaod.metafeatures import extract, schema
from metaod.models import Budget, CellState, Mode, ModelSpec, Scored
from metaod.store._records import MetaFeatureRecord
from metaod.tables import PreparedTable, prepare

KeptScores = dict[tuple[str, int], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class BuildTask:
    """What is missing on one dataset; a task holds no table, so it can be pickled.

    `specs` and `references` are the models that lack trials, and `lacking` the (model id, trial)
    pairs that are written. `cost` is relative: it orders tasks and estimates the remaining time.
    Scores of the models in `keep` are written to `scores_folder`.
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
    scores_folder: Path | None = None
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TaskResult:
    """The results of a finished task, ordered by model id and trial, and its duration."""

    task: BuildTask
    evaluations: tuple[Evaluation, ...]
    metafeatures: tuple[MetaFeatureRecord, ...]
    seconds: float


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
    kept: KeptScores = {}
    with threadpool_limits(1):
        try:
            prepared = prepare(dataset.table)
        except UserError as error:
            evaluations = _all_failed(task, str(error))
            metafeatures = _undefined_metafeatures(task.schemas)
        else:
            metafeatures = _extract(prepared, task.schemas)
            evaluations = _evaluate(task, prepared, dataset.y, kept)
    if kept and task.scores_folder is not None:
        _keep_scores(task.scores_folder, task.fingerprint, kept)
    evaluations.sort(key=lambda item: (item.model, item.trial))
    return TaskResult(task, tuple(evaluations), metafeatures, time.perf_counter() - start)


def _keep_scores(folder: Path, fingerprint: str, kept: KeptScores) -> None:
    try:
        ScoreCache(folder).write(fingerprint, kept)
    except OSError as error:
        what = f"scores cannot be kept ({error.strerror})"
        remedy = "free some space or allow writing, and start the build again"
        raise UserError(what, where=str(folder), remedy=remedy) from error


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


def _evaluate(
    task: BuildTask, prepared: PreparedTable, y: npt.NDArray[np.int8], kept: KeptScores
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
                prepared.X,
                y,
                task.specs,
                trials=task.trials,
                mode=task.mode,
                budget=task.budget,
                references=task.references,
                keep=keep if task.keep else None,
                fixed=prepared.fixed,
            )
            if (evaluation.model, evaluation.trial) in task.lacking
        ]
    except (MemoryError, OSError) as error:
        what = f"scoring ended with {type(error).__name__}: {error}"
        remedy = "use fewer --jobs or a smaller --max-memory, and start the build again"
        raise UserError(what, where=str(task.entry.path), remedy=remedy) from error
    except Exception as error:  # see run_task; the reason is stored, and `--retry failed` repeats
        return _all_failed(task, f"{type(error).__name__}: {error}")


def _all_failed(task: BuildTask, reason: str) -> list[Evaluation]:
    random = {spec.id for spec in task.specs if spec.is_random}
    random |= {item.spec.id for item in task.references if item.is_random}
    failed = partial(Evaluation, mode=task.mode, state=CellState.FAILED, reason=reason)
    return [failed(name, t, seed=t if name in random else None) for name, t in task.lacking]


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
