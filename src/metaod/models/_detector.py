"""The detectors a user gets: PyOD's interface around a scaling and a detector, or an average."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

from metaod.errors import BadParameter, UserError
from metaod.models._arrays import Scores
from metaod.models._estimator import check_contamination, check_fixed
from metaod.models._model_id import ModelId
from metaod.models._registry import family
from metaod.models._scaling import FittedScaling, ScoreScale, fit_scaling
from metaod.options import Fitting
from metaod.tables import canonical_order

_BLOCK = 4_096
"""New rows scored at once: the 300 neighbours of each take some 100 MB."""


class SpecDetector(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """A PyOD detector that applies the spec's scaling to its input.

    The package's own families are fitted to the rows and columns in an order that depends on their
    values alone: a table in another order gets the same scores.

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
    fixed : ndarray of bool or None, default=None
        Columns in fixed units, which the scaling does not stretch: ``PreparedTable.fixed``.

    Attributes
    ----------
    detector_, scaling_ : object, FittedScaling
        The detector, fitted on scaled columns in its own order, and the fitted scaling.
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
        spec: ModelId | str,
        random_state: int | None = None,
        contamination: float = 0.1,
        n_jobs: int | None = None,
        fixed: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.spec = spec
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.fixed = fixed

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Scale the columns, then fit the detector; ``y`` is ignored."""
        spec = self._model()
        own = family(spec.detector)
        own.check_params(dict(spec.params))
        # a plain float: PyOD's methods read the parameter again, and treat a number of another
        # type, such as numpy's float32, as a thresholder
        self.contamination: float = check_contamination(self.contamination)
        Fitting.declared()["n_jobs"].checked(self.n_jobs, "SpecDetector")
        X = check_array(X, dtype=np.float64)
        self._set_n_classes(None)
        self.n_features_in_ = X.shape[1]
        fixed = check_fixed("SpecDetector", self.fixed, X.shape[1])
        rows: Any = slice(None)
        if own.builtin:  # a user's own family may use the order
            rows, self._columns = canonical_order(X)
            X = np.ascontiguousarray(X[rows][:, self._columns])
            fixed = None if fixed is None else fixed[self._columns]
        scaling = fit_scaling(spec.scaling, X, fixed)
        scaled = scaling.transform(X)
        reason = own.why_not(dict(spec.params), *scaled.shape)
        if reason is not None:
            raise UserError(reason, where=spec.id, remedy="pick a model that applies to the table")
        try:
            detector = self._build(spec, scaling)
            detector.fit(scaled)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # a detector may raise anything at a value that it cannot take
            problem = f"the detector failed with {type(error).__name__}: {error}"
            raise UserError(problem, where=spec.id, remedy="check its hyperparameters") from error
        self.decision_scores_ = np.empty(len(X))
        self.decision_scores_[rows] = _training_scores(detector, spec, len(X))
        self.scaling_, self.detector_ = scaling, detector
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Scores:
        """Return the scores of new rows, each against the training table; higher is more outlying.

        A row's score does not depend on the other rows. Your own family must ensure this itself.

        Rows of the training table get their training scores, up to rounding, from forests, HBOS,
        LODA, OCSVM and ABOD; for kNN, LOF, COF and KDE such a row is its own neighbour and looks
        more normal than in training. HBOS and LODA use the emptiest and the outermost bin outside
        the training range, at any distance. ABOD gives NaN to a row that equals all of its
        neighbours but one or none.
        """
        check_is_fitted(self, ["detector_", "scaling_"])
        if not hasattr(self.detector_, "decision_function"):
            problem = "the detector has no decision_function and cannot score new rows"
            remedy = "fit it on the old and new rows together"
            raise UserError(problem, where=str(self.spec), remedy=remedy)
        own = family(self._model().detector)
        X = check_array(X, dtype=np.float64)
        if X.shape[1] != self.n_features_in_:
            legal = f"a matrix of {self.n_features_in_} columns"
            raise BadParameter("SpecDetector", "X", legal, f"one of {X.shape[1]} columns")
        X = X[:, self._columns] if own.builtin else X
        # blocks bound the memory; a user's own family may score all rows together
        block = _BLOCK if own.builtin else len(X)
        parts = [
            np.ravel(
                self.detector_.decision_function(self.scaling_.transform(X[start : start + block]))
            )
            for start in range(0, len(X), block)
        ]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def _model(self) -> ModelId:
        return self.spec if isinstance(self.spec, ModelId) else ModelId.parse(self.spec)

    def _build(self, spec: ModelId, scaling: FittedScaling) -> Any:
        options: dict[str, Any] = {"contamination": self.contamination}
        if self.n_jobs is not None:
            options["n_jobs"] = self.n_jobs
        with warnings.catch_warnings():
            # PyOD warns about its parameters that we never set
            warnings.simplefilter("ignore", FutureWarning)
            params = dict(spec.params)
            return family(spec.detector).build(params, self.random_state, scaling, **options)


def _training_scores(detector: Any, spec: ModelId, n_rows: int) -> Scores:
    """Return the scores of a fitted detector; refuse them if none is of use."""
    remedy = "a detector's fit sets decision_scores_ to one number a row"
    wrong = partial(UserError, where=spec.id, remedy=remedy)
    if not hasattr(detector, "decision_scores_"):
        raise wrong("the fitted detector has no decision_scores_")
    try:
        scores = np.asarray(detector.decision_scores_, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise wrong(f"decision_scores_ are not numbers: {error}") from error
    if len(scores) != n_rows:
        raise wrong(f"the detector gives {len(scores)} scores for {n_rows} rows")
    n_bad = n_rows - np.count_nonzero(np.isfinite(scores))
    if n_bad == n_rows:
        # undefined on the table: angles among duplicates
        code = "undefined-scores" if np.isnan(scores).all() else "infinite-scores"
        problem = f"all {n_rows} scores are NaN or infinite"
        remedy = "pick another model for the table"
        raise UserError(problem, where=spec.id, remedy=remedy, code=code)
    if n_bad:
        message = f"{spec.id}: the scores of {n_bad} of {n_rows} rows are NaN or infinite"
        warnings.warn(message, stacklevel=3)
    return scores


class AverageDetector(BaseDetector):  # type: ignore[misc]  # PyOD ships no annotations
    """A PyOD detector that averages the standardised scores of several models.

    Each model's scores are standardised by the mean and standard deviation of its training scores;
    beyond 6 they grow by their logarithm (:meth:`ScoreScale.tempered`).

    Parameters
    ----------
    specs : sequence of ModelSpec or str
        The models, or their ids.
    weights : sequence of float, optional
        Their positive weights, of any sum; equal unless given.
    random_state : int or None, default=None
        Seed of every model that is random.
    contamination : float, default=0.1
        Share of outliers, in (0, 0.5]; sets ``threshold_`` and ``labels_``.
    n_jobs : int or None, default=None
        Jobs of the detectors that can use several.
    fixed : ndarray of bool or None, default=None
        Columns in fixed units, as in :class:`SpecDetector`.

    Attributes
    ----------
    detectors_, scales_ : list of SpecDetector, list of ScoreScale
        The fitted detectors, and mean and deviation of each one's training scores.
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
        specs: Sequence[ModelId | str],
        weights: Sequence[float] | None = None,
        random_state: int | None = None,
        contamination: float = 0.1,
        n_jobs: int | None = None,
        fixed: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(contamination=contamination)
        self.specs = specs
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.fixed = fixed

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002 - PyOD's signature
        """Fit every model and average the scores; ``y`` is ignored. If one fails, all do."""
        # before the models are fitted, which takes long
        self.contamination: float = check_contamination(self.contamination)
        _checked_weights(self.weights, len(self.specs))
        X = check_array(X, dtype=np.float64)
        build = partial(
            SpecDetector, random_state=self.random_state, n_jobs=self.n_jobs, fixed=self.fixed
        )
        return self.take([build(spec).fit(X) for spec in self.specs])

    def take(self, detectors: Sequence[SpecDetector]) -> Self:
        """Average detectors that are fitted already, all on the same table."""
        self.contamination = check_contamination(self.contamination)
        self._set_n_classes(None)
        self.weights_ = _checked_weights(self.weights, len(detectors))
        self.n_features_in_ = detectors[0].n_features_in_
        self.detectors_ = list(detectors)
        self.scales_ = [ScoreScale.of(d.decision_scores_, where=str(d.spec)) for d in detectors]
        self.decision_scores_ = self.average([d.decision_scores_ for d in detectors])
        self._process_decision_scores()
        return self

    def decision_function(self, X: Any) -> Scores:
        """Return the scores of new rows, each against the training table."""
        check_is_fitted(self, ["detectors_", "scales_"])
        return self.average([detector.decision_function(X) for detector in self.detectors_])

    def average(self, scores: Sequence[Scores]) -> Scores:
        """Average the scores of the models, given in their order."""
        parts = [
            weight * scale.tempered(own)
            for weight, scale, own in zip(self.weights_, self.scales_, scores, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)


def _checked_weights(weights: Sequence[float] | None, count: int) -> Scores:
    if count == 0:
        raise BadParameter("AverageDetector", "specs", "at least one model", [])
    found = np.ones(count) if weights is None else np.asarray(weights, dtype=np.float64)
    if found.shape != (count,) or not np.isfinite(found).all() or (found <= 0).any():
        legal = f"{count} positive numbers, one a model"
        raise BadParameter("AverageDetector", "weights", legal, weights)
    return np.asarray(found / found.sum())
