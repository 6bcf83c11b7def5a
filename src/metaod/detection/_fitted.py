"""Fit the pick to its table, replace models that fail, learn marks, and score rows."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from metaod.detection._extremes import Extremes
from metaod.detection._sampling import Places, RowIndex, for_sample, in_blocks, reference_rows
from metaod.detection._threshold import (
    Contamination,
    automatic_share,
    check_contamination,
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
from metaod.review import MarkedTable, Ranker, RowSpace
from metaod.selection import Selection, Tracker

Errors = npt.NDArray[np.float32]
Fixed = npt.NDArray[np.bool_] | None  # which columns are in fixed units; None for no column


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted detector, its training table, and the scores of its rows.

    Parameters
    ----------
    detector : SpecDetector or AverageDetector
        Fitted to the table, or to a sample of a large one.
    X : ndarray of float, shape (rows, columns)
        The prepared training table.
    seed : int
        Seed of the detector and of the sample.
    notes : tuple of str
        Which models failed, and what else is worth knowing.
    ties : str or None
        A note if far fewer rows are flagged than meant, because many share a score.
    reference : ndarray of int or None
        Places of the rows that the detector is fitted to, if not all.
    n_jobs : int or None
        Threads that score new rows.
    scores : ndarray of float, shape (rows,)
        Finite scores of the rows; they follow the marks if there are any.
    members : ndarray of float, shape (rows, models)
        Each model's scores of the training rows, all finite.
    extremes : Extremes or None
        What extreme cells of a row demand of its score; known once the table is scored.
    errors : ndarray of float32 or None
        Probabilities of wrong cells in each row, of any kind and each kind, if they were looked
        for; marks are learned with them.
    threshold : float
        Rows that score above it are flagged.
    marked : MarkedTable or None
        The training table with marks, if the scores follow them.
    unmarked : Fitted or None
        The same without marks.
    """

    detector: SpecDetector | AverageDetector
    X: Matrix
    seed: int
    notes: tuple[str, ...] = ()
    ties: str | None = None
    reference: Places | None = field(default=None, repr=False)
    n_jobs: int | None = None
    scores: Scores = field(default_factory=lambda: np.empty(0), repr=False)
    members: Matrix = field(default_factory=lambda: np.empty(0), repr=False)
    extremes: Extremes | None = field(default=None, repr=False)
    errors: Errors | None = field(default=None, repr=False)
    threshold: float = 0.0
    marked: MarkedTable | None = None
    unmarked: "Fitted | None" = None

    @property
    def weights(self) -> dict[str, float]:
        """The fitted models' ids and weights in the average; 1 for a single model."""
        if isinstance(self.detector, AverageDetector):
            ids = [str(model.spec) for model in self._models]
            return dict(zip(ids, self.detector.weights_.tolist(), strict=True))
        return {str(self.detector.spec): 1.0}

    @property
    def marks(self) -> Mapping[int, bool]:
        """The marked rows that it has learned from; True for an outlier."""
        answers = {} if self.marked is None else self.marked.marks
        return {row: answer for row, answer in answers.items() if answer is not None}

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, with that on ties."""
        return (*self.notes, *filter(None, [self.ties]))

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """1 for the rows of the training table that are flagged, 0 for the others."""
        return (self.scores > self.threshold).astype(np.int64)

    def score(
        self, X: Matrix, on_block: Callable[[int], None] | None = None, errors: Errors | None = None
    ) -> Scores:
        """Score rows, each against the training table; higher is more outlying.

        A row that the models learned from gets its training score: as its own nearest neighbour it
        would look more normal, and ``predict`` would flag fewer rows than ``fit``. Rows without a
        score, such as duplicates for angles, get the median of the training scores.

        Rows are scored in blocks, in ``n_jobs`` threads; ``on_block`` receives how many are done.
        ``errors`` are those of the rows, as of the table; none by default.
        """
        _ = self._known_rows  # before threads need it
        more = _given(None if self.marked is None else errors)
        return self._in_blocks(self._score_block, X, on_block, *more)

    def score_as_new(self, X: Matrix, errors: Errors | None = None) -> Scores:
        """Score rows with these errors as if none of them were in the training table."""
        return self._in_blocks(self._score_new, X, None, *_given(errors))

    def errors_of(self, X: Matrix) -> Errors:
        """Return the errors of rows that were learned from; other rows have none."""
        if self.errors is None:
            return np.zeros((len(X), 1), dtype=np.float32)
        places, is_known = self.find(X)
        return self.errors[places] * is_known[:, None]

    def find(self, X: Matrix) -> tuple[Places, npt.NDArray[np.bool_]]:
        """Return the places of rows in the training table, and whether they were learned from.

        A row that equals a marked one is that row.
        """
        places, is_known = self._known_rows.find(X)
        if self.reference is not None:
            places = self.reference[places]
        if self.marks:
            marked, is_marked = self._marked_rows.find(X)
            places[is_marked] = np.array(list(self.marks), dtype=np.intp)[marked[is_marked]]
            is_known |= is_marked
        return places, is_known

    def learn(self, table: MarkedTable, share: Contamination) -> "Fitted":
        """Take the scores of the marked table; flag a share of its rows, or as many as expected."""
        base = self.unmarked or self
        if not table.marks:
            return base
        threshold = base.threshold
        if share != "auto":
            threshold = threshold_of(table.scores, share)
        elif table.is_learned:
            threshold = table.threshold(int(base.labels.sum()))
        return replace(base, scores=table.scores, threshold=threshold, marked=table, unmarked=base)

    def answered(
        self,
        answers: Mapping[int, bool | None],
        share: Contamination,
        errors: Errors | None,
        ranker: Ranker | None = None,
    ) -> "Fitted":
        """Learn answers for rows of the training table, whose errors these are."""
        fitted = replace(self, errors=errors)
        if not answers:
            return fitted
        table = fitted.markable(ranker)
        table.mark(answers)
        return fitted.learn(table, share)

    def markable(self, ranker: Ranker | None = None) -> MarkedTable:
        """Return the training table with the marks so far, to which others can be added."""
        if self.marked is not None:
            return self.marked.copy()
        known = slice(None) if self.reference is None else self.reference
        errors = None if self.errors is None else self.errors[known]
        space = RowSpace(self.X[known], self.scores[known], self.members[known], self.seed, errors)
        rows = None
        if self.reference is not None:
            rows = space.describe(self.X, self.scores, self.members, self.errors)
        return MarkedTable(space, self.scores, ranker, rows)

    def with_training_scores(
        self, share: Contamination, tracker: Tracker, extremes: Extremes | None = None
    ) -> "Fitted":
        """Score the training table and set the threshold; find its extreme cells, unless given.

        Rows that the detector is fitted to have its training scores, but for extreme cells.
        """
        report = tracker.scoring(len(self.X))
        training = np.column_stack(self._finite([own.decision_scores_ for own in self._models]))

        def score(X: Matrix) -> Matrix:
            places, is_known = self._known_rows.find(X)
            found = training[places]
            if not is_known.all():
                found[~is_known] = np.column_stack(self._by_models(X[~is_known]))
            return found

        if self.reference is not None:
            _ = self._known_rows
            training = self._in_blocks(score, self.X, report)
        scores = np.ascontiguousarray(training[:, 0])
        here = extremes or Extremes.of(self.X, self.detector.fixed)
        gaps = self._in_blocks(here.gaps, self.X)
        extremes = extremes or here.beside(scores, gaps)
        scores = extremes.lifted(scores, gaps)
        found = automatic_share(scores) if share == "auto" else share
        threshold = threshold_of(scores, found)
        flagged = scores > threshold
        self.detector.contamination = found  # with "auto" it is known only after scoring
        self.detector.threshold_ = threshold
        own = flagged if self.reference is None else flagged[self.reference]
        self.detector.labels_ = own.astype(np.int64)
        return replace(
            self,
            scores=scores,
            members=np.ascontiguousarray(training[:, 1:]),
            extremes=extremes,
            threshold=threshold,
            ties=ties_note(int(flagged.sum()), len(scores), found),
        )

    def _score_block(self, X: Matrix, errors: Errors | None = None) -> Scores:
        places, is_known = self.find(X)
        scores = np.empty(len(X))
        scores[is_known] = self.scores[places[is_known]]
        if not is_known.all():
            own = None if errors is None else errors[~is_known]
            scores[~is_known] = self._score_new(X[~is_known], own)
        return scores

    def _score_new(self, X: Matrix, errors: Errors | None = None) -> Scores:
        own, members = self._by_models(X)
        if self.extremes is not None:
            own = self.extremes.lifted(own, self.extremes.gaps(X))
        if self.marked is None:
            return own
        return self.marked.score(self.marked.space.describe(X, own, members, errors), own)

    def _by_models(self, X: Matrix) -> tuple[Scores, Matrix]:
        """Return the detector's scores of new rows, and those of each model."""
        return self._finite([model.decision_function(X) for model in self._models])

    def _finite(self, parts: Sequence[Scores]) -> tuple[Scores, Matrix]:
        own = parts[0]
        if isinstance(self.detector, AverageDetector):
            own = self.detector.average(parts)
        scale, *scales = self._scales
        pairs = zip(scales, parts, strict=True)
        return scale.repaired(own), np.column_stack([s.repaired(part) for s, part in pairs])

    def _in_blocks(
        self,
        score: Callable[..., npt.NDArray[np.float64]],
        X: Matrix,
        on_block: Callable[[int], None] | None = None,
        *more: Errors,
    ) -> npt.NDArray[np.float64]:
        """Score rows in blocks and threads; a user's own family scores all rows together."""
        specs = [ModelSpec.parse(str(model.spec)) for model in self._models]
        with _ignored_warnings():
            if not all(family(spec.detector).builtin for spec in specs):
                return score(X, *more)
            return in_blocks(score, X, self.n_jobs, on_block, *more)

    @cached_property
    def _models(self) -> list[SpecDetector]:
        is_average = isinstance(self.detector, AverageDetector)
        return self.detector.detectors_ if is_average else [self.detector]

    @cached_property
    def _scales(self) -> list[ScoreScale]:
        """How scores are made finite: those of the detector, then those of each model."""
        name = " + ".join(str(model.spec) for model in self._models)
        return [
            ScoreScale.of(self.detector.decision_scores_, where=name),
            *(ScoreScale.of(own.decision_scores_, where=str(own.spec)) for own in self._models),
        ]

    @cached_property
    def _known_rows(self) -> RowIndex:
        return RowIndex(self.X if self.reference is None else self.X[self.reference])

    @cached_property
    def _marked_rows(self) -> RowIndex:
        return RowIndex(self.X[list(self.marks)])


def _given(errors: Errors | None) -> tuple[Errors, ...]:
    return () if errors is None else (errors,)


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
        fit = partial(_fit, X=reference, fixed=fixed, seed=random_state, n_jobs=n_jobs)
        detectors = _fit_those_that_work(members, fit, notes, tracker, is_all=places is None)
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
    fitted = _combined(detectors, weights, X, places, random_state, n_jobs, notes)
    return fitted.with_training_scores(share, tracker)


def fit_models(
    models: Sequence[ModelSpec],
    X: Matrix,
    *,
    fixed: Fixed = None,
    weights: Sequence[float] | None = None,
    contamination: Contamination = "auto",
    random_state: int = 0,
    n_reference: int,
    extremes: Extremes | None = None,
    tracker: Tracker | None = None,
) -> Fitted:
    """Fit exactly these models to the first rows and average them; raise an error if one fails.

    `extremes` are those of the table from which the rows are; by default those of the rows.
    """
    tracker = tracker or Tracker(None)
    places = None if n_reference == len(X) else np.arange(n_reference)
    reference = X[:n_reference]
    tracker.plan_fits(models, reference.shape)
    detectors = []
    for spec in models:
        tracker.fit(spec)
        detectors.append(_fit(spec, reference, fixed, random_state, None))
    fitted = _combined(detectors, weights, X, places, random_state, None)
    return fitted.with_training_scores(contamination, tracker, extremes)


def _fit_those_that_work(
    models: Sequence[ModelSpec],
    fit: Callable[[ModelSpec], SpecDetector],
    notes: list[str],
    tracker: Tracker,
    *,
    is_all: bool,
) -> list[SpecDetector]:
    detectors = []
    for spec in models:
        tracker.fit(spec)
        try:
            detector = fit(spec)
            if is_all or hasattr(detector.detector_, "decision_function"):
                detectors.append(detector)
                continue
            reason = "it cannot score rows that it has not learned from, and the table is large"
        except UserError as error:
            reason = str(error.what)
        except MemoryError:
            reason = "there is not enough memory for it"
        notes.append(f"{spec.id} was not used: {reason}.")
    return detectors


def _fit(spec: ModelSpec, X: Matrix, fixed: Fixed, seed: int, n_jobs: int | None) -> SpecDetector:
    with _ignored_warnings():
        detector = SpecDetector(spec, seed, n_jobs=n_jobs, fixed=fixed).fit(X)
    ScoreScale.of(detector.decision_scores_, where=spec.id)  # refuses what cannot be repaired
    return detector


def _combined(
    detectors: Sequence[SpecDetector],
    weights: Sequence[float] | None,
    X: Matrix,
    places: Places | None,
    seed: int,
    n_jobs: int | None,
    notes: Sequence[str] = (),
) -> Fitted:
    """Return the only detector or the average of all, without training scores."""
    detector: SpecDetector | AverageDetector = detectors[0]
    if len(detectors) > 1:
        specs = [own.spec for own in detectors]
        average = AverageDetector(specs, weights, seed, n_jobs=n_jobs, fixed=detector.fixed)
        detector = average.take(list(detectors))
    own: Scores = detector.decision_scores_
    n_undefined = len(own) - int(np.count_nonzero(np.isfinite(own)))
    if n_undefined:
        name = " + ".join(str(member.spec) for member in detectors)
        undefined = f"{n_undefined:,} of {len(own):,} rows"
        notes = [*notes, f"{name} has no score for {undefined}; they got the median."]
    return Fitted(detector, X, seed, tuple(notes), reference=places, n_jobs=n_jobs)


class _ignored_warnings(warnings.catch_warnings):  # noqa: N801 - used as a function
    """Ignore warnings of detectors: what they warn of is repaired or is in the notes."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
