"""A table whose scores follow the marks of a person."""

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from types import MappingProxyType
from typing import Self

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix, Scores
from metaod.review._features import (
    FEATURES,
    KERNELS,
    Floats32,
    MarkedRows,
    Rows,
    RowSpace,
    similarities,
)
from metaod.review._ranker import MOST_COUNTED, Left, Ranker, left_of, state_features

MOST_MARKS = 200
"""Marks that are learned from; of more, outliers and others are thinned evenly."""

MOST_ASKED = 50_000
"""Rows of a larger table that a question may be about: those that the pick scores highest."""

_MOST_WITH_ERRORS = 10_000  # and those whose cells are most probably wrong
_BLOCK = 20_000  # rows whose similarities to all marks are in memory at once
# log odds of a row before any mark, from the tail of the pick's score: 5 % on average
_PRIOR_ODDS = -4.0
# weight of the pick's tail beside what is learned; docs/review.md has figures for others
_CAUTION = 0.15
# weight of the process's rank in the choice of a question: rows that are asked about by what is
# learned alone are too much like the rows that are marked
_CURIOSITY = 1.0
_PROCESS_RANK = FEATURES.index("process rank")


class MarkedTable:
    """Scores of a table's rows, and of new ones, that follow marks.

    Parameters
    ----------
    space : RowSpace
        The rows that all others are described against: the table, or a sample of it.
    scores : ndarray of float
        The pick's scores of the table's rows, which are the scores without marks.
    ranker : Ranker, optional
        What history says of marks; the shipped one by default.
    rows : Rows, optional
        The rows of the table; those of the space by default.

    Notes
    -----
    An answer changes what is known of all rows. Of a large table only some are scored again at
    once: those that may be asked about. ``scores`` scores all.
    """

    def __init__(
        self,
        space: RowSpace,
        scores: Scores,
        ranker: Ranker | None = None,
        rows: Rows | None = None,
    ) -> None:
        self.space = space
        self.rows = space.rows if rows is None else rows
        self._own = scores
        self.ranker = Ranker.shipped() if ranker is None else ranker
        self._answers: dict[int, bool | None] = {}
        self._watched = _watched_rows(scores, self.rows.errors)
        self._followed = self.rows if self._watched is None else self.rows[self._watched]
        self._similar: Floats32 = np.empty((len(KERNELS), 0, len(self._followed)), dtype=np.float32)
        self._places: list[int] = []  # the rows whose similarities are known

    @property
    def marks(self) -> Mapping[int, bool | None]:
        """The answers by row: an outlier, none, or unsure (None), in the order they were given."""
        return MappingProxyType(self._answers)

    @property
    def is_learned(self) -> bool:
        """Whether there is an answer other than unsure."""
        return bool(self._marks)

    @property
    def _marks(self) -> dict[int, bool]:
        """The answers that are learned from."""
        return {row: answer for row, answer in self._answers.items() if answer is not None}

    def mark(self, marks: Mapping[int, bool | None]) -> None:
        """Mark rows as outliers or not; None is for unsure, from which nothing is learned."""
        self._answers.update(marks)
        self._forget_scores()

    def unmark(self, row: int) -> None:
        """Remove the mark of a row."""
        del self._answers[row]
        self._forget_scores()

    def _forget_scores(self) -> None:
        for name in ("_learned", "features", "_odds", "scores", "state", "left"):
            self.__dict__.pop(name, None)

    def copy(self) -> Self:
        """Return a table with the same marks, which later marks do not change."""
        other = copy(self)
        other.__dict__ |= {"_answers": dict(self._answers), "_places": list(self._places)}
        return other

    @cached_property
    def scores(self) -> Scores:
        """The scores of the rows: marked outliers come first, rows marked as none last."""
        if not self._marks:
            return self._own
        found = self._odds if self._watched is None else self.score(self.rows, self._own)
        return self._with_marks(found)

    @cached_property
    def _odds(self) -> Scores:
        """The scores of the rows that are followed, whether marked or not."""
        return self._predicted(self.features, self._followed)

    @property
    def questions(self) -> Scores:
        """How much each row is worth a question; the scores, if there are no marks."""
        if not self._marks:
            return self._own
        return self._of_all(self._odds + _CURIOSITY * self.features[:, _PROCESS_RANK])

    def _of_all(self, worth: Scores) -> Scores:
        """Return the worth of all rows; rows that are not followed have the least."""
        if self._watched is None:
            return worth
        found = np.full(len(self._own), -np.inf)
        found[self._watched] = worth
        return found

    def _predicted(self, features: Floats32, rows: Rows) -> Scores:
        return self.ranker.rows.predict(features)[:, 0] + _CAUTION * rows.pick

    @property
    def doubts(self) -> Scores:
        """How much is learned of each row: most where its log odds are even; without marks, scores.

        The odds are up to a constant of the table; this works all the same (docs/review.md).
        """
        return self._of_all(-np.abs(self._odds)) if self._marks else self._own

    @cached_property
    def features(self) -> Floats32:
        """The features of the rows that are followed; there is at least one mark."""
        learned, used = self._learned
        return learned.features(self._followed, self._similar_to(used))

    @cached_property
    def state(self) -> Matrix:
        """The features of the review, by which the outliers left are estimated."""
        odds = self._odds if self._marks else self._followed.pick + _PRIOR_ODDS
        shape = len(odds), self.space.n_columns
        return state_features(odds[self.is_unmarked], list(self._marks.values()), shape)

    @property
    def is_unmarked(self) -> npt.NDArray[np.bool_]:
        """Which rows are not marked."""
        unmarked = np.ones(len(self._own), dtype=np.bool_)
        unmarked[list(self._marks)] = False
        return unmarked

    @cached_property
    def left(self) -> Left | None:
        """The number of outliers among the rows that are not marked, and its interval.

        None for a large table: in the tables that it was learned from outliers are not as rare.
        """
        if len(self._own) > MOST_COUNTED:
            return None
        n_left = int(self.is_unmarked.sum())
        if n_left == 0:
            return Left(0.0, 0.0, 0.0)
        return left_of(self.ranker.left.predict(self.state)[0], len(self._own), n_left)

    def threshold(self, n_before: int = 0) -> float:
        """Return the score above which as many rows are flagged as outliers are expected.

        In a large table it is as many as were flagged before the marks, or all marked outliers.
        """
        n_marked = sum(self._marks.values())
        left = self.left
        n_flagged = max(n_marked, n_before) if left is None else n_marked + round(left.estimate)
        falling = np.sort(self.scores)[::-1]
        if n_flagged == 0:
            return float(np.nextafter(falling[0], np.inf))
        if n_flagged == len(falling):
            return float(np.nextafter(falling[-1], -np.inf))
        return float((falling[n_flagged - 1] + falling[n_flagged]) / 2)

    def score(self, rows: Rows, own: Scores) -> Scores:
        """Score new rows, whose scores by the pick are ``own``."""
        if not self._marks:
            return own
        learned, _ = self._learned
        scores = np.empty(len(rows))
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            similar = similarities(self.space, block, learned.rows)
            scores[start : start + _BLOCK] = self._predicted(
                learned.features(block, similar), block
            )
        return scores

    @cached_property
    def _learned(self) -> tuple[MarkedRows, list[int]]:
        marks = self._marks
        used = _thinned(marks)
        answers = [marks[row] for row in used]
        rows = self.rows[np.asarray(used, dtype=np.intp)]
        if self._followed is self.space.rows:
            similar = self._similar_to(used)
        else:
            similar = similarities(self.space, self.space.rows, rows)
        return MarkedRows(self.space, rows, answers, similar), used

    def _similar_to(self, used: list[int]) -> Floats32:
        """Return the similarities of the rows that are followed, (kernels, used, rows)."""
        new = [row for row in used if row not in self._places]
        if new:
            found = similarities(
                self.space, self._followed, self.rows[np.asarray(new, dtype=np.intp)]
            )
            self._similar = np.concatenate([self._similar, found], axis=1)
            self._places += new
        if self._places != used:
            self._similar = self._similar[:, [self._places.index(row) for row in used]]
            self._places = list(used)
        return self._similar

    def _with_marks(self, scores: Scores) -> Scores:
        marks = self._marks
        answers = np.array(list(marks.values()), dtype=np.bool_)
        places = np.array(list(marks), dtype=np.intp)
        low, high = float(scores.min()), float(scores.max())
        placed = scores.copy()
        placed[places[answers]] += high - low + 1.0
        placed[places[~answers]] -= high - low + 1.0
        return placed


def _thinned(marks: Mapping[int, bool]) -> list[int]:
    """Return the rows that are learned from: all, or an even choice of both kinds."""
    if len(marks) <= MOST_MARKS:
        return list(marks)
    # sorted, so that the choice does not depend on the order of the marks
    kinds = [sorted(row for row in marks if marks[row] is kind) for kind in (True, False)]
    fewer, more = sorted(kinds, key=len)
    quota = min(len(fewer), MOST_MARKS // 2)
    kept: list[int] = []
    for rows, count in ((fewer, quota), (more, MOST_MARKS - quota)):
        places: npt.NDArray[np.intp] = np.linspace(0, len(rows) - 1, count).astype(np.intp)
        kept += [rows[place] for place in places]
    return sorted(kept)


def _watched_rows(scores: Scores, errors: Floats32) -> npt.NDArray[np.intp] | None:
    """Return the rows of a large table that are scored after every answer; None for all."""
    if len(scores) <= MOST_ASKED + _MOST_WITH_ERRORS:
        return None
    own = np.argpartition(-scores, MOST_ASKED)[:MOST_ASKED]
    wrong = np.argpartition(-errors[:, 0], _MOST_WITH_ERRORS)[:_MOST_WITH_ERRORS]
    return np.union1d(own, wrong[errors[wrong, 0] > 0])
