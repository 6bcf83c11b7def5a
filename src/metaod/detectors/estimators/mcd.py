"""Robust Mahalanobis distances by a deterministic search, with PyOD's interface."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from scipy.special import ndtri
from scipy.stats import chi2, rankdata
from sklearn.utils.validation import check_array

from metaod.detectors.estimators.new_rows import check_new_rows

__all__ = ["MCD"]

Matrix = npt.NDArray[np.float64]

_FLOOR = 1e-6
"""Variance that every direction has at least, as a share of that of all rows together."""

_MAX_STEPS = 100


class _Gaussian(NamedTuple):
    centre: Matrix
    whitening: Matrix
    log_volume: float

    @classmethod
    def of(cls, X: Matrix) -> "_Gaussian":
        """Mean and covariance of rows, whose columns have about unit spread in the table."""
        covariance = np.cov(X.T, bias=True).reshape(2 * X.shape[1:])
        variances, axes = np.linalg.eigh(covariance)
        # rows that lie in a plane have no extent across it: rows beside it are far away, but not
        # infinitely so
        variances = np.maximum(variances, _FLOOR)
        return cls(X.mean(axis=0), axes / np.sqrt(variances), float(np.log(variances).sum()))

    def distances(self, X: Matrix) -> Matrix:
        squared: Matrix = (((X - self.centre) @ self.whitening) ** 2).sum(axis=1)
        return squared


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

    def __init__(self, contamination: float = 0.1) -> None:
        super().__init__(contamination=contamination)

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Find the half and score the training rows; ``y`` is ignored."""
        X = check_array(X, dtype=np.float64, ensure_min_samples=2)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        self._shift = np.median(X, axis=0)
        spread = X.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        X = (X - self._shift) / self._scale
        n_rows, n_columns = X.shape
        half = min(n_rows, (n_rows + n_columns + 1) // 2)
        best = _most_concentrated(X, half)
        # as wide as all rows would make it, were they normally distributed
        distances = best.distances(X)
        unit = float(np.median(distances)) / chi2.median(n_columns)
        self.support_ = distances <= unit * chi2.ppf(0.975, n_columns)
        self._fitted = _Gaussian.of(X[self.support_])
        self.decision_scores_ = self._fitted.distances(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Matrix:
        """Squared distances of new rows; training rows get their training scores."""
        rows = check_new_rows(self, X)
        return self._fitted.distances((rows - self._shift) / self._scale)


def _most_concentrated(X: Matrix, half: int) -> _Gaussian:
    """The Gaussian of the best half that the search finds."""
    # a few steps show which starts are worth going on with
    found = sorted(
        (_concentrated(X, half, start, 3) for start in _starts(X)), key=lambda g: g.log_volume
    )
    ended = [_concentrated(X, half, start, _MAX_STEPS) for start in found[:2]]
    return min(ended, key=lambda gaussian: gaussian.log_volume)


def _concentrated(X: Matrix, half: int, gaussian: _Gaussian, n_steps: int) -> _Gaussian:
    """Take the nearest half and its Gaussian in turn, which never increases the determinant."""
    for _ in range(n_steps):
        nearest = np.argpartition(gaussian.distances(X), half - 1)[:half]
        # in the table's order, so that sums are the same whichever way the half was found
        following = _Gaussian.of(X[np.sort(nearest)])
        ended = following.log_volume >= gaussian.log_volume - 1e-10
        gaussian = following
        if ended:
            break
    return gaussian


def _starts(X: Matrix) -> list[_Gaussian]:
    """Rough estimates that a minority of outliers cannot carry away."""
    n_rows, n_columns = X.shape
    deviations = np.abs(X).mean(axis=0)
    Z = X / np.where(deviations > 0, deviations, 1.0)
    ranks = rankdata(Z, axis=0)
    lengths = np.sqrt((Z**2).sum(axis=1))
    signs = Z / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    inner = Z[np.argsort(lengths, kind="stable")[: -(-n_rows // 2)]]
    shapes = [np.tanh(Z), ranks, ndtri((ranks - 1 / 3) / (n_rows + 1 / 3)), signs, inner]
    starts = []
    for shape in shapes:
        # directions from the shape, spread and centre along them from the table's bulk
        _, axes = np.linalg.eigh(np.cov(shape.T, bias=True).reshape(n_columns, n_columns))
        along = X @ axes
        centre = np.median(along, axis=0)
        spread = 1.4826 * np.median(np.abs(along - centre), axis=0)
        spread = np.maximum(spread, np.sqrt(_FLOOR))
        starts.append(
            # of no volume yet: the first step decides
            _Gaussian(axes @ centre, axes / spread, np.inf)
        )
    return starts
