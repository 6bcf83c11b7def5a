"""Two small learners that tests train: the best on average, and the best on the nearest dataset."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metaod.learners import Cleaning, Learner, Shape, register_learner


@dataclass
class Best(Learner):
    """Scores models by their mean performance; one without any value comes last."""

    name: ClassVar[str] = "made_best"
    title: ClassVar[str] = "Best"
    summary: ClassVar[str] = "the best mean performance, for every table"
    uses_metafeatures: ClassVar[bool] = False
    learned: ClassVar[dict] = {"scores": Shape("m")}

    def _fit(self, training, progress):
        self.scores_ = self._scores(training.P)

    def _scores(self, P):
        known = ~np.isnan(P)
        means = np.where(known, P, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return np.where(known.any(axis=0), means, means.min() - 1.0)

    def _predict(self, M):
        return np.tile(self.scores_, (len(M), 1))


@dataclass
class Nearest(Learner):
    """Scores models by their performance on the nearest dataset; missing values are the lowest."""

    name: ClassVar[str] = "made_nearest"
    title: ClassVar[str] = "Nearest"
    summary: ClassVar[str] = "the best model of the most similar dataset"
    learned: ClassVar[dict] = {
        "cleaning": Cleaning,
        "datasets": Shape("n", "kept"),
        "performance": Shape("n", "m"),
    }

    def _fit(self, training, progress):
        self.cleaning_ = Cleaning.fit(training.M)
        self.datasets_ = self.cleaning_.transform(training.M)
        self.performance_ = np.nan_to_num(training.P, nan=np.nanmin(training.P) - 0.1)

    def _predict(self, M):
        clean = self.cleaning_.transform(M)
        nearest = [int(((self.datasets_ - row) ** 2).sum(axis=1).argmin()) for row in clean]
        return self.performance_[nearest]


NAMES = ("metaod", "gain_forest", "made_best", "made_nearest")
"""The product's learners and these."""

for _kind in (Best, Nearest):
    register_learner(_kind.name, f"{__name__}:{_kind.__name__}")
