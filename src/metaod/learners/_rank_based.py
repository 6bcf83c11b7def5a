"""The paper's criterion: the smoothed DCG of each dataset's ranking of the models."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from metaod.errors import BadParameter
from metaod.learners._dcg import dcg_loss, gains
from metaod.learners._latent import LatentLearner
from metaod.models import Matrix

__all__ = ["RankBased", "by_row"]

RELEVANCES = ("performance", "row")


@dataclass
class RankBased(LatentLearner):
    """A factorisation that maximises the smoothed DCG.

    Parameters
    ----------
    base : float
        b in the gain ``b ** P - 1`` of a model; a larger one puts more weight on the best models.
    alpha : float
        Sharpness of the sigmoid that stands for "is ranked above".
    relevance : {"performance", "row"}
        What a model's gain is taken of: its performance as it is, as in the paper, or put on
        [0, 1] within the dataset, 1 for the best, so that every dataset has as much to say.
    """

    loss: ClassVar[str] = "dcg"

    base: float = 2.0
    alpha: float = 1.0
    relevance: Literal["performance", "row"] = "performance"

    def _targets(self, P: Matrix) -> Matrix:
        if self.relevance == "row":
            P = by_row(P)
        with np.errstate(over="ignore"):
            earned = gains(P, self.base)
        if np.isinf(earned).any():
            legal = f"small enough for base ** P to be finite, P being {np.nanmax(np.abs(P)):g}"
            raise BadParameter(type(self).__name__, "base", legal, self.base)
        return earned

    def _mean_loss(self, targets: Matrix, U: Matrix, V: Matrix) -> float:
        return float(dcg_loss(targets, U, V, self.alpha).mean())

    def _sharpness(self) -> float:
        return self.alpha

    def _check(self) -> None:
        super()._check()
        owner = type(self).__name__
        if not 1 < self.base < np.inf:
            raise BadParameter(owner, "base", "in the range (1, inf)", self.base)
        if self.relevance not in RELEVANCES:
            raise BadParameter(owner, "relevance", RELEVANCES, self.relevance)
        if not 0 < self.alpha < np.inf:
            raise BadParameter(owner, "alpha", "in the range (0, inf)", self.alpha)


def by_row(P: Matrix) -> Matrix:
    """Performance put on [0, 1] within each dataset; 0 where all models do the same.

    Examples
    --------
    >>> by_row(np.array([[0.2, 0.4, 0.3], [0.5, 0.5, np.nan]])).round(2)
    array([[0. , 1. , 0.5],
           [0. , 0. , nan]])
    """
    low = np.nanmin(P, axis=1, keepdims=True)
    width = np.nanmax(P, axis=1, keepdims=True) - low
    scaled: Matrix = (P - low) / np.where(width > 0, width, 1.0)
    return scaled
