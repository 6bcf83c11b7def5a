"""Statistics of each column, summed up over columns.

One sort of each column serves them all: it makes them independent of the order of rows to the last
bit, and puts equal values side by side. Memory beyond the table: 8 MiB, or one column.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.metafeatures._normality import normality_p_values
from metaod.metafeatures._schema import Feature
from metaod.metafeatures._summaries import ROUNDING, named, power_of_two, summarised
from metaod.models import Matrix

__all__ = ["COLUMN_FEATURES", "Columns", "column_values", "describe_columns"]

Vector = npt.NDArray[np.float64]

_BLOCK = 2**20  # values sorted at a time
_ORDERS = range(5, 11)

COLUMN_FEATURES: tuple[Feature, ...] = (
    *summarised(
        "normality_p",
        "normality",
        "p-value of D'Agostino and Pearson's test for normality (8 rows or more)",
        "p(K^2), K^2 = Z(skewness)^2 + Z(kurtosis)^2 ~ chi^2 with 2 degrees of freedom",
        scale_free=True,
    ),
    Feature(
        "not_normal_share",
        "normality",
        "share of columns that differ from a normal distribution at the 5 % level",
        "mean(p(K^2) < 0.05)",
        scale_free=True,
    ),
    *(
        feature
        for order in _ORDERS
        for feature in summarised(
            f"moment_{order}",
            "moments",
            f"central moment of order {order}",
            f"mu_{order} = mean((x - mu)^{order})",
        )
    ),
    *summarised("skewness", "skewness", "skewness", "mu_3 / sigma^3", scale_free=True),
    *summarised("kurtosis", "kurtosis", "kurtosis", "mu_4 / sigma^4", scale_free=True),
    *summarised(
        "sparsity",
        "sparsity",
        "share of distinct values",
        "#unique(x) / n",
        scale_free=True,
    ),
    *summarised(
        "coefficient_of_variation",
        "coefficient of variation",
        "standard deviation over mean (columns whose mean is not 0)",
        "sigma / mu",
        scale_free=True,
    ),
    *summarised(
        "entropy",
        "entropy",
        "normalised entropy of the distinct values",
        "H(x) / log2(n), H(x) = -sum(c/n log2(c/n)) over the counts c of distinct values",
        which=("min", "max", "mean", "std"),
        scale_free=True,
    ),
)


@dataclass(frozen=True)
class Columns:
    """What is known of every column; in units, one a column, in which no value exceeds 1.

    Parameters
    ----------
    n_rows : int
    unit : ndarray of float
        Powers of two; a value times its column's unit is what the rest is about.
    mean, std : ndarray of float
    moments : ndarray of float, shape (11, n_columns)
        Central moments, by order.
    varies : ndarray of bool
        Whether a column is more than constant up to rounding.
    largest : ndarray of float
        Largest absolute value.
    distinct : ndarray of float
        Number of distinct values.
    entropy : ndarray of float
        Entropy of the distinct values, in bits.
    """

    n_rows: int
    unit: Vector
    mean: Vector
    std: Vector
    moments: Matrix
    varies: npt.NDArray[np.bool_]
    largest: Vector
    distinct: Vector
    entropy: Vector


def describe_columns(X: Matrix) -> Columns:
    """Describe every column of a table."""
    n_rows, n_columns = X.shape
    result = np.empty((14, n_columns))
    step = max(1, _BLOCK // n_rows)
    for start in range(0, n_columns, step):
        # a copy even where the table is one column, for the sort is in place
        block = np.array(X[:, start : start + step].T, order="C")
        block.sort(axis=1)
        _describe(block, result[:, start : start + step])
    unit, mean, largest, distinct, entropy = result[[0, 1, 11, 12, 13]]
    moments = result[:11]
    moments[0], moments[1] = 1.0, 0.0
    std = np.sqrt(moments[2])
    varies = std > ROUNDING * largest
    return Columns(n_rows, unit, mean, std, moments, varies, largest, distinct, entropy)


def column_values(columns: Columns) -> dict[str, float]:
    """Sum up what is known of the columns."""
    n = columns.n_rows
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        std = np.where(columns.varies, columns.std, np.nan)
        skewness = columns.moments[3] / std**3
        kurtosis = columns.moments[4] / std**4
        mean_is_zero = np.abs(columns.mean) <= ROUNDING * columns.largest
        variation = np.where(mean_is_zero, np.nan, columns.std / columns.mean)
        entropy = columns.entropy / np.log2(n)
        # as exponents, for the powers of a unit may exceed the range where the moment does not
        exponent = 1 - np.frexp(columns.unit)[1]
        moments = {order: np.ldexp(columns.moments[order], order * exponent) for order in _ORDERS}
    p_values = normality_p_values(skewness, kurtosis, n)
    tested = ~np.isnan(p_values)
    values = named("normality_p", p_values)
    values["not_normal_share"] = float(np.mean(p_values[tested] < 0.05)) if tested.any() else np.nan
    for order, moment in moments.items():
        values |= named(f"moment_{order}", moment)
    values |= named("skewness", skewness)
    values |= named("kurtosis", kurtosis)
    values |= named("sparsity", columns.distinct / n)
    values |= named("coefficient_of_variation", variation)
    values |= named("entropy", entropy)
    del values["entropy_skewness"], values["entropy_kurtosis"]
    return values


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
        # n log2 n minus the sum of c log2 c over distinct values: those that come once add nothing
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


# the order of additions is left to the compiler, which then adds several values at once
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
    result[1], result[2], result[3] = m2 / n, m3 / n, m4 / n
    result[4], result[5], result[6] = m5 / n, m6 / n, m7 / n
    result[7], result[8], result[9] = m8 / n, m9 / n, m10 / n
