"""LOF: local outlier factors."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from metaod._legal import OneOf, Whole, parameters
from metaod.models._arrays import Matrix, Scores
from metaod.models._family import MORE_ROWS, Family, Settings, more_rows_than
from metaod.models._neighbours import PAPER_SIZES, NeighbourEstimator, Neighbours

_METRICS = ("manhattan", "euclidean", "minkowski")


class LOF(NeighbourEstimator):
    """Density of a row's neighbours over its own, as scikit-learn's ``LocalOutlierFactor``.

    Examples
    --------
    >>> LOF(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]]).decision_scores_.round(3)
    array([0.875, 1.333, 0.875, 4.375])
    """

    legal = parameters(n_neighbors=Whole(1), metric=OneOf(_METRICS))

    def __init__(self, n_neighbors: int = 20, metric: str = "euclidean") -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric

    @property
    def distance(self) -> str:
        """The metric of the search; Minkowski's has the power 2."""
        return "euclidean" if self.metric == "minkowski" else self.metric

    @classmethod
    def from_neighbours(
        cls, _X: Matrix, found: Neighbours, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores]]:
        """Yield the training scores of models."""
        for model in models:
            near = found.first(model.n_neighbors)
            outermost = near.distances[:, -1].copy()
            densities = _densities(near, outermost)
            yield model, _factors(near, densities, densities)

    def _keep(self, found: Neighbours) -> None:
        self._outermost = found.distances[:, -1].copy()
        self._densities = _densities(found, self._outermost)

    def _score(self, X: Matrix) -> Scores:
        near = self._nearest_known(X)
        return _factors(near, _densities(near, self._outermost), self._densities)


def _densities(near: Neighbours, outermost: Scores) -> Scores:
    """Return one over the mean reachability distance of each row."""
    reached = np.maximum(near.distances, outermost[near.indices])
    # as in scikit-learn, for more than k equal rows
    return np.asarray(1.0 / (reached.mean(axis=1) + 1e-10))


def _factors(near: Neighbours, own: Scores, training: Scores) -> Scores:
    return np.asarray(training[near.indices].mean(axis=1) / own)


def _minkowski_is_euclidean(params: dict[str, Any]) -> dict[str, Any]:
    return params | {"metric": "euclidean"} if params.get("metric") == "minkowski" else params


FAMILY = Family(
    "LOF",
    LOF,
    {"n_neighbors": PAPER_SIZES, "metric": _METRICS},
    rule=more_rows_than("n_neighbors", 20),
    canonical=_minkowski_is_euclidean,
    extended=(Settings({"n_neighbors": (20, 100, 400), "metric": ("euclidean",)}),),
    learned_rows=MORE_ROWS,
)
