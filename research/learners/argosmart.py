"""ARGOSMART: the best model of the most similar historical dataset."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaod.learners import Learner, OnStep, Shape
from metaod.learners._cleaning import Cleaning
from metaod.learners._training import Training
from metaod.models import Matrix
from research.learners.performance import below_known, completed


@dataclass
class ARGOSMART(Learner):
    """Scores models by their performance on the nearest historical dataset (1-NN).

    Distances are Euclidean between cleaned meta-features; among equally near datasets the first
    is used. A model without a value on that dataset is scored by its estimate (see
    :func:`~research.learners.performance.completed`), always below the best known model.

    Reference: M. Nikolić, F. Marić, P. Janičić, Simple algorithm portfolio for SAT, Artificial
    Intelligence Review 40, 2013.
    """

    name: ClassVar[str] = "argosmart"
    title: ClassVar[str] = "AS"
    summary: ClassVar[str] = "the best model of the most similar historical dataset (1-NN)"
    learned: ClassVar[Mapping[str, Any]] = {
        "cleaning": Cleaning,
        "datasets": Shape("n", "kept"),
        "performance": Shape("n", "m"),
    }

    def _fit(self, training: Training, progress: OnStep) -> None:  # noqa: ARG002 - protocol
        self.cleaning_ = Cleaning.fit(training.M)
        self.datasets_ = self.cleaning_.transform(training.M)
        self.performance_ = below_known(completed(training.P), ~np.isnan(training.P))

    def _predict(self, M: Matrix) -> Matrix:
        clean = self.cleaning_.transform(M)
        # one row at a time: batches give the same bits
        nearest = [int(((self.datasets_ - row) ** 2).sum(axis=1).argmin()) for row in clean]
        return self.performance_[nearest]

    def _check_learned(self) -> None:
        if not len(self.datasets_):
            raise ValueError("there are no datasets")
