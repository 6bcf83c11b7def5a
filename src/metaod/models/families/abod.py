"""ABOD: angle-based scores (fast ABOD)."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._family import Family, more_rows_than
from metaod.models._neighbours import NeighbourEstimator, Neighbours


class ABOD(NeighbourEstimator):
    """Minus the variance of the weighted cosines between a row's neighbours: PyOD's fast ``ABOD``.

    As in PyOD, a training row itself counts as one of its neighbours, rows equal to it are left
    out, and a row without a pair has the score NaN.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    @property
    def depth(self) -> int:
        """Number of neighbours to search for each training row."""
        return max(self.n_neighbors - 1, 1)

    @classmethod
    def from_neighbours(
        cls, X: Matrix, found: Neighbours, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores]]:
        """Yield the training scores of models: neighbours are added one by one, in one pass."""
        ordered = sorted(models, key=lambda model: model.n_neighbors)
        sizes = np.array([model.n_neighbors - 1 for model in ordered])
        yield from zip(ordered, -_variances(X, X, found.indices, sizes), strict=True)

    def _score(self, X: Matrix) -> Scores:
        near = self._nearest_known(X)
        sizes = np.array([self.n_neighbors])
        return np.asarray(-_variances(X, self._X, near.indices, sizes)[0])


@njit(cache=True, error_model="numpy")
def _variances(X: Any, training: Any, indices: Any, sizes: Any) -> Any:
    """Return the variances over the nearest, for numbers of them in ascending order."""
    n_rows, n_columns = X.shape
    most = sizes.max()
    result = np.full((sizes.size, n_rows), np.nan)
    # differences to the row, one neighbour per column, so loops over neighbours vectorise
    away = np.empty((n_columns, max(most, 1)))
    squares = np.empty(max(most, 1))
    cosines = np.empty(max(most, 1))
    for i in range(n_rows):
        kept = 0
        # number, mean and sum of squared deviations of the cosines so far
        count, mean, deviations = 0, 0.0, 0.0
        s = 0
        while s < sizes.size and sizes[s] < 1:
            s += 1
        for t in range(most):
            square = 0.0
            equal = True
            for c in range(n_columns):
                difference = training[indices[i, t], c] - X[i, c]
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
                    # merge two samples' moments, each about its own mean, which is accurate
                    # even if the mean is far from zero
                    own = total / kept
                    shift = own - mean
                    for u in range(new.size):
                        deviations += (new[u] - own) ** 2
                    deviations += shift**2 * count * kept / (count + kept)
                    mean += shift * kept / (count + kept)
                    count += kept
                kept += 1
            while s < sizes.size and sizes[s] == t + 1:
                if count > 0:
                    result[s, i] = deviations / count
                s += 1
    return result


FAMILY = Family(
    "ABOD",
    ABOD,
    {"n_neighbors": (3, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)},
    rule=more_rows_than("n_neighbors", 5),
)
