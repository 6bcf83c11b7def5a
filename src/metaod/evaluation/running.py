"""Runs learners over the splits of a protocol: parallel, resumable, one line a training."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.errors import BadFile
from metaod.evaluation.protocols import Split
from metaod.learners import make_learner
from metaod.learners.registry import learner_class

__all__ = ["Candidate", "Picks", "run_protocol"]


@dataclass(frozen=True)
class Candidate:
    """A learner under test.

    Parameters
    ----------
    key : str
        Its name in the results.
    learner : str
        Its name in the registry.
    params : mapping
        Parameters other than the defaults.
    M : DataFrame
        The meta-features that it is given, one row a dataset.
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
class _Unit:
    """One training: a learner with a seed on one split."""

    candidate: Candidate
    seed: int
    split: Split
    digest: str


Picks = pd.DataFrame
"""One row per (candidate, seed, dataset): ``method``, ``seed``, ``dataset``, ``pick`` (the model),
``performance`` (what it reached) and ``passed_over`` (models ranked higher that have no value on
the dataset: what a user's run would have passed over)."""


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
        What was computed from other data or parameters is not taken over.
    progress : callable, optional
        Told how many trainings are done, of how many.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415 - the command's --help does without

    origins = np.asarray(groups).astype(str)
    units = list(_units(P, origins, splits, candidates, seeds))
    done = _read_journal(journal) if journal is not None else {}
    waiting = [unit for unit in units if unit.digest not in done]
    finished = len(units) - len(waiting)
    if progress is not None:
        progress(finished, len(units))
    # large trainings first would starve the last worker less, but order keeps a journal readable
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run)(P, origins, unit) for unit in waiting
    )
    for digest, rows in runs:
        done[digest] = rows
        finished += 1
        if journal is not None:
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"unit": digest, "rows": rows}) + "\n")
        if progress is not None:
            progress(finished, len(units))
    records = [(unit.candidate.key, unit.seed, *row) for unit in units for row in done[unit.digest]]
    names = ["method", "seed", "dataset", "pick", "performance", "passed_over"]
    return pd.DataFrame(records, columns=names)


def _units(
    P: pd.DataFrame,
    origins: Any,
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    seeds: int,
) -> Iterator[_Unit]:
    history = _digest(P.to_numpy().tobytes(), *map(str, P.columns), *origins, *map(str, P.index))
    for candidate in candidates:
        given = _digest(
            history,
            candidate.M.to_numpy(dtype=np.float64).tobytes(),
            *candidate.M.columns,
            candidate.learner,
            json.dumps(candidate.params, sort_keys=True),
        )
        for seed in range(seeds if candidate.is_random else 1):
            for split in splits:
                digest = _digest(given, str(seed), split.train.tobytes(), split.test.tobytes())
                yield _Unit(candidate, seed, split, digest)


def _digest(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        found.update(len(raw).to_bytes(8, "little") + raw)
    return found.hexdigest()[:24]


def _run(P: pd.DataFrame, origins: Any, unit: _Unit) -> tuple[str, list[list[Any]]]:
    params = dict(unit.candidate.params)
    if unit.candidate.is_random:
        params["random_state"] = unit.seed
    learner = make_learner(unit.candidate.learner, **params)
    train, test, M = unit.split.train, unit.split.test, unit.candidate.M
    # the test side of P is read only after the picks are made
    scores = learner.fit(P.iloc[train], M.iloc[train], origins[train]).predict(M.iloc[test])
    ranking = scores[sorted(scores.columns)]
    rows = []
    for dataset, found in ranking.iterrows():
        reached = P.loc[dataset]
        order = found.sort_values(ascending=False, kind="stable").index
        usable = reached[order].notna().to_numpy()
        first = int(usable.argmax())
        value = float(reached[order[first]]) if usable.any() else float("nan")
        rows.append([str(dataset), str(order[first]), value, first])
    return unit.digest, rows


def _read_journal(journal: Path) -> dict[str, list[list[Any]]]:
    if not journal.exists():
        journal.parent.mkdir(parents=True, exist_ok=True)
        return {}
    done: dict[str, list[list[Any]]] = {}
    kept: list[str] = []
    with journal.open(encoding="utf-8") as file:
        for line in file:
            try:
                entry = json.loads(line)
                done[entry["unit"]] = entry["rows"]
            except (ValueError, KeyError, TypeError) as error:
                if line.endswith("\n"):
                    raise BadFile(
                        journal,
                        "this is no journal of an evaluation",
                        remedy="delete it and run again",
                    ) from error
                # a run that was killed while it wrote: that training is made again
                journal.write_text("".join(kept), encoding="utf-8")
                break
            kept.append(line)
    return done
