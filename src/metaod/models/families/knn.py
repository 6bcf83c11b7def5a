"""kNN: the distance of a row to its nearest others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaod.models import _new_rows
from metaod.models._arrays import Matrix, Scores
from metaod.models._family import MORE_ROWS, Family, Settings, add_builtin
from metaod.models._neighbours import (
    NEIGHBOURS,
    PAPER_SIZES,
    NeighbourMethod,
    NeighbourRun,
    NeighbourScores,
    Request,
    more_rows_than_neighbours,
)
from metaod.models._new_rows import TrainingRows
from metaod.models._search import Neighbours

METHODS = ("largest", "mean", "median")
_LARGEST = {"method": ("largest",)}


def knn_scores(neighbours: Neighbours, k: int, method: str) -> Scores:
    """Return the largest, mean or median distance of every row to its k nearest others."""
    distances = neighbours.distances
    if method == "largest":
        return distances[:, k - 1].copy()
    if method == "mean":
        return np.asarray(distances[:, :k].mean(axis=1))
    # neighbours are in order of distance
    return (distances[:, (k - 1) // 2] + distances[:, k // 2]) / 2


def _scores(X: Matrix, found: Neighbours, sizes: list[int]) -> Callable[[Request], Scores]:  # noqa: ARG001 - nothing is shared beyond the search
    return lambda request: knn_scores(found, request.k, request.params["method"])


def _one_neighbour_has_one_distance(params: dict[str, Any]) -> dict[str, Any]:
    # the mean and the median of one distance are that distance
    if params.get("n_neighbors") == 1 and params.get("method") in ("mean", "median"):
        return params | {"method": "largest"}
    return params


@dataclass(frozen=True, eq=False)
class _NewRows:
    """Scores new rows as a fitted detector of PyOD does, right to five digits."""

    training: TrainingRows
    k: int
    method: str

    @classmethod
    def of(cls, detector: Any) -> "_NewRows | None":
        """Take the rows of a fitted detector; None if there are few, or another metric is set."""
        search = detector.neigh_
        few = len(detector.decision_scores_) < _new_rows.LEAST_ROWS
        if few or search.effective_metric_ != "euclidean":
            return None
        X = np.ascontiguousarray(search._fit_X, dtype=np.float64)  # noqa: SLF001 - it has no other name
        return cls(TrainingRows.of(X), detector.n_neighbors, detector.method)

    def __call__(self, X: Matrix) -> Scores:
        return self.training.kth_distances(X, self.k, self.method)


add_builtin(
    Family(
        "KNN",
        "pyod.models.knn:KNN",
        {"n_neighbors": PAPER_SIZES, "method": METHODS},
        rule=more_rows_than_neighbours(5),
        canonical=_one_neighbour_has_one_distance,
        extended=(
            Settings({"n_neighbors": (5, 20, 100, 300), **_LARGEST}),
            Settings({"n_neighbors": (20, 100, 300), **_LARGEST}, ("robust",)),
            Settings({"n_neighbors": (100, 300), **_LARGEST}, ("signedlog", "whitened")),
        ),
        shared_scorer=NEIGHBOURS.serving(
            "KNN", NeighbourMethod({"n_neighbors": 5, "method": "largest"}, _scores)
        ),
        learned_rows=MORE_ROWS,
        new_rows=_NewRows.of,
    )
)


def run_knn(neighbours: NeighbourRun, k: int = 5) -> NeighbourScores:
    """Score each row by the distance to its k-th nearest other, or to the farthest one found.

    Examples
    --------
    >>> from metaod.models import run_neighbours
    >>> run_knn(run_neighbours(np.array([[0.0], [1.0], [5.0]]))).scores
    array([5., 4., 5.])
    """
    k = min(k, neighbours.depth)
    return NeighbourScores(knn_scores(neighbours.found, k, "largest"), neighbours.rows)
