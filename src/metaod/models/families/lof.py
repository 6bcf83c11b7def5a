"""LOF: local outlier factors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores
from metaod.models._compiled import njit
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
from metaod.models._search import Neighbours


def lof_scores(neighbours: Neighbours, k: int) -> Scores:
    """Return the local outlier factor of every row from its k nearest others.

    Examples
    --------
    >>> from metaod.models._search import nearest
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> lof_scores(nearest(X, 2, "euclidean"), 2).round(3)
    array([0.875, 1.333, 0.875, 4.375])
    """
    scores: Scores = _factors(neighbours.distances, neighbours.indices, k)
    return scores


@njit(cache=True)
def _factors(distances: Matrix, indices: npt.NDArray[np.int32], k: int) -> Scores:
    n_rows = distances.shape[0]
    outermost = distances[:, k - 1].copy()
    density = np.empty(n_rows)
    for i in range(n_rows):
        total = 0.0
        for t in range(k):
            total += max(distances[i, t], outermost[indices[i, t]])
        # as in scikit-learn, for more than k equal rows
        density[i] = 1.0 / (total / k + 1e-10)
    factors = np.empty(n_rows)
    for i in range(n_rows):
        total = 0.0
        for t in range(k):
            total += density[indices[i, t]] / density[i]
        factors[i] = total / k
    return factors


def _scores(X: Matrix, found: Neighbours, sizes: list[int]) -> Callable[[Request], Scores]:  # noqa: ARG001 - nothing is shared beyond the search
    return lambda request: lof_scores(found, request.k)


def _minkowski_is_euclidean(params: dict[str, Any]) -> dict[str, Any]:
    # the default of PyOD's LOF is p = 2
    if params.get("metric") != "minkowski" or params.get("p", 2) != 2:
        return params
    return {name: value for name, value in params.items() if name != "p"} | {"metric": "euclidean"}


add_builtin(
    Family(
        "LOF",
        "pyod.models.lof:LOF",
        {"n_neighbors": PAPER_SIZES, "metric": ("manhattan", "euclidean", "minkowski")},
        rule=more_rows_than_neighbours(20),
        canonical=_minkowski_is_euclidean,
        extended=(Settings({"n_neighbors": (20, 100, 400), "metric": ("euclidean",)}),),
        shared_scorer=NEIGHBOURS.serving(
            "LOF", NeighbourMethod({"n_neighbors": 20, "metric": "minkowski", "p": 2}, _scores)
        ),
        separable=("metric",),
        learned_rows=MORE_ROWS,
    )
)


def run_lof(neighbours: NeighbourRun, k: int = 20) -> NeighbourScores:
    """Score each row by its local outlier factor among its k nearest others, or all found.

    Examples
    --------
    >>> from metaod.models import run_neighbours
    >>> run_lof(run_neighbours(np.array([[0.0], [1.0], [2.0], [9.0]])), 2).scores.round(3)
    array([0.875, 1.333, 0.875, 4.375])
    """
    return NeighbourScores(lof_scores(neighbours.found, min(k, neighbours.depth)), neighbours.rows)
