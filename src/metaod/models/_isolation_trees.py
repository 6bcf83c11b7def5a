"""Isolation trees as scikit-learn grows them, with our own random generator, in flat arrays.

A tree of depth D is complete: node i has the children 2i and 2i + 1, nodes 1 ... 2^D - 1 split and
the following 2^D are leaves. A branch that ends early continues to the left with infinite
thresholds, so every row takes D steps and no step tests for a leaf. Thresholds are drawn in float64
between float32 values, as in scikit-learn, then rounded down to float32, which splits the same way.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._compiled import njit
from metaod.models._draws import below, draw_first, put_back, seed_tree, uniform

Floats32 = npt.NDArray[np.float32]
Floats64 = npt.NDArray[np.float64]
Integers = npt.NDArray[np.uint32]
Trees = tuple[Integers, Floats32, Floats64]
"""Columns and thresholds of the splits and path lengths of the leaves; one row per tree."""

_EULER = 0.5772156649015329
# a column of a smaller range is constant for scikit-learn
_CONSTANT = np.float32(1e-7)
_INFINITY = np.float32(np.inf)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def average_path_length(n: int) -> float:
    """Return the expected depth of a tree below a leaf of n rows: that of a failed search."""
    if n <= 1:
        return 0.0
    if n == 2:
        return 1.0
    return float(2.0 * (np.log(n - 1.0) + _EULER) - 2.0 * (n - 1.0) / n)


@njit(cache=True, nogil=True)
def _split(X: Any, rows: Any, start: int, end: int, column: int, threshold: Any, spare: Any) -> int:
    """Move rows above the threshold behind the others; return where they start."""
    # without branches, which would be mispredicted
    left = start
    right = 0
    for i in range(start, end):
        row = rows[i]
        above = X[row, column] > threshold
        rows[left] = row
        spare[right] = row
        right += above
        left += not above
    for i in range(right):
        rows[left + i] = spare[i]
    return left


@njit(cache=True, nogil=True)
def _grow(
    X: Any, rows: Any, columns: Any, n_columns: int, depth: int, state: Any, lengths_of: Any,
    spare: Any, stack: Any, tree: Any,
) -> None:  # fmt: skip
    """Grow one tree on the given rows and the first ``n_columns`` of the columns, depth first."""
    features, thresholds, lengths = tree
    n_leaves = 1 << depth
    for field in range(5):
        stack[0, field] = 0
    stack[0, 0], stack[0, 2] = 1, rows.shape[0]
    top = 1
    while top > 0:
        top -= 1
        entry = stack[top]
        node, start, end, level, n_constant = entry[0], entry[1], entry[2], entry[3], entry[4]
        found = False
        if level < depth and end - start > 1:
            # the first n_constant columns are constant in this node and all nodes below it, which
            # only reorder the others
            while n_constant < n_columns:
                place = n_constant + below(state, n_columns - n_constant)
                column = columns[place]
                low = X[rows[start], column]
                high = low
                for i in range(start + 1, end):
                    value = X[rows[i], column]
                    low = min(low, value)
                    high = max(high, value)
                if high > low + _CONSTANT:
                    found = True
                    break
                columns[place] = columns[n_constant]
                columns[n_constant] = column
                n_constant += 1
        if not found:
            length = level + lengths_of[end - start]
            for _ in range(level, depth):
                features[node] = 0
                thresholds[node] = _INFINITY
                node *= 2
            lengths[node - n_leaves] = length
            continue
        exact = uniform(state, np.float64(low), np.float64(high))
        if exact >= high:
            exact = np.float64(low)
        threshold = np.float32(exact)
        if threshold > exact:
            threshold = np.nextafter(threshold, -_INFINITY)
        features[node] = column
        thresholds[node] = threshold
        middle = _split(X, rows, start, end, column, threshold, spare)
        for side in range(2):
            entry = stack[top + side]
            entry[0] = 2 * node + 1 - side  # the left child is on top
            entry[1] = start if side else middle
            entry[2] = middle if side else end
            entry[3] = level + 1
            entry[4] = n_constant
        top += 2


@njit(cache=True, nogil=True)
def _grow_all(
    X: Any, seed: int, first: int, n_columns: int, depth: int, lengths_of: Any, all_rows: Any,
    rows: Any, spare: Any, columns: Any, swapped: Any, stack: Any, state: Any, features: Any,
    thresholds: Any, lengths: Any,
) -> None:  # fmt: skip
    # loops instead of slices, which numba takes seconds longer to compile
    n_samples = len(rows)
    for t in range(len(features)):
        seed_tree(state, seed, n_columns, first + t)
        for column in range(len(columns)):
            columns[column] = column
        if n_columns < len(columns):
            draw_first(state, columns, n_columns, swapped)
        if n_samples < len(all_rows):
            draw_first(state, all_rows, n_samples, swapped)
        for i in range(n_samples):
            rows[i] = all_rows[i]
        if n_samples < len(all_rows):
            put_back(all_rows, n_samples, swapped)
        tree = (features[t], thresholds[t], lengths[t])
        _grow(X, rows, columns, n_columns, depth, state, lengths_of, spare, stack, tree)


def grow_trees(
    X: Floats32, seed: int, first: int, last: int, n_columns: int, n_samples: int, depth: int
) -> Trees:
    """Grow trees ``first`` ... ``last - 1`` of a forest on a C-ordered table.

    ``n_columns`` columns and ``n_samples`` rows are drawn for each tree, without replacement. Tree
    t depends only on the table, the seed, t and ``n_columns``.
    """
    n_rows, n_all = X.shape
    size = (last - first, 1 << depth)
    trees = np.empty(size, np.uint32), np.empty(size, np.float32), np.empty(size)
    lengths_of = np.array([average_path_length(count) for count in range(n_samples + 1)])
    rows, spare = np.empty((2, n_samples), np.uint32)
    _grow_all(
        X, seed, first, n_columns, depth, lengths_of, np.arange(n_rows, dtype=np.uint32), rows,
        spare, np.empty(n_all, np.uint32), np.empty(max(n_samples, n_columns), np.int64),
        np.empty((depth + 2, 5), np.int64), np.empty(1, np.uint64), *trees,
    )  # fmt: skip
    return trees


@njit(cache=True, nogil=True)
def _step(row: Any, features: Any, thresholds: Any, node: Any) -> Any:
    return (node << _ONE) | np.uint64(row[features[node]] > thresholds[node])


@njit(cache=True, nogil=True)
def add_path_lengths(X: Floats32, trees: Trees, depth: int, sums: Floats64) -> None:
    """Add each row's path lengths in the trees to ``sums``, tree by tree."""
    n_rows, n_columns = X.shape
    n_leaves = np.uint64(1 << depth)
    # a block of rows stays in the cache for all trees
    block = max(8, (1 << 17) // (4 * n_columns) // 8 * 8)
    for begin in range(0, n_rows, block):
        end = min(begin + block, n_rows)
        for t in range(trees[0].shape[0]):
            f, h, lengths = trees[0][t], trees[1][t], trees[2][t]
            # a step waits for the previous step of its row, so eight rows are done at once
            for r in range(begin, end - 7, 8):
                x0, x1, x2, x3 = X[r], X[r + 1], X[r + 2], X[r + 3]
                x4, x5, x6, x7 = X[r + 4], X[r + 5], X[r + 6], X[r + 7]
                i0 = i1 = i2 = i3 = i4 = i5 = i6 = i7 = _ONE
                for _ in range(depth):
                    i0 = _step(x0, f, h, i0)
                    i1 = _step(x1, f, h, i1)
                    i2 = _step(x2, f, h, i2)
                    i3 = _step(x3, f, h, i3)
                    i4 = _step(x4, f, h, i4)
                    i5 = _step(x5, f, h, i5)
                    i6 = _step(x6, f, h, i6)
                    i7 = _step(x7, f, h, i7)
                sums[r] += lengths[i0 - n_leaves]
                sums[r + 1] += lengths[i1 - n_leaves]
                sums[r + 2] += lengths[i2 - n_leaves]
                sums[r + 3] += lengths[i3 - n_leaves]
                sums[r + 4] += lengths[i4 - n_leaves]
                sums[r + 5] += lengths[i5 - n_leaves]
                sums[r + 6] += lengths[i6 - n_leaves]
                sums[r + 7] += lengths[i7 - n_leaves]
            for r in range(end - (end - begin) % 8, end):
                node = _ONE
                for _ in range(depth):
                    node = _step(X[r], f, h, node)
                sums[r] += lengths[node - n_leaves]


@njit(cache=True, nogil=True)
def leaf_numbers(X: Floats32, trees: Trees, depth: int) -> npt.NDArray[np.uint8]:
    """Return the number of the leaf that each row reaches in each tree, (rows, trees).

    Numbers of leaves below the same node of depth d share their first d of eight bits. The depth is
    at most 8.
    """
    n_rows = X.shape[0]
    n_trees = trees[0].shape[0]
    n_leaves = np.uint64(1 << depth)
    shift = np.uint64(8 - depth)
    numbers = np.empty((n_rows, n_trees), np.uint8)
    for r in range(n_rows):
        row = X[r]
        for t in range(n_trees):
            node = _ONE
            for _ in range(depth):
                node = _step(row, trees[0][t], trees[1][t], node)
            numbers[r, t] = (node - n_leaves) << shift
    return numbers
