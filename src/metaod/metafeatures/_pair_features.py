"""Statistics of all pairs of columns, and the first principal component.

Above 2,000 columns, 2,000 evenly spaced ones represent all. Memory beyond the table: 8 MiB for a
block of rows, and five numbers for each pair.
"""

from typing import Any

import numpy as np
import scipy

from metaod.metafeatures._column_features import describe_columns
from metaod.metafeatures._components import leading_components
from metaod.metafeatures._schema import Feature, FeatureInputs, computes
from metaod.metafeatures._summaries import Statistic, summarise
from metaod.models import Matrix, Scores, njit

MAX_PAIRED_COLUMNS = 2_000
"""Most columns whose pairs are used."""

_BLOCK = 2**20  # values standardised at a time
_SMALLEST_LOG = -745.2  # exp of it is the smallest positive number


def _first_pc(name: str, definition: str, formula: str, *, scale_free: bool = True) -> Feature:
    return Feature(f"first_pc_{name}", "first principal component", definition, formula,
                   in_paper=False, scale_free=scale_free)  # fmt: skip


@computes(
    *Statistic(
        "correlation", "correlation", "Pearson correlation",
        "rho(x, y) = cov(x, y) / (sigma_x sigma_y)",
    ).features("pairs of columns that are not constant"),
    *Statistic("covariance", "covariance", "covariance",
               "cov(x, y) = sum((x - mu_x)(y - mu_y)) / (n - 1)",
               scale_free=False).features("pairs of columns"),
    *Statistic(
        "anova_p", "ANOVA", "p-value of the one-way analysis of variance",
        "p(F), F = (n - 1)(mu_x - mu_y)^2 / (sigma_x^2 + sigma_y^2) ~ F(1, 2n - 2)",
    ).features("pairs of columns of which one at least is not constant, or whose means differ"),
    _first_pc("share",
              "share of the variance on the first principal component of the unscaled columns",
              "lambda_1 / sum(lambda), lambda = eigenvalues of the covariance matrix"),
    _first_pc("std", "standard deviation of the rows along it", "sigma of y = (X - mu) v_1",
              scale_free=False),
    _first_pc("skewness", "absolute skewness of the rows along it (its sign has no meaning)",
              "|mu_3 / sigma^3| of y"),
    _first_pc("kurtosis", "kurtosis of the rows along it", "mu_4 / sigma^4 of y"),
)  # fmt: skip
def pairs(inputs: FeatureInputs) -> list[float]:
    """Compute the statistics of pairs of columns."""
    X, columns = inputs.X, inputs.shared(describe_columns)
    chosen = np.arange(X.shape[1])
    if len(chosen) > MAX_PAIRED_COLUMNS:
        chosen = np.linspace(0, len(chosen) - 1, MAX_PAIRED_COLUMNS).astype(np.intp)
    n, unit, mean = columns.n_rows, columns.unit[chosen], columns.mean[chosen]
    std = np.where(columns.varies[chosen], columns.std[chosen], 0.0)
    correlation = _correlation(X, chosen, unit, mean, std)
    correlations = summarise(_above_diagonal(correlation, np.ones(len(chosen))))
    np.nan_to_num(correlation, copy=False)
    covariance = _above_diagonal(correlation, std / unit) * (n / np.float64(n - 1))
    return [
        *correlations,
        *summarise(covariance),
        *summarise(_anova_p_values(mean / unit, std / unit, n)),
        *_first_component(X, chosen, correlation, std / unit, mean / unit),
    ]


def _anova_p_values(means: Scores, stds: Scores, n_rows: int) -> Scores:
    """P-values of the one-way analysis of variance of pairs (0, 1), (0, 2), ..., (1, 2), ...

    A pair of constants is undefined where they are equal, and has p = 0 where they differ.
    """
    if n_rows < 2:
        return np.full(len(means) * (len(means) - 1) // 2, np.nan)
    statistics = (n_rows - 1.0) * _between_to_within(means, stds)
    # p < (1 + F / (2n - 2))^(1 - n), a bound that is mostly below the smallest float
    bound = (1.0 - n_rows) * np.log1p(statistics / (2.0 * n_rows - 2.0))
    possible = ~(bound < _SMALLEST_LOG)
    p_values: Scores = np.zeros_like(statistics)
    p_values[possible] = scipy.special.fdtrc(1.0, 2.0 * n_rows - 2.0, statistics[possible])
    return p_values


@njit(cache=True)
def _between_to_within(means: Any, stds: Any) -> Any:
    """Squared difference of the means over the sum of the variances, for each pair."""
    p = means.size
    result = np.empty(p * (p - 1) // 2)
    position = 0
    for i in range(p):
        for j in range(i + 1, p):
            # quarters keep differences and lengths within the range of floating-point numbers
            between = 0.25 * means[i] - 0.25 * means[j]
            within = np.hypot(0.25 * stds[i], 0.25 * stds[j])
            if within == 0.0:
                result[position] = np.nan if between == 0.0 else np.inf
            else:
                result[position] = (between / within) ** 2
            position += 1
    return result


def _correlation(X: Matrix, chosen: Any, unit: Scores, mean: Scores, std: Scores) -> Matrix:
    """Correlations of the chosen columns; NaN for constants."""
    n_rows, n_columns = len(X), len(chosen)
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
def _above_diagonal(matrix: Any, factors: Any) -> Any:
    """Elements above the diagonal, row by row, times the factors of their row and column."""
    p = len(matrix)
    result = np.empty(p * (p - 1) // 2)
    position = 0
    for i in range(p):
        for j in range(i + 1, p):
            # the smaller factor first, which avoids 0 times infinity
            smaller, larger = min(factors[i], factors[j]), max(factors[i], factors[j])
            result[position] = matrix[i, j] * smaller * larger
            position += 1
    return result


def _first_component(
    X: Matrix, chosen: Any, correlation: Matrix, stds: Scores, means: Scores
) -> tuple[float, ...]:
    largest = float(stds.max())
    if largest == 0.0:
        return (np.nan,) * 4
    varying = np.flatnonzero(stds)
    chosen, means = chosen[varying], means[varying] / largest
    # in units of the largest deviation, to keep squares in range
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
    _, _, _, std, skewness, kurtosis = summarise(along)
    return eigenvalues[0] / np.square(relative).sum(), std * largest, abs(skewness), kurtosis
