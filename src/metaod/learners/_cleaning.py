"""Cleaning of meta-features: what is missing, huge or constant, and a common scale."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from metaod.learners._state import State, StateReader

__all__ = ["Cleaning"]

Matrix = npt.NDArray[np.float64]

_MARGIN = 1.0
"""How far beyond the training datasets a value may lie, in standard deviations."""


@dataclass(frozen=True)
class Cleaning:
    """A fitted cleaning of meta-features; :meth:`fit` makes it from training datasets alone.

    Each feature is centred at its median and divided by its robust spread, then passed through
    asinh: linear near the middle, logarithmic far out, so that no moment of order ten drowns the
    rest. It is then standardised. What is NaN or infinite becomes the training median; what lies
    outside the training datasets' range is cut at a standard deviation beyond it; what does not
    vary is left out.

    Parameters
    ----------
    kept : array of shape (d',)
        Places of the features that vary.
    median, spread, mean, scale, low, high : array of shape (d',)
        Per kept feature: centre and width before asinh, centre and width after it, and the range
        of the result.

    Examples
    --------
    >>> M = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [9e300, 5.0, 3.0]])
    >>> Cleaning.fit(M).transform(M).shape
    (3, 2)
    """

    kept: npt.NDArray[np.intp]
    median: Matrix
    spread: Matrix
    mean: Matrix
    scale: Matrix
    low: Matrix
    high: Matrix

    @classmethod
    def fit(cls, M: Matrix) -> Self:
        """Learn the cleaning from the training datasets' raw meta-features (n, d)."""
        finite = np.where(np.isfinite(M), M, np.nan)
        varying = [place for place in range(M.shape[1]) if _varies(finite[:, place])]
        kept = np.array(varying, dtype=np.intp)
        finite = finite[:, kept]
        # halves, so that the mean of the largest floats stays finite;
        # no feature at all is legal: a learner then has nothing to go by
        median = 2 * np.nanmedian(finite / 2, axis=0) if len(kept) else np.empty(0)
        spread = np.array([_spread(finite[:, place]) for place in range(len(kept))])
        bent = _bend(finite, median, spread)
        bent = np.where(np.isnan(bent), 0.0, bent)
        mean, scale = bent.mean(axis=0), bent.std(axis=0)
        # a value that is always missing but once can vanish in the mean
        scale = np.where(scale > 0, scale, 1.0)
        clean = (bent - mean) / scale
        low = clean.min(axis=0, initial=0.0) - _MARGIN
        high = clean.max(axis=0, initial=0.0) + _MARGIN
        return cls(kept, median, spread, mean, scale, low, high)

    @property
    def n_features(self) -> int:
        """Number of features that are kept."""
        return len(self.kept)

    def transform(self, M: Matrix) -> Matrix:
        """Clean features (q, d'), all finite, of raw ones (q, d)."""
        raw = M[:, self.kept]
        bent = _bend(np.where(np.isfinite(raw), raw, np.nan), self.median, self.spread)
        clean = (np.where(np.isnan(bent), 0.0, bent) - self.mean) / self.scale
        return np.clip(clean, self.low, self.high)

    def state(self) -> State:
        """Plain data and arrays; :meth:`restore` takes them back."""
        names = ("kept", "median", "spread", "mean", "scale", "low", "high")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restore(cls, reader: StateReader) -> Self:
        """Take back what :meth:`state` gave; ``reader`` knows the number of raw features, d."""
        kept = reader.array("kept", ("kept",), "i").astype(np.intp)
        if ((kept < 0) | (kept >= reader.size("d"))).any():
            raise reader.damaged("kept names a feature that is not there")
        names = ("median", "spread", "mean", "scale", "low", "high")
        parts = [reader.array(name, ("kept",)) for name in names]
        if (parts[1] <= 0).any() or (parts[3] <= 0).any():
            raise reader.damaged("spread or scale is not positive")
        return cls(kept, *parts)


def _varies(values: Matrix) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(known.min() < known.max())


def _spread(values: Matrix) -> float:
    known = values[~np.isnan(values)]
    # halves, so that the difference of the largest floats stays finite
    low, high = np.quantile(known / 2, [0.25, 0.75])
    width = min(float(high - low) * 2 / 1.349, np.finfo(np.float64).max)
    if width > 0:
        return width
    largest = np.abs(known).max()
    return max(float((known / largest).std() * largest), np.finfo(np.float64).tiny)


def _bend(values: Matrix, median: Matrix, spread: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        ratio = (values / 2 - median / 2) / (spread / 2)
    largest = np.finfo(np.float64).max
    return np.arcsinh(np.clip(ratio, -largest, largest))
