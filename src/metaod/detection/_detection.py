"""The result of detecting: a table, the scores of its rows, and what led to them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaod.detection._reasons import RowReasons
from metaod.detection._threshold import clear_gap
from metaod.errors import Message
from metaod.review import UsedMarks
from metaod.selection import Selection
from metaod.tables import PreparationRecord, PreparedTable, Table

if TYPE_CHECKING:
    from metaod.detection._comparison import Compared
    from metaod.detection._estimator import MetaOD


@dataclass(frozen=True, eq=False)
class Detection:
    """A table, the scores of its rows, and the selection unless the pick was a saved one."""

    table: Table
    scores: npt.NDArray[np.float64]
    threshold: float
    weights: dict[str, float]
    notes: tuple[str | Message, ...]
    record: PreparationRecord
    selection: Selection | None = None
    top_n: int | None = None
    compared: "tuple[Compared, ...]" = ()  # on the label, if there is one
    marks: UsedMarks | None = None
    explain: Callable[..., list[RowReasons]] = lambda _, **__: []  # of places and `progress`
    why: list[str] | None = None  # reasons to write, a text for each row
    model: "MetaOD | None" = None  # fitted; to this table unless the pick was a saved one

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.scores)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the pick may be unreliable, and how new rows differ from those of a saved pick."""
        own = () if self.selection is None else self.selection.trust.warnings
        return (*own, *self.record.drift_warnings())

    @cached_property
    def flags(self) -> npt.NDArray[np.int64]:
        """1 for outliers, 0 for the other rows."""
        if self.top_n is None:
            return (self.scores > self.threshold).astype("int64")
        return (self.order.argsort() < self.top_n).astype("int64")

    @cached_property
    def gap(self) -> tuple[int, float, float] | None:
        """Rows above a clear gap in the scores, and the scores at its ends; or None.

        Marked outliers are far above all other rows, so with marks a gap tells nothing.
        """
        if self.marks is not None:
            return None
        n_above = clear_gap(self.scores)
        if n_above is None:
            return None
        return n_above, self.score_at(n_above), self.score_at(n_above + 1)

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Places of the rows, the most outlying first; equal scores as in the table."""
        return (-self.scores).argsort(kind="stable")

    @cached_property
    def ranks(self) -> npt.NDArray[np.int64]:
        """1 for the most outlying row; equal scores share the smallest of their ranks."""
        ordered = -self.scores[self.order]
        return ordered.searchsorted(-self.scores, side="left").astype("int64") + 1

    def top(self, number: int) -> npt.NDArray[np.intp]:
        """Return the places of the most outlying rows, in their order."""
        return self.order[:number]

    def score_at(self, number: int) -> float:
        """Return the score that so many rows, counted in their order, reach."""
        return float(self.scores[self.order[number - 1]])

    def ranks_of(self, places: npt.NDArray[np.intp]) -> list[int]:
        """Return the ranks of some rows."""
        return [int(rank) for rank in self.ranks[places]]

    def rows(self, places: npt.NDArray[np.intp]) -> Table:
        """Return some rows of the table."""
        return self.table.take(places)

    def listed(self) -> npt.NDArray[np.intp]:
        """Return the flagged rows that a document lists, the most outlying first."""
        return self.top(int(self.flags.sum()))

    def mapped(self) -> tuple[PreparedTable, npt.NDArray[np.intp]]:
        """Return the prepared rows that a map of the table shows, and their places."""
        if self.selection is not None:
            prepared = self.selection.prepared
        else:
            assert self.model is not None  # noqa: S101 - a saved pick
            prepared = self.model.preparation_.transform(self.table)
        return prepared, np.arange(self.n_rows)


def detection_of(model: "MetaOD", table: Table) -> Detection:
    """Return the result of an estimator for the table that it was fitted to."""
    marks = model.fitted_.marks
    return Detection(
        table,
        model.decision_scores_,
        model.threshold_,
        model.fitted_.weights,
        model.notes_,
        model.preparation_.record_,
        model.selection_,
        marks=UsedMarks(dict(marks)) if marks else None,
        explain=model.explain_rows,
        model=model,
    )
