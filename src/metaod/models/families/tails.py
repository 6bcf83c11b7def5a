"""ECOD and COPOD that score new rows one by one, with PyOD's interface.

PyOD's own put the new rows and the training table together, so that a row's score depends on
which rows come with it. Here the training table's distribution is kept: a row that lies beyond it
is as rare as its outermost row, and a training row has its training score.
"""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from scipy.stats import skew
from sklearn.utils.validation import check_array

from metaod.models._estimator_new_rows import check_new_rows

__all__ = ["COPOD", "ECOD"]

Matrix = npt.NDArray[np.float64]


class _TailProbabilities(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """Sums over the columns how improbable a value's tail is; subclasses say which tail."""

    def __init__(self, contamination: float = 0.1) -> None:
        super().__init__(contamination=contamination)

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Keep the columns' distributions and score the training rows; ``y`` is ignored."""
        X = check_array(X, dtype=np.float64)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        self.sorted_ = np.sort(X.T, axis=1)
        with np.errstate(all="ignore"):
            # a constant column is not skewed
            self.skewness_ = np.sign(np.nan_to_num(skew(X, axis=0)))
        self.decision_scores_ = self._scores(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Matrix:
        """Scores of new rows, each against the training table."""
        return self._scores(check_new_rows(self, X))

    def _scores(self, X: Matrix) -> Matrix:
        n_rows = self.sorted_.shape[1]
        scores = np.zeros(len(X))
        for values, known, sign in zip(X.T, self.sorted_, self.skewness_, strict=True):
            up_to = np.searchsorted(known, values, side="right")
            from_on = n_rows - np.searchsorted(known, values, side="left")
            left = -np.log(np.maximum(up_to, 1) / n_rows)
            right = -np.log(np.maximum(from_on, 1) / n_rows)
            # the longer tail; both where the column is not skewed
            skewed = left * (sign < 1) + right * (sign > -1)
            scores += self._of_column(left, right, skewed)
        return scores

    @abstractmethod
    def _of_column(self, left: Matrix, right: Matrix, skewed: Matrix) -> Matrix:
        """What one column adds to the scores."""


class ECOD(_TailProbabilities):
    """Outliers by empirical cumulative distributions: the rarest of a value's tails counts.

    Training scores are those of PyOD's ``ECOD``.

    Parameters
    ----------
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.

    Examples
    --------
    >>> ECOD().fit([[0, 1], [1, 0], [2, 2], [9, 9]]).decision_scores_.argmax()
    np.int64(3)
    """

    def _of_column(self, left: Matrix, right: Matrix, skewed: Matrix) -> Matrix:
        return np.maximum(np.maximum(left, right), skewed)


class COPOD(_TailProbabilities):
    """Outliers by empirical copulas: the longer tail counts, or the mean of both if it is larger.

    Training scores are those of PyOD's ``COPOD``.

    Parameters
    ----------
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.

    Examples
    --------
    >>> COPOD(contamination=0.25).fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def _of_column(self, left: Matrix, right: Matrix, skewed: Matrix) -> Matrix:
        return np.maximum(skewed, (left + right) / 2)
