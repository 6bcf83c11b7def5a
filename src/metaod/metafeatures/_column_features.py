"""Statistics of columns and of all pairs of columns, and the first principal component.

Each column is sorted once, which makes its statistics independent of the order of rows to the last
bit. Memory beyond the table: 8 MiB, or one column. Above 2,000 columns, 2,000 evenly spaced ones
represent all in pairs: 8 MiB for a block of rows, and ten numbers for each pair.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from metaod.metafeatures._landmarkers import FeatureInputs, leading_components
from metaod.metafeatures._schema import (
    ROUNDING,
    computes,
    declared,
    power_of_two,
    summaries,
    summarise,
)
from metaod.models import Matrix, Scores, njit

_BLOCK = 2**20  # values sorted or standardised at a time


@dataclass(frozen=True)
class Columns:
    """Statistics of every column, in units (one per column) in which no value exceeds 1."""

    n_rows: int
    unit: Scores  # powers of two: a value times its column's unit is at most 1
    mean: Scores
    std: Scores
    moments: Matrix  # central moments; row k holds those of order k, from 0 to 10
    varies: npt.NDArray[np.bool_]  # whether the spread is more than rounding
    largest: Scores  # largest absolute value
    distinct: Scores  # number of distinct values
    entropy: Scores  # entropy of the distinct values, in bits

    @property
    def variation(self) -> Scores:
        """Standard deviation over mean; NaN where the mean is 0 apart from rounding."""
        return self.std / np.where(np.abs(self.mean) > ROUNDING * self.largest, self.mean, np.nan)

    def moment(self, order: int) -> Scores:
        """Central moment in the columns' own units."""
        # as exponents, because a unit's power may be out of range where the moment is not
        exponent = 1 - np.frexp(self.unit)[1]
        return np.asarray(np.ldexp(self.moments[order], order * exponent))

    def standardised_moment(self, order: int) -> Scores:
        """Central moment over the same power of the standard deviation; NaN for constants."""
        return np.asarray(self.moments[order] / np.where(self.varies, self.std, np.nan) ** order)

    @cached_property
    def normality_p(self) -> Scores:
        """P-values of D'Agostino and Pearson's test for normality; NaN where undefined."""
        if self.n_rows < 8:
            return np.full_like(self.std, np.nan)
        # the sum of two squared standard normal scores exceeds k with probability exp(-k / 2)
        skewness = _skewness_score(self.standardised_moment(3), self.n_rows)
        kurtosis = _kurtosis_score(self.standardised_moment(4), self.n_rows)
        return np.asarray(np.exp(-0.5 * (skewness**2 + kurtosis**2)))


def describe_columns(inputs: FeatureInputs) -> Columns:
    """Describe every column of a table."""
    n_rows, n_columns = inputs.X.shape
    result = np.empty((14, n_columns))
    step = max(1, _BLOCK // n_rows)
    for start in range(0, n_columns, step):
        # a copy even where the table is one column, because the sort is in place
        block = np.array(inputs.X[:, start : start + step].T, order="C")
        block.sort(axis=1)
        _describe(block, result[:, start : start + step])
    unit, mean, largest, distinct, entropy = result[[0, 1, 11, 12, 13]]
    moments = result[:11]
    moments[0], moments[1] = 1.0, 0.0
    std = np.sqrt(moments[2])
    varies = std > ROUNDING * largest
    return Columns(n_rows, unit, mean, std, moments, varies, largest, distinct, entropy)


def _columns(inputs: FeatureInputs) -> list[Columns]:
    return [inputs.shared(describe_columns)]


def _below(level: float) -> Callable[[Columns], Scores]:
    """Return the statistic: 1 for a column that differs from a normal distribution, else 0."""

    def of_columns(columns: Columns) -> Scores:
        p_values = columns.normality_p
        return np.where(np.isnan(p_values), np.nan, p_values < level)

    return of_columns


_NORMALITY = summaries(
    "normality", _columns, lambda columns: columns.normality_p, _below(0.05), _below(0.01)
)


@computes(*declared("not_normal_share"))
def _not_normal_share(inputs: FeatureInputs) -> list[float]:
    p_values = inputs.shared(describe_columns).normality_p
    tested = ~np.isnan(p_values)
    return [float(np.mean(p_values[tested] < 0.05)) if tested.any() else np.nan]


_COLUMN_STATISTICS = summaries(
    "column_statistics",
    _columns,
    *(methodcaller("moment", order) for order in range(5, 11)),
    lambda columns: columns.standardised_moment(3),
    lambda columns: columns.standardised_moment(4),
    lambda columns: columns.distinct / columns.n_rows,
    lambda columns: columns.variation,
    lambda columns: columns.entropy / np.log2(columns.n_rows),
)

COLUMN_FEATURES = (_NORMALITY, _not_normal_share, _COLUMN_STATISTICS)


def _skewness_score(skewness: Scores, n: float) -> Scores:
    """D'Agostino's normal approximation (1970)."""
    y = skewness * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3)
    beta /= (n - 2) * (n + 5) * (n + 7) * (n + 9)
    w2 = np.sqrt(2 * (beta - 1)) - 1
    return np.asarray(np.arcsinh(y / np.sqrt(2 / (w2 - 1))) / np.sqrt(0.5 * np.log(w2)))


def _kurtosis_score(kurtosis: Scores, n: float) -> Scores:
    """Anscombe and Glynn's normal approximation (1983)."""
    expected = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - expected) / np.sqrt(variance)
    beta = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    beta *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6 + 8 / beta * (2 / beta + np.sqrt(1 + 4 / beta**2))
    denominator = 1 + x * np.sqrt(2 / (a - 4))
    root = np.cbrt((1 - 2 / a) / denominator)
    return np.asarray((1 - 2 / (9 * a) - root) / np.sqrt(2 / (9 * a)))


@njit(cache=True)
def _describe(ordered: Any, result: Any) -> None:
    """Unit, mean, moments 2 to 10, largest, distinct values and entropy of sorted columns."""
    n_columns, n = ordered.shape
    for c in range(n_columns):
        column = ordered[c]
        unit = power_of_two(max(abs(column[0]), abs(column[-1])))
        result[0, c] = unit
        _moments(column, unit, result[1:11, c])
        result[11, c] = max(abs(column[0]), abs(column[-1])) * unit
        # n log2 n minus the sum of c log2 c over distinct values, which is 0 for single ones
        distinct = 0
        repeated = 0.0
        first = 0
        for i in range(1, n + 1):
            if i == n or column[i] != column[first]:
                distinct += 1
                if i - first > 1:
                    repeated += (i - first) * np.log2(i - first)
                first = i
        result[12, c] = distinct
        result[13, c] = max(0.0, np.log2(n) - repeated / n)


# reassociation lets the compiler add several values at once
@njit(cache=True, fastmath={"reassoc", "contract"})
def _moments(column: Any, unit: float, result: Any) -> None:
    """Mean, then the central moments of orders 2 to 10."""
    n = column.size
    # differences to the middle value lose fewer digits than the values
    middle = column[n // 2] * unit
    total = 0.0
    for i in range(n):
        total += column[i] * unit - middle
    shift = total / n
    m2, m3, m4, m5, m6, m7, m8, m9, m10 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        d = column[i] * unit - middle - shift
        d2 = d * d
        d3 = d2 * d
        d4 = d2 * d2
        d5 = d3 * d2
        m2 += d2
        m3 += d3
        m4 += d4
        m5 += d5
        m6 += d3 * d3
        m7 += d4 * d3
        m8 += d4 * d4
        m9 += d5 * d4
        m10 += d5 * d5
    result[0] = middle + shift
    for k, total in enumerate((m2, m3, m4, m5, m6, m7, m8, m9, m10)):
        result[k + 1] = total / n


MAX_PAIRED_COLUMNS = 2_000
"""Most columns whose pairs are used."""

_SMALLEST_LOG = -745.2  # exp of it is the smallest positive number


@computes(*declared("pairs"))
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


def _between_to_within(means: Scores, stds: Scores) -> Scores:
    """Squared difference of the means over the sum of the variances, for each pair."""
    i, j = np.triu_indices(len(means), 1)
    # quarters keep differences and lengths within the range of floating-point numbers
    between = 0.25 * means[i] - 0.25 * means[j]
    within = np.hypot(0.25 * stds[i], 0.25 * stds[j])
    # NaN for equal constants, infinite for different ones
    return np.asarray((between / within) ** 2)


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


def _above_diagonal(matrix: Matrix, factors: Scores) -> Scores:
    """Elements above the diagonal, row by row, times the factors of their row and column."""
    i, j = np.triu_indices(len(matrix), 1)
    # the smaller factor first, which avoids 0 times infinity
    smaller = matrix[i, j] * np.minimum(factors[i], factors[j])
    return np.asarray(smaller * np.maximum(factors[i], factors[j]))


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
