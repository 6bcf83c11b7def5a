"""Gaussian kernel density that leaves the row itself out, with PyOD's interface."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array

from metaod.errors import BadParameter
from metaod.models._estimator_new_rows import check_new_rows
from metaod.models.families.kde import (
    DEFAULT_GAMMA_SCALE,
    centers_of,
    gamma_unit,
    is_gamma_scale,
    leave_one_out_scores,
    new_row_scores,
)

__all__ = ["LeaveOneOutKDE"]


class LeaveOneOutKDE(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """Scores a row by the negative logarithm of the density of the other rows around it.

    The density is the mean of the Gaussians ``exp(-gamma |x - c|²)`` around the training rows c,
    normalised. PyOD's own KDE has the row itself among the centres, which hides outliers where
    the bandwidth is small, and a bandwidth that does not know the number of columns.

    A table of more than 20,000 rows has 10,000 rows as centres, always the same for the same
    number of rows.

    Parameters
    ----------
    gamma_scale : float, default=0.3
        ``gamma`` as a multiple of ``1 / (columns * variance of all values)``. The larger, the
        more local.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.

    Attributes
    ----------
    gamma_ : float
        The factor of the squared distance; a bandwidth h has gamma 1 / (2 h²).
    centers_ : ndarray of float, shape (n_centers, n_columns)
        The rows around which the density is.
    decision_scores_, threshold_, labels_ : ndarray, float, ndarray
        As in PyOD.

    Examples
    --------
    >>> LeaveOneOutKDE(contamination=0.25).fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self, gamma_scale: float = DEFAULT_GAMMA_SCALE, contamination: float = 0.1
    ) -> None:
        super().__init__(contamination=contamination)
        self.gamma_scale = gamma_scale

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Score the training rows, each by the others; ``y`` is ignored."""
        if not is_gamma_scale(self.gamma_scale):
            raise BadParameter("KDE", "gamma_scale", "a positive number", self.gamma_scale)
        X = check_array(X, dtype=np.float64, ensure_min_samples=2)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        self.gamma_ = self.gamma_scale * gamma_unit(X)
        self.centers_ = X[centers_of(len(X))]
        [self.decision_scores_], _ = leave_one_out_scores(X, [self.gamma_scale])
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of new rows by the density of the training rows around each.

        A training row given again is among the centres itself, and looks more normal than it did
        in training.
        """
        return new_row_scores(self.centers_, self.gamma_, check_new_rows(self, X))
