"""IForest: isolation forests, and statistics of their trees."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from metaod._legal import Whole, parameters
from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._estimator import seed_of
from metaod.models._family import MANY_ROWS, Family, Settings
from metaod.models._isolation_forests import (
    Forest,
    TreeKind,
    Trees,
    add_path_lengths,
    grow_trees,
    leaf_numbers,
)

Floats = npt.NDArray[np.float32]


class _Columns:
    """A number of columns, or a share of them above 0."""

    def allows(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return 0 < value <= 1 if isinstance(value, float) else value >= 1

    def __str__(self) -> str:
        return "an int in the range [1, inf) or a float in the range (0, 1]"


@dataclass(frozen=True)
class _AxisTrees(TreeKind):
    """Trees whose splits are values of a column."""

    n_columns: int

    @property
    def depth(self) -> int:
        return math.ceil(math.log2(max(self.n_samples, 2)))

    def table(self, X: Matrix) -> Floats:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(X, dtype=np.float32)

    def grow(self, table: Floats, first: int, last: int) -> Trees:
        return grow_trees(table, self.seed, first, last, self.n_columns, self.n_samples, self.depth)

    def add_path_lengths(self, table: Floats, trees: Trees, sums: Scores) -> None:
        add_path_lengths(table, trees, self.depth, sums)


@dataclass(eq=False)
class IForest(Forest):
    """Isolation forest, grown as scikit-learn's, with scores in (0, 1] as in the forest's paper.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_features : int or float
        Number or share of the columns that are drawn for a tree.
    max_samples : int
        Number of rows that are drawn for a tree; all if there are fewer.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> IForest(random_state=0).fit([[0.0], [0.1], [9.0]]).decision_scores_.argmax()
    np.int64(2)
    """

    legal = parameters(n_estimators=Whole(1), max_features=_Columns(), max_samples=Whole(1))

    n_estimators: int = 100
    max_features: int | float = 1.0
    max_samples: int = 256
    random_state: Any = None

    def tree_kind(self, n_rows: int, n_columns: int) -> _AxisTrees:
        """Return the kind of trees on a table of that size; refuse an illegal one."""
        share = self.max_features
        drawn = max(1, int(share * n_columns)) if isinstance(share, float) else share
        if drawn > n_columns:
            legal = f"at most {n_columns}, the number of columns"
            raise BadParameter("IForest", "max_features", legal, share)
        return _AxisTrees(seed_of(self.random_state), min(self.max_samples, n_rows), drawn)

    def leaf_numbers(self, X: Matrix) -> npt.NDArray[np.uint8]:
        """Return the number of the leaf that each row reaches in each tree, (rows, trees)."""
        kind: Any = self.kind_
        return np.asarray(leaf_numbers(kind.table(X), self.trees_, kind.depth))

    def describe(self) -> "TreeStatistics":
        """Return numbers that describe each tree."""
        kind: Any = self.kind_
        features, thresholds, _ = self.trees_
        found = _describe(features, thresholds, kind.depth, self.n_features_in_)
        return TreeStatistics(*found)


class TreeStatistics(NamedTuple):
    """Numbers that describe each tree of a forest.

    Parameters
    ----------
    depths, leaves : ndarray of float
        Splits to the deepest leaf, and the number of leaves.
    horizontal, vertical : ndarray of float
        Imbalance of each tree: the mean over its splits of the difference of the two sides' leaves
        over their sum, and of the difference of the two sides' heights over the larger (0 for two
        leaves). NaN for a tree without a split, as are the following.
    importance_mean, importance_max : ndarray of float
        Mean and largest importance of a column in each tree: the share of the tree's splits on the
        column, which is the expected value of scikit-learn's importance.
    """

    depths: Scores
    leaves: Scores
    horizontal: Scores
    vertical: Scores
    importance_mean: Scores
    importance_max: Scores


@njit(cache=True)
def _describe(features: Any, thresholds: Any, depth: int, n_columns: int) -> Any:
    """Return six numbers of every tree, in the order of :class:`TreeStatistics`.

    A node with an infinite threshold is a leaf; nodes below it are not part of the tree.
    """
    n_trees = features.shape[0]
    result = np.full((6, n_trees), np.nan)
    n_inner = 1 << depth
    exists = np.empty(2 * n_inner, np.bool_)
    leaves = np.empty(2 * n_inner)
    heights = np.empty(2 * n_inner)
    used = np.empty(n_columns)
    for t in range(n_trees):
        exists[:] = False
        exists[1] = True
        used[:] = 0.0
        n_splits = 0
        for node in range(1, n_inner):
            if exists[node] and thresholds[t, node] < np.inf:
                exists[2 * node] = True
                exists[2 * node + 1] = True
                used[features[t, node]] += 1.0
                n_splits += 1
        horizontal, vertical = 0.0, 0.0
        for node in range(2 * n_inner - 1, 0, -1):
            leaves[node], heights[node] = 1.0, 0.0
            if node < n_inner and exists[2 * node] and exists[node]:
                left, right = leaves[2 * node], leaves[2 * node + 1]
                horizontal += abs(left - right) / (left + right)
                leaves[node] = left + right
                left, right = heights[2 * node], heights[2 * node + 1]
                vertical += abs(left - right) / max(left, right, 1.0)
                heights[node] = 1.0 + max(left, right)
        result[0, t], result[1, t] = heights[1], leaves[1]
        if n_splits > 0:
            result[2, t], result[3, t] = horizontal / n_splits, vertical / n_splits
            result[4, t] = 1.0 / n_columns
            most = 0.0
            for count in used:
                most = max(most, count)
            result[5, t] = most / n_splits
    return result


FAMILY = Family(
    "IForest",
    IForest,
    {
        "n_estimators": (10, 20, 30, 40, 50, 75, 100, 150, 200),
        "max_features": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    },
    title="Isolation forest",
    random=True,
    extended=(
        # PyOD's default, the baseline of every comparison
        Settings({"n_estimators": (100,), "max_features": (1.0,)}),
        Settings({"n_estimators": (200,), "max_features": (0.5,)}),
        Settings({"n_estimators": (200,), "max_features": (1.0,)}, ("zscore", "signedlog")),
    ),
    learned_rows=MANY_ROWS,
    landmarker=lambda Z, seed: IForest(random_state=seed).fit(Z),
)
