"""One neighbour search, and the kNN and LOF that it serves.

A search among all rows grows with their square, so that a long table is represented by a seeded
sample of its rows: neighbours, kNN and LOF are then those of the sample alone.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metaod.models._base import Matrix, Scores
from metaod.models._search import Neighbours, nearest
from metaod.models.families.knn import knn_scores
from metaod.models.families.lof import lof_scores

__all__ = [
    "DEPTH",
    "MAX_NEIGHBOUR_ROWS",
    "KNNRun",
    "LOFRun",
    "NeighbourRun",
    "run_knn",
    "run_lof",
    "run_neighbours",
]

DEPTH = 50
"""Neighbours searched for each row, unless the table has fewer others."""

MAX_NEIGHBOUR_ROWS = 2_000
"""Rows that are searched, at most, unless told otherwise."""
_MOST_WORK = 10**9  # rows x rows x columns: above 250 columns, fewer rows are searched
_FEWEST_ROWS = 500  # that a wide table is sampled down to

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class NeighbourRun:
    """The nearest other rows of every row searched.

    Parameters
    ----------
    rows : ndarray of int, shape (n_searched,)
        Rows of the table that were searched, ascending.
    found : Neighbours
        Distances to their nearest others among them, and which these are: positions in ``rows``.
    """

    rows: Rows
    found: Neighbours

    @property
    def depth(self) -> int:
        """Neighbours found for each row."""
        return int(self.found.indices.shape[1])


@dataclass(frozen=True)
class KNNRun:
    """A run of kNN on the rows that were searched; scores: higher is more outlying."""

    scores: Scores
    rows: Rows


@dataclass(frozen=True)
class LOFRun:
    """A run of LOF on the rows that were searched; scores: higher is more outlying."""

    scores: Scores
    rows: Rows


def run_neighbours(
    Z: Matrix, k: int = DEPTH, *, random_state: int = 0, max_rows: int = MAX_NEIGHBOUR_ROWS
) -> NeighbourRun:
    """Search the k nearest others of every row, or of each row of a sample.

    Above `max_rows` rows, or sqrt(10^9 / columns) of them but at least 500, a sample of the rows
    is drawn without replacement and searched as if it were the table.

    Memory beyond the table: that of the search, and a copy of the sampled rows.

    Parameters
    ----------
    Z : ndarray of float, shape (n_rows, n_columns)
    k : int
        Neighbours of each row; all others where there are fewer.
    random_state : int
        Seed of the sample.
    max_rows : int
        The most rows that are searched.

    Examples
    --------
    >>> run_neighbours(np.array([[0.0], [1.0], [5.0]]), 1).found.indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    n_rows, n_columns = Z.shape
    most = min(max_rows, max(_FEWEST_ROWS, math.isqrt(_MOST_WORK // n_columns)))
    rows = np.arange(n_rows)
    if n_rows > most:
        random = np.random.default_rng(random_state)
        rows = np.sort(random.choice(n_rows, most, replace=False, shuffle=False))
        Z = Z[rows]
    return NeighbourRun(rows, nearest(Z, min(k, len(Z) - 1), "euclidean"))


def run_knn(neighbours: NeighbourRun, k: int = 5) -> KNNRun:
    """Score each row by the distance to its k-th nearest other, or to the farthest one found.

    Examples
    --------
    >>> run_knn(run_neighbours(np.array([[0.0], [1.0], [5.0]]))).scores
    array([5., 4., 5.])
    """
    k = min(k, neighbours.depth)
    return KNNRun(knn_scores(neighbours.found, k, "largest"), neighbours.rows)


def run_lof(neighbours: NeighbourRun, k: int = 20) -> LOFRun:
    """Score each row by its local outlier factor among its k nearest others, or all found.

    Examples
    --------
    >>> run_lof(run_neighbours(np.array([[0.0], [1.0], [2.0], [9.0]])), 2).scores.round(3)
    array([0.875, 1.333, 0.875, 4.375])
    """
    return LOFRun(lof_scores(neighbours.found, min(k, neighbours.depth)), neighbours.rows)
