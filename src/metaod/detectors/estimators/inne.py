"""Nearest-neighbour ensembles (INNE) that score every row by itself, with PyOD's interface."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numba import njit
from pyod.models import inne as pyod_inne

__all__ = ["INNE"]

Matrix = npt.NDArray[np.float64]


@njit(cache=True)
def _squared_distance(a: Any, b: Any) -> float:
    total = 0.0
    for i in range(len(a)):
        total += (a[i] - b[i]) ** 2
    return total


@njit(cache=True)
def _radii(centres: Any) -> Any:
    """Squared distance of each centre to the nearest other one, and which that is."""
    n_sets, n_centres, _ = centres.shape
    radii = np.full((n_sets, n_centres), np.inf)
    nearest = np.zeros((n_sets, n_centres), np.int64)
    for s in range(n_sets):
        for i in range(n_centres):
            for j in range(n_centres):
                if i != j:
                    distance = _squared_distance(centres[s, i], centres[s, j])
                    if distance < radii[s, i]:
                        radii[s, i] = distance
                        nearest[s, i] = j
    return radii, nearest


@njit(cache=True)
def _isolation(X: Any, centres: Any, radii: Any, ratios: Any) -> Any:
    """Mean over the sets of the ratio of the smallest sphere around a row; 1 outside of all."""
    n_sets, n_centres, _ = centres.shape
    scores = np.zeros(len(X))
    for s in range(n_sets):
        for r in range(len(X)):
            smallest, ratio = np.inf, 1.0
            for i in range(n_centres):
                radius = radii[s, i]
                if radius < smallest and _squared_distance(X[r], centres[s, i]) <= radius:
                    smallest, ratio = radius, ratios[s, i]
            scores[r] += ratio
    return scores / n_sets


class INNE(pyod_inne.INNE):  # type: ignore[misc]  # PyOD ships no annotations
    """Isolation by spheres around a few rows, each as wide as the way to the nearest other one.

    It is PyOD's ``INNE`` with distances that do not depend on how many rows are scored at once.
    That matters: a sphere's nearest centre lies exactly on it, and rounding decides on which side.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of sets of spheres.
    max_samples : int, float or "auto", default="auto"
        Spheres of a set: a number, a share of the rows, or 8.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.
    random_state : int, RandomState or None, default=None
        Seed.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0]]
    >>> INNE(max_samples=3, contamination=0.25, random_state=0).fit(X).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        n_estimators: int = 200,
        max_samples: int | float | str = "auto",
        contamination: float = 0.1,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            max_samples=max_samples,
            contamination=contamination,
            random_state=random_state,
        )

    def _fit(self, X: Matrix) -> Self:
        super()._fit(X)
        self._centroids_radius, nearest = _radii(self._centroids)
        beyond = np.take_along_axis(self._centroids_radius, nearest, axis=1)
        # PyOD's guard against duplicates, whose spheres have no extent
        rounding = np.finfo(np.float64).eps
        self._ratio = 1 - (beyond + rounding) / (self._centroids_radius + rounding)
        return self

    def _score_samples(self, X: Matrix) -> Matrix:
        X = np.ascontiguousarray(X, dtype=np.float64)
        scores: Matrix = -_isolation(X, self._centroids, self._centroids_radius, self._ratio)
        return scores
