"""Fit the pick to its table, replace models that fail, and score rows."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metaod.detection._large_tables import (
    Places,
    RowIndex,
    for_sample,
    in_blocks,
    reference_rows,
)
from metaod.detection._threshold import (
    Contamination,
    check_contamination,
    estimated_share,
    threshold_of,
    ties_note,
)
from metaod.errors import UserError
from metaod.models import (
    AverageDetector,
    Matrix,
    ModelSpec,
    Scores,
    ScoreScale,
    SpecDetector,
    family,
)
from metaod.selection import Selection, Tracker

Fixed = npt.NDArray[np.bool_] | None  # which columns are in fixed units; None for no column


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted pick, and its scores of a training table.

    Parameters
    ----------
    detector : SpecDetector or AverageDetector
        Fitted to the table, or to a sample of a large one.
    X : ndarray of float, shape (rows, columns)
        The prepared training table.
    scores : ndarray of float, shape (rows,)
        Finite scores of its rows.
    threshold : float
        Rows that score above it are flagged.
    seed : int
        Seed of the detector and of the sample.
    notes : tuple of str
        Which models failed, and what else is worth knowing.
    members : ndarray of float, shape (rows, models)
        Each model's scores of the training rows, all finite.
    reference : ndarray of int or None
        Places of the rows that the detector is fitted to, if not all.
    n_jobs : int or None
        Threads that score new rows.
    """

    detector: SpecDetector | AverageDetector
    X: Matrix
    scores: Scores
    threshold: float
    seed: int
    notes: tuple[str, ...] = ()
    members: Matrix = field(kw_only=True, repr=False)
    reference: Places | None = field(default=None, kw_only=True, repr=False)
    n_jobs: int | None = field(default=None, kw_only=True)

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

    def earlier_notes(self) -> tuple[str, ...]:
        """Return the notes as they are for another table."""
        return tuple(f"When the pick was fitted: {note}" for note in self.notes)

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """1 for the rows of the training table that are flagged, 0 for the others."""
        return (self.scores > self.threshold).astype(np.int64)

    def score(self, X: Matrix, on_block: Callable[[int], None] | None = None) -> Scores:
        """Score rows, each against the training table; higher is more outlying.

        A row that the models learned from gets its training score: as its own nearest neighbour it
        would look more normal, and ``predict`` would flag fewer rows than ``fit``. Rows without a
        score, such as duplicates for angles, get the median of the training scores.

        Rows are scored in blocks, in ``n_jobs`` threads; ``on_block`` receives how many are done.
        """
        _ = self._known_rows  # before threads need it
        return self._scorer.in_blocks(self._score_block, X, self.n_jobs, on_block)

    def score_as_new(self, X: Matrix) -> Scores:
        """Score rows as if none of them were in the training table."""
        return self._scorer.in_blocks(self._score_new, X, self.n_jobs)

    def find(self, X: Matrix) -> tuple[Places, npt.NDArray[np.bool_]]:
        """Return the places of rows in the training table, and whether they were learned from."""
        found, is_known = self._known_rows.find(X)
        return found if self.reference is None else self.reference[found], is_known

    def _score_block(self, X: Matrix) -> Scores:
        places, is_known = self.find(X)
        scores = np.empty(len(X))
        scores[is_known] = self.scores[places[is_known]]
        if not is_known.all():
            scores[~is_known] = self._score_new(X[~is_known])
        return scores

    def _score_new(self, X: Matrix) -> Scores:
        return self._scorer.score(X)[0]

    @cached_property
    def _scorer(self) -> "_Scorer":
        return _Scorer(self.detector)

    @cached_property
    def _known_rows(self) -> "RowIndex":
        return RowIndex(self.X if self.reference is None else self.X[self.reference])


class _Scorer:
    """Scores new rows by a fitted detector and by each of its models, all finite."""

    def __init__(self, detector: SpecDetector | AverageDetector) -> None:
        self._detector = detector
        is_average = isinstance(detector, AverageDetector)
        self._models: list[SpecDetector] = detector.detectors_ if is_average else [detector]
        self._scales = [
            ScoreScale.of(model.decision_scores_, where=str(model.spec)) for model in self._models
        ]
        name = " + ".join(str(model.spec) for model in self._models)
        self._scale = ScoreScale.of(detector.decision_scores_, where=name)

    def score(self, X: Matrix) -> tuple[Scores, Matrix]:
        """Return the scores of new rows, and those of each model."""
        return self._finite([model.decision_function(X) for model in self._models])

    def in_blocks(
        self,
        score: Callable[[Matrix], npt.NDArray[np.float64]],
        X: Matrix,
        n_jobs: int | None,
        on_block: Callable[[int], None] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Score rows in blocks and threads; a user's own family scores all rows together."""
        by_blocks = all(family(ModelSpec.parse(str(m.spec)).detector).builtin for m in self._models)
        with _ignored_warnings():
            return in_blocks(score, X, n_jobs, on_block) if by_blocks else score(X)

    def training(self) -> tuple[Scores, Matrix]:
        """Return the same of the rows that the detector is fitted to."""
        return self._finite([model.decision_scores_ for model in self._models])

    def _finite(self, parts: Sequence[Scores]) -> tuple[Scores, Matrix]:
        own = parts[0]
        if isinstance(self._detector, AverageDetector):
            own = self._detector.average(parts)
        pairs = zip(self._scales, parts, strict=True)
        members = np.column_stack([scale.repaired(part) for scale, part in pairs])
        return self._scale.repaired(own), members


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
        members = [member for member in spec.members if member not in tried]
        tried.update(members)
        places = reference_rows(X, spec.learned_rows(len(X)), random_state)
        reference = X if places is None else X[places]
        if places is not None:
            members = [for_sample(member, len(places), len(X)) for member in members]
        votes = Counter(map(str, members))  # members may become the same model in a sample
        members = list(dict.fromkeys(members))
        n_new, n_threads = len(X) - len(reference), effective_n_jobs(n_jobs)
        tracker.plan_fits(members, reference.shape, n_new, n_threads)
        detectors = _fit_those_that_work(
            members, reference, fixed, random_state, n_jobs, notes, tracker, is_all=places is None
        )
        if detectors:
            break
    if not detectors:
        what = f"none of {len(notes)} models works on the table; the first: {notes[0]}"
        remedy = "allow more models, or check the table with 'metaod inspect'"
        raise UserError(what, where=selection.prepared.source, remedy=remedy)
    if notes:
        used = " + ".join(str(detector.spec) for detector in detectors)
        notes.append(f"Used instead: {used}.")
    if places is not None:
        notes.append(
            f"The models learned from {len(places):,} of {len(X):,} rows, drawn at random; every "
            "row is scored against these."
        )
    is_equal = len(set(votes.values())) == 1
    weights = None if is_equal else [votes[str(detector.spec)] for detector in detectors]
    fit = _Fit(detectors, weights, X, places, random_state, n_jobs)
    return _finish(fit, share, notes, tracker)


def fit_models(
    models: Sequence[ModelSpec],
    X: Matrix,
    *,
    fixed: Fixed = None,
    weights: Sequence[float] | None = None,
    contamination: Contamination = "auto",
    random_state: int = 0,
    n_reference: int | None = None,
    tracker: Tracker | None = None,
) -> Fitted:
    """Fit exactly these models and average them; raise an error if one fails.

    They are fitted to all rows, or to the first ``n_reference``.
    """
    tracker = tracker or Tracker(None)
    places = None
    if n_reference is not None and n_reference < len(X):
        places = np.arange(n_reference)
    reference = X if places is None else X[places]
    tracker.plan_fits(models, reference.shape)
    detectors = []
    for spec in models:
        tracker.fit(spec)
        detectors.append(_fit(spec, reference, fixed, random_state, None))
    share = check_contamination(contamination)
    fit = _Fit(detectors, weights, X, places, random_state, None)
    return _finish(fit, share, [], tracker)


def _fit_those_that_work(
    models: Sequence[ModelSpec],
    X: Matrix,
    fixed: Fixed,
    seed: int,
    n_jobs: int | None,
    notes: list[str],
    tracker: Tracker,
    *,
    is_all: bool,
) -> list[SpecDetector]:
    detectors = []
    for spec in models:
        tracker.fit(spec)
        try:
            detector = _fit(spec, X, fixed, seed, n_jobs)
            if not is_all and not hasattr(detector.detector_, "decision_function"):
                reason = "it cannot score rows that it has not learned from"
                notes.append(f"{spec.id} was not used: {reason}, and the table is large.")
                continue
            detectors.append(detector)
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


@dataclass(frozen=True, eq=False)
class _Fit:
    """Detectors fitted to a table, or to some of its rows."""

    detectors: list[SpecDetector]
    weights: Sequence[float] | None
    X: Matrix
    places: Places | None
    seed: int
    n_jobs: int | None

    def combined(self) -> SpecDetector | AverageDetector:
        """Return the only detector, or their average."""
        first = self.detectors[0]
        if len(self.detectors) == 1:
            return first
        specs = [detector.spec for detector in self.detectors]
        average = AverageDetector(
            specs, self.weights, self.seed, n_jobs=self.n_jobs, fixed=first.fixed
        )
        return average.take(self.detectors)

    def score(self, scorer: _Scorer, tracker: Tracker) -> tuple[Scores, Matrix]:
        """Score all rows; those that the detectors are fitted to have their training scores."""
        report = tracker.scoring(len(self.X))
        if self.places is None:
            return scorer.training()
        known = RowIndex(self.X[self.places])
        training = np.column_stack(scorer.training())

        def score(X: Matrix) -> Matrix:
            places, is_known = known.find(X)
            found = training[places]
            if not is_known.all():
                found[~is_known] = np.column_stack(scorer.score(X[~is_known]))
            return found

        found = scorer.in_blocks(score, self.X, self.n_jobs, report)
        return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1:])


def _finish(fit: _Fit, share: Contamination, notes: list[str], tracker: Tracker) -> Fitted:
    detector = fit.combined()
    own: Scores = detector.decision_scores_
    n_undefined = len(own) - int(np.count_nonzero(np.isfinite(own)))
    if n_undefined:
        name = " + ".join(str(member.spec) for member in fit.detectors)
        undefined = f"{n_undefined:,} of {len(own):,} rows"
        notes.append(f"{name} has no score for {undefined}; they got the median.")
    scores, members = fit.score(_Scorer(detector), tracker)
    found = estimated_share(scores) if share == "auto" else share
    threshold = threshold_of(scores, found)
    flagged = scores > threshold
    detector.contamination = found  # with "auto" it is known only after scoring
    detector.threshold_ = threshold
    reference = flagged if fit.places is None else flagged[fit.places]
    detector.labels_ = reference.astype(np.int64)
    ties = ties_note(int(flagged.sum()), len(scores), found)
    if ties is not None:
        notes.append(ties)
    more: dict[str, Any] = {"members": members, "reference": fit.places, "n_jobs": fit.n_jobs}
    return Fitted(detector, fit.X, scores, threshold, fit.seed, tuple(notes), **more)


class _ignored_warnings(warnings.catch_warnings):  # noqa: N801 - used as a function
    """Ignore warnings of detectors: what they warn of is repaired or is in the notes."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
