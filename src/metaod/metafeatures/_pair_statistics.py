"""Statistics of all pairs of columns, and the first principal component.

Correlations are one matrix product. The analysis of variance of two columns has a closed form in
their means and variances. Above 2,000 columns, 2,000 evenly spaced ones stand for all. Memory
beyond the table: 8 MiB for a block of rows, and five numbers for each pair.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import fdtrc

from metaod.metafeatures._column_statistics import Columns
from metaod.metafeatures._schema import Feature
from metaod.metafeatures._summaries import SUMMARIES, named, summarise, summarised
from metaod.models import Matrix, leading_components

__all__ = ["MAX_PAIRED_COLUMNS", "PAIR_FEATURES", "anova_p_values", "pair_values"]

MAX_PAIRED_COLUMNS = 2_000
"""Columns whose pairs are looked at, at most."""

_BLOCK = 2**20  # values standardised at a time
_SMALLEST_LOG = -745.2  # exp of it is the smallest positive number

Vector = npt.NDArray[np.float64]

PAIR_FEATURES: tuple[Feature, ...] = (
    *summarised(
        "correlation",
        "correlation",
        "Pearson correlation",
        "rho(x, y) = cov(x, y) / (sigma_x sigma_y)",
        over="over pairs of columns that are not constant",
        scale_free=True,
    ),
    *summarised(
        "covariance",
        "covariance",
        "covariance",
        "cov(x, y) = sum((x - mu_x)(y - mu_y)) / (n - 1)",
        over="over pairs of columns",
    ),
    *summarised(
        "anova_p",
        "ANOVA",
        "p-value of the one-way analysis of variance",
        "p(F), F = (n - 1)(mu_x - mu_y)^2 / (sigma_x^2 + sigma_y^2) ~ F(1, 2n - 2)",
        over="over pairs of columns of which one at least is not constant, or whose means differ",
        scale_free=True,
    ),
    Feature(
        "first_pc_share",
        "first principal component",
        "share of the variance on the first principal component of the unscaled columns",
        "lambda_1 / sum(lambda), lambda = eigenvalues of the covariance matrix",
        in_paper=False,
        scale_free=True,
    ),
    Feature(
        "first_pc_std",
        "first principal component",
        "standard deviation of the rows along it",
        "sigma of y = (X - mu) v_1",
        in_paper=False,
    ),
    Feature(
        "first_pc_skewness",
        "first principal component",
        "absolute skewness of the rows along it, for its sign has no meaning",
        "|mu_3 / sigma^3| of y",
        in_paper=False,
        scale_free=True,
    ),
    Feature(
        "first_pc_kurtosis",
        "first principal component",
        "kurtosis of the rows along it",
        "mu_4 / sigma^4 of y",
        in_paper=False,
        scale_free=True,
    ),
)


def pair_values(X: Matrix, columns: Columns) -> dict[str, float]:
    """Compute the statistics of pairs of columns."""
    chosen = np.arange(X.shape[1])
    if len(chosen) > MAX_PAIRED_COLUMNS:
        chosen = np.linspace(0, len(chosen) - 1, MAX_PAIRED_COLUMNS).astype(np.intp)
    n = columns.n_rows
    mean, std = columns.mean[chosen], columns.std[chosen]
    std = np.where(columns.varies[chosen], std, 0.0)
    unit = columns.unit[chosen]
    correlation = _correlation(X, chosen, unit, mean, std)
    values = named("correlation", _upper(correlation))
    np.nan_to_num(correlation, copy=False)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        covariance = _covariance(correlation, std / unit) * (n / np.float64(n - 1))
        values |= named("covariance", covariance)
    values |= named("anova_p", anova_p_values(mean / unit, std / unit, n))
    return values | _first_component(X, chosen, correlation, std / unit, mean / unit)


def anova_p_values(means: Vector, stds: Vector, n_rows: int) -> Vector:
    """P-values of the one-way analysis of variance of each pair of columns.

    Columns have as many rows each, so that the F statistic depends on means and variances alone.
    A pair of constants is undefined where they are the same, and has p = 0 where they differ.

    Parameters
    ----------
    means, stds : ndarray of float
        Of each column, the latter divided by the number of rows; 0 for a constant.
    n_rows : int

    Returns
    -------
    ndarray of float
        Of pairs (0, 1), (0, 2), ..., (1, 2), ...

    Examples
    --------
    >>> anova_p_values(np.array([1.0, 2.0, 2.0]), np.array([1.0, 1.0, 2.0]), 10).round(3)
    array([0.048, 0.196, 1.   ])
    """
    if n_rows < 2:
        return np.full(len(means) * (len(means) - 1) // 2, np.nan)
    statistics = (n_rows - 1.0) * _between_to_within(means, stds)
    # p < (1 + F / (2n - 2))^(1 - n), which mostly tells that no floating-point number is so small
    bound = (1.0 - n_rows) * np.log1p(statistics / (2.0 * n_rows - 2.0))
    possible = ~(bound < _SMALLEST_LOG)
    p_values: Vector = np.zeros_like(statistics)
    p_values[possible] = fdtrc(1.0, 2.0 * n_rows - 2.0, statistics[possible])
    return p_values


@njit(cache=True)
def _between_to_within(means: Any, stds: Any) -> Any:
    """Squared difference of the means over the sum of the variances, for each pair."""
    p = means.size
    result = np.empty(p * (p - 1) // 2)
    place = 0
    for i in range(p):
        for j in range(i + 1, p):
            # quarters: no difference or length exceeds the range of floating-point numbers
            between = 0.25 * means[i] - 0.25 * means[j]
            within = np.hypot(0.25 * stds[i], 0.25 * stds[j])
            if within == 0.0:
                result[place] = np.nan if between == 0.0 else np.inf
            else:
                result[place] = (between / within) ** 2
            place += 1
    return result


def _correlation(X: Matrix, chosen: Any, unit: Vector, mean: Vector, std: Vector) -> Matrix:
    """Correlations of the chosen columns; NaN for constants."""
    n_rows, n_columns = len(X), len(chosen)
    with np.errstate(divide="ignore"):
        factor = np.where(std > 0, 1.0 / std, 0.0)
    every = n_columns == X.shape[1]
    products = np.zeros((n_columns, n_columns))
    step = max(1, _BLOCK // n_columns)
    for start in range(0, n_rows, step):
        rows = X[start : start + step]
        block = (rows if every else rows[:, chosen]) * unit
        block -= mean
        block *= factor
        products += block.T @ block
    products /= n_rows
    np.clip(products, -1.0, 1.0, out=products)
    constant = std == 0
    products[constant] = np.nan
    products[:, constant] = np.nan
    return products


@njit(cache=True)
def _upper(matrix: Any) -> Any:
    """What lies above the diagonal, row by row."""
    p = len(matrix)
    result = np.empty(p * (p - 1) // 2)
    place = 0
    for i in range(p):
        result[place : place + p - 1 - i] = matrix[i, i + 1 :]
        place += p - 1 - i
    return result


@njit(cache=True)
def _covariance(correlation: Any, stds: Any) -> Any:
    """Covariances of pairs; the smaller deviation first, so that 0 times infinity is not met."""
    p = len(correlation)
    result = np.empty(p * (p - 1) // 2)
    place = 0
    for i in range(p):
        for j in range(i + 1, p):
            smaller, larger = min(stds[i], stds[j]), max(stds[i], stds[j])
            result[place] = correlation[i, j] * smaller * larger
            place += 1
    return result


def _first_component(
    X: Matrix, chosen: Any, correlation: Matrix, stds: Vector, means: Vector
) -> dict[str, float]:
    names = [f"first_pc_{name}" for name in ("share", "std", "skewness", "kurtosis")]
    largest = float(stds.max())
    if largest == 0.0:
        return dict.fromkeys(names, float("nan"))
    varying = np.flatnonzero(stds)
    chosen, means = chosen[varying], means[varying] / largest
    # in units of the largest deviation, so that no square of one is out of range
    relative = stds[varying] / largest
    covariance = correlation[np.ix_(varying, varying)] * relative * relative[:, np.newaxis]
    eigenvalues, vectors = leading_components(covariance, 1)
    along = np.empty(len(X))
    every = len(chosen) == X.shape[1]
    step = max(1, _BLOCK // len(chosen))
    for start in range(0, len(X), step):
        rows = X[start : start + step]
        block = (rows if every else rows[:, chosen]) / largest
        block -= means
        along[start : start + step] = block @ vectors[:, 0]
    summary = dict(zip(SUMMARIES, summarise(along), strict=True))
    with np.errstate(over="ignore"):
        values = (
            eigenvalues[0] / np.square(relative).sum(),
            summary["std"] * largest,
            abs(summary["skewness"]),
            summary["kurtosis"],
        )
    return {name: float(value) for name, value in zip(names, values, strict=True)}
