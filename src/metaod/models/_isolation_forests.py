"""Isolation forests: random draws, trees that split at values of a column, and nested forests.

Draws are made with SplitMix64, so they are the same on every machine and library version. The state
is an array of one unsigned 64-bit integer, which every draw changes.

Trees are those of scikit-learn, in flat arrays. A tree of depth D is complete: node i has the
children 2i and 2i + 1, nodes 1 ... 2^D - 1 split and the following 2^D are leaves. A branch that
ends early continues to the left with infinite thresholds, so every row takes D steps and no step
tests for a leaf. Thresholds are drawn in float64 between float32 values, as in scikit-learn, then
rounded down to float32, which splits the same way.

One nested forest for each seed and kind of tree serves every size: the first t trees of a forest
are the forest of t trees, as in scikit-learn with an integer seed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._estimator import Estimator, grouped

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
_TO_53_BITS = np.uint64(11)


@njit(cache=True, nogil=True)
def _mixed(bits: Any) -> Any:
    bits = (bits ^ (bits >> _SHIFT_1)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_2)) * _MIX_2
    return bits ^ (bits >> _SHIFT_3)


@njit(cache=True, nogil=True)
def seed_tree(state: Any, seed: int, kind: int, tree: int) -> None:
    """Start the independent stream of one tree of one kind of forest."""
    state[0] = _mixed(
        _mixed(_mixed(np.uint64(seed) + _GAMMA) ^ np.uint64(kind)) + np.uint64(tree) * _GAMMA
    )


@njit(cache=True, nogil=True)
def uniform(state: Any, low: float, high: float) -> float:
    """Draw a number in [low, high)."""
    state[0] += _GAMMA
    return float(low + (_mixed(state[0]) >> _TO_53_BITS) * 2.0**-53 * (high - low))


@njit(cache=True, nogil=True)
def below(state: Any, bound: int) -> int:
    """Draw an integer in [0, bound)."""
    return int(uniform(state, 0.0, 1.0) * bound)


@njit(cache=True, nogil=True)
def normal(state: Any) -> float:
    """Draw from the standard normal distribution, by Box and Muller's method."""
    # 1 - u is in (0, 1], so its logarithm is finite
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state, 0.0, 1.0)))
    return radius * math.cos(2.0 * math.pi * uniform(state, 0.0, 1.0))


@njit(cache=True, nogil=True)
def draw_first(state: Any, items: Any, count: int, swapped: Any) -> None:
    """Swap random items to the first ``count`` positions; write the positions to ``swapped``."""
    n = items.shape[0]
    for i in range(count):
        j = i + below(state, n - i)
        swapped[i] = j
        items[i], items[j] = items[j], items[i]


@njit(cache=True, nogil=True)
def put_back(items: Any, count: int, swapped: Any) -> None:
    """Undo :func:`draw_first`."""
    for i in range(count - 1, -1, -1):
        j = swapped[i]
        items[i], items[j] = items[j], items[i]


# trees

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


# forests


@dataclass(frozen=True)
class TreeKind(ABC):
    """What the trees of a forest have in common."""

    seed: int
    n_samples: int

    def table(self, X: Matrix) -> Any:
        """Return the table in the form that trees take."""
        return X

    @abstractmethod
    def grow(self, table: Any, first: int, last: int) -> Any:
        """Grow trees ``first`` ... ``last - 1`` of the forest."""

    @abstractmethod
    def add_path_lengths(self, table: Any, trees: Any, sums: Scores) -> None:
        """Add each row's path lengths in the trees to ``sums``, tree by tree."""

    def scores(self, sums: Scores, n_trees: int) -> Scores:
        """Convert summed path lengths to scores in (0, 1]; a row of average depth has 0.5."""
        return np.asarray(np.exp2(-sums / (n_trees * average_path_length(self.n_samples))))


class Forest(Estimator):
    """A forest of isolation trees; rows with short paths are outlying."""

    n_estimators: int

    @abstractmethod
    def tree_kind(self, n_rows: int, n_columns: int) -> TreeKind:
        """Return the kind of trees on a table of that size; refuse an illegal one."""

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models, forest by forest and size by size."""
        possible = []
        for model in models:
            try:
                possible.append((model.tree_kind(*X.shape), model))
            except BadParameter as error:
                yield model, error
        for kind, own in grouped(possible, lambda item: item[0]).items():
            table, sums, grown = kind.table(X), np.zeros(len(X)), 0
            for _, model in sorted(own, key=lambda item: item[1].n_estimators):
                if model.n_estimators > grown:
                    trees = kind.grow(table, grown, model.n_estimators)
                    kind.add_path_lengths(table, trees, sums)
                    grown = model.n_estimators
                yield model, kind.scores(sums, grown)

    def _fit(self, X: Matrix) -> Scores:
        self.kind_ = self.tree_kind(*X.shape)
        self.trees_ = self.kind_.grow(self.kind_.table(X), 0, self.n_estimators)
        return self._score(X)

    def _score(self, X: Matrix) -> Scores:
        sums = np.zeros(len(X))
        self.kind_.add_path_lengths(self.kind_.table(X), self.trees_, sums)
        return self.kind_.scores(sums, self.n_estimators)
