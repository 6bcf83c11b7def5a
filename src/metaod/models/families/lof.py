"""Local outlier factors from a neighbour search."""

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Matrix, Scores
from metaod.models._search import Neighbours

__all__ = ["lof_scores"]


def lof_scores(neighbours: Neighbours, k: int) -> Scores:
    """Local outlier factor of every row, from its k nearest others; as in scikit-learn.

    Examples
    --------
    >>> from metaod.models._search import nearest
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> lof_scores(nearest(X, 2, "euclidean"), 2).round(3)
    array([0.875, 1.333, 0.875, 4.375])
    """
    scores: Scores = _factors(neighbours.distances, neighbours.indices, k)
    return scores


@njit(cache=True)
def _factors(distances: Matrix, indices: npt.NDArray[np.int32], k: int) -> Scores:
    n_rows = distances.shape[0]
    outermost = distances[:, k - 1].copy()
    density = np.empty(n_rows)
    for i in range(n_rows):
        total = 0.0
        for t in range(k):
            total += max(distances[i, t], outermost[indices[i, t]])
        # scikit-learn's guard against more than k equal rows
        density[i] = 1.0 / (total / k + 1e-10)
    factors = np.empty(n_rows)
    for i in range(n_rows):
        total = 0.0
        for t in range(k):
            total += density[indices[i, t]] / density[i]
        factors[i] = total / k
    return factors
