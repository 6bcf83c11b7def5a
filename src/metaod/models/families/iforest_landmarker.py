"""The isolation forest as a landmarker: how its trees are built, and its scores.

A column's importance in a tree is the share of the tree's splits that are made on it. That is what
scikit-learn's importance is on average: it measures how well splits explain the random numbers
that the tree was fitted to, and every split explains as much of them as any other.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Matrix, Scores
from metaod.models._isolation_trees import (
    MAX_SAMPLES,
    add_path_lengths,
    average_path_length,
    grow_trees,
)

__all__ = ["N_TREES", "IForestRun", "run_iforest"]

N_TREES = 100
"""Trees of the forest, PyOD's default."""

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class IForestRun:
    """A run of the isolation forest.

    Parameters
    ----------
    scores : ndarray of float
        2^(-E(h) / c), as in the forest's paper; PyOD's score is that, less a constant.
    depths, leaves : ndarray of float
        Splits to the deepest leaf, and the number of leaves; of each tree.
    horizontal, vertical : ndarray of float
        Imbalance of each tree: the mean over its splits of the difference of the two sides' leaves
        over their sum, and of the difference of the two sides' heights over the larger (0 for two
        leaves). NaN for a tree without a split, as are the following.
    importance_mean, importance_max : ndarray of float
        Mean and largest importance of a column in each tree.
    """

    scores: Scores
    depths: Vector
    leaves: Vector
    horizontal: Vector
    vertical: Vector
    importance_mean: Vector
    importance_max: Vector


def run_iforest(Z: Matrix, seed: int) -> IForestRun:
    """Grow the forest of 100 trees of that seed; the scoring kernel grows the same.

    Memory beyond the table: its copy in float32, and one sum a row.

    Examples
    --------
    >>> run_iforest(np.array([[0.0], [0.1], [9.0]]), seed=0).scores.argmax()
    np.int64(2)
    """
    n_rows, n_columns = Z.shape
    X = np.ascontiguousarray(Z, dtype=np.float32)
    n_samples = min(MAX_SAMPLES, n_rows)
    depth = math.ceil(math.log2(max(n_samples, 2)))
    trees = grow_trees(X, seed, 0, N_TREES, n_columns, n_samples, depth)
    sums = np.zeros(n_rows)
    add_path_lengths(X, trees, depth, sums)
    scores = np.exp2(-sums / (N_TREES * average_path_length(n_samples)))
    return IForestRun(scores, *_describe(trees[0], trees[1], depth, n_columns))


@njit(cache=True)
def _describe(features: Any, thresholds: Any, depth: int, n_columns: int) -> Any:
    """Six numbers of every tree, in the order of the run's attributes.

    Node i has the children 2i and 2i + 1; it is a leaf where its threshold is infinite, and what
    lies below a leaf is no part of the tree.
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
            result[5, t] = used.max() / n_splits
    return result
