"""The detector a user gets for a spec: PyOD's interface, the spec's scaling inside."""

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

from metaod.errors import BadParameter, UserError
from metaod.models._contamination import check_contamination
from metaod.models._new_rows import forgets_training, new_row_scorer
from metaod.models._scaling import fit_scaling
from metaod.models._spec import ModelSpec

__all__ = ["SpecDetector", "UndefinedScores", "check_contamination", "check_n_jobs"]

_BLOCK = 10_000
"""New rows that are scored at once: 300 neighbours of each are some 100 MB."""


class UndefinedScores(UserError):
    """Every score is NaN: the detector is not defined on the table, as angles among duplicates."""


def check_n_jobs(value: Any, *, owner: str = "SpecDetector") -> int | None:
    """The number of jobs, or None; as joblib has it, negative counts from all cores and 0 is none.

    Examples
    --------
    >>> check_n_jobs(-1)
    -1
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) == 0:
        raise BadParameter(owner, "n_jobs", "an int other than 0, or None", value)
    return int(value)


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
    n_jobs : int or None, default=None
        Jobs, for a detector that can use several; scores do not depend on it.

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
    >>> from metaod.models import ModelSpec
    >>> detector = ModelSpec.parse("KNN(n_neighbors=1, method=largest)").to_pyod()
    >>> detector.fit([[0.0], [0.1], [0.2], [5.0]]).labels_
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        spec: ModelSpec | str,
        random_state: int | None = None,
        contamination: float = 0.1,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.spec = spec
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> "SpecDetector":  # noqa: ARG002 - PyOD's signature
        """Scale the columns, then fit the detector; ``y`` is ignored."""
        spec = self.spec if isinstance(self.spec, ModelSpec) else ModelSpec.parse(self.spec)
        spec.family.check_params(dict(spec.params))
        # the same number as a plain float: PyOD's own methods read the parameter again, and would
        # take a number of another type, as numpy's float32, for a thresholder
        self.contamination: float = check_contamination(self.contamination)
        check_n_jobs(self.n_jobs)
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
        self._trained = scaled if forgets_training(detector) else None
        self._score_new: Callable[[npt.NDArray[np.float64]], Any] | None = None
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of new rows, each against the training table; higher is more outlying.

        A row's score does not depend on which rows come with it: of the paper's eight families
        PyOD's COF and LODA do otherwise, and are replaced here. A family of your own must see to
        it itself.

        Rows of the training table get their training scores, up to rounding, from HBOS, IForest,
        LODA, OCSVM and ABOD; for kNN, LOF, COF and KDE such a row has itself among its neighbours,
        and looks more normal than it did in training. HBOS and LODA treat what lies outside the
        training range as the emptiest and the outermost bin: far and very far are the same to
        them. ABOD gives NaN to a row that equals all of its neighbours but one or none.
        """
        check_is_fitted(self, ["detector_", "scaling_"])
        if not hasattr(self.detector_, "decision_function"):
            raise UserError(
                "the detector has no decision_function and cannot score new rows",
                where=str(self.spec),
                remedy="fit it on the old and new rows together",
            )
        scaled = self.scaling_.transform(check_array(X, dtype=np.float64))
        if self._score_new is None:
            # late, for COF has to find the training rows' neighbours again
            self._score_new = new_row_scorer(self.detector_, self._trained)
        # in blocks, so that memory is bounded however many rows there are; a family of someone's
        # own may look at all rows together
        builtin = ModelSpec.parse(str(self.spec)).family.builtin
        block = _BLOCK if builtin else len(scaled)
        parts = [
            np.asarray(self._score_new(scaled[start : start + block]), dtype=np.float64).ravel()
            for start in range(0, len(scaled), block)
        ]
        return np.concatenate(parts)

    def rethreshold(self, contamination: float) -> "SpecDetector":
        """Set ``threshold_`` and ``labels_`` for another share of outliers, without fitting.

        ``contamination`` is set too, for PyOD's ``predict_confidence`` reads the share there.
        """
        check_is_fitted(self, ["detector_"])
        self.contamination = check_contamination(contamination)
        self._process_decision_scores()
        return self

    def _build(self, spec: ModelSpec) -> Any:
        given: dict[str, Any] = dict(spec.params)
        # scores do without it, so that it is not pushed through a constructor's **kwargs
        if "contamination" in spec.family.accepts():
            given["contamination"] = self.contamination
        if spec.is_random:
            given["random_state"] = self.random_state
        if self.n_jobs is not None and "n_jobs" in spec.family.accepts():
            given["n_jobs"] = self.n_jobs
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
