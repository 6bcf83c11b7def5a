"""Base class of the package's own detectors."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores


class Estimator(ABC):
    """A detector with PyOD's ``fit``, ``decision_scores_`` and ``decision_function``.

    :class:`~metaod.models.SpecDetector` adds the rest of PyOD's interface. This file does not
    import PyOD, which is slow.
    """

    n_features_in_: int
    decision_scores_: Scores

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Fit on a table and score its rows; ``y`` is ignored."""
        rows = _matrix(X)
        self.n_features_in_ = rows.shape[1]
        self.decision_scores_ = self._fit(rows)
        return self

    def decision_function(self, X: Any) -> Scores:
        """Return the scores of new rows, each against the training table."""
        rows = _matrix(X)
        if rows.shape[1] != self.n_features_in_:
            legal = f"a matrix of {self.n_features_in_} columns"
            raise BadParameter(type(self).__name__, "X", legal, f"one of {rows.shape[1]} columns")
        return self._score(rows)

    @abstractmethod
    def _fit(self, X: Matrix) -> Scores:
        """Learn from the training rows and return their scores."""

    @abstractmethod
    def _score(self, X: Matrix) -> Scores:
        """Return the scores of new rows; a score must not depend on the other new rows."""


def _matrix(X: Any) -> Matrix:
    return np.ascontiguousarray(X, dtype=np.float64)
