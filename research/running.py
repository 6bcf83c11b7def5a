"""Run learners over the splits of a protocol: in parallel, and resumable."""

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
import research.learners
from metaod.errors import BadFile, BadParameter
from metaod.learners import Learner, learner_class, make_learner
from research.protocols import Split
from research.testbeds.sources import versions

Origins = npt.NDArray[np.str_]

Progress = Callable[[int, int], None]
"""Called with how many steps are done and how many there are."""


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
        The meta-features that it learns from, one row per dataset.
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
class Training:
    """One training: a candidate with a seed on one split.

    The digest is of everything that the outcome depends on: data, split, parameters (with
    defaults), seed, the learners' code and library versions.
    """

    candidate: Candidate
    seed: int
    split: Split
    digest: str

    def fit(self, P: pd.DataFrame, origins: Origins) -> Learner:
        """Fit the learner on the training side; it receives nothing else of P."""
        params = dict(self.candidate.params)
        if self.candidate.is_random:
            params["random_state"] = self.seed
        train = self.split.train
        learner = make_learner(self.candidate.learner, **params)
        return learner.fit(P.iloc[train], self.candidate.M.iloc[train], origins[train])


class Journal:
    """A file of finished results, one per line; a stopped run continues from it.

    ``done`` holds the results by digest. Without a path nothing is written.
    """

    _BEGIN = b'{"digest": "'

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.done: dict[str, Any] = {}
        if path is not None:
            self._open(path)

    def add(self, digest: str, result: Any) -> None:
        self.done[digest] = result
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"digest": digest, "found": result}) + "\n")

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            raw = path.read_bytes() if path.exists() else b""
        except OSError as error:
            what = f"cannot be used ({error.strerror})"
            raise BadFile(path, what, remedy="name another folder") from error
        *lines, rest = raw.split(b"\n")
        remedy = "delete it, or name another folder"
        not_a_journal = BadFile(path, "is not a journal of an evaluation", remedy=remedy)
        for line in lines:
            try:
                entry = json.loads(line)
                self.done[str(entry["digest"])] = entry["found"]
            except (ValueError, KeyError, TypeError) as error:
                raise not_a_journal from error
        if rest:
            # the run was killed while it wrote this line: the training is repeated
            if rest[: len(self._BEGIN)] != self._BEGIN[: len(rest)]:
                raise not_a_journal
            with path.open("r+b") as file:
                file.truncate(len(raw) - len(rest))


def run_protocol(
    P: pd.DataFrame,
    groups: Sequence[str],
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    *,
    seeds: int = 10,
    n_jobs: int = 1,
    journal: Path | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Train every candidate on the training side of every split and pick for the test side.

    Parameters
    ----------
    P : DataFrame of shape (n_datasets, n_models)
        Performance; NaN where missing.
    groups : sequence of str
        Groups of datasets that a learner does not divide when it holds out a part.
    splits : sequence of Split
        The protocol.
    candidates : sequence of Candidate
        The learners.
    seeds : int, default=10
        Seeds 0, 1, ... of a random learner; others are run once.
    n_jobs : int, default=1
        Processes.
    journal : Path, optional
        File of finished trainings, from which a stopped run continues. Results of other data,
        parameters or code are not reused.
    progress : callable, optional
        Called with the numbers of finished and of all trainings.

    Returns
    -------
    DataFrame
        One row per (candidate, seed, dataset): ``method``, ``seed``, ``dataset``, ``pick``,
        ``performance`` and ``passed_over`` (models ranked higher without a value on the dataset:
        a user's run would skip them too). If no model has a value, the pick is empty and its
        performance NaN.
    """
    from joblib import Parallel, delayed  # noqa: PLC0415 - slow to import

    if seeds < 1:
        raise BadParameter("run_protocol", "seeds", "an int in the range [1, inf)", seeds)
    origins = np.asarray(groups).astype(str)
    planned = list(trainings(P, origins, splits, candidates, seeds))
    kept = Journal(journal)
    # equal trainings are run once
    pending = {item.digest: item for item in planned if item.digest not in kept.done}
    total = len({item.digest for item in planned})
    report = progress or (lambda _done, _total: None)
    report(total - len(pending), total)
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run)(P, origins, item) for item in pending.values()
    )
    for done, (digest, rows) in enumerate(runs, total - len(pending) + 1):
        kept.add(digest, rows)
        report(done, total)
    records = [
        (item.candidate.key, item.seed, *row) for item in planned for row in kept.done[item.digest]
    ]
    names = ["method", "seed", "dataset", "pick", "performance", "passed_over"]
    return pd.DataFrame(records, columns=names)


def trainings(
    P: pd.DataFrame,
    origins: Origins,
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    seeds: int,
) -> Iterator[Training]:
    history = _digest(P.to_numpy().tobytes(), *map(str, P.columns), *origins, *map(str, P.index))
    for candidate in candidates:
        M = candidate.M
        # default parameters included: a changed default changes the digest
        params = make_learner(candidate.learner, **candidate.params).params()
        given = _digest(
            history,
            M.to_numpy(dtype=np.float64).tobytes(),
            *map(str, M.columns),
            *map(str, M.index),
            candidate.learner,
            json.dumps(params, sort_keys=True, default=repr),
            _code(learner_class(candidate.learner)),
            json.dumps(versions(), sort_keys=True),
        )
        for seed in range(seeds if candidate.is_random else 1):
            for split in splits:
                digest = _digest(given, str(seed), split.train.tobytes(), split.test.tobytes())
                yield Training(candidate, seed, split, digest)


def ranking(scores: "pd.Series[float]") -> list[str]:
    """Sort models by score, the best first, equal ones by id."""
    return list(scores.sort_index().sort_values(ascending=False, kind="stable").index)


def _run(P: pd.DataFrame, origins: Origins, item: Training) -> tuple[str, list[list[Any]]]:
    scores = item.fit(P, origins).predict(item.candidate.M.iloc[item.split.test])
    rows = []
    # the test side of P is read only after the models are ranked
    for dataset, predicted in scores.iterrows():
        ranked = ranking(predicted)
        reached = P.loc[dataset, ranked].to_numpy(dtype=np.float64)
        usable = np.flatnonzero(~np.isnan(reached))
        if len(usable):
            first = int(usable[0])
            rows.append([str(dataset), ranked[first], float(reached[first]), first])
        else:
            rows.append([str(dataset), "", float("nan"), len(ranked)])
    return item.digest, rows


@cache
def _code(kind: type[Learner]) -> str:
    """Digest of the sources of all learners, and of a learner defined elsewhere."""
    folders = (Path(metaod.learners.__file__).parent, Path(research.learners.__file__).parent)
    files = sorted(path for folder in folders for path in folder.glob("*.py"))
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
