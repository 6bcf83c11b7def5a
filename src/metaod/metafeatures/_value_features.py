"""Size of a table, statistics of all its values together, and what its columns were.

The values are sorted once, which makes the paper's "sample" statistics independent of the order of
rows and columns to the last bit. Memory beyond the table: one copy of it. Kinds, gaps and levels
are those of the columns in use before preparation. In a column of categories or text a gap is a
level too. A matrix of numbers has only numeric columns.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._landmarkers import FeatureInputs
from metaod.metafeatures._schema import ROUNDING, computes, declared, power_of_two
from metaod.models import njit
from metaod.tables import SURPRISAL_UNIT, PreparedTable


@computes(*declared("size"))
def size(inputs: FeatureInputs) -> tuple[float, ...]:
    n, p = inputs.X.shape
    categorical = inputs.prepared.record.categorical_share if inputs.prepared else 0.0
    return n, p, p / n, math.log(n), math.log(n / p), math.log(p), categorical


@computes(*declared("sample"))
def sample(inputs: FeatureInputs) -> tuple[float, ...]:
    return inputs.shared(_describe_values)


@computes(*declared("sample_flags"))
def sample_flags(inputs: FeatureInputs) -> list[float]:
    return [float(share > 0) for share in inputs.shared(_describe_values)[-4:]]


def _describe_values(inputs: FeatureInputs) -> tuple[float, ...]:
    ordered = np.sort(inputs.X, axis=None)
    low, high = float(ordered[0]), float(ordered[-1])
    unit = power_of_two(max(abs(low), abs(high)))
    # everything from here on is in units in which no value exceeds 1
    mean, variance, median, gini, deviation, spread, q1, q25, q75, q99 = _describe(ordered, unit)
    std, top, iqr = np.sqrt(variance), high * unit, q75 - q25
    largest = max(abs(low), abs(high)) * unit

    def outside(lower: float, upper: float) -> float:
        below = np.searchsorted(ordered, lower / unit, "left")
        above = ordered.size - np.searchsorted(ordered, upper / unit, "right")
        return float(below + above) / ordered.size

    return (
        mean / unit, median / unit, variance / unit / unit, low, high, std / unit,
        q1 / unit, q25 / unit, q75 / unit, q99 / unit, iqr / unit,
        _ratio(mean, top, 0.0), _ratio(median, top, 0.0),
        (top - low * unit) / unit, gini, deviation / unit, spread / unit,
        _ratio(iqr, q75 + q25, max(abs(q25), abs(q75))), _ratio(std, mean, largest),
        outside(q1, q99), outside(mean - 3 * std, mean + 3 * std),
        outside(q25 - 1.5 * iqr, q75 + 1.5 * iqr), outside(q25 - 3 * iqr, q75 + 3 * iqr),
    )  # fmt: skip


def _ratio(numerator: float, denominator: float, size: float) -> float:
    """NaN where the denominator is 0 apart from the rounding of terms of that size."""
    if abs(denominator) <= ROUNDING * size or denominator == 0.0:
        return float("nan")
    return numerator / denominator


# reassociation lets the compiler add several values at once
@njit(cache=True, fastmath={"reassoc", "contract"})
def _describe(ordered: Any, unit: float) -> Any:
    """Mean, variance, median, Gini, both absolute deviations, then the percentiles."""
    n = ordered.size
    median = _quantile(ordered, 0.5) * unit
    # sums of differences to the median lose fewer digits than sums of the values
    total = 0.0
    spread = 0.0
    for i in range(n):
        d = ordered[i] * unit - median
        total += d
        spread += abs(d)
    shift = total / n
    squares = 0.0
    for i in range(n):
        d = ordered[i] * unit - median - shift
        squares += d * d
    low = min(0.0, ordered[0] * unit)
    weighted = 0.0
    for i in range(n):
        weighted += (2.0 * i - n + 1.0) * (ordered[i] * unit - low)
    whole = total + n * (median - low)
    gini = weighted / n / whole if whole > 0.0 else np.nan
    return (
        median + shift, squares / n, median, gini, _median_deviation(ordered, unit, median),
        spread / n, _quantile(ordered, 0.01) * unit, _quantile(ordered, 0.25) * unit,
        _quantile(ordered, 0.75) * unit, _quantile(ordered, 0.99) * unit,
    )  # fmt: skip


@njit(cache=True)
def _quantile(ordered: Any, share: float) -> Any:
    """Interpolate as NumPy does."""
    position = share * (ordered.size - 1)
    below = int(np.floor(position))
    t = position - below
    # halves, because the difference of two huge values may be out of range
    a = 0.5 * ordered[below]
    b = 0.5 * ordered[min(below + 1, ordered.size - 1)]
    return 2.0 * (a + (b - a) * t if t < 0.5 else b - (b - a) * (1.0 - t))


@njit(cache=True)
def _median_deviation(ordered: Any, unit: float, median: float) -> float:
    """Median distance to the median, found by walking outwards from it, the nearer side first."""
    n = ordered.size
    right = n // 2
    left = right - 1
    previous, current = 0.0, 0.0
    for _ in range(n // 2 + 1):
        previous = current
        to_left = median - ordered[left] * unit if left >= 0 else np.inf
        to_right = ordered[right] * unit - median if right < n else np.inf
        if to_left <= to_right:
            current = to_left
            left -= 1
        else:
            current = to_right
            right += 1
    return current if n % 2 else 0.5 * (previous + current)


RARE_SHARE = 0.05
"""A level of fewer rows than this share is rare."""

_KINDS = {
    "numeric": {"numeric", "boolean", "duration"},
    "category": {"category"},
    "text": {"text"},
    "date": {"date"},
}
_MATRIX = (1.0, *(0.0,) * 9)  # of a matrix of numbers


@computes(*declared("kinds"))
def kinds(inputs: FeatureInputs) -> tuple[float, ...]:
    prepared = inputs.prepared
    if prepared is None:
        return _MATRIX
    columns = prepared.record.columns
    used = [column for column in columns if column.is_used]
    gaps = np.array([column.n_missing + column.n_infinite for column in columns])
    logs, rare = _levels(prepared)
    return (
        *(sum(column.kind in kind for column in used) / max(1, len(used))
          for kind in _KINDS.values()),
        gaps.mean() / prepared.record.n_rows, (gaps > 0).mean(),
        gaps.max() / prepared.record.n_rows,
        np.mean(logs) if logs else 0.0, max(logs, default=0.0), rare.mean(),
    )  # fmt: skip


def _levels(prepared: PreparedTable) -> tuple[list[float], npt.NDArray[np.bool_]]:
    """Return the logarithm of each column's number of levels, and which rows have a rare level."""
    rare = np.zeros(len(prepared.X), dtype=np.bool_)
    logs = []
    places = {name: place for place, name in enumerate(prepared.names)}
    for column in prepared.record.columns:
        if column.n_levels and column.is_used:
            logs.append(float(np.log(column.n_levels + (column.n_missing > 0))))
            surprisal = prepared.X[:, places[column.outputs[0]]] * SURPRISAL_UNIT
            rare |= surprisal > -np.log(RARE_SHARE) + 1e-9
    return logs, rare
