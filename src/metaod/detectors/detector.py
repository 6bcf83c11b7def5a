"""The detector a user gets for a spec: PyOD's interface, the spec's scaling inside."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

from metaod.detectors.scaling import fit_scaling
from metaod.detectors.spec import ModelSpec
from metaod.errors import BadParameter, UserError

__all__ = ["SpecDetector"]


class SpecDetector(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """A PyOD detector that scales its input as the spec says.

    Parameters
    ----------
    spec : ModelSpec or str
        The model, or its id.
    random_state : int or None, default=None
        Seed; without effect on a detector that is not random.
    contamination : float, default=0.1
        Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.

    Attributes
    ----------
    detector_ : object
        The fitted detector inside, which saw scaled columns.
    scaling_ : FittedScaling
        The fitted scaling.
    decision_scores_, threshold_, labels_ : ndarray, float, ndarray
        As in PyOD: scores of the training rows (higher is more outlying), the threshold that
        ``contamination`` sets on them, and 1 for the rows above it.

    Examples
    --------
    >>> from metaod.detectors import ModelSpec
    >>> detector = ModelSpec.parse("KNN(n_neighbors=1, method=largest)").to_pyod()
    >>> detector.fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        spec: ModelSpec | str,
        random_state: int | None = None,
        contamination: float = 0.1,
    ) -> None:
        if not isinstance(contamination, float | int) or not 0 < contamination <= 0.5:
            raise BadParameter(
                "SpecDetector", "contamination", "a number in the range (0, 0.5]", contamination
            )
        super().__init__(contamination=contamination)
        self.spec = spec
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> "SpecDetector":  # noqa: ARG002 - PyOD's signature
        """Scale the columns, then fit the detector; ``y`` is ignored."""
        spec = ModelSpec.parse(self.spec) if isinstance(self.spec, str) else self.spec
        X = check_array(X, dtype=np.float64)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        scaling = fit_scaling(spec.scaling, X)
        scaled = scaling.transform(X)
        reason = spec.why_not(*scaled.shape)
        if reason is not None:
            raise UserError(reason, where=spec.id, remedy="pick a model that applies to the table")
        detector = self._build(spec)
        detector.fit(scaled)
        self.scaling_ = scaling
        self.detector_ = detector
        self.decision_scores_ = np.asarray(detector.decision_scores_, dtype=np.float64).ravel()
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of new rows; higher is more outlying."""
        check_is_fitted(self, ["detector_", "scaling_"])
        if not hasattr(self.detector_, "decision_function"):
            raise UserError(
                "the detector has no decision_function and cannot score new rows",
                where=str(self.spec),
                remedy="fit it on the old and new rows together",
            )
        X = check_array(X, dtype=np.float64)
        scores = self.detector_.decision_function(self.scaling_.transform(X))
        return np.asarray(scores, dtype=np.float64).ravel()

    def _build(self, spec: ModelSpec) -> Any:
        takes = spec.family.accepts()
        given: dict[str, Any] = dict(spec.params)
        if "contamination" in takes:
            given["contamination"] = self.contamination
        if spec.is_random and "random_state" in takes:
            given["random_state"] = self.random_state
        with warnings.catch_warnings():
            # PyOD warns about parameters of its own that we never set
            warnings.simplefilter("ignore", FutureWarning)
            return spec.family.load()(**given)
