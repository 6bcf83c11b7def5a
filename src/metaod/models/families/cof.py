"""COF: connectivity-based outlier factors from a neighbour search."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import scipy

from metaod.models._arrays import Matrix, Scores
from metaod.models._compiled import njit
from metaod.models._estimator import Estimator
from metaod.models._family import Family, add_builtin
from metaod.models._neighbours import (
    NEIGHBOURS,
    NeighbourMethod,
    Request,
    more_rows_than_neighbours,
)
from metaod.models._search import Neighbours


class COF(Estimator):
    """PyOD's COF, but each new row is scored against the training table.

    PyOD scores new rows against each other and fails if there are no more rows than neighbours.
    Here the score of a new row is defined as in training: its average chaining distance through its
    k nearest training rows, over the mean of their chaining distances in the training table.

    Examples
    --------
    >>> detector = COF(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> detector.decision_function([[3.0], [-8.0]]).round(3)
    array([1.   , 5.667])
    """

    def __init__(self, n_neighbors: int = 20, method: str = "fast") -> None:
        self.n_neighbors = n_neighbors
        self.method = method

    def _fit(self, X: Matrix) -> Scores:
        from pyod.models import cof  # noqa: PLC0415 - PyOD is slow to import

        fitted = cof.COF(n_neighbors=self.n_neighbors, method=self.method).fit(X)
        self.n_neighbors_ = int(fitted.n_neighbors_)
        self._X = X
        self._chaining: Scores | None = None
        return np.asarray(fitted.decision_scores_)

    def _score(self, X: Matrix) -> Scores:
        k = self.n_neighbors_
        if self._chaining is None:
            # in PyOD's order, so ties are chained as in training
            self._chaining = chaining_distances(self._X, neighbours_pyod(self._X, k), [k])[0]
        # nearer neighbours have larger weights
        weights = 2.0 * np.arange(k, 0, -1) / (k * (k + 1))
        result = np.empty(len(X))
        for i, row in enumerate(X):
            chosen = np.argsort(scipy.spatial.minkowski_distance(row, self._X), kind="stable")[:k]
            path = np.vstack([row, self._X[chosen]])
            lengths = scipy.spatial.distance.cdist(path[1:], path)
            # a neighbour joins the nearer rows at the distance of the closest of them
            lengths[np.triu_indices_from(lengths, 1)] = np.inf
            own = weights @ lengths.min(axis=1)
            near = self._chaining[chosen].sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                # 0 / 0 is 0 and infinity the largest number, as in PyOD's training scores
                result[i] = np.nan_to_num(np.float64(own * k) / near)
        return result


def chaining_distances(X: Matrix, neighbours: Neighbours, sizes: Sequence[int]) -> Matrix:
    """Return the average chaining distances, of shape (n_sizes, n_rows).

    The cost of adding the j-th neighbour to the chain depends only on the nearer ones, so the
    longest chain contains the costs of all others.
    """
    result: Matrix = _chain(X, neighbours.indices, np.asarray(sizes, dtype=np.int64))
    return result


def cof_scores(chaining: Scores, neighbours: Neighbours, k: int) -> Scores:
    """Return the connectivity-based outlier factor of every row, from chaining distances.

    If the chaining distances of a row's k neighbours are all 0, its factor is the largest float, as
    in PyOD, or 0 if its own distance is 0 too.
    """
    sums: Scores = _sums(chaining, neighbours.indices, k)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(chaining * k / sums)


def neighbours_pyod(X: Matrix, k: int) -> Neighbours:
    """Find neighbours in the order of PyOD's COF, ties included."""
    found = Neighbours(np.empty((len(X), k)), np.empty((len(X), k), dtype=np.int32))
    for i in range(len(X)):
        distances = scipy.spatial.minkowski_distance(X[i], X)
        # the first is the row itself, or one that equals it
        chosen = np.argsort(distances)[1 : k + 1]
        found.indices[i] = chosen
        found.distances[i] = distances[chosen]
    return found


@njit(cache=True)
def _chain(
    X: Matrix, indices: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    n_rows, n_columns = X.shape
    most = sizes.max()
    result = np.empty((sizes.size, n_rows))
    # the row itself and its neighbours, one per column, so loops over them vectorise
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


def _scores(X: Matrix, found: Neighbours, sizes: list[int]) -> Callable[[Request], Scores]:
    chaining = dict(zip(sizes, chaining_distances(X, found, sizes), strict=True))
    return lambda request: cof_scores(chaining[request.k], found, request.k)


add_builtin(
    Family(
        "COF",
        COF,
        {"n_neighbors": (3, 5, 10, 15, 20, 25, 50)},
        rule=more_rows_than_neighbours(20),
        shared_scorer=NEIGHBOURS.serving(
            "COF",
            NeighbourMethod(
                {"n_neighbors": 20},
                _scores,
                seconds=lambda n_rows, n_columns, k: n_rows * k**2 * (2e-9 + 2e-10 * n_columns),
                # PyOD sorts all distances of a row
                exact_search=neighbours_pyod,
                exact_seconds=1e-7,
            ),
        ),
    )
)
