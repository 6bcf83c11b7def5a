"""Fitting what was picked, and taking the next model where one fails on the table."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError
from metaod.learners import Choice
from metaod.models import AverageDetector, ModelSpec, ScoreScale, SpecDetector
from metaod.selection._picks import resolved
from metaod.selection._recognition import KnownRows
from metaod.selection._selection import Selection
from metaod.selection._threshold import (
    Contamination,
    check_contamination,
    estimated_share,
    threshold_of,
)

__all__ = ["Fitted", "detector_of", "fit_choice", "fit_models"]

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]
Detector = SpecDetector | AverageDetector


@dataclass(frozen=True, eq=False)
class Fitted:
    """A choice, fitted to a table.

    Parameters
    ----------
    choice : Choice
        The models that were fitted: those picked, or what was taken in their place.
    detector : SpecDetector or AverageDetector
        The fitted detector; its threshold and labels are these.
    X : ndarray of float, shape (n_rows, n_columns)
        The training table.
    scores : ndarray of float, shape (n_rows,)
        Finite scores of its rows, higher is more outlying.
    threshold : float
        Rows that score above it are flagged.
    seed : int
        What random models were seeded with.
    notes : tuple of str
        What the user should know: which models were passed over, and why.
    """

    choice: Choice
    detector: Detector
    X: Matrix
    scores: Scores
    threshold: float
    seed: int
    notes: tuple[str, ...] = field(default=())

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """1 for the rows of the training table that are flagged, 0 for the others."""
        return (self.scores > self.threshold).astype(np.int64)

    def score(self, X: Matrix) -> Scores:
        """Finite scores of rows, each against the training table; higher is more outlying.

        A row that is in the training table has the score it has there, at which it is not its own
        neighbour. Where the detector is not defined for a row, as angles are not among duplicates,
        the row gets the median of the training scores.
        """
        return self._known.scores(X, lambda rows: self._scale.repaired(self._new(rows)))

    def _new(self, X: Matrix) -> Scores:
        with _quiet():
            scores: Scores = self.detector.decision_function(X)
        return scores

    @cached_property
    def _scale(self) -> ScoreScale:
        return ScoreScale.of(self.scores, where=self.choice.best)

    @cached_property
    def _known(self) -> KnownRows:
        return KnownRows(self.X, self.scores)


def detector_of(choice: Choice, contamination: float = 0.1, random_state: int = 0) -> Detector:
    """The detector of a choice, not fitted yet, with PyOD's interface."""
    specs = [ModelSpec.parse(name) for name in choice.weights]
    if choice.is_single:
        return SpecDetector(specs[0], random_state, contamination)
    return AverageDetector(specs, list(choice.weights.values()), random_state, contamination)


def fit_choice(
    selection: Selection,
    *,
    contamination: Contamination = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Fitted:
    """Fit what was picked to the table; where it fails, the next in the ranking.

    A model fails that raises, runs out of memory, or gives NaN or infinite scores to more than
    1 % of the rows. Of several picked models, as of an average's members, those that fail are
    dropped, and the others' weights grow in proportion. Where all fail, the models and averages of
    the ranking are tried one after another, without what has failed already.

    Parameters
    ----------
    selection : Selection
        The pick, its ranking and its table.
    contamination : "auto" or float in (0, 0.5], default="auto"
        Share of outliers.
    random_state : int, default=0
        Seed of random models.
    n_jobs : int, optional
        Jobs of detectors that can use several.

    Raises
    ------
    UserError
        Where every model fails.
    """
    share = check_contamination(contamination)
    X = selection.prepared.X
    notes: list[str] = []
    tried = set(selection.choice.weights)
    weights, detectors = _fit_each(selection.choice.weights, X, random_state, n_jobs, notes)
    for spec in selection.specs():
        if detectors:
            break
        members = resolved(Choice({spec.id: 1.0})).weights
        left = {name: weight for name, weight in members.items() if name not in tried}
        tried |= set(left)
        weights, detectors = _fit_each(left, X, random_state, n_jobs, notes)
    if not detectors:
        raise UserError(
            f"none of {len(notes)} models works on the table; the first: {notes[0]}",
            where=selection.prepared.source,
            remedy="allow more models, or check the table with 'metaod inspect'",
        )
    if notes:
        notes.append(f"Used instead: {' + '.join(weights)}.")
    return _finish(weights, detectors, X, share, random_state, n_jobs, notes)


def fit_models(
    choice: Choice,
    X: Matrix,
    *,
    contamination: Contamination = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Fitted:
    """Fit exactly these models; an error where one fails."""
    detectors = [_fit(name, X, random_state, n_jobs) for name in choice.weights]
    weights = dict(choice.weights)
    share = check_contamination(contamination)
    return _finish(weights, detectors, X, share, random_state, n_jobs, [])


def _fit_each(
    weights: Mapping[str, float], X: Matrix, seed: int, n_jobs: int | None, notes: list[str]
) -> tuple[dict[str, float], list[SpecDetector]]:
    """The models that do not fail; a note for each that does."""
    detectors: dict[str, SpecDetector] = {}
    for name in weights:
        try:
            detectors[name] = _fit(name, X, seed, n_jobs)
        except UserError as error:
            notes.append(f"{name} was passed over: {error.what}.")
        except MemoryError:
            notes.append(f"{name} was passed over: there is not enough memory for it.")
    total = sum(weights[name] for name in detectors)
    return {name: weights[name] / total for name in detectors}, list(detectors.values())


def _fit(name: str, X: Matrix, seed: int, n_jobs: int | None) -> SpecDetector:
    with _quiet():
        detector = SpecDetector(ModelSpec.parse(name), seed, n_jobs=n_jobs).fit(X)
    ScoreScale.of(detector.decision_scores_, where=name)  # refuses what cannot be repaired
    return detector


def _finish(
    weights: dict[str, float],
    detectors: list[SpecDetector],
    X: Matrix,
    share: Contamination,
    seed: int,
    n_jobs: int | None,
    notes: list[str],
) -> Fitted:
    choice = Choice(weights)
    detector: Detector
    if choice.is_single:
        detector = detectors[0]
    else:
        detector = AverageDetector(
            [ModelSpec.parse(name) for name in weights],
            list(weights.values()),
            seed,
            n_jobs=n_jobs,
        ).take(detectors)
    own: Scores = detector.decision_scores_
    n_undefined = len(own) - int(np.count_nonzero(np.isfinite(own)))
    if n_undefined:
        notes.append(
            f"{choice.best} has no score for {n_undefined} of {len(own)} rows; they got the median."
        )
    scores = ScoreScale.of(own, where=choice.best).repaired(own)
    found = estimated_share(scores) if share == "auto" else share
    threshold = threshold_of(scores, found)
    flagged = scores > threshold
    # at the share that was found, which is known only once there are scores
    detector.contamination = found
    detector.threshold_ = threshold
    detector.labels_ = flagged.astype(np.int64)
    n_flagged, n_meant = int(flagged.sum()), round(found * len(scores))
    if 2 * n_flagged < n_meant:
        notes.append(
            f"{n_flagged} of {len(scores)} rows are flagged where {found:.1%} were meant, about "
            f"{n_meant}: too many rows share the score at the threshold."
        )
    return Fitted(choice, detector, X, scores, threshold, seed, tuple(notes))


class _quiet(warnings.catch_warnings):  # noqa: N801 - reads as what it does: with _quiet()
    """What detectors warn of is told in notes, or repaired."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
