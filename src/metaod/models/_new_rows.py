"""Scores of rows that the detector was not fitted on, each as if it alone came to the table.

PyOD's detectors score a row of a batch against the training table, so that it does not matter
which rows come with it, with two exceptions. COF keeps nothing of the training table, scores the
rows of a batch against each other and fails where the batch has no more rows than neighbours.
LODA projects a batch by one product of matrices, whose rounding depends on the size of the batch:
a row on the edge of a bin falls now into this one, now into that one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from pyod.models.cof import COF
from pyod.models.loda import LODA
from scipy.spatial import minkowski_distance
from scipy.spatial.distance import cdist

from metaod.models.families.cof import chaining_distances, neighbours_pyod

__all__ = ["ConnectivityOfNewRows", "forgets_training", "loda_scores", "new_row_scorer"]

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]

_ROUNDING = 1e-12
"""What a projection may be off by, of the range of projections."""


def forgets_training(detector: Any) -> bool:
    """Whether the training table has to be kept for the detector, which keeps nothing of it."""
    return isinstance(detector, COF)


def new_row_scorer(detector: Any, trained: Matrix | None) -> Callable[[Matrix], Any]:
    """What scores new rows for a fitted detector, each row by itself.

    Parameters
    ----------
    detector : object
        The fitted detector, with PyOD's interface.
    trained : ndarray of float, shape (n_rows, n_columns), or None
        What it was fitted on; needed where it :func:`forgets_training`.
    """
    if trained is not None and forgets_training(detector):
        return ConnectivityOfNewRows(trained, detector.n_neighbors_).scores
    if isinstance(detector, LODA):
        return partial(loda_scores, detector)
    score: Callable[[Matrix], Any] = detector.decision_function
    return score


def loda_scores(detector: Any, X: Matrix) -> Scores:
    """Scores of a fitted LODA, with every row projected by itself."""
    total = np.zeros(len(X))
    for projection, histogram, limits in zip(
        detector.projections_, detector.histograms_, detector.limits_, strict=True
    ):
        projected = (X * projection).sum(axis=1)
        # PyOD keeps the first bin for the lowest training row alone, whose projection was rounded
        # in another way
        rounding = _ROUNDING * np.abs(limits).max()
        projected[np.abs(projected - limits[0]) <= rounding] = limits[0]
        places = np.searchsorted(limits[: len(histogram) - 1], projected, side="left")
        total -= np.log(histogram[places])
    # PyOD takes the mean over the cuts twice
    return total / len(detector.projections_) ** 2


class ConnectivityOfNewRows:
    """Connectivity-based outlier factors of new rows, one at a time, against a training table.

    The definition is that of the training scores: a row's average chaining distance through its k
    nearest rows, over the mean of theirs. A new row's neighbours are training rows, and their
    chaining distances are those of the training table, which a new row does not change.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
        The training table, scaled.
    k : int
        Number of neighbours, less than the number of rows.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> ConnectivityOfNewRows(X, 2).scores(np.array([[3.0], [-8.0]])).round(3)
    array([1.   , 5.667])
    """

    def __init__(self, X: Matrix, k: int) -> None:
        self._X = X
        # in PyOD's order, so that rows that tie are chained as they were in training
        self._chaining = chaining_distances(X, neighbours_pyod(X, k), [k])[0]
        # the nearer a neighbour is, the more joining it to the chain counts
        self._shares = 2.0 * np.arange(k, 0, -1) / (k * (k + 1))

    def scores(self, X: Matrix) -> Scores:
        """Scores of new rows, scaled as the training table was."""
        k = len(self._shares)
        result = np.empty(len(X))
        for i, row in enumerate(X):
            nearest = np.argsort(minkowski_distance(row, self._X), kind="stable")[:k]
            path = np.vstack([row, self._X[nearest]])
            lengths = cdist(path[1:], path)
            # a neighbour joins those that are nearer, at the distance of the closest of them
            lengths[np.triu_indices_from(lengths, 1)] = np.inf
            own = self._shares @ lengths.min(axis=1)
            near = self._chaining[nearest].sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                # 0 / 0 is 0 and infinity the largest number, as PyOD has it in training
                result[i] = np.nan_to_num(np.float64(own * k) / near)
        return result
