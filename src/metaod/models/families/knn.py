"""kNN scores from a neighbour search."""

import numpy as np

from metaod.models._base import Scores
from metaod.models._search import Neighbours

__all__ = ["METHODS", "knn_scores"]

METHODS = ("largest", "mean", "median")


def knn_scores(neighbours: Neighbours, k: int, method: str) -> Scores:
    """The largest, mean or median distance of every row to its k nearest others.

    Examples
    --------
    >>> found = Neighbours(np.array([[1.0, 2.0, 6.0]]), np.array([[1, 2, 3]], dtype=np.int32))
    >>> [float(knn_scores(found, 3, method)[0]) for method in METHODS]
    [6.0, 3.0, 2.0]
    """
    distances = neighbours.distances
    if method == "largest":
        return distances[:, k - 1].copy()
    if method == "mean":
        return np.asarray(distances[:, :k].mean(axis=1))
    # neighbours come in order of distance, so the middle is known
    return (distances[:, (k - 1) // 2] + distances[:, k // 2]) / 2
