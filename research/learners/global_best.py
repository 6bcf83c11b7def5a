"""Global Best: the model with the best mean performance, for every table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaod.learners import Learner, OnStep, Shape
from metaod.learners._training import Training
from metaod.models import Matrix
from research.learners.performance import mean_performance


@dataclass
class ConstantScores(Learner):
    """Scores models by the same numbers for every table."""

    uses_metafeatures: ClassVar[bool] = False
    learned: ClassVar[Mapping[str, Any]] = {
        "scores": Shape("m"),
    }

    def _predict(self, M: Matrix) -> Matrix:
        scores: Matrix = getattr(self, "scores_")  # noqa: B009 - set by the fit of a subclass
        return np.tile(scores, (len(M), 1))


@dataclass
class GlobalBest(ConstantScores):
    """Picks the model with the largest mean performance over the historical datasets.

    The mean is over the datasets on which the model has a value: a model that fails on hard
    datasets gains.
    """

    name: ClassVar[str] = "global_best"
    title: ClassVar[str] = "GB"
    summary: ClassVar[str] = "the model with the best mean performance, for every table"

    def _fit(self, training: Training, progress: OnStep) -> None:  # noqa: ARG002 - protocol
        self.scores_ = self._scores(training.P)

    def _scores(self, P: Matrix) -> Matrix:
        return mean_performance(P)


@dataclass
class GlobalBestRank(GlobalBest):
    """Picks the model with the best mean rank, which does not depend on how hard a dataset is.

    Ranks are among the models with a value on the dataset and scaled to [0, 1], 1 for the best:
    datasets with fewer values have the same weight.
    """

    name: ClassVar[str] = "global_best_rank"
    title: ClassVar[str] = "GB-rank"
    summary: ClassVar[str] = "the model with the best mean rank, for every table"

    def _scores(self, P: Matrix) -> Matrix:
        from scipy.stats import rankdata  # noqa: PLC0415 - slow to import; only for fitting

        ranks = rankdata(P, axis=1, nan_policy="omit")
        counts = (~np.isnan(P)).sum(axis=1, keepdims=True)
        # a single value gets the middle rank
        shares = np.where(counts > 1, (ranks - 1) / np.maximum(counts - 1, 1), 0.5)
        return mean_performance(np.where(np.isnan(P), np.nan, shares))
