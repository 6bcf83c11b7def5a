"""Several detectors as one: the weighted average of their standardised scores."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

from metaod.errors import BadParameter
from metaod.models._detector import SpecDetector, check_contamination
from metaod.models._spec import ModelSpec
from metaod.models._standardising import CLIP, ScoreScale

__all__ = ["AverageDetector"]

Scores = npt.NDArray[np.float64]


class AverageDetector(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """A PyOD detector that averages the standardised scores of several models.

    Each model's scores are brought to mean 0 and standard deviation 1 on the training table and
    cut to [-3, 6], as in the fixed averages among the reference models. New rows are standardised
    by the training table's mean and deviation, so that a row's score does not depend on the rows
    that come with it.

    Parameters
    ----------
    specs : sequence of ModelSpec or str
        The models, or their ids.
    weights : sequence of float, optional
        Their positive weights, of whatever sum; equal unless given.
    random_state : int or None, default=None
        Seed of every model that is random.
    contamination : float, default=0.1
        Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.
    n_jobs : int or None, default=None
        Jobs of the detectors that can use several.

    Attributes
    ----------
    detectors_ : list of SpecDetector
        The fitted detectors.
    scales_ : list of ScoreScale
        Mean and deviation of each one's training scores.
    weights_ : ndarray of float
        The weights, with sum 1.
    decision_scores_, threshold_, labels_ : ndarray, float, ndarray
        As in PyOD.

    Examples
    --------
    >>> models = ["KNN(n_neighbors=1, method=largest)", "HBOS(n_bins=5, alpha=0.1)"]
    >>> AverageDetector(models).fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        specs: Sequence[ModelSpec | str],
        weights: Sequence[float] | None = None,
        random_state: int | None = None,
        contamination: float = 0.1,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.specs = specs
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Fit every model and average; ``y`` is ignored. One that fails, fails the average."""
        # before the models are fitted, which takes long
        self.contamination: float = check_contamination(self.contamination)
        _checked_weights(self.weights, len(self.specs))
        X = check_array(X, dtype=np.float64)
        fitted = [
            SpecDetector(spec, self.random_state, n_jobs=self.n_jobs).fit(X) for spec in self.specs
        ]
        return self.take(fitted)

    def take(self, detectors: Sequence[SpecDetector]) -> Self:
        """Average detectors that are fitted already, all on the same table."""
        self.contamination = check_contamination(self.contamination)
        self._set_n_classes(None)
        self.weights_ = _checked_weights(self.weights, len(detectors))
        self.n_features_in_ = detectors[0].n_features_in_
        self.detectors_ = list(detectors)
        self.scales_ = [
            ScoreScale.of(detector.decision_scores_, where=str(detector.spec))
            for detector in detectors
        ]
        self.decision_scores_ = self._average(
            [detector.decision_scores_ for detector in self.detectors_]
        )
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Scores:
        """Scores of new rows, each against the training table; higher is more outlying."""
        check_is_fitted(self, ["detectors_", "scales_"])
        return self._average([detector.decision_function(X) for detector in self.detectors_])

    def _average(self, scores: Sequence[Scores]) -> Scores:
        parts = [
            weight * np.clip(scale.standardised(own), *CLIP)
            for weight, scale, own in zip(self.weights_, self.scales_, scores, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def _checked_weights(weights: Sequence[float] | None, count: int) -> Scores:
    if count == 0:
        raise BadParameter("AverageDetector", "specs", "at least one model", [])
    found = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if found.shape != (count,) or not np.isfinite(found).all() or (found <= 0).any():
        raise BadParameter(
            "AverageDetector", "weights", f"{count} positive numbers, one a model", weights
        )
    return np.asarray(found / found.sum())
