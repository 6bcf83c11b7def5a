"""ABOD: angle-based scores from a neighbour search (fast ABOD)."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores
from metaod.models._compiled import njit
from metaod.models._family import Family, add_builtin
from metaod.models._neighbours import (
    NEIGHBOURS,
    NeighbourMethod,
    Request,
    more_rows_than_neighbours,
)
from metaod.models._search import Neighbours


def abod_scores(X: Matrix, neighbours: Neighbours, sizes: Sequence[int]) -> Matrix:
    """Return minus the variance of the weighted cosines between the neighbours of every row.

    Neighbours are added one by one, each with its pairs with the nearer ones, so one pass gives
    the scores of every size. As in PyOD, the row itself counts as one neighbour, rows equal to it
    are left out, and a row without a pair has the score NaN. The shape is (n_sizes, n_rows).
    """
    order = np.argsort(sizes, kind="stable")
    result = np.empty((len(sizes), len(X)))
    result[order] = _variances(X, neighbours.indices, np.asarray(sizes, dtype=np.int64)[order])
    return -result


@njit(cache=True, error_model="numpy")
def _variances(
    X: Matrix, indices: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the variances for sizes in ascending order."""
    n_rows, n_columns = X.shape
    most = sizes.max() - 1
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
            while s < sizes.size and sizes[s] == t + 2:
                if count > 0:
                    result[s, i] = deviations / count
                s += 1
    return result


def _scores(X: Matrix, found: Neighbours, sizes: list[int]) -> Callable[[Request], Scores]:
    by_size = dict(zip(sizes, abod_scores(X, found, sizes), strict=True))
    return lambda request: by_size[request.k]


add_builtin(
    Family(
        "ABOD",
        "pyod.models.abod:ABOD",
        {"n_neighbors": (3, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)},
        rule=more_rows_than_neighbours(5),
        shared_scorer=NEIGHBOURS.serving(
            "ABOD",
            NeighbourMethod(
                {"n_neighbors": 5},
                _scores,
                # PyOD counts the row itself as one
                depth=lambda k: max(k - 1, 1),
                seconds=lambda n_rows, n_columns, k: n_rows * k**2 * (2e-9 + 2e-10 * n_columns),
            ),
        ),
    )
)
