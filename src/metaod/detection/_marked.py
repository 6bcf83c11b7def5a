"""A fitted pick whose scores follow marks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.detection._fitting import Fitted
from metaod.detection._large_tables import Places, RowIndex
from metaod.detection._threshold import Contamination, threshold_of
from metaod.models import Matrix, Scores
from metaod.review import MarkedTable, Ranker, RowSpace


@dataclass(frozen=True, eq=False)
class MarkedFit(Fitted):
    """A pick and its training table with marks, whose scores these are."""

    pick: Fitted = field(kw_only=True)
    table: MarkedTable = field(kw_only=True)

    @classmethod
    def of(cls, pick: Fitted, table: MarkedTable, share: Contamination) -> Self:
        """Take the scores of a marked table; flag a share of its rows, or as many as expected."""
        scores = table.scores
        if share != "auto":
            threshold = threshold_of(scores, share)
        else:
            threshold = table.threshold() if table.is_learned else pick.threshold
        rest = (threshold, pick.seed, pick.notes)
        more: dict[str, Any] = {
            "members": pick.members,
            "reference": pick.reference,
            "n_jobs": pick.n_jobs,
        }
        return cls(pick.detector, pick.X, scores, *rest, **more, pick=pick, table=table)

    @property
    def marks(self) -> Mapping[int, bool]:
        """The marked rows that it has learned from; True for an outlier."""
        answers = self.table.marks.items()
        return {row: answer for row, answer in answers if answer is not None}

    def find(self, X: Matrix) -> tuple[Places, npt.NDArray[np.bool_]]:
        """Do the same as for a pick; a row that equals a marked one is that row."""
        places, is_known = super().find(X)
        marked, is_marked = self._marked_rows.find(X)
        places[is_marked] = np.array(list(self.marks), dtype=np.intp)[marked[is_marked]]
        return places, is_known | is_marked

    @cached_property
    def _marked_rows(self) -> RowIndex:
        return RowIndex(self.X[list(self.marks)])

    def _score_new(self, X: Matrix) -> Scores:
        own, members = self._scorer.score(X)
        return self.table.score(self.table.space.describe(X, own, members), own)


def learn_marks(
    pick: Fitted,
    marks: Mapping[int, bool | None],
    share: Contamination,
    ranker: Ranker | None = None,
) -> Fitted:
    """Learn from marks of training rows; without marks the pick stays as it is."""
    if not marks:
        return pick
    table = marked_table(pick, ranker)
    table.mark(marks)
    return MarkedFit.of(pick, table, share)


def marked_table(pick: Fitted, ranker: Ranker | None = None) -> MarkedTable:
    """Return the training table of a pick, ready to be marked."""
    if pick.reference is None:
        space = RowSpace(pick.X, pick.scores, pick.members, pick.seed)
        return MarkedTable(space, pick.scores, ranker)
    known = pick.reference
    space = RowSpace(pick.X[known], pick.scores[known], pick.members[known], pick.seed)
    rows = space.describe(pick.X, pick.scores, pick.members)
    return MarkedTable(space, pick.scores, ranker, rows)
