"""Fit the pick to its table, replace models that fail, and score rows."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from metaod.detection._threshold import (
    TOO_MANY_TIES,
    Contamination,
    check_contamination,
    estimated_share,
    threshold_of,
)
from metaod.errors import UserError
from metaod.models import (
    AverageDetector,
    Matrix,
    ModelSpec,
    Scores,
    ScoreScale,
    SpecDetector,
    members_of,
)
from metaod.selection import Selection, Tracker

Fixed = npt.NDArray[np.bool_] | None  # which columns are in fixed units; None for no column


@dataclass(frozen=True, eq=False)
class Fitted:
    """Models fitted to a training table X, with finite scores of its rows; notes name failures."""

    detector: SpecDetector | AverageDetector
    X: Matrix
    scores: Scores
    threshold: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def weights(self) -> dict[str, float]:
        """The fitted models' ids and weights in the average; 1 for a single model."""
        if isinstance(self.detector, AverageDetector):
            ids = [str(detector.spec) for detector in self.detector.detectors_]
            return dict(zip(ids, self.detector.weights_.tolist(), strict=True))
        return {str(self.detector.spec): 1.0}

    @property
    def marks(self) -> Mapping[int, bool]:
        """The marked rows that it has learned from; True for an outlier."""
        return {}

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """1 for the rows of the training table that are flagged, 0 for the others."""
        return (self.scores > self.threshold).astype(np.int64)

    def score(self, X: Matrix) -> Scores:
        """Score rows, each against the training table; higher is more outlying.

        A row of the training table gets its training score: as its own nearest neighbour it would
        look more normal, and ``predict`` would flag fewer rows than ``fit``. Rows without a score,
        such as duplicates for angles, get the median of the training scores.
        """
        places, is_known = self.find(X)
        scores = np.empty(len(X))
        scores[is_known] = self.scores[places[is_known]]
        if not is_known.all():
            scores[~is_known] = self.score_as_new(X[~is_known])
        return scores

    def score_as_new(self, X: Matrix) -> Scores:
        """Score rows as if none of them were in the training table."""
        return self.score_new(X)[0]

    def score_new(self, X: Matrix) -> tuple[Scores, Matrix]:
        """Score rows that are not in the training table; also return each model's scores."""
        with _ignored_warnings():
            parts = [detector.decision_function(X) for detector in self._detectors]
        own = parts[0]
        if isinstance(self.detector, AverageDetector):
            own = self.detector.average(parts)
        return self._scale.repaired(own), self._repaired(parts)

    def find(self, X: Matrix) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return the places of rows in the training table, and whether they are in it."""
        return self._training_rows.find(X)

    @cached_property
    def members(self) -> Matrix:
        """Each model's scores of the training rows, (rows, models), all finite."""
        return self._repaired([detector.decision_scores_ for detector in self._detectors])

    @property
    def _detectors(self) -> list[SpecDetector]:
        average = self.detector
        return average.detectors_ if isinstance(average, AverageDetector) else [average]

    def _repaired(self, parts: Sequence[Scores]) -> Matrix:
        scales = [
            ScoreScale.of(detector.decision_scores_, where=str(detector.spec))
            for detector in self._detectors
        ]
        return np.column_stack(
            [scale.repaired(part) for scale, part in zip(scales, parts, strict=True)]
        )

    @cached_property
    def _scale(self) -> ScoreScale:
        return ScoreScale.of(self.scores, where=" + ".join(self.weights))

    @cached_property
    def _training_rows(self) -> "_RowIndex":
        return _RowIndex(self.X)


class _RowIndex:
    """Finds rows of a matrix by their values, in 16 bytes a row."""

    def __init__(self, X: Matrix) -> None:
        self._X = X
        keys = _row_keys(X)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, X: Matrix) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return the places of rows, the first of equal ones, and whether they are in the index."""
        places = np.searchsorted(self._keys, _row_keys(X))
        found = self._order[np.minimum(places, len(self._keys) - 1)]
        return found, (self._X[found] == X).all(axis=1)


def _row_keys(X: Matrix) -> npt.NDArray[np.uint64]:
    """Return a hash of every row."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    keys = np.zeros(len(X), dtype=np.uint64)
    for column in range(X.shape[1]):
        keys = (keys ^ bits[:, column]) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def fit_selection(
    selection: Selection,
    *,
    contamination: Contamination = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    tracker: Tracker | None = None,
) -> Fitted:
    """Fit the pick to its table; if it fails, fit the next model of the ranking.

    A model fails if it raises, runs out of memory, or gives NaN or infinite scores to more than
    1 % of the rows. If some members of an average fail, the others are averaged.
    """
    share = check_contamination(contamination)
    X, fixed = selection.prepared.X, selection.prepared.fixed
    notes: list[str] = []
    tried: set[ModelSpec] = set()
    detectors: list[SpecDetector] = []
    tracker = tracker or Tracker(None)
    for spec in selection.specs():
        members = [member for member in members_of(spec) if member not in tried]
        tried.update(members)
        tracker.plan_fits(members, (len(X), X.shape[1]))
        detectors = _fit_those_that_work(members, X, fixed, random_state, n_jobs, notes, tracker)
        if detectors:
            break
    if not detectors:
        what = f"none of {len(notes)} models works on the table; the first: {notes[0]}"
        remedy = "allow more models, or check the table with 'metaod inspect'"
        raise UserError(what, where=selection.prepared.source, remedy=remedy)
    if notes:
        used = " + ".join(str(detector.spec) for detector in detectors)
        notes.append(f"Used instead: {used}.")
    tracker.score()
    return _finish(detectors, None, X, share, random_state, n_jobs, notes)


def fit_models(
    models: Sequence[ModelSpec],
    X: Matrix,
    *,
    fixed: Fixed = None,
    weights: Sequence[float] | None = None,
    contamination: Contamination = "auto",
    random_state: int = 0,
    tracker: Tracker | None = None,
) -> Fitted:
    """Fit exactly these models and average them; raise an error if one fails."""
    tracker = tracker or Tracker(None)
    tracker.plan_fits(models, (len(X), X.shape[1]))
    detectors = []
    for spec in models:
        tracker.fit(spec)
        detectors.append(_fit(spec, X, fixed, random_state, None))
    tracker.score()
    share = check_contamination(contamination)
    return _finish(detectors, weights, X, share, random_state, None, [])


def _fit_those_that_work(
    models: Sequence[ModelSpec],
    X: Matrix,
    fixed: Fixed,
    seed: int,
    n_jobs: int | None,
    notes: list[str],
    tracker: Tracker,
) -> list[SpecDetector]:
    detectors = []
    for spec in models:
        tracker.fit(spec)
        try:
            detectors.append(_fit(spec, X, fixed, seed, n_jobs))
        except UserError as error:
            notes.append(f"{spec.id} was not used: {error.what}.")
        except MemoryError:
            notes.append(f"{spec.id} was not used: there is not enough memory for it.")
    return detectors


def _fit(spec: ModelSpec, X: Matrix, fixed: Fixed, seed: int, n_jobs: int | None) -> SpecDetector:
    with _ignored_warnings():
        detector = SpecDetector(spec, seed, n_jobs=n_jobs, fixed=fixed).fit(X)
    ScoreScale.of(detector.decision_scores_, where=spec.id)  # refuses what cannot be repaired
    return detector


def _finish(
    detectors: list[SpecDetector],
    weights: Sequence[float] | None,
    X: Matrix,
    share: Contamination,
    seed: int,
    n_jobs: int | None,
    notes: list[str],
) -> Fitted:
    specs = [detector.spec for detector in detectors]
    detector: SpecDetector | AverageDetector = detectors[0]
    if len(detectors) > 1:
        fixed = detectors[0].fixed
        average = AverageDetector(specs, weights, seed, n_jobs=n_jobs, fixed=fixed)
        detector = average.take(detectors)
    own: Scores = detector.decision_scores_
    name = " + ".join(map(str, specs))
    n_undefined = len(own) - int(np.count_nonzero(np.isfinite(own)))
    if n_undefined:
        undefined = f"{n_undefined} of {len(own)} rows"
        notes.append(f"{name} has no score for {undefined}; they got the median.")
    scores = ScoreScale.of(own, where=name).repaired(own)
    found = estimated_share(scores) if share == "auto" else share
    threshold = threshold_of(scores, found)
    flagged = scores > threshold
    detector.contamination = found  # with "auto" it is known only after scoring
    detector.threshold_ = threshold
    detector.labels_ = flagged.astype(np.int64)
    n_flagged, n_meant = int(flagged.sum()), round(found * len(scores))
    if 2 * n_flagged < n_meant:
        notes.append(
            f"{n_flagged} of {len(scores)} rows are flagged instead of {n_meant} ({found:.1%}): "
            f"{TOO_MANY_TIES}."
        )
    return Fitted(detector, X, scores, threshold, seed, tuple(notes))


class _ignored_warnings(warnings.catch_warnings):  # noqa: N801 - used as a function
    """Ignore warnings of detectors: what they warn of is repaired or is in the notes."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
