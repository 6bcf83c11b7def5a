"""Repair and standardise the scores of several detectors, to be averaged."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from metaod.errors import UserError
from metaod.models._arrays import Scores

LIMITS = (-3.0, 6.0)
"""Standardised scores beyond these hardly grow in an average: no member dominates the others."""

_BEYOND = 0.01


@dataclass(frozen=True)
class ScoreScale:
    """Repairs and standardises scores of a detector by its training scores.

    Parameters
    ----------
    median, low, high : float
        Of the finite training scores; they replace NaN and infinities.
    unit : float
        Divides huge or tiny scores, whose squares would overflow or vanish; else 1.
    mean, spread : float
        Mean and standard deviation in that unit; the spread is 0 if all scores are the same.
    """

    REPAIRABLE: ClassVar[float] = 0.01
    """Largest share of the rows whose scores may be NaN or infinite and are then repaired."""

    median: float
    low: float
    high: float
    unit: float
    mean: float
    spread: float

    @classmethod
    def of(cls, scores: Scores, *, where: str) -> Self:
        """Learn the scale from training scores; ``where`` is the model, for the error.

        Examples
        --------
        >>> scale = ScoreScale.of(np.array([1.0, 3.0]), where="KNN()")
        >>> scale.standardised(np.array([1.0, 2.0, 9.0])).tolist()
        [-1.0, 0.0, 7.0]
        """
        finite = scores[np.isfinite(scores)]
        n_bad = len(scores) - len(finite)
        if n_bad > cls.REPAIRABLE * len(scores):
            problem = f"{n_bad} of {len(scores)} scores are NaN or infinite"
            raise UserError(problem, where=where, remedy="pick another model for the table")
        median, low, high = float(np.median(finite)), float(finite.min()), float(finite.max())
        repaired = np.nan_to_num(scores, nan=median, posinf=high, neginf=low)
        largest = float(np.abs(repaired).max())
        unit = largest if largest > 1e100 or 0 < largest < 1e-100 else 1.0
        scaled = repaired / unit
        centred = scaled - scaled.mean()
        spread = float(centred.std())
        # the rounding errors of a constant are no spread
        if spread <= 1e-12 * float(np.abs(scaled).max()):
            spread = 0.0
        return cls(median, low, high, unit, float(scaled.mean()), spread)

    def repaired(self, scores: Scores) -> Scores:
        """Replace NaN by the median and infinities by the extremes of the training scores."""
        return np.nan_to_num(scores, nan=self.median, posinf=self.high, neginf=self.low)

    def standardised(self, scores: Scores) -> Scores:
        """Repair scores, subtract the training mean and divide by the training spread."""
        centred: Scores = self.repaired(scores) / self.unit - self.mean
        return centred / self.spread if self.spread > 0 else np.zeros_like(centred)

    def bounded(self, scores: Scores) -> Scores:
        """Standardise scores, as they are averaged: within limits, and in their order beyond them.

        Beyond a limit a score grows by a hundredth of its logarithm, so large ones are not tied.

        Examples
        --------
        >>> scale = ScoreScale.of(np.array([1.0, 3.0]), where="KNN()")
        >>> scale.bounded(np.array([3.0, 9.0, 99.0, 9999.0])).round(3).tolist()
        [1.0, 6.007, 6.045, 6.092]
        """
        standardised = self.standardised(scores)
        limited = np.clip(standardised, *LIMITS)
        beyond = standardised - limited
        bent: Scores = limited + np.copysign(_BEYOND * np.log1p(np.abs(beyond)), beyond)
        return bent
