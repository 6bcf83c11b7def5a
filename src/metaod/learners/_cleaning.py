"""Cleaning of meta-features: missing, huge and constant values, and a common scale."""

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt

from metaod._state import Shape
from metaod.models import Matrix

_MARGIN = 1.0  # standard deviations that values may lie outside the training range
_MAX = np.finfo(np.float64).max
# values or quartiles that differ by less than this share of the largest differ by rounding, which
# must decide neither whether a feature varies nor what its unit is
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Cleaning:
    """A fitted cleaning of meta-features; :meth:`fit` makes it from training datasets.

    Each feature is centred at its median, divided by its robust spread, passed through asinh and
    standardised. NaN and infinities become the training median; values are clipped at one standard
    deviation outside the training range; constant features are left out.

    Parameters
    ----------
    kept : array of shape (d',)
        Indices of the features that vary.
    median, spread, mean, scale, low, high : array of shape (d',)
        Centre and width before asinh, centre and width after it, and the range of the result.

    Examples
    --------
    >>> M = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [9e300, 5.0, 3.0]])
    >>> Cleaning.fit(M).transform(M).shape
    (3, 2)
    """

    kept: Annotated[npt.NDArray[np.intp], Shape("kept", below="d")]
    median: Annotated[Matrix, Shape("kept")]
    spread: Annotated[Matrix, Shape("kept")]
    mean: Annotated[Matrix, Shape("kept")]
    scale: Annotated[Matrix, Shape("kept")]
    low: Annotated[Matrix, Shape("kept")]
    high: Annotated[Matrix, Shape("kept")]

    def __post_init__(self) -> None:
        if (self.spread <= 0).any() or (self.scale <= 0).any():
            raise ValueError("spread or scale is not positive")

    @classmethod
    def fit(cls, M: Matrix) -> Self:
        """Fit to raw meta-features (n, d) of training datasets."""
        finite = np.where(np.isfinite(M), M, np.nan)
        varying = [column for column in range(M.shape[1]) if _varies(finite[:, column])]
        kept = np.array(varying, dtype=np.intp)
        finite = finite[:, kept]
        # halves keep the mean of the largest floats finite; no feature may be left
        median = 2 * np.nanmedian(finite / 2, axis=0) if len(kept) else np.empty(0)
        spread = np.array([_spread(finite[:, column]) for column in range(len(kept))])
        bent = _bend(finite, median, spread)
        mean, scale = bent.mean(axis=0), bent.std(axis=0)
        # the deviation of a single known value can underflow
        scale = np.where(scale > 0, scale, 1.0)
        clean = (bent - mean) / scale
        low = clean.min(axis=0, initial=0.0) - _MARGIN
        high = clean.max(axis=0, initial=0.0) + _MARGIN
        return cls(kept, median, spread, mean, scale, low, high)

    @property
    def n_features(self) -> int:
        return len(self.kept)

    def transform(self, M: Matrix) -> Matrix:
        """Clean raw features (q, d) to finite ones (q, d')."""
        raw = M[:, self.kept]
        bent = _bend(np.where(np.isfinite(raw), raw, np.nan), self.median, self.spread)
        return np.clip((bent - self.mean) / self.scale, self.low, self.high)


def _varies(values: Matrix) -> bool:
    known = values[~np.isnan(values)]
    if not len(known):
        return False
    # halves keep the difference of the largest floats finite
    width = known.max() / 2 - known.min() / 2
    return bool(width > _ROUNDING / 2 * np.abs(known).max())


def _spread(values: Matrix) -> float:
    known = values[~np.isnan(values)]
    # halves keep the difference of the largest floats finite
    low, high = np.quantile(known / 2, [0.25, 0.75])
    if high - low > _ROUNDING * max(abs(low), abs(high)):
        return min(float(high - low) * 2 / 1.349, _MAX)
    largest = np.abs(known).max()
    return max(float((known / largest).std() * largest), np.finfo(np.float64).tiny)


def _bend(values: Matrix, median: Matrix, spread: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        ratio = (values / 2 - median / 2) / (spread / 2)
    bent = np.arcsinh(np.clip(ratio, -_MAX, _MAX))
    return np.where(np.isnan(bent), 0.0, bent)
