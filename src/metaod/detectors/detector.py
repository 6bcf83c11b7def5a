"""The detector a user gets for a spec: PyOD's interface, the spec's scaling inside."""

import warnings
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

from metaod.detectors.scaling import fit_scaling
from metaod.detectors.spec import ModelSpec
from metaod.errors import BadParameter, UserError

__all__ = ["SpecDetector", "UndefinedScores", "check_contamination"]


class UndefinedScores(UserError):
    """Every score is NaN: the detector is not defined on the table, as angles among duplicates."""


def check_contamination(value: Any) -> float:
    """The share of outliers as a plain float, refused outside (0, 0.5].

    Examples
    --------
    >>> check_contamination(np.float16(0.25))
    0.25
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 0.5:
        raise BadParameter("SpecDetector", "contamination", "a number in the range (0, 0.5]", value)
    return float(value)


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
        super().__init__(contamination=contamination)
        self.spec = spec
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> "SpecDetector":  # noqa: ARG002 - PyOD's signature
        """Scale the columns, then fit the detector; ``y`` is ignored."""
        spec = self.spec if isinstance(self.spec, ModelSpec) else ModelSpec.parse(self.spec)
        spec.family.check_params(dict(spec.params))
        # PyOD would take a number of another type, as numpy's float32, for a thresholder
        self.contamination: float = check_contamination(self.contamination)
        X = check_array(X, dtype=np.float64)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        scaling = fit_scaling(spec.scaling, X)
        scaled = scaling.transform(X)
        reason = spec.why_not(*scaled.shape)
        if reason is not None:
            raise UserError(reason, where=spec.id, remedy="pick a model that applies to the table")
        try:
            detector = self._build(spec)
            detector.fit(scaled)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # foreign code raises anything at a value that it cannot take
            raise UserError(
                f"the detector failed with {type(error).__name__}: {error}",
                where=spec.id,
                remedy="check its hyperparameters",
            ) from error
        self.decision_scores_ = _scores_of(detector, spec, len(X))
        self.scaling_ = scaling
        self.detector_ = detector
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
        given: dict[str, Any] = dict(spec.params)
        # scores do without it, so that it is not pushed through a constructor's **kwargs
        if "contamination" in spec.family.accepts():
            given["contamination"] = self.contamination
        if spec.is_random:
            given["random_state"] = self.random_state
        with warnings.catch_warnings():
            # PyOD warns about parameters of its own that we never set
            warnings.simplefilter("ignore", FutureWarning)
            return spec.family.load()(**given)


def _scores_of(detector: Any, spec: ModelSpec, n_rows: int) -> npt.NDArray[np.float64]:
    """The scores of a fitted detector, one a row; refused where they are of no use at all."""
    remedy = "a detector's fit sets decision_scores_ to one number a row"
    if not hasattr(detector, "decision_scores_"):
        raise UserError("the fitted detector has no decision_scores_", where=spec.id, remedy=remedy)
    try:
        scores = np.asarray(detector.decision_scores_, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise UserError(
            f"decision_scores_ are not numbers: {error}", where=spec.id, remedy=remedy
        ) from error
    if len(scores) != n_rows:
        raise UserError(
            f"the detector gives {len(scores)} scores for {n_rows} rows",
            where=spec.id,
            remedy=remedy,
        )
    n_bad = n_rows - np.count_nonzero(np.isfinite(scores))
    if n_bad == n_rows:
        kind = UndefinedScores if np.isnan(scores).all() else UserError
        raise kind(
            f"all {n_rows} scores are NaN or infinite",
            where=spec.id,
            remedy="pick another model for the table",
        )
    if n_bad:
        warnings.warn(
            f"{spec.id}: the scores of {n_bad} of {n_rows} rows are NaN or infinite", stacklevel=3
        )
    return scores
