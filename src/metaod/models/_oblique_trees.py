"""Isolation trees whose splits are hyperplanes: SCiForest's and the extended isolation forest's.

A node splits at ``sum of weight * value over some columns >= threshold``; such rows go to the
right. Both kinds choose among the columns that are not constant in the node.

*SCiForest* (Liu, Ting and Zhou, 2010) tries several hyperplanes a node, each over ``n_dims``
columns, which are divided by their standard deviation in the node and weighted by a number in
[-1, 1]. It takes the hyperplane and the threshold with the largest gain in standard deviation, puts
the threshold half way between two rows, and splits until two rows are left. A step counts in the
path length only if the row is in the acceptable range: no further from the threshold than the
range of the node's rows.

The *extended isolation forest* (Hariri, Carrasco Kind and Brunner, 2019) draws a normal vector
from the normal distribution and a point from the box around the node's rows, to the depth that
``n_samples`` rows need on average. A side may stay empty.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import njit
from metaod.models._hyperplanes import (
    Buffers,
    ColumnStats,
    best_hyperplane,
    project,
    random_hyperplane,
)
from metaod.models._isolation_forests import average_path_length, draw_first, put_back, seed_tree

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]


class ObliqueTrees(NamedTuple):
    """Trees in flat arrays, one row per tree; node 0 is the root."""

    children: Integers  # the left child; the right one follows it; 0 marks a leaf
    values: Floats  # the threshold of a split; the path length that a leaf adds
    ranges: Floats  # largest distance from the threshold at which a step counts
    columns: Integers  # of the hyperplanes of the splits, which are numbered by children // 2
    weights: Floats  # of these columns; 0 if fewer columns vary


# a smaller share of a column's range is rounding error: the column is constant in the node
_ROUNDING = 1e-12
_MOST_DIMS = 5  # columns of a hyperplane that a loop of its own serves
_BLOCK = 1024  # rows that are scored together, so their columns stay in the cache
_TINY = 1e-290  # reciprocals of narrower ranges overflow


@njit(cache=True, nogil=True)
def _split(rows: Any, projected: Any, threshold: float, spare: Any) -> int:
    """Move rows at or above the threshold behind the others; return where they start."""
    left = right = 0
    for i in range(len(rows)):
        row = rows[i]
        above = projected[i] >= threshold
        rows[left] = row
        spare[right] = row
        right += above
        left += not above
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@njit(cache=True, nogil=True)
def _draw_sample(
    X: Any, seed: int, kind: int, tree: int, state: Any, all_rows: Any, swapped: Any, sample: Any
) -> None:
    """Start a tree's stream of random numbers and write its rows as columns of ``sample``."""
    n_columns, n_samples = sample.shape
    seed_tree(state, seed, kind, tree)
    if n_samples < len(all_rows):
        draw_first(state, all_rows, n_samples, swapped)
    for i in range(n_samples):
        for column in range(n_columns):
            sample[column, i] = X[all_rows[i], column]
    if n_samples < len(all_rows):
        put_back(all_rows, n_samples, swapped)


@njit(cache=True, nogil=True)
def _grow(
    sample: Any, n_trials: int, depth: int, state: Any, lengths_of: Any, rows: Any, spare: Any,
    stats: Any, buffers: Any, stack: Any, children: Any, values: Any, ranges: Any, columns: Any,
    weights: Any,
) -> None:  # fmt: skip
    """Grow one tree depth first; each column is one row of ``sample``."""
    for i in range(len(rows)):
        rows[i] = i
    for column in range(len(stats.columns)):
        stats.columns[column] = column
        stats.seen[column] = -1
    smallest = 2 if n_trials > 0 else 1
    for field in range(5):
        stack[0, field] = 0
    stack[0, 2] = len(rows)
    n_stacked = n_nodes = 1
    while n_stacked > 0:
        n_stacked -= 1
        top = stack[n_stacked]
        node, start, end, level, n_constant = top[0], top[1], top[2], top[3], top[4]
        inside = rows[start:end]
        # half of the left child's number counts the splits
        split = n_nodes // 2
        threshold = np.inf
        if len(inside) > smallest and level < depth:
            if n_trials > 0:
                threshold, ranges[node], n_constant = best_hyperplane(
                    state, sample, inside, node, n_constant, n_trials, stats, buffers,
                    columns[split], weights[split],
                )  # fmt: skip
            else:
                threshold, ranges[node], n_constant = random_hyperplane(
                    state, sample, inside, node, n_constant, stats, columns[split], weights[split]
                )
        if threshold == np.inf:
            values[node] = lengths_of[len(inside)]
            continue
        project(sample, inside, columns[split], weights[split], buffers.projected)
        middle = start + _split(inside, buffers.projected, threshold, spare)
        children[node] = n_nodes
        values[node] = threshold
        for side in range(2):
            entry = stack[n_stacked + side]
            entry[0] = n_nodes + 1 - side  # the left child is on top
            entry[1] = start if side else middle
            entry[2] = middle if side else end
            entry[3] = level + 1
            entry[4] = n_constant
        n_stacked += 2
        n_nodes += 2


def grow_trees(
    X: Floats, seed: int, first: int, last: int, n_dims: int, n_trials: int, n_samples: int,
    depth: int,
) -> ObliqueTrees:  # fmt: skip
    """Grow trees ``first`` ... ``last - 1`` of a forest on a C-ordered table.

    ``n_trials`` hyperplanes of ``n_dims`` columns are tried at a node by SCiForest; 0 trials mean
    the extended isolation forest. Tree t depends only on the table and the other arguments.
    """
    n_rows, n_columns = X.shape
    n_trees = last - first
    # as in a complete tree of the depth that isolates a row on average, whose sides may be empty; a
    # tree of any depth without empty sides has no more
    n_nodes = (2 << (n_samples - 1).bit_length()) - 1
    trees = ObliqueTrees(
        np.zeros((n_trees, n_nodes), np.int32),
        np.zeros((n_trees, n_nodes)),
        np.full((n_trees, n_nodes), np.inf),
        np.zeros((n_trees, n_nodes // 2, n_dims), np.int32),
        np.zeros((n_trees, n_nodes // 2, n_dims)),
    )
    with np.errstate(over="ignore"):
        widths = X.max(axis=0) - X.min(axis=0)
    stats = ColumnStats(
        np.empty(n_columns, np.int32),
        np.empty(n_columns, np.int64),
        np.empty(n_columns),
        np.empty(n_columns),
        np.empty(n_columns if n_trials > 0 else 0),
        np.maximum(_ROUNDING * widths, _TINY),
    )
    buffers = Buffers(
        np.empty(n_samples),
        np.empty(n_samples),
        np.empty(n_samples + 1, np.int32),
        1.0 / np.maximum(np.arange(n_samples + 1), 1),
        np.empty((3, n_samples)),
        np.empty(n_dims),
    )
    lengths_of = np.array([average_path_length(count) for count in range(n_samples + 1)])
    rows, spare = np.empty((2, n_samples), np.int32)
    all_rows, swapped = np.arange(n_rows), np.empty(n_samples, np.int64)
    stack = np.empty((depth + 2, 5), np.int64)
    sample, state = np.empty((n_columns, n_samples)), np.empty(1, np.uint64)
    kind = (n_trials << 32) + n_dims
    for t in range(n_trees):
        _draw_sample(X, seed, kind, first + t, state, all_rows, swapped, sample)
        _grow(
            sample, n_trials, depth, state, lengths_of, rows, spare, stats, buffers, stack,
            *(part[t] for part in trees),
        )  # fmt: skip
    return trees


@njit(cache=True, nogil=True)
def _pass(
    block: Any, rows: Any, columns: Any, weights: Any, threshold: float, reach: float, spare: Any,
    sums: Any,
) -> Any:  # fmt: skip
    """Let rows pass a node of five columns: project, count and split them in one loop."""
    a, b, c = block[columns[0]], block[columns[1]], block[columns[2]]
    d, e = block[columns[3]], block[columns[4]]
    v, w, x, y, z = weights[0], weights[1], weights[2], weights[3], weights[4]
    left = right = np.uint32(0)
    for i in range(len(rows)):
        row = np.uint32(rows[i])
        projected = v * a[row] + w * b[row] + x * c[row] + y * d[row] + z * e[row]
        beyond = projected - threshold
        sums[row] += (-reach <= beyond) & (beyond < reach)
        above = np.uint32(projected >= threshold)
        rows[left] = row
        spare[right] = row
        right += above
        left += np.uint32(1) - above
    for i in range(right):
        rows[left + np.uint32(i)] = spare[i]
    return np.int64(left)


@njit(cache=True, nogil=True)
def _add_path_lengths(
    X: Any, trees: Any, block: Any, rows: Any, spare: Any, projected: Any, stack: Any, sums: Any
) -> None:
    n_columns, size = block.shape
    # all rows of a block pass a node before the next node: faster than row by row, where a step
    # waits for the previous one
    for begin in range(0, len(X), size):
        count = min(size, len(X) - begin)
        for i in range(count):
            for c in range(n_columns):
                block[c, i] = X[begin + i, c]
        for t in range(len(trees.children)):
            for i in range(count):
                rows[i] = i
            stack[0, 0] = stack[0, 1] = 0
            stack[0, 2] = count
            n_stacked = 1
            while n_stacked > 0:
                n_stacked -= 1
                node, start, end = stack[n_stacked, 0], stack[n_stacked, 1], stack[n_stacked, 2]
                inside = rows[start:end]
                child = trees.children[t, node]
                value = trees.values[t, node]
                if child == 0:
                    for row in inside:
                        sums[begin + row] += value
                    continue
                split = child // 2
                columns, weights = trees.columns[t, split], trees.weights[t, split]
                reach = trees.ranges[t, node]
                if len(columns) == _MOST_DIMS:
                    middle = start + _pass(
                        block, inside, columns, weights, value, reach, spare, sums[begin:]
                    )
                else:
                    project(block, inside, columns, weights, projected)
                    for i in range(len(inside)):
                        beyond = projected[i] - value
                        sums[begin + inside[i]] += -reach <= beyond < reach
                    middle = start + _split(inside, projected, value, spare)
                for side in range(2):
                    first, last = (start, middle) if side else (middle, end)
                    if first < last:
                        entry = stack[n_stacked]
                        entry[0], entry[1], entry[2] = child + 1 - side, first, last
                        n_stacked += 1


def add_path_lengths(X: Floats, trees: ObliqueTrees, sums: Floats) -> None:
    """Add each row's path lengths in the trees to ``sums``, tree by tree."""
    n_columns = X.shape[1]
    size = max(min(_BLOCK, len(X)), 1)
    rows, spare = np.empty((2, size), np.int32)
    # depth first: no more nodes wait than one for each level of the deepest tree
    stack = np.empty((trees.children.shape[1] + 1, 3), np.int64)
    _add_path_lengths(
        X, trees, np.empty((n_columns, size)), rows, spare, np.empty(size), stack, sums
    )
