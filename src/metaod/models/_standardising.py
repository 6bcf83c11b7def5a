"""Scores put on the scale of the training scores, so that detectors can be averaged."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError
from metaod.models._scoring import REPAIRABLE

__all__ = ["CLIP", "ScoreScale"]

Scores = npt.NDArray[np.float64]

CLIP = (-3.0, 6.0)
"""Where standardised scores are cut in an average: no member may drown the others."""


@dataclass(frozen=True)
class ScoreScale:
    """What is kept of a detector's training scores: how to repair and to standardise later ones.

    Parameters
    ----------
    median, low, high : float
        Of the finite training scores; they stand for NaN and for infinities.
    unit : float
        Divides huge or tiny scores, whose squares would not be numbers; else 1.
    mean, spread : float
        Mean and standard deviation in that unit; the spread is 0 where all scores are the same.
    """

    median: float
    low: float
    high: float
    unit: float
    mean: float
    spread: float

    @classmethod
    def of(cls, scores: Scores, *, where: str) -> Self:
        """Learn the scale of a detector's training scores.

        Parameters
        ----------
        scores : ndarray of float, shape (n_rows,)
            Scores of the training rows.
        where : str
            The model, for the error.

        Raises
        ------
        UserError
            Where more than 1 % of the scores are NaN or infinite.

        Examples
        --------
        >>> scale = ScoreScale.of(np.array([1.0, 3.0]), where="KNN()")
        >>> scale.standardised(np.array([1.0, 2.0, 9.0])).tolist()
        [-1.0, 0.0, 7.0]
        """
        finite = scores[np.isfinite(scores)]
        n_bad = len(scores) - len(finite)
        if n_bad > REPAIRABLE * len(scores):
            raise UserError(
                f"{n_bad} of {len(scores)} scores are NaN or infinite",
                where=where,
                remedy="pick another model for the table",
            )
        median, low, high = float(np.median(finite)), float(finite.min()), float(finite.max())
        repaired = np.nan_to_num(scores, nan=median, posinf=high, neginf=low)
        largest = float(np.abs(repaired).max())
        unit = largest if largest > 1e100 or 0 < largest < 1e-100 else 1.0
        scaled = repaired / unit
        centred = scaled - scaled.mean()
        spread = float(centred.std())
        # what is left of a constant after rounding is no spread
        if spread <= 1e-12 * float(np.abs(scaled).max()):
            spread = 0.0
        return cls(median, low, high, unit, float(scaled.mean()), spread)

    def repaired(self, scores: Scores) -> Scores:
        """Scores with NaN as the median and infinities as the extremes of the training scores."""
        return np.nan_to_num(scores, nan=self.median, posinf=self.high, neginf=self.low)

    def standardised(self, scores: Scores) -> Scores:
        """Repaired scores, less the training mean, over the training spread."""
        centred: Scores = self.repaired(scores) / self.unit - self.mean
        return centred / self.spread if self.spread > 0 else np.zeros_like(centred)
