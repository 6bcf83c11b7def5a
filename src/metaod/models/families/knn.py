"""kNN: the distance of a row to its nearest others."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import scipy

from metaod._legal import OneOf, Whole, parameters
from metaod.models import _new_rows
from metaod.models._arrays import Matrix, Scores
from metaod.models._family import MORE_ROWS, Family, Settings, more_rows_than
from metaod.models._neighbours import PAPER_SIZES, NeighbourEstimator, Neighbours, run_neighbours
from metaod.models._new_rows import METHODS, TrainingRows

_LARGEST = {"method": ("largest",)}


class KNN(NeighbourEstimator):
    """Largest, mean or median distance of a row to its nearest others, as PyOD's ``KNN``.

    Above 2,000 training rows, the scores of new rows are right to five digits.

    Examples
    --------
    >>> KNN(n_neighbors=1).fit([[0.0], [1.0], [5.0]]).decision_scores_
    array([1., 1., 4.])
    """

    legal = parameters(n_neighbors=Whole(1), method=OneOf(METHODS))

    def __init__(self, n_neighbors: int = 5, method: str = "largest") -> None:
        self.n_neighbors = n_neighbors
        self.method = method

    @classmethod
    def from_neighbours(
        cls, _X: Matrix, found: Neighbours, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores]]:
        """Yield the training scores of models."""
        for model in models:
            yield model, _summary(found.distances, model.n_neighbors, model.method)

    def _fit(self, X: Matrix) -> Scores:
        self._X = X
        if len(X) >= _new_rows.LEAST_ROWS:
            self._training = TrainingRows.of(X)
            return super()._fit(X)
        # for few rows, compiling the search takes longer than it saves
        near = self._nearest(X, self.n_neighbors + 1)[:, 1:]
        return _summary(near, self.n_neighbors, self.method)

    def _score(self, X: Matrix) -> Scores:
        if len(self._X) >= _new_rows.LEAST_ROWS:
            return self._training.kth_distances(X, self.n_neighbors, self.method)
        return _summary(self._nearest(X, self.n_neighbors), self.n_neighbors, self.method)

    def _nearest(self, X: Matrix, k: int) -> Matrix:
        """Return the distances to the k nearest training rows, in ascending order."""
        distances = scipy.spatial.distance.cdist(X, self._X)
        return np.sort(np.partition(distances, k - 1, axis=1)[:, :k], axis=1)


def _summary(ascending: Matrix, k: int, method: str) -> Scores:
    """Return the largest, mean or median of the first k distances."""
    if method == "largest":
        return ascending[:, k - 1].copy()
    if method == "mean":
        return np.asarray(ascending[:, :k].mean(axis=1))
    return (ascending[:, (k - 1) // 2] + ascending[:, k // 2]) / 2


def _one_neighbour_has_one_distance(params: dict[str, Any]) -> dict[str, Any]:
    # the mean and the median of one distance are that distance
    if params.get("n_neighbors") == 1 and params.get("method") in ("mean", "median"):
        return params | {"method": "largest"}
    return params


FAMILY = Family(
    "KNN",
    KNN,
    {"n_neighbors": PAPER_SIZES, "method": METHODS},
    title="k nearest neighbours",
    rule=more_rows_than("n_neighbors", 5),
    canonical=_one_neighbour_has_one_distance,
    extended=(
        Settings({"n_neighbors": (5, 20, 100, 300), **_LARGEST}),
        Settings({"n_neighbors": (20, 100, 300), **_LARGEST}, ("robust",)),
        Settings({"n_neighbors": (100, 300), **_LARGEST}, ("signedlog", "whitened")),
    ),
    learned_rows=MORE_ROWS,
    landmarker=run_neighbours,
)
