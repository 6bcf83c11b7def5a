"""COF: connectivity-based outlier factors."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._family import Family, more_rows_than
from metaod.models._neighbours import NeighbourEstimator, Neighbours


class COF(NeighbourEstimator):
    """Average chaining distance of a row over that of its nearest others, as PyOD's ``COF``.

    Rows at equal distances are chained in the order of the table. PyOD scores new rows against
    each other; here the score of a new row is defined as in training: its chaining distance
    through its nearest training rows, over the mean of their chaining distances.

    Examples
    --------
    >>> detector = COF(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]])
    >>> detector.decision_function([[3.0], [-8.0]]).round(3)
    array([1.   , 5.667])
    """

    def __init__(self, n_neighbors: int = 20) -> None:
        self.n_neighbors = n_neighbors

    @classmethod
    def from_neighbours(
        cls, X: Matrix, found: Neighbours, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores]]:
        """Yield the training scores of models, all from the longest chain of each row."""
        sizes = np.array([model.n_neighbors for model in models])
        chained = _chain(X, X, found.indices, sizes)
        for model, chaining in zip(models, chained, strict=True):
            yield model, _factors(chaining, chaining, found.first(model.n_neighbors))

    def _keep(self, found: Neighbours) -> None:
        self._chaining = self._chaining_distances(self._X, found)

    def _score(self, X: Matrix) -> Scores:
        near = self._nearest_known(X)
        return _factors(self._chaining_distances(X, near), self._chaining, near)

    def _chaining_distances(self, X: Matrix, near: Neighbours) -> Scores:
        sizes = np.array([self.n_neighbors])
        return np.asarray(_chain(X, self._X, near.indices, sizes)[0])


def _factors(own: Scores, training: Scores, near: Neighbours) -> Scores:
    """Return chaining distances over the means of those of the neighbours.

    If the chaining distances of a row's neighbours are all 0, its factor is the largest float, as
    in PyOD, or 0 if its own distance is 0 too.
    """
    k = near.indices.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(own * k / training[near.indices].sum(axis=1)))


@njit(cache=True)
def _chain(X: Any, training: Any, indices: Any, sizes: Any) -> Any:
    """Return the average chaining distances, of shape (n_sizes, n_rows).

    The cost of adding the j-th neighbour to the chain depends only on the nearer ones, so the
    longest chain contains the costs of all others.
    """
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
            path[:, t + 1] = training[indices[i, t]]
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


FAMILY = Family(
    "COF",
    COF,
    {"n_neighbors": (3, 5, 10, 15, 20, 25, 50)},
    rule=more_rows_than("n_neighbors", 20),
)
