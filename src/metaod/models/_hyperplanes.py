"""The hyperplane that splits a node of an oblique isolation tree.

The compiled functions loop and neither allocate nor assign slices, because numba takes three times
as long to compile those: the first run waits for it.
"""

from typing import Any, NamedTuple

import numpy as np

from metaod.models._arrays import njit
from metaod.models._isolation_forests import below, normal, uniform

# a gain must be larger by this much, so rounding does not decide between ties: the first wins
_MARGIN = 1e-7

# values in one bin for which insertion begins at a larger distance, as in Shell's sort; each
# distance is about a third of the last
_CROWD = 100
_FURTHEST = 1093


class ColumnStats(NamedTuple):
    """Statistics of the columns in the current node."""

    columns: Any  # all columns; those that are constant in the node come first
    seen: Any  # the last node in which a column was measured
    lows: Any
    highs: Any
    spreads: Any  # empty if they are not needed
    grains: Any  # widest range that counts as constant


class Buffers(NamedTuple):
    """Arrays that every node's trials overwrite, apart from the reciprocals."""

    projected: Any
    ordered: Any
    bins: Any
    reciprocals: Any
    sums: Any
    weights: Any


@njit(cache=True, nogil=True)
def _measure(values: Any, rows: Any, column: int, stats: Any) -> None:
    """Write the range and the standard deviation of a column in the node."""
    origin = low = high = values[rows[0]]
    for row in rows:
        low = min(low, values[row])
        high = max(high, values[row])
    stats.lows[column] = low
    stats.highs[column] = high
    width = high - low
    if len(stats.spreads) > 0 and width > stats.grains[column]:
        # in units of the range, so squares do not overflow
        total = squares = 0.0
        for row in rows:
            value = (values[row] - origin) / width
            total += value
            squares += value * value
        mean = total / len(rows)
        stats.spreads[column] = width * np.sqrt(max(squares / len(rows) - mean * mean, 0.0))


@njit(cache=True, nogil=True)
def _draw_columns(
    state: Any, sample: Any, rows: Any, node: int, n_constant: int, n_dims: int, stats: Any,
) -> Any:  # fmt: skip
    """Draw columns to the positions after the first ``n_constant``, which are constant.

    A column that turns out constant is added to these, also for the nodes below, which only reorder
    the others. Returns the number of constant and of drawn columns.
    """
    columns = stats.columns
    drawn = 0
    while drawn < n_dims and n_constant + drawn < len(columns):
        free = n_constant + drawn
        position = free + below(state, len(columns) - free)
        column = columns[position]
        if stats.seen[column] != node:
            stats.seen[column] = node
            _measure(sample[column], rows, column, stats)
        columns[position] = columns[free]
        if stats.highs[column] - stats.lows[column] > stats.grains[column]:
            columns[free] = column
            drawn += 1
        else:
            columns[free] = columns[n_constant]
            columns[n_constant] = column
            n_constant += 1
    return n_constant, drawn


@njit(cache=True, nogil=True)
def project(sample: Any, rows: Any, columns: Any, weights: Any, projected: Any) -> None:
    """Write weighted sums of some columns; each column is one row of ``sample``."""
    for i in range(len(rows)):
        projected[i] = 0.0
    for d in range(len(columns)):
        values = sample[columns[d]]
        weight = weights[d]
        for i in range(len(rows)):
            projected[i] += weight * values[rows[i]]


@njit(cache=True, nogil=True)
def best_hyperplane(
    state: Any, sample: Any, rows: Any, node: int, n_constant: int, n_trials: int, stats: Any,
    buffers: Any, plane_columns: Any, plane_weights: Any,
) -> Any:  # fmt: skip
    """Return the threshold (infinite without a split) and acceptable range of SCiForest's split."""
    best = -np.inf
    threshold = reach = np.inf
    n_dims = len(plane_columns)
    weights = buffers.weights
    for _ in range(n_trials):
        n_constant, drawn = _draw_columns(state, sample, rows, node, n_constant, n_dims, stats)
        chosen = stats.columns[n_constant : n_constant + drawn]
        for d in range(drawn):
            weights[d] = uniform(state, -1.0, 1.0) / stats.spreads[chosen[d]]
        project(sample, rows, chosen, weights, buffers.projected)
        tried = buffers.ordered[: len(rows)]
        _sort(buffers.projected[: len(rows)], tried, buffers.bins)
        gain, position = _best_split(tried, buffers.reciprocals, buffers.sums)
        if gain > best + _MARGIN:
            best = gain
            low, high = tried[position - 1], tried[position]
            threshold = low + 0.5 * (high - low)
            if threshold <= low:
                threshold = high
            reach = tried[-1] - tried[0]
            for d in range(n_dims):
                if d < drawn:
                    plane_columns[d] = chosen[d]
                plane_weights[d] = weights[d] if d < drawn else 0.0
    return threshold, reach, n_constant


@njit(cache=True, nogil=True)
def random_hyperplane(
    state: Any, sample: Any, rows: Any, node: int, n_constant: int, stats: Any,
    plane_columns: Any, plane_weights: Any,
) -> Any:  # fmt: skip
    """Return the extended isolation forest's split, which has no acceptable range."""
    n_constant, drawn = _draw_columns(
        state, sample, rows, node, n_constant, len(plane_columns), stats
    )
    threshold = 0.0 if drawn > 0 else np.inf
    for d in range(drawn):
        column = stats.columns[n_constant + d]
        weight = normal(state)
        threshold += weight * uniform(state, stats.lows[column], stats.highs[column])
        plane_columns[d] = column
        plane_weights[d] = weight
    return threshold, np.inf, n_constant


@njit(cache=True, nogil=True)
def _sort(values: Any, ordered: Any, bins: Any) -> None:
    """Sort a few hundred values into bins of the range, then by insertion.

    This is four times faster than a quicksort. If a bin gets many values, Shell's sort finishes.
    """
    count = len(values)
    low = high = values[0]
    for value in values:
        low = min(low, value)
        high = max(high, value)
    if not high > low:
        for i in range(count):
            ordered[i] = values[i]
        return
    factor = (count - 1) / (high - low)
    for i in range(count + 1):
        bins[i] = 0
    for value in values:
        bins[int((value - low) * factor) + 1] += 1
    distance = 1
    for i in range(1, count + 1):
        if bins[i] > _CROWD:
            distance = _FURTHEST
        bins[i] += bins[i - 1]
    for value in values:
        position = int((value - low) * factor)
        ordered[bins[position]] = value
        bins[position] += 1
    while distance > 0:
        for i in range(distance, count):
            value = ordered[i]
            j = i - distance
            while j >= 0 and ordered[j] > value:
                ordered[j + distance] = ordered[j]
                j -= distance
            ordered[j + distance] = value
        distance //= 3


@njit(cache=True, nogil=True)
def _best_split(ordered: Any, reciprocals: Any, sums: Any) -> Any:
    """Return the largest gain in standard deviation, and the index where the right side starts.

    The gain is ``(sd - (sd of the left + sd of the right) / 2) / sd``, or -inf if all are equal.
    """
    count = len(ordered)
    mean = 0.0
    for value in ordered:
        mean += value
    mean /= count
    total = squares = 0.0
    for i in range(count):
        value = ordered[i] - mean
        total += value
        squares += value * value
        sums[0, i] = total
        sums[1, i] = squares
    # a separate loop without branches, which vectorises
    for i in range(count - 1):
        left, right = reciprocals[i + 1], reciprocals[count - i - 1]
        # the sums of both sides add up to 0, and to all squares
        of_left = sums[1, i] * left - (sums[0, i] * left) ** 2
        of_right = (squares - sums[1, i]) * right - (sums[0, i] * right) ** 2
        # negative values are rounding errors
        sums[2, i] = np.sqrt(abs(of_left)) + np.sqrt(abs(of_right))
    spread = np.sqrt(squares * reciprocals[count])
    margin = 2.0 * _MARGIN * spread
    least, position = np.inf, 0
    for i in range(count - 1):
        if sums[2, i] < least - margin and ordered[i + 1] > ordered[i]:
            least, position = sums[2, i], i + 1
    return (1.0 - 0.5 * least / spread if position > 0 else -np.inf), position
