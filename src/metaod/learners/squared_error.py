"""A factorisation by squared error: what the paper argues against."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metaod.learners._regressed import Regressed
from metaod.models import Matrix

__all__ = ["SquaredErrorFactorisation"]


@dataclass
class SquaredErrorFactorisation(Regressed):
    """MetaOD in everything but the loss: the sum of squared errors over the cells with a value.

    The parameters are those of :class:`~metaod.learners.metaod.MetaODLearner` but the smoothed
    DCG's. The learning rate is in units of the loss's curvature: at 1 a step on V reaches the
    smallest error of an average dataset.

    Examples
    --------
    >>> P, M = np.array([[0.9, 0.1], [0.1, 0.9]] * 9), np.array([[0.0], [1.0]] * 9)
    >>> SquaredErrorFactorisation().fit(P, M).choose([1.0])
    'model 1'
    """

    name: ClassVar[str] = "squared_error"
    title: ClassVar[str] = "SE-MF"
    summary: ClassVar[str] = "MetaOD with squared error in place of the rank-based criterion"
    loss: ClassVar[str] = "squared"

    learning_rate: float = 0.5

    def _targets(self, P: Matrix) -> Matrix:
        return P

    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        # a run that left the floats is told of when it has ended
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.nansum((targets - U @ V.T) ** 2, axis=1).mean())
