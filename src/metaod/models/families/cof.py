"""Connectivity-based outlier factors from a neighbour search, without distances of all pairs."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.spatial import minkowski_distance

from metaod.models._base import Matrix, Scores
from metaod.models._search import Neighbours

__all__ = ["chaining_distances", "cof_scores", "foreseen_seconds", "neighbours_pyod"]


def chaining_distances(X: Matrix, neighbours: Neighbours, sizes: Sequence[int]) -> Matrix:
    """Average chaining distance of every row, for each number of neighbours.

    The cost of joining the j-th neighbour to the chain depends on the nearer ones alone, so the
    costs of the longest chain hold those of all others. Memory: the result.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
    neighbours : Neighbours
        At least the most neighbours that are asked for; Euclidean.
    sizes : sequence of int
        Numbers of neighbours.

    Returns
    -------
    ndarray of float, shape (n_sizes, n_rows)
    """
    result: Matrix = _chain(X, neighbours.indices, np.asarray(sizes, dtype=np.int64))
    return result


def cof_scores(chaining: Scores, neighbours: Neighbours, k: int) -> Scores:
    """Connectivity-based outlier factor of every row.

    A row whose k neighbours all have no chaining distance gets PyOD's number for infinity, or 0
    where it has none itself.

    Parameters
    ----------
    chaining : ndarray of float, shape (n_rows,)
        Average chaining distances with k neighbours.
    neighbours : Neighbours
        At least k.
    k : int

    Examples
    --------
    >>> from metaod.models._search import nearest
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> found = nearest(X, 2, "euclidean")
    >>> cof_scores(chaining_distances(X, found, [2])[0], found, 2).round(3)
    array([1., 1., 1., 5.])
    """
    sums = _sums(chaining, neighbours.indices, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(chaining * k / sums)


def neighbours_pyod(X: Matrix, k: int) -> Neighbours:
    """Neighbours in the order in which PyOD's COF takes them, ties included."""
    found = Neighbours(np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int32))
    for i in range(len(X)):
        distances = minkowski_distance(X[i], X)
        # the first is the row itself, or one that equals it
        chosen = np.argsort(distances)[1 : k + 1]
        found.indices[i] = chosen
        found.distances[i] = distances[chosen]
    return found


def foreseen_seconds(n_rows: int, n_columns: int, k: int) -> float:
    """Time that chains of k neighbours are foreseen to take once these are known."""
    return n_rows * k**2 * (2e-9 + 2e-10 * n_columns)


@njit(cache=True)
def _chain(
    X: Matrix, indices: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    n_rows, n_columns = X.shape
    most = sizes.max()
    result = np.empty((sizes.size, n_rows))
    # the row itself and its neighbours, one in each column: neighbours are then dealt with in
    # step, several at once
    path = np.empty((n_columns, most + 1))
    squared = np.empty(most)
    costs = np.empty(most)
    for i in range(n_rows):
        path[:, 0] = X[i]
        for t in range(most):
            path[:, t + 1] = X[indices[i, t]]
            nearer = squared[: t + 1]
            nearer[:] = 0.0
            for c in range(n_columns):
                value = path[c, t + 1]
                line = path[c, : t + 1]
                for u in range(nearer.size):
                    nearer[u] += (value - line[u]) ** 2
            costs[t] = np.sqrt(nearer.min())
        for s in range(sizes.size):
            k = sizes[s]
            total = 0.0
            for t in range(k):
                total += 2.0 * (k - t) / ((k + 1) * k) * costs[t]
            result[s, i] = total
    return result


@njit(cache=True)
def _sums(values: Scores, indices: npt.NDArray[np.int32], k: int) -> Scores:
    sums = np.zeros(values.size)
    for i in range(values.size):
        for t in range(k):
            sums[i] += values[indices[i, t]]
    return sums
