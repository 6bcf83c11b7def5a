"""Six numbers that summarise the values of a statistic, as in the paper.

Kurtosis is the paper's mu_4 / sigma^4, 3 for a normal distribution; standard deviations divide by
the number of values. Undefined values are left out. A spread within rounding counts as 0;
skewness and kurtosis are then undefined.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._schema import Feature, FeatureFunction, FeatureInputs, computes
from metaod.models import Scores, njit

ADJECTIVES = {
    "min": "smallest", "max": "largest", "mean": "mean", "std": "standard deviation of the",
    "skewness": "skewness of the", "kurtosis": "kurtosis of the",
}  # fmt: skip
"""How definitions name the summaries."""
SUMMARIES = tuple(ADJECTIVES)
"""The summaries, in the order in which they are computed."""

ROUNDING = 16 * np.finfo(np.float64).eps
"""Spread below this share of the largest value is rounding, as in the scaling of columns."""


@dataclass(frozen=True)
class Statistic:
    """A number for each of many things (columns, trees, ...), of which features are summaries."""

    stem: str
    group: str
    definition: str
    formula: str
    of_source: Callable[[Any], Scores] = lambda values: values  # numbers of a source
    scale_free: bool = True
    constant: bool = False
    in_paper: bool = True
    since: int = 1  # the first version of the schema that has it
    n_summaries: int = 6  # how many of SUMMARIES are features

    def features(self, over: str) -> tuple[Feature, ...]:
        """Features that are summaries over the things that `over` names."""
        return tuple(
            Feature(f"{self.stem}_{summary}", self.group,
                    f"{adjective} {self.definition} over {over}", f"{summary} of {self.formula}",
                    self.in_paper, self.scale_free, self.constant, self.since)
            for summary, adjective in list(ADJECTIVES.items())[: self.n_summaries]
        )  # fmt: skip


def summaries(
    over: str,
    sources: Callable[[FeatureInputs], Sequence[Any]],
    *statistics: Statistic,
    uses_landmarkers: bool = False,
) -> FeatureFunction:
    """Declare the summaries of statistics of a source, averaged where there are several sources."""

    @computes(
        *(feature for one in statistics for feature in one.features(over)),
        uses_landmarkers=uses_landmarkers,
    )
    def compute(inputs: FeatureInputs) -> Scores:
        return averaged([
            np.concatenate([summarise(one.of_source(source))[: one.n_summaries]
                            for one in statistics])
            for source in sources(inputs)
        ])  # fmt: skip

    return compute


def averaged(of_sources: Sequence[Scores]) -> Scores:
    """Mean over several sources, of those for which a value is defined."""
    if len(of_sources) == 1:
        return of_sources[0]
    n_defined = np.sum(~np.isnan(of_sources), axis=0)
    means: Scores = np.nansum(of_sources, axis=0, initial=0.0) / n_defined
    return means


def statistic_and_summary(feature: Feature) -> tuple[str, str] | None:
    """Return the statistic that a feature summarises, and the summary; None if it is no summary.

    Examples
    --------
    >>> statistic_and_summary(Feature("depth_max", "iForest", "largest depth", "max of depth"))
    ('depth', 'max')
    """
    statistic, _, summary = feature.name.rpartition("_")
    if summary in SUMMARIES and feature.formula.startswith(f"{summary} of "):
        return statistic, summary
    return None


@njit(cache=True)
def power_of_two(largest: float) -> float:
    """A power of two that scales values up to ``largest`` to at most 1, which is exact."""
    if largest == 0.0:
        return 1.0
    _, exponent = math.frexp(largest)
    return math.ldexp(1.0, -min(max(exponent, -1000), 1000))


def summarise(values: npt.ArrayLike) -> Scores:
    """Minimum, maximum, mean, standard deviation, skewness and kurtosis; NaN is left out."""
    summary: Scores = _summarise(np.ascontiguousarray(values, dtype=np.float64))
    return summary


@njit(cache=True)
def _summarise(values: Any) -> Any:
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
