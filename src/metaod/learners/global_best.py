"""Global Best: the model that did best on average, whatever the table looks like."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metaod.learners._base import Learner, Matrix, Progress
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training

__all__ = ["GlobalBest", "GlobalBestRank", "mean_performance"]


def mean_performance(P: Matrix) -> Matrix:
    """Mean over the datasets where each model has a value; below all others for one with none."""
    known = ~np.isnan(P)
    counts = known.sum(axis=0)
    sums = np.where(known, P, 0.0).sum(axis=0)
    means: Matrix = np.divide(sums, counts, out=np.full(P.shape[1], np.nan), where=counts > 0)
    means[counts == 0] = np.nextafter(np.nanmin(means), -np.inf)
    return means


@dataclass
class GlobalBest(Learner):
    """Picks the model with the largest mean performance over the historical datasets.

    The mean is over the datasets on which the model has a value. Unlike where missing cells are
    estimated (see :func:`~metaod.learners._completion.completed`), a model that fails on hard
    datasets gains by it.

    Examples
    --------
    >>> P, M = np.array([[0.1, 0.5], [0.2, 0.3]]), np.zeros((2, 1))
    >>> GlobalBest().fit(P, M).choose([0.0])
    'model 1'
    """

    name: ClassVar[str] = "global_best"
    title: ClassVar[str] = "GB"
    summary: ClassVar[str] = "the model with the best mean performance, for every table"
    uses_metafeatures: ClassVar[bool] = False

    def _fit(self, training: Training, progress: Progress) -> None:  # noqa: ARG002 - the protocol's
        self.scores_ = self._scores(training.P)

    def _scores(self, P: Matrix) -> Matrix:
        return mean_performance(P)

    def _predict(self, M: Matrix) -> Matrix:
        return np.tile(self.scores_, (len(M), 1))

    def _state(self) -> State:
        return {"scores": self.scores_}

    def _restore(self, reader: StateReader) -> None:
        self.scores_ = reader.array("scores", ("m",))


@dataclass
class GlobalBestRank(GlobalBest):
    """Picks the model with the best mean rank over the historical datasets.

    A rank is taken among the models that have a value on the dataset and put on [0, 1], 1 for the
    best, so that datasets with fewer values weigh the same. A model's mean is over the datasets on
    which it has a value; how hard a dataset is does not matter to a rank.
    """

    name: ClassVar[str] = "global_best_rank"
    title: ClassVar[str] = "GB-rank"
    summary: ClassVar[str] = "the model with the best mean rank, for every table"

    def _scores(self, P: Matrix) -> Matrix:
        from scipy.stats import rankdata  # noqa: PLC0415 - slow to import, prediction does without

        ranks = rankdata(P, axis=1, nan_policy="omit")
        counts = (~np.isnan(P)).sum(axis=1, keepdims=True)
        # a lone value says nothing of its rank: the middle
        shares = np.where(counts > 1, (ranks - 1) / np.maximum(counts - 1, 1), 0.5)
        return mean_performance(np.where(np.isnan(P), np.nan, shares))
