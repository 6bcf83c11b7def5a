"""Findings: cells that are probably wrong, and what would be usual."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import cut_name
from metaod.tables import cell_text

CONFIDENT = 0.3
"""The least score of a finding: about half of such cells are wrong, and most of all above it."""

LEAST_SCORE = 0.02
"""Cells below it are not listed at all."""

_LONGEST, _LONGEST_PHRASE = 40, 80

_NUMERIC = re.compile(r"[^\w\s'\"]*\s?[0-9]")  # a number, date or amount: -21,5 or $ 1,234
CERTAIN = 0.9
"""The least score of a cell that is almost certainly wrong."""

_CERTAINTIES = {CERTAIN: "almost certain", 0.7: "likely", 0.0: "possible"}

KINDS = {
    "type": "wrong type for this column",
    "missing": "missing, which is rare in this column",
    "duplicate": "the same row twice",
    "key": "occurs twice, but should be unique",
    "formula": "does not follow from other columns",
    "order": "two dates in the wrong order",
    "dependency": "contradicts other rows with the same values",
    "decimal": "decimal shift?",
    "sign": "wrong sign?",
    "unit": "another unit?",
    "digits": "mistyped digits?",
    "swapped": "swapped with another column?",
    "code": "looks like a code for missing",
    "spelling": "misspelt?",
    "spacing": "different case or spacing",
    "pattern": "written differently from the rest of the column",
    "far": "far from all other values",
    "series": "does not fit its time series",
    "stuck": "stuck?",
    "number": "unexpected for this row",
    "category": "unexpected for this row",
    "copied": "copied from the row before?",
}
"""Kinds of findings: a word for programs, and how screens name it."""


@dataclass(frozen=True)
class Finding:
    """A cell that is probably wrong.

    Parameters
    ----------
    row : int
        Its position in the table, from 0.
    column : str
        Its column.
    value : object
        Its value, as written in the table; None if it is missing.
    expected : str
        What would be usual: a value, a range, or what the rest of the column is.
    kind : str
        One of `KINDS`.
    score : float
        The probability that the cell is wrong: of cells with a score of 0.8, four of five were, on
        tables that the scores were not learned from.
    why : str
        The condition under which the expected value is expected, if there is one, such as
        "with city 'Bonn'".
    slip : str
        How a number came from the suggestion, if it is known: "× 100", "without tax".
    suggestion : object
        A value that would correct the cell; None if there is none to name.
    written : str
        The cell as the file has it, if that is known and the value is no text.
    """

    row: int
    column: str
    value: Any
    expected: str
    kind: str
    score: float
    why: str = ""
    suggestion: Any = None
    slip: str = ""
    written: str = ""

    @property
    def text(self) -> str:
        """The value for a sentence: as the file has it, and shortened."""
        return short(self.value, self.written)

    @property
    def certainty(self) -> str:
        """The score in words."""
        return certainty(self.score)

    def sentence(self) -> str:
        """Describe the finding.

        Examples
        --------
        >>> print(Finding(3, "amount", "12400", "about 1,240", "decimal", 0.9).sentence())
        amount 12400: about 1,240 would be usual; decimal shift?
        >>> print(Finding(3, "name", "", "a value", "missing", 0.9).sentence())
        name is missing, which is rare in this column
        """
        name = cut_name(self.column)
        if self.kind == "missing" and not self.written.strip():
            return f"{name} is {KINDS[self.kind]}"
        return f"{name} {self.text}: {self.reason()}"

    def reason(self) -> str:
        """Describe what is wrong, without the column and the value."""
        if self.kind == "duplicate":
            return self.expected
        usual = f"{_cut(self.expected, _LONGEST_PHRASE)} would be usual" if self.expected else ""
        condition = f" {_cut(self.why, _LONGEST_PHRASE)}" if self.why else ""
        return "; ".join(filter(None, [f"{usual}{condition}".strip(), KINDS[self.kind]]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; rows are counted from 1, as on screens."""
        words = {"certainty": self.certainty, "sentence": self.sentence()}
        return {**asdict(self), "row": self.row + 1, **words}


@dataclass(frozen=True, eq=False)
class WrongCells:
    """What is probably wrong in a table.

    Parameters
    ----------
    cells : DataFrame
        All cells with any suspicion, the most suspicious first: row (position), column, value,
        expected, kind, why, slip, suggestion, score, and whether it is a finding together with
        others.
    row_scores : ndarray of float
        For each row, the probability that one of its cells is wrong.
    n_dropped : int
        Findings that are not among the cells, because there are too many.
    """

    cells: pd.DataFrame
    row_scores: npt.NDArray[np.float64]
    n_dropped: int = 0
    _flags: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    _kept: dict[float, tuple[Finding, ...]] = field(default_factory=dict, repr=False)

    def findings(self, least: float = CONFIDENT) -> tuple[Finding, ...]:
        """Return the cells with at least this score, and findings together, by their scores."""
        if least not in self._kept:
            kept = self.cells[self._are_findings(least)].drop(columns="together")
            rows: list[Any] = kept.to_dict("records")
            self._kept[least] = tuple(Finding(**row) for row in rows)
        return self._kept[least]

    def flags(self, least: float = CONFIDENT) -> npt.NDArray[np.bool_]:
        """Tell of each row whether it has a finding with at least this score."""
        if self._flags is not None and least == CONFIDENT:
            return self._flags
        flagged = np.zeros(len(self.row_scores), dtype=np.bool_)
        flagged[self.cells["row"][self._are_findings(least)]] = True
        return flagged

    def _are_findings(self, least: float = CONFIDENT) -> "pd.Series[bool]":
        """Tell of each cell whether it has this score, or is a finding together with others."""
        is_together = self.cells["together"].astype(bool) & (least <= CONFIDENT)
        return (self.cells["score"] >= least) | is_together

    @cached_property
    def n_findings(self) -> int:
        """Cells that are probably wrong."""
        return self.n_dropped + int(self._are_findings().sum())

    def of_rows(self) -> npt.NDArray[np.float32]:
        """Return each row's score, and for each of `KINDS` its largest score of a cell."""
        found = np.zeros((len(self.row_scores), 1 + len(KINDS)), dtype=np.float32)
        found[:, 0] = self.row_scores
        kinds = self.cells["kind"].map(dict(zip(KINDS, range(1, 1 + len(KINDS)), strict=True)))
        places = self.cells["row"].to_numpy(dtype=np.intp), kinds.to_numpy(dtype=np.intp)
        np.maximum.at(found, places, self.cells["score"].to_numpy(dtype=np.float32))
        return found

    def at(self, places: npt.NDArray[np.intp]) -> "WrongCells":
        """Return the findings of some rows, by their positions among these; no row twice."""
        positions = np.full(len(self.row_scores), -1, dtype=np.intp)
        positions[places] = np.arange(len(places))
        rows = positions[self.cells["row"].to_numpy(dtype=np.intp)]
        return WrongCells(self.cells.assign(row=rows)[rows >= 0], self.row_scores[places])

    def taught(self, answers: Mapping[tuple[int, str], bool]) -> "WrongCells":
        """Return the findings after a person has confirmed (True) or rejected (False) some cells.

        A confirmed cell has the score 1 and a rejected one 0. The scores of other findings of the
        same kind and column are multiplied by the share of those that were confirmed, where one
        confirmation is added: after one rejection only likely ones are left, after three none. A
        finding together with others is none if most of them were rejected. The score of a row
        changes as that of its most suspicious cell.

        Parameters
        ----------
        answers : mapping of (row, column) to bool
            The answers; rows are positions.
        """
        cells = self.cells
        given = pd.MultiIndex.from_frame(cells[["row", "column"]]).map(dict(answers))
        answer = pd.Series(np.asarray(given, dtype=np.float64), cells.index)
        alike = answer.groupby([cells["kind"], cells["column"]])
        n_confirmed, n_answers = alike.transform("sum"), alike.transform("count")
        share = (n_confirmed + 1) / (n_answers + 1)
        stays = cells["together"].astype(bool) & answer.isna() & (2 * n_confirmed >= n_answers)
        taught = cells.assign(score=answer.fillna(cells["score"] * share), together=stays)
        before, now = (own.groupby("row")["score"].max() for own in (cells, taught))
        scores = self.row_scores.copy()
        rows = before.index.to_numpy(dtype=np.intp)
        scores[rows] = np.minimum(1.0, scores[rows] * (now / before).to_numpy())
        return WrongCells(taught.sort_values("score", ascending=False, kind="stable"), scores)


class Collector:
    """Collects the findings of parts of a table.

    Parameters
    ----------
    n_rows : int
        Rows of the whole table.
    most : int, optional
        Cells to keep, the most suspicious ones; by default all.
    """

    def __init__(self, n_rows: int, most: int | None = None) -> None:
        self._scores = np.zeros(n_rows)
        self._flags = np.zeros(n_rows, dtype=np.bool_)
        self._most = most
        self._cells = pd.DataFrame()
        self._n_findings = 0

    def add(self, places: npt.NDArray[np.intp], found: WrongCells) -> None:
        """Add the findings of rows that are at these places of the whole table."""
        self._scores[places] = found.row_scores
        self._flags[places] = found.flags()
        self._n_findings += found.n_findings
        cells = found.cells.assign(row=places[found.cells["row"].to_numpy(dtype=np.intp)])
        if len(self._cells):
            cells = pd.concat([self._cells, cells]) if len(cells) else self._cells
        cells = cells.sort_values(["score", "row"], ascending=[False, True], kind="stable")
        self._cells = cells.head(self._most or len(cells))

    def result(self) -> WrongCells:
        """Return the findings of the whole table."""
        found = WrongCells(self._cells.reset_index(drop=True), self._scores, _flags=self._flags)
        return replace(found, n_dropped=self._n_findings - found.n_findings)


def certainty(score: float) -> str:
    """Return a score in words."""
    return next(word for least, word in _CERTAINTIES.items() if score >= least)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short(value: Any, written: str = "") -> str:
    """Return a value for a sentence, as the file has it: text in quotes, and shortened."""
    text = _cut(cell_text(value, written), _LONGEST)
    is_number = isinstance(value, int | float | np.number)
    return text if is_number or _NUMERIC.match(text) else repr(text)
