"""Six numbers that sum up many: the variants that the paper takes of nearly everything.

Kurtosis is the paper's mu_4 / sigma^4, 3 for a normal distribution; standard deviations are those
of the values at hand, divided by their number. Values that are undefined are left out. Spread that
is no more than rounding counts as none: then the standard deviation is 0, and skewness and
kurtosis are undefined.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.metafeatures._schema import Feature

__all__ = [
    "ROUNDING",
    "SUMMARIES",
    "named",
    "power_of_two",
    "statistic_and_summary",
    "summarise",
    "summarised",
]

SUMMARIES = ("min", "max", "mean", "std", "skewness", "kurtosis")
"""The summaries, in the order in which they are computed."""

ROUNDING = 16 * np.finfo(np.float64).eps
"""Spread below this share of the largest value is rounding, as in the scaling of columns."""

_WORDS = {
    "min": "smallest", "max": "largest", "mean": "mean", "std": "standard deviation of the",
    "skewness": "skewness of the", "kurtosis": "kurtosis of the",
}  # fmt: skip


def summarised(
    stem: str,
    group: str,
    what: str,
    formula: str,
    *,
    over: str = "over columns",
    which: Sequence[str] = SUMMARIES,
    in_paper: bool = True,
    scale_free: bool = False,
    constant: bool = False,
) -> tuple[Feature, ...]:
    """Make the features that sum up one statistic.

    Examples
    --------
    >>> summarised("skewness", "skewness", "skewness", "mu_3 / sigma^3")[1].definition
    'largest skewness over columns'
    """
    return tuple(
        Feature(
            f"{stem}_{summary}",
            group,
            f"{_WORDS[summary]} {what} {over}",
            f"{summary} of {formula}",
            in_paper=in_paper,
            scale_free=scale_free,
            constant=constant,
        )
        for summary in which
    )


def statistic_and_summary(feature: Feature) -> tuple[str, str] | None:
    """Which statistic a feature sums up, and how; None where it is no summary.

    Examples
    --------
    >>> statistic_and_summary(summarised("skewness", "skewness", "skewness", "mu_3 / sigma^3")[1])
    ('skewness', 'max')
    """
    statistic, _, summary = feature.name.rpartition("_")
    if summary in SUMMARIES and feature.formula.startswith(f"{summary} of "):
        return statistic, summary
    return None


def named(stem: str, values: npt.ArrayLike) -> dict[str, float]:
    """Name the six summaries of the values.

    Examples
    --------
    >>> named("x", [1.0, 1.0, 4.0])["x_mean"]
    2.0
    """
    summary = summarise(np.ascontiguousarray(values, dtype=np.float64))
    return {f"{stem}_{name}": float(value) for name, value in zip(SUMMARIES, summary, strict=True)}


@njit(cache=True)
def power_of_two(largest: float) -> float:
    """A unit in which values up to ``largest`` lie within 1: powers of it stay in range.

    Multiplying by a power of two is exact, so that nothing is lost by it.

    Examples
    --------
    >>> power_of_two(1e300) * 1e300 <= 1, power_of_two(0.0)
    (True, 1.0)
    """
    if largest == 0.0:
        return 1.0
    _, exponent = math.frexp(largest)
    return math.ldexp(1.0, -min(max(exponent, -1000), 1000))


@njit(cache=True)
def summarise(values: Any) -> Any:
    """Minimum, maximum, mean, standard deviation, skewness and kurtosis; NaN is left out.

    Examples
    --------
    >>> summarise(np.array([1.0, np.nan, 3.0])).tolist()
    [1.0, 3.0, 2.0, 1.0, 0.0, 1.0]
    """
    result = np.full(6, np.nan)
    low, high, n = np.inf, -np.inf, 0
    for value in values:
        if not np.isnan(value):
            low, high, n = min(low, value), max(high, value), n + 1
    if n == 0:
        return result
    result[0], result[1] = low, high
    if np.isinf(low) or np.isinf(high):
        return result
    unit = power_of_two(max(abs(low), abs(high)))
    total = 0.0
    for value in values:
        if not np.isnan(value):
            total += value * unit - low * unit
    mean = total / n
    m2, m3, m4 = 0.0, 0.0, 0.0
    for value in values:
        if not np.isnan(value):
            d = (value * unit - low * unit) - mean
            m2 += d * d
            m3 += d * d * d
            m4 += d * d * d * d
    m2, m3, m4 = m2 / n, m3 / n, m4 / n
    result[2] = (mean + low * unit) / unit
    if np.sqrt(m2) <= ROUNDING * max(abs(low), abs(high)) * unit:
        result[3] = 0.0
        return result
    result[3] = np.sqrt(m2) / unit
    result[4] = m3 / m2**1.5
    result[5] = m4 / m2**2
    return result
