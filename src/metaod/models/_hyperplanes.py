"""The hyperplane that splits a node of an oblique isolation tree: the best of some, or any."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from metaod.models._draws import below, normal, uniform
from metaod.models._gain import MARGIN, best_split, order

__all__ = ["Known", "Room", "best_hyperplane", "project", "random_hyperplane"]


class Known(NamedTuple):
    """What is known of the columns in the node in hand."""

    columns: Any
    """All columns; those that are constant in the node come first."""
    seen: Any
    """The last node in which a column was measured."""
    lows: Any
    highs: Any
    spreads: Any
    grains: Any
    """Widest range that counts as constant."""


class Room(NamedTuple):
    """Room for the trials of a node."""

    projected: Any
    ordered: Any
    places: Any
    shares: Any
    """1 / n."""
    sums: Any
    weights: Any


@njit(cache=True)
def _measure(values: Any, rows: Any, column: int, known: Any, with_spread: bool) -> None:
    """Range and standard deviation of a column in the node."""
    origin = low = high = values[rows[0]]
    for row in rows:
        low = min(low, values[row])
        high = max(high, values[row])
    known.lows[column] = low
    known.highs[column] = high
    width = high - low
    if with_spread and width > known.grains[column]:
        # in units of the range, so that squares stay numbers
        total = squares = 0.0
        for row in rows:
            value = (values[row] - origin) / width
            total += value
            squares += value * value
        mean = total / len(rows)
        known.spreads[column] = width * np.sqrt(max(squares / len(rows) - mean * mean, 0.0))


@njit(cache=True)
def _draw_columns(
    state: Any, sample: Any, rows: Any, node: int, n_constant: int, n_dims: int, with_spread: bool,
    known: Any,
) -> Any:  # fmt: skip
    """Draw columns to the places behind the first ``n_constant``, which are constant in the node.

    A column that turns out constant joins these, for all nodes below too: they only ever reorder
    the others. Returns how many are constant and how many were drawn.
    """
    columns = known.columns
    drawn = 0
    while drawn < n_dims and n_constant + drawn < len(columns):
        free = n_constant + drawn
        place = free + below(state, len(columns) - free)
        column = columns[place]
        if known.seen[column] != node:
            known.seen[column] = node
            _measure(sample[column], rows, column, known, with_spread)
        columns[place] = columns[free]
        if known.highs[column] - known.lows[column] > known.grains[column]:
            columns[free] = column
            drawn += 1
        else:
            columns[free] = columns[n_constant]
            columns[n_constant] = column
            n_constant += 1
    return n_constant, drawn


@njit(cache=True)
def project(sample: Any, rows: Any, columns: Any, weights: Any, projected: Any) -> None:
    """Weighted sums of some columns; ``sample`` has each column as one row."""
    projected[: len(rows)] = 0.0
    for d in range(len(columns)):
        values = sample[columns[d]]
        weight = weights[d]
        for i in range(len(rows)):
            projected[i] += weight * values[rows[i]]


@njit(cache=True)
def best_hyperplane(
    state: Any, sample: Any, rows: Any, node: int, n_constant: int, n_trials: int, known: Any,
    room: Any, plane_columns: Any, plane_weights: Any,
) -> Any:  # fmt: skip
    """SCiForest's split: its threshold (infinite where there is none) and acceptable range."""
    best = -np.inf
    threshold = reach = np.inf
    n_dims = len(plane_columns)
    weights = room.weights
    for _ in range(n_trials):
        n_constant, drawn = _draw_columns(
            state, sample, rows, node, n_constant, n_dims, True, known
        )
        chosen = known.columns[n_constant : n_constant + drawn]
        for d in range(drawn):
            weights[d] = uniform(state, -1.0, 1.0) / known.spreads[chosen[d]]
        project(sample, rows, chosen, weights, room.projected)
        tried = room.ordered[: len(rows)]
        order(room.projected[: len(rows)], tried, room.places)
        gain, place = best_split(tried, room.shares, room.sums)
        if gain > best + MARGIN:
            best = gain
            low, high = tried[place - 1], tried[place]
            threshold = low + 0.5 * (high - low)
            if threshold <= low:
                threshold = high
            reach = tried[-1] - tried[0]
            plane_columns[:drawn] = chosen
            plane_weights[:drawn] = weights[:drawn]
            plane_weights[drawn:] = 0.0
    return threshold, reach, n_constant


@njit(cache=True)
def random_hyperplane(
    state: Any, sample: Any, rows: Any, node: int, n_constant: int, known: Any,
    plane_columns: Any, plane_weights: Any,
) -> Any:  # fmt: skip
    """The extended isolation forest's split; every step past it counts."""
    n_constant, drawn = _draw_columns(
        state, sample, rows, node, n_constant, len(plane_columns), False, known
    )
    threshold = 0.0 if drawn > 0 else np.inf
    for d in range(drawn):
        column = known.columns[n_constant + d]
        weight = normal(state)
        threshold += weight * uniform(state, known.lows[column], known.highs[column])
        plane_columns[d] = column
        plane_weights[d] = weight
    return threshold, np.inf, n_constant
