"""Robust Mahalanobis distances by a deterministic search, with PyOD's interface."""

from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array

from metaod.errors import BadParameter
from metaod.models._estimator_new_rows import check_new_rows
from metaod.models._robust_covariance import core_gaussian, reweighted_gaussian

__all__ = ["MCD"]

Matrix = npt.NDArray[np.float64]


class MCD(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """Mahalanobis distance by the mean and covariance of the more concentrated half of the rows.

    The half with the smallest covariance determinant is searched for from a few robust estimates
    as in DetMCD (Hubert, Rousseeuw and Verdonck, 2012), not from hundreds of random subsets as in
    FastMCD, which PyOD's ``MCD`` runs: scores are the same every time, in a fraction of the time.
    Location and covariance are then taken again from all rows that are not far from that half.

    Rows in a plane, as duplicates and columns that add up make them, are no obstacle: a direction
    in which the half has no extent counts with a millionth of the table's variance.

    Parameters
    ----------
    core : float in (0, 1] or None, default=None
        Share of the rows, the nearest by that distance, from which location and covariance are
        taken once more; None stops before. A narrower core lets go of outliers in numbers.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.

    Attributes
    ----------
    support_ : ndarray of bool
        The rows from which location and covariance were taken.
    decision_scores_, threshold_, labels_ : ndarray, float, ndarray
        As in PyOD; scores are squared distances.

    Examples
    --------
    >>> MCD(contamination=0.2).fit([[0.0], [0.1], [0.2], [0.3], [5.0]]).labels_
    array([0, 0, 0, 0, 1])
    """

    def __init__(self, core: float | None = None, contamination: float = 0.1) -> None:
        super().__init__(contamination=contamination)
        self.core = core

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Find the half and score the training rows; ``y`` is ignored."""
        given: Any = self.core
        if given is not None and not (isinstance(given, Real) and 0 < float(given) <= 1):
            raise BadParameter("MCD", "core", "a float in the range (0, 1], or None", self.core)
        X = check_array(X, dtype=np.float64, ensure_min_samples=2)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        self._shift = np.median(X, axis=0)
        spread = X.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        X = (X - self._shift) / self._scale
        if self.core is None:
            self._fitted, self.support_ = reweighted_gaussian(X)
        else:
            self._fitted, self.support_ = core_gaussian(X, self.core)
        self.decision_scores_ = self._fitted.distances(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Matrix:
        """Squared distances of new rows; training rows get their training scores."""
        rows = check_new_rows(self, X)
        return self._fitted.distances((rows - self._shift) / self._scale)
