"""Runs learners over the splits of a protocol: parallel, resumable, one line a training."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import metaod.learners
from metaod.errors import BadFile, BadParameter
from metaod.lab._protocols import Split
from metaod.lab.testbeds.childset_making import versions
from metaod.learners import Learner, learner_class, make_learner

__all__ = ["Candidate", "Journal", "Picks", "Task", "ranking", "run_protocol", "tasks_of"]

Origins = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Candidate:
    """A learner under test.

    Parameters
    ----------
    key : str
        Its name in the results.
    learner : str
        Its name in the registry.
    M : DataFrame
        The meta-features that it is given, one row a dataset.
    params : dict
        Parameters other than the defaults.
    """

    key: str
    learner: str
    M: pd.DataFrame
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def is_random(self) -> bool:
        """Whether several seeds are run."""
        return learner_class(self.learner).is_random


@dataclass(frozen=True)
class Task:
    """One training: a candidate with a seed on one split.

    Parameters
    ----------
    candidate, seed, split
        Who is trained, and on what.
    digest : str
        Of all that its outcome depends on: data, split, parameters (defaults too), seed, the
        learners' code and the versions that run it.
    """

    candidate: Candidate
    seed: int
    split: Split
    digest: str

    def fit(self, P: pd.DataFrame, origins: Origins) -> Learner:
        """The learner, fitted on the training side; nothing else of P reaches it."""
        params = dict(self.candidate.params)
        if self.candidate.is_random:
            params["random_state"] = self.seed
        train = self.split.train
        learner = make_learner(self.candidate.learner, **params)
        return learner.fit(P.iloc[train], self.candidate.M.iloc[train], origins[train])


class Journal:
    """A file that keeps what is done, a line each, so that a run that was stopped goes on.

    Parameters
    ----------
    path : Path or None
        The file; with None nothing is kept.

    Attributes
    ----------
    done : dict
        What was found, by the digest of all that it depends on.
    """

    _BEGIN = b'{"digest": "'

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.done: dict[str, Any] = {}
        if path is not None:
            self._open(path)

    def keep(self, digest: str, found: Any) -> None:
        """Write what was found."""
        self.done[digest] = found
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"digest": digest, "found": found}) + "\n")

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise BadFile(
                path, f"cannot be used ({error.strerror})", remedy="name another folder"
            ) from error
        *lines, rest = raw.split(b"\n")
        foreign = BadFile(
            path, "is no journal of an evaluation", remedy="delete it, or name another folder"
        )
        for line in lines:
            try:
                entry = json.loads(line)
                self.done[str(entry["digest"])] = entry["found"]
            except (ValueError, KeyError, TypeError) as error:
                raise foreign from error
        if rest:
            # a run that was killed while it wrote: that one is done again
            if rest[: len(self._BEGIN)] != self._BEGIN[: len(rest)]:
                raise foreign
            with path.open("r+b") as file:
                file.truncate(len(raw) - len(rest))


Picks = pd.DataFrame
"""One row per (candidate, seed, dataset): ``method``, ``seed``, ``dataset``, ``pick`` (the model),
``performance`` (what it reached) and ``passed_over`` (models ranked higher that have no value on
the dataset: what a user's run would have passed over). Where no model has a value, the pick is
empty and its performance NaN."""


def run_protocol(
    P: pd.DataFrame,
    groups: Sequence[str],
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    *,
    seeds: int = 5,
    n_jobs: int = 1,
    journal: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Picks:
    """Train every candidate on the training side of every split and pick for the test side.

    Parameters
    ----------
    P : DataFrame of shape (n_datasets, n_models)
        Performance; NaN where missing.
    groups : sequence of str
        Origins of the datasets.
    splits : sequence of Split
        The protocol.
    candidates : sequence of Candidate
        The learners.
    seeds : int, default=5
        Seeds 0, 1, ... of a random learner; others are run once.
    n_jobs : int, default=1
        Processes.
    journal : Path, optional
        File that keeps what is done, a line a training: a run that was stopped goes on from there.
        What was computed from other data, parameters or code is not taken over.
    progress : callable, optional
        Told how many trainings are done, of how many.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415 - the command's --help does without

    if seeds < 1:
        raise BadParameter("run_protocol", "seeds", "an int in the range [1, inf)", seeds)
    origins = np.asarray(groups).astype(str)
    tasks = list(tasks_of(P, origins, splits, candidates, seeds))
    kept = Journal(journal)
    # tasks that agree in everything are done once
    waiting = {task.digest: task for task in tasks if task.digest not in kept.done}
    total = len({task.digest for task in tasks})
    finished = total - len(waiting)
    if progress is not None:
        progress(finished, total)
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run)(P, origins, task) for task in waiting.values()
    )
    for digest, rows in runs:
        kept.keep(digest, rows)
        finished += 1
        if progress is not None:
            progress(finished, total)
    records = [
        (task.candidate.key, task.seed, *row) for task in tasks for row in kept.done[task.digest]
    ]
    names = ["method", "seed", "dataset", "pick", "performance", "passed_over"]
    return pd.DataFrame(records, columns=names)


def tasks_of(
    P: pd.DataFrame,
    origins: Origins,
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    seeds: int,
) -> Iterator[Task]:
    """All trainings of a protocol."""
    history = _digest(P.to_numpy().tobytes(), *map(str, P.columns), *origins, *map(str, P.index))
    for candidate in candidates:
        M = candidate.M
        given = _digest(
            history,
            M.to_numpy(dtype=np.float64).tobytes(),
            *map(str, M.columns),
            *map(str, M.index),
            candidate.learner,
            # a default that changes is a change too
            json.dumps(
                make_learner(candidate.learner, **candidate.params).params(),
                sort_keys=True,
                default=repr,
            ),
            _code(learner_class(candidate.learner)),
            json.dumps(versions(), sort_keys=True),
        )
        for seed in range(seeds if candidate.is_random else 1):
            for split in splits:
                digest = _digest(given, str(seed), split.train.tobytes(), split.test.tobytes())
                yield Task(candidate, seed, split, digest)


def ranking(scores: "pd.Series[float]") -> list[str]:
    """Models by score, the best first; among equals by id.

    Examples
    --------
    >>> ranking(pd.Series({"b": 1.0, "c": 2.0, "a": 1.0}))
    ['c', 'a', 'b']
    """
    return list(scores.sort_index().sort_values(ascending=False, kind="stable").index)


def _run(P: pd.DataFrame, origins: Origins, task: Task) -> tuple[str, list[list[Any]]]:
    scores = task.fit(P, origins).predict(task.candidate.M.iloc[task.split.test])
    rows = []
    # the test side of P is read only now, after the models are ranked
    for dataset, found in scores.iterrows():
        ranked = ranking(found)
        reached = P.loc[dataset, ranked].to_numpy(dtype=np.float64)
        usable = np.flatnonzero(~np.isnan(reached))
        if len(usable):
            first = int(usable[0])
            rows.append([str(dataset), ranked[first], float(reached[first]), first])
        else:
            rows.append([str(dataset), "", float("nan"), len(ranked)])
    return task.digest, rows


@cache
def _code(kind: type[Learner]) -> str:
    """Digest of the sources of the learners' room, and of a learner from elsewhere."""
    files = sorted(Path(metaod.learners.__file__).parent.glob("*.py"))
    own = getattr(sys.modules[kind.__module__], "__file__", None)
    if own is not None and Path(own) not in files:
        files.append(Path(own))
    return _digest(*(path.read_bytes() for path in files))


def _digest(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        found.update(len(raw).to_bytes(8, "little") + raw)
    return found.hexdigest()[:24]
