"""Angle-based scores (fast ABOD) from a neighbour search."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Matrix
from metaod.models._search import Neighbours

__all__ = ["abod_scores", "foreseen_seconds"]


def abod_scores(X: Matrix, neighbours: Neighbours, sizes: Sequence[int]) -> Matrix:
    """Minus the variance of the weighted cosines between the neighbours of every row.

    Neighbours are added one by one, and with each its pairs with the nearer ones, so that one
    pass gives the scores for every size. Rows that equal the row itself form no angle and are
    left out; a row without a pair has no score (NaN), as in PyOD. Memory: the result.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
    neighbours : Neighbours
        At least the largest size less one; Euclidean.
    sizes : sequence of int
        Numbers of neighbours; as in PyOD, the row itself counts as one of them.

    Returns
    -------
    ndarray of float, shape (n_sizes, n_rows)

    Examples
    --------
    >>> from metaod.models._search import nearest
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
    >>> abod_scores(X, nearest(X, 3, "euclidean"), [4])[0].round(4)
    array([-0.0007, -0.062 , -0.062 , -0.    ])
    """
    order = np.argsort(sizes, kind="stable")
    result = np.empty((len(sizes), len(X)))
    result[order] = _variances(X, neighbours.indices, np.asarray(sizes, dtype=np.int64)[order])
    return -result


def foreseen_seconds(n_rows: int, n_columns: int, k: int) -> float:
    """Time that the angles of k neighbours are foreseen to take once these are known."""
    return n_rows * k**2 * (2e-9 + 2e-10 * n_columns)


@njit(cache=True, error_model="numpy")
def _variances(
    X: Matrix, indices: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Variances for sizes in ascending order."""
    n_rows, n_columns = X.shape
    most = sizes.max() - 1
    result = np.full((sizes.size, n_rows), np.nan)
    # differences to the row, one neighbour in each column: neighbours are then dealt with in
    # step, several at once
    away = np.empty((n_columns, max(most, 1)))
    squares = np.empty(max(most, 1))
    cosines = np.empty(max(most, 1))
    for i in range(n_rows):
        kept = 0
        # number, mean and sum of squared deviations of the cosines so far
        count, mean, deviations = 0, 0.0, 0.0
        s = 0
        while s < sizes.size and sizes[s] <= 1:
            s += 1
        for t in range(most):
            square = 0.0
            equal = True
            for c in range(n_columns):
                difference = X[indices[i, t], c] - X[i, c]
                equal &= difference == 0.0
                away[c, kept] = difference
                square += difference**2
            if not equal:
                new = cosines[:kept]
                new[:] = 0.0
                for c in range(n_columns):
                    value = away[c, kept]
                    line = away[c, :kept]
                    for u in range(new.size):
                        new[u] += value * line[u]
                total = 0.0
                for u in range(new.size):
                    new[u] = new[u] / squares[u] / square
                    total += new[u]
                squares[kept] = square
                if kept > 0:
                    # merges two samples' moments, each about its own mean, so that no digits
                    # are lost where the mean is far from zero
                    own = total / kept
                    shift = own - mean
                    for u in range(new.size):
                        deviations += (new[u] - own) ** 2
                    deviations += shift**2 * count * kept / (count + kept)
                    mean += shift * kept / (count + kept)
                    count += kept
                kept += 1
            while s < sizes.size and sizes[s] == t + 2:
                if count > 0:
                    result[s, i] = deviations / count
                s += 1
    return result
