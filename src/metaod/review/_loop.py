"""The loop of a review: which row to look at next, and what the answers tell."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod._legal import Whole
from metaod.errors import BadParameter, UserError
from metaod.models import Scores
from metaod.review._marked_table import MarkedTable
from metaod.review._ranker import Left

_OWNER = "Review"
STRATEGIES = ("found", "learn")
"""What questions may be for."""


class ReviewLoop:
    """Asks about rows and learns from the answers.

    Parameters
    ----------
    table : MarkedTable
        The table, without marks.
    askable : array of bool, optional
        The rows that may be asked about; all by default.
    strategy : {"found", "learn"}, default="found"
        What questions are for: outliers, or a better ranking of the rows that are not asked about.
    """

    def __init__(self, table: MarkedTable, askable: Any = None, strategy: str = "found") -> None:
        if strategy not in STRATEGIES:
            raise BadParameter(_OWNER, "strategy", STRATEGIES, strategy)
        self.strategy = strategy
        self._table = table
        self._askable = _checked_mask(askable, len(table.rows))

    def __repr__(self) -> str:
        counts = f"{self.n_rows:,} rows, {len(self.marks):,} answers, {self.found:,} outliers"
        return f"<{type(self).__name__}: {counts}>"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._askable)

    def ask(self, n: int | None = None) -> Any:
        """Return the position of the row to look at next; with ``n``, a list of up to n rows.

        Of the rows without an answer it is one that is probably an outlier: the ranking decides,
        with some weight for rows that are unlike the marked ones. With the strategy "learn" it is
        one that may be an outlier or not.
        """
        if not Whole(1, optional=True).allows(n):
            raise BadParameter(_OWNER, "n", str(Whole(1)), n)
        open_rows = self._askable.copy()
        open_rows[list(self._table.marks)] = False
        if not open_rows.any():
            what = f"all {int(self._askable.sum()):,} rows that may be asked about have an answer"
            raise UserError(what, where=_OWNER, remedy="use the scores, or allow more rows")
        table = self._table
        worth = table.questions if self.strategy == "found" else table.doubts
        order = np.argsort(-worth, kind="stable")
        found = order[open_rows[order]][: 1 if n is None else n]
        return int(found[0]) if n is None else found.tolist()

    def tell(self, row: int, answer: bool | None) -> None:
        """Take an answer for a row: True for an outlier, False for none, None for unsure.

        An unsure row is not asked about again and changes nothing. A row that was not asked about
        may be told, too.
        """
        self.tell_many({row: answer})

    def tell_many(self, marks: Mapping[int, bool | None]) -> None:
        """Take several answers at once; either all are taken or none."""
        self._table.mark(self.check(marks))

    def check(self, marks: Mapping[int, bool | None]) -> dict[int, bool | None]:
        """Return answers that may be taken; an error says which may not."""
        checked = checked_marks(marks, self._askable)
        for row, answer in checked.items():
            known = self._table.marks.get(row)  # an unsure row may be answered later
            if known is not None and known is not answer:
                what = f"row {row} is already marked as {_word(known)}, not as {_word(answer)}"
                raise UserError(what, where=_OWNER, remedy=f"call forget({row}) first")
        return checked

    def forget(self, row: int) -> None:
        """Take the answer for a row back."""
        place = _checked_row(row, self._askable, _OWNER)
        if place not in self._table.marks:
            what = f"row {place} has no answer"
            raise UserError(what, where=_OWNER, remedy="see the attribute marks")
        self._table.unmark(place)

    @property
    def marks(self) -> dict[int, bool | None]:
        """The answers by row, in the order in which they were given."""
        return dict(self._table.marks)

    @property
    def scores(self) -> Scores:
        """Scores of all rows; higher is more outlying."""
        return self._table.scores.copy()

    @property
    def ranking(self) -> npt.NDArray[np.intp]:
        """Positions of all rows, the most outlying first."""
        return np.argsort(-self._table.scores, kind="stable")

    @property
    def found(self) -> int:
        """Number of rows that are marked as outliers."""
        return sum(answer is True for answer in self._table.marks.values())

    @property
    def expected_left(self) -> Left | None:
        """How many outliers there are among the rows that are not marked, with an interval.

        None for tables of more than 3,000 rows.
        """
        return self._table.left


def checked_marks(
    marks: Any, askable: npt.NDArray[np.bool_], owner: str = _OWNER
) -> dict[int, bool | None]:
    """Check marks by row; ``askable`` tells which rows may be marked."""
    if not isinstance(marks, Mapping):
        raise BadParameter(owner, "marks", "a mapping from rows to answers", marks)
    checked = {}
    for row, answer in marks.items():
        place = _checked_row(row, askable, owner)
        if answer is not None and not isinstance(answer, bool | np.bool_):
            legal = "True for an outlier, False for none, or None for unsure"
            raise BadParameter(owner, f"answer for row {place}", legal, answer)
        checked[place] = None if answer is None else bool(answer)
    return checked


def _checked_row(row: Any, askable: npt.NDArray[np.bool_], owner: str) -> int:
    legal = f"the position of a row, 0 to {len(askable) - 1}"
    if not Whole(0, len(askable) - 1).allows(row):
        raise BadParameter(owner, "row", legal, row)
    if not askable[row]:
        raise BadParameter(owner, "row", "a row that may be asked about (askable)", int(row))
    return int(row)


def _word(answer: bool | None) -> str:
    return "unsure" if answer is None else "an outlier" if answer else "no outlier"


def _checked_mask(askable: Any, n_rows: int) -> npt.NDArray[np.bool_]:
    if askable is None:
        return np.ones(n_rows, dtype=np.bool_)
    mask = np.asarray(askable)
    legal = f"an array of {n_rows} booleans, at least one of them True"
    if mask.dtype != np.bool_ or mask.shape != (n_rows,) or not mask.any():
        raise BadParameter(_OWNER, "askable", legal, f"{mask.dtype} of shape {mask.shape}")
    return mask.copy()
