"""Scalings of the columns before a detector is fitted, and of the scores of several detectors."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter, UserError
from metaod.models._arrays import Matrix, Scores, product

SCALINGS = ("zscore", "robust", "signedlog", "whitened", "none")
"""Known scalings; every model of the paper uses the first."""

CLIP = 20.0
"""Limit of robust values, in units of the column's 10-90 % range, and of whitened values."""

CORE = 0.75
"""Share of the rows, the innermost ones, whose covariance whitening removes."""

WIDEST = 300
"""Most columns that can be whitened: a larger covariance is mostly noise and slow to decompose."""

NORMAL_RANGE = 2.5631031310892007
"""The 10-90 % range of a standard normal column, which robust scaling divides by."""

_NORMAL_LOG_SPREAD = 0.307386908358579
"""Standard deviation of the signed logarithm of a standard normal column in robust units."""

# a column whose spread is below this share of its largest value is constant up to rounding; a
# z-score would turn the rounding errors into data
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class FittedScaling:
    """Columns kept, and the shift and factor of each: ``(x * unit - center) / scale``.

    ``unit`` is a power of two for each column: it keeps squares of huge or tiny values in range.
    Columns in ``fixed`` units are only shifted by ``fixed_center``; they come last.
    """

    name: str
    kept: npt.NDArray[np.intp]
    unit: Matrix
    center: Matrix
    scale: Matrix
    log_center: Matrix | None = None
    log_scale: Matrix | None = None
    white_center: Matrix | None = None
    whitening: Matrix | None = None
    fixed: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    fixed_center: Matrix = field(default_factory=lambda: np.empty(0))

    @property
    def fixed_unit(self) -> float:
        """The scaled length of one fixed unit."""
        return 1.0 / NORMAL_RANGE if self.name == "robust" else 1.0

    def transform(self, X: Matrix) -> Matrix:
        """Scale a matrix with the columns that it was fitted on."""
        measured = self._measured(X)
        if not self.fixed.size:
            return measured
        values = (X[:, self.fixed] - self.fixed_center) * self.fixed_unit
        if self.name == "signedlog":
            values = _signed_log(values / NORMAL_RANGE) / _NORMAL_LOG_SPREAD
        return np.hstack([measured, values])

    def _measured(self, X: Matrix) -> Matrix:
        result = np.ascontiguousarray(X[:, self.kept]) * self.unit
        result -= self.center
        result /= self.scale
        if self.name in {"robust", "whitened"}:
            np.clip(result, -CLIP, CLIP, out=result)
        if self.whitening is not None and self.white_center is not None:
            result = np.clip(product(result - self.white_center, self.whitening), -CLIP, CLIP)
        if self.log_center is not None and self.log_scale is not None:
            result = _signed_log(result)
            result -= self.log_center
            result /= self.log_scale
        return result


def fit_scaling(name: str, X: Matrix, fixed: npt.NDArray[np.bool_] | None = None) -> FittedScaling:
    """Learn a scaling from a finite matrix; constant columns are dropped by every scaling.

    Parameters
    ----------
    name : {"zscore", "robust", "signedlog", "whitened", "none"}
        ``zscore`` scales every column to mean 0 and standard deviation 1. ``robust`` shifts the
        median to 0, divides by the 10-90 % range and clips at ±20; where that range is 0, as in a
        column that is almost always the same, it divides by the standard deviation. ``signedlog``
        takes the signed logarithm of the robust values before the clip, and z-scores it.
        ``whitened`` rotates and stretches the robust values so that the innermost 75 % of the
        rows, by robust Mahalanobis distance, have uncorrelated columns of variance 1, and clips at
        ±20; it takes at most 300 columns, and at least two rows more than twice the columns.
    X : ndarray of float, shape (n_rows, n_columns)
        The matrix.
    fixed : ndarray of bool, shape (n_columns,), optional
        Columns in fixed units, such as the surprisal of categories: a value of 1 counts as one
        standard deviation, however rare it is. They are shifted to mean 0 and not rescaled, so a
        rare value is not moved far away. They are the last columns of the scaled matrix.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> fit_scaling("zscore", X).transform(X)
    array([[-1.],
           [ 1.]])
    >>> X = np.append(np.arange(10.0), 1e9)[:, np.newaxis]
    >>> fit_scaling("robust", X).transform(X)[[0, 5, 10], 0]
    array([-0.625,  0.   , 20.   ])
    """
    if name not in SCALINGS:
        raise BadParameter("ModelSpec", "scaling", SCALINGS, name)
    if fixed is not None and fixed.any():
        return _with_fixed(name, X, fixed)
    # numpy adds column-major arrays in another order, and the last bit of a mean decides on which
    # side of a histogram's edge tied values fall
    X = np.ascontiguousarray(X)
    scaled, unit = _in_range(X)
    center = scaled.mean(axis=0)
    scale = scaled.std(axis=0)
    kept = np.flatnonzero(_varies(scaled, scale))
    if kept.size == 0:
        problem = "every column is constant, there is nothing to compare rows by"
        raise UserError(problem, remedy="check that the table is the one you meant")
    if name == "none":
        unit, center, scale = np.ones_like(unit), np.zeros_like(center), np.ones_like(scale)
    unit, center, scale = unit[kept], center[kept], scale[kept]
    fitted = FittedScaling(name, kept, unit, center, scale)
    if name in {"zscore", "none"}:
        return fitted
    values = scaled[:, kept]
    low, center, high = np.quantile(values, [0.1, 0.5, 0.9], axis=0)
    scale = np.where(high - low > _rounding(values), high - low, scale)
    fitted = replace(fitted, center=center, scale=scale)
    robust = (values - center) / scale
    if name == "whitened":
        white_center, whitening = _whitening(np.clip(robust, -CLIP, CLIP))
        return replace(fitted, white_center=white_center, whitening=whitening)
    if name == "signedlog":
        logs = _signed_log(robust)
        return replace(fitted, log_center=logs.mean(axis=0), log_scale=logs.std(axis=0))
    return fitted


def _in_range(X: Matrix) -> tuple[Matrix, Matrix]:
    """Return the columns in units in which squares do not overflow, and these units."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    # exact in floating point: ordinary data gets the same z-scores with or without it
    outside = (largest > 1e100) | ((largest < 1e-100) & (largest > 0))
    exponent = np.where(outside, np.frexp(largest)[1], 0)
    unit = np.ldexp(1.0, -np.clip(exponent, -1000, 1000))
    return X * unit, unit


def _rounding(scaled: Matrix) -> Matrix:
    return np.asarray(_ROUNDING * np.abs(scaled).max(axis=0, initial=0.0))


def _varies(scaled: Matrix, spread: Matrix) -> npt.NDArray[np.bool_]:
    """Whether columns vary by more than rounding; the mean of many equal values is rounded too."""
    rounding = _rounding(scaled)
    return np.asarray((spread > rounding) & (np.ptp(scaled, axis=0) > rounding))


def _with_fixed(name: str, X: Matrix, fixed: npt.NDArray[np.bool_]) -> FittedScaling:
    """Learn the scaling of the measured columns, and the centres of those in fixed units."""
    measured = np.flatnonzero(~fixed)
    places = np.flatnonzero(fixed)
    values = np.ascontiguousarray(X[:, places])
    varies = values.min(axis=0) < values.max(axis=0)
    places, center = places[varies], values[:, varies].mean(axis=0)
    nothing = np.empty(0)
    inner = FittedScaling(name, np.empty(0, np.intp), nothing, nothing, nothing)
    scaled, _ = _in_range(X[:, measured])
    if _varies(scaled, scaled.std(axis=0)).any() or not places.size:
        inner = fit_scaling(name, X[:, measured])
    return replace(inner, kept=measured[inner.kept], fixed=places, fixed_center=center)


def why_not_scaled(scaling: str, n_rows: int, n_columns: int) -> str | None:
    """Return why the scaling does not apply to a table of that size; None if it does."""
    if scaling != "whitened":
        return None
    if n_columns > WIDEST:
        return f"whitening takes at most {WIDEST} columns, the table has {n_columns}"
    needed = 2 * n_columns + 2
    if n_rows < needed:
        return f"whitening {n_columns} columns takes at least {needed} rows, the table has {n_rows}"
    return None


def _whitening(values: Matrix) -> tuple[Matrix, Matrix]:
    """Return the centre of robust values and the matrix that whitens them."""
    from metaod.models._robust_covariance import core_gaussian  # noqa: PLC0415 - needs scipy.stats, which is slow to import

    reason = why_not_scaled("whitened", *values.shape)
    if reason is not None:
        raise UserError(reason, remedy="choose another scaling")
    spread = values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    gaussian, _ = core_gaussian(values / spread, CORE)
    return gaussian.centre * spread, gaussian.whitening / spread[:, np.newaxis]


def _signed_log(values: Matrix) -> Matrix:
    return np.asarray(np.copysign(np.log1p(np.abs(values)), values))


_LINEAR = 6.0  # beyond so many standard deviations a score in an average grows by its logarithm


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

    def tempered(self, scores: Scores) -> Scores:
        """Standardise scores, as they are averaged: beyond 6 they grow by their logarithm.

        So no member dominates the others, and the largest scores still differ. Without a limit,
        what sets a row apart is found less often: one cell of several explains little of a score
        that grows with their product.

        Examples
        --------
        >>> scale = ScoreScale.of(np.array([1.0, 3.0]), where="KNN()")
        >>> scale.tempered(np.array([3.0, 8.0, 62.0, 602.0])).round(2).tolist()
        [1.0, 6.0, 19.82, 33.63]
        """
        standardised = self.standardised(scores)
        excess = np.maximum(np.abs(standardised) / _LINEAR, 1.0)
        return np.asarray(standardised / excess * (1.0 + np.log(excess)))
