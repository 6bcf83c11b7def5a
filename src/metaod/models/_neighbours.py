"""The nearest neighbours of rows, and detectors that compare a row with them.

One search per metric serves every kNN, LOF, COF and ABOD of a table. Wide tables are searched by
brute force, in blocks of rows: inner products for the Euclidean metric, sums of absolute
differences for the Manhattan one. Inner products are inexact for close rows, so they only select
candidates, with a margin for rounding, whose distances are then computed from differences. Long
narrow tables are searched with a k-d tree.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from metaod._legal import Whole, parameters
from metaod.models._arrays import Matrix, Scores, njit, squared_distances
from metaod.models._estimator import Estimator, grouped
from metaod.models._new_rows import count_within

Indices = npt.NDArray[np.int32]

_BLOCK = 2**18  # distances in a block: 2 MiB, which fit the cache of a core
_FEWEST = 16  # rows in a block of a long table; fewer would slow down the inner products
_TREE_ROWS = 10_000  # rows searched with a tree at a time
_ROUNDING = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Neighbours:
    """The nearest other rows of every row; nearest first, equally distant ones by index.

    A k-d tree chooses by its own order which of the equally distant rows are the k nearest.

    Parameters
    ----------
    distances : ndarray of float, shape (n_rows, k)
    indices : ndarray of int32, shape (n_rows, k)
    """

    distances: Matrix
    indices: Indices

    def first(self, k: int) -> "Neighbours":
        """Return the k nearest of each row."""
        return Neighbours(self.distances[:, :k], self.indices[:, :k])


def nearest(X: Matrix, k: int, metric: str) -> Neighbours:
    """Find the k nearest other rows of every row; k is less than the number of rows.

    Memory beyond the result: about 4 MiB, or 256 bytes a row where that is more.
    """
    n_rows, n_columns = X.shape
    if k >= n_rows:  # the searches would not end
        raise ValueError(f"{k} neighbours of {n_rows} rows")
    found = Neighbours(np.empty((n_rows, k)), np.empty((n_rows, k), dtype=np.int32))
    if _suits_tree(n_rows, n_columns):
        _search_tree(X, metric, found)
    elif metric == "euclidean":
        _search_products(X, found)
    else:
        _search_differences(X, found)
    return found


def _suits_tree(n_rows: int, n_columns: int) -> bool:
    # measured: numbers of rows at which a tree becomes faster, for 3, 6 and 9 columns
    return n_columns <= 16 and n_rows > 1500 * 1.5**n_columns


def _search_products(X: Matrix, found: Neighbours) -> None:
    centred = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    _refuse_overflow(4.0 * float(squares.max()))
    margins = 8 * (X.shape[1] + 8) * _ROUNDING * (squares + squares.max())
    reach = float(squares.mean())
    step = max(_FEWEST, _BLOCK // len(X))
    for rows, block in squared_distances(X, slice(None), step):
        reach = _choose(block, rows.start, margins[rows], reach, X, found.distances, found.indices)


def _search_differences(X: Matrix, found: Neighbours) -> None:
    _refuse_overflow(2.0 * float(np.abs(X).max()) * X.shape[1])
    no_rows = np.empty((0, 0))
    reach = float(np.abs(X).mean() * X.shape[1])
    step = max(_FEWEST, _BLOCK // len(X))
    for start in range(0, len(X), step):
        block = scipy.spatial.distance.cdist(X[start : start + step], X, "cityblock")
        margins = np.zeros(len(block))
        reach = _choose(block, start, margins, reach, no_rows, found.distances, found.indices)


def _search_tree(X: Matrix, metric: str, found: Neighbours) -> None:
    # a balanced tree of many equal values takes very long to build
    tree: Any = scipy.spatial.KDTree(X, leafsize=32, balanced_tree=False)
    k = found.indices.shape[1]
    for start in range(0, len(X), _TREE_ROWS):
        rows = slice(start, min(start + _TREE_ROWS, len(X)))
        distances, indices = tree.query(X[rows], k + 1, p=2 if metric == "euclidean" else 1)
        found.distances[rows], found.indices[rows] = _without_self(distances, indices, start)


def _refuse_overflow(largest: float) -> None:
    if not np.isfinite(largest):
        raise OverflowError("distances between rows exceed the range of floating-point numbers")


@njit(cache=True, nogil=True)
def _choose(
    block: Matrix, start: int, margins: Scores, reach: float, X: Matrix, distances: Matrix,
    indices: Indices,
) -> float:  # fmt: skip
    """Keep the nearest of each row of a block of distances; squared and inexact if X is given.

    Returns a distance that contained the neighbours of the last row: a guess for the next block.
    """
    k = indices.shape[1]
    inexact = X.size > 0
    near = np.empty(block.shape[1])
    who = np.empty(block.shape[1], dtype=np.int32)
    for r in range(block.shape[0]):
        row = block[r]
        i = start + r
        row[i] = np.inf
        reach = _reach(row, k, reach)
        limit = reach + 2 * margins[r]
        count = 0
        for t in range(row.size):
            # always written, counted if near: a branch would be mispredicted
            near[count] = row[t]
            who[count] = t
            count += row[t] <= limit
            if count == near.size:
                break
        if inexact:
            for t in range(count):
                near[t] = _squared_distance(X[i], X[who[t]])
        # a stable sort: equal distances keep the order of their indices
        order = np.argsort(near[:count], kind="mergesort")
        for t in range(k):
            distances[i, t] = np.sqrt(near[order[t]]) if inexact else near[order[t]]
            indices[i, t] = who[order[t]]
    return reach


@njit(cache=True, nogil=True)
def _reach(row: Matrix, k: int, guess: float) -> float:
    """Return a limit that at least k of the values, and not many more, do not exceed."""
    low, high = 0.0, guess
    count = count_within(row, high)
    while count < k:
        low, high = high, 2 * high + 1e-300
        count = count_within(row, high)
    for _ in range(40):
        if count <= k + k // 4 + 8:
            break
        middle = 0.5 * (low + high)
        within = count_within(row, middle)
        if within < k:
            low = middle
        else:
            high, count = middle, within
    return high


# the compiler may reorder the additions, to add several columns at once
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _squared_distance(a: Matrix, b: Matrix) -> float:
    total = 0.0
    for c in range(a.size):
        total += (a[c] - b[c]) ** 2
    return total


def _without_self(
    distances: Matrix, indices: npt.NDArray[np.int64], start: int
) -> tuple[Matrix, npt.NDArray[np.int64]]:
    """Return a tree's results without the row itself, or without the last of many equal rows."""
    n_rows, k = len(distances), distances.shape[1] - 1
    kept = indices != np.arange(start, start + n_rows)[:, np.newaxis]
    kept[kept.all(axis=1), -1] = False
    distances, indices = distances[kept].reshape(n_rows, k), indices[kept].reshape(n_rows, k)
    order = np.lexsort((indices, distances), axis=1)
    return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)


PAPER_SIZES = (1, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)
"""Numbers of neighbours in the paper's grids of kNN and LOF."""


class NeighbourEstimator(Estimator):
    """Scores a row by its ``n_neighbors`` nearest others."""

    legal = parameters(n_neighbors=Whole(1))
    n_neighbors: int
    metric: str = "euclidean"

    @property
    def depth(self) -> int:
        """Number of neighbours to search for each training row."""
        return self.n_neighbors

    @property
    def distance(self) -> str:
        """The metric of the search."""
        return self.metric

    @classmethod
    @abstractmethod
    def from_neighbours(
        cls, X: Matrix, found: Neighbours, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores]]:
        """Yield the training scores of models, from at least as many neighbours as they need."""

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models of any such family; one search serves a metric."""
        for metric, own in grouped(models, lambda model: model.distance).items():
            found = nearest(X, max(model.depth for model in own), metric)
            kinds: dict[Any, list[Self]] = grouped(own, type)
            for kind, alike in kinds.items():
                yield from kind.from_neighbours(X, found, alike)

    def _fit(self, X: Matrix) -> Scores:
        self._X = X
        self.__dict__.pop("_index", None)
        found = nearest(X, self.depth, self.distance)
        [(_, scores)] = self.from_neighbours(X, found, [self])
        self._keep(found)
        return scores

    def _keep(self, found: Neighbours) -> None:
        """Keep what is needed to score new rows."""

    def _nearest_known(self, X: Matrix) -> Neighbours:
        """Find the training rows nearest to each new row."""
        distances, indices = self._index.kneighbors(X, self.n_neighbors)
        return Neighbours(distances, indices.astype(np.int32))

    @cached_property
    def _index(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - slow to import

        return NearestNeighbors(metric=self.distance).fit(self._X)


# the neighbour search as a landmarker

DEPTH = 50  # neighbours searched for each row, unless the table has fewer other rows
MAX_NEIGHBOUR_ROWS = 2_000  # most rows that are searched
_MOST_WORK = 10**9  # rows x rows x columns: above 250 columns, fewer rows are searched
_FEWEST_ROWS = 500  # smallest sample of a wide table


@dataclass(frozen=True)
class NeighbourRun(Neighbours):
    """The nearest other rows of every row searched; indices are positions in ``rows``.

    Parameters
    ----------
    rows : ndarray of int, shape (n_searched,)
        Rows of the table that were searched, ascending.
    """

    rows: npt.NDArray[np.intp]

    def scores(self, kind: Any, k: int) -> Scores:
        """Return a detector's scores of the rows, by k neighbours or by all that were found.

        Parameters
        ----------
        kind : subclass of NeighbourEstimator
        k : int

        Examples
        --------
        >>> from metaod.models.families.knn import KNN
        >>> run_neighbours(np.array([[0.0], [1.0], [5.0]]), 0).scores(KNN, 5)
        array([5., 4., 5.])
        """
        model = kind(n_neighbors=min(k, self.indices.shape[1]))
        [(_, scores)] = kind.from_neighbours(np.empty((0, 0)), self, [model])
        return np.asarray(scores)


def run_neighbours(Z: Matrix, seed: int) -> NeighbourRun:
    """Search the 50 nearest others of every row, or of each row of a sample.

    The time grows with the square of the rows. A table of more than 2,000 rows, or of more than
    sqrt(10^9 / columns) but at least 500, is replaced by a sample without replacement.

    Examples
    --------
    >>> run_neighbours(np.array([[0.0], [1.0], [5.0]]), 0).indices[:, 0]
    array([1, 0, 1], dtype=int32)
    """
    n_rows, n_columns = Z.shape
    most = min(MAX_NEIGHBOUR_ROWS, max(_FEWEST_ROWS, math.isqrt(_MOST_WORK // n_columns)))
    rows = np.arange(n_rows)
    if n_rows > most:
        random = np.random.default_rng(seed)
        rows = np.sort(random.choice(n_rows, most, replace=False, shuffle=False))
        Z = Z[rows]
    found = nearest(Z, min(DEPTH, len(Z) - 1), "euclidean")
    return NeighbourRun(found.distances, found.indices, rows)
