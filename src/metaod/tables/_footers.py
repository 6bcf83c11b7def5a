"""Rows below a table: totals, and notes in a single cell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import Message, Setting
from metaod.tables._column_types import may_be_text
from metaod.tables._notations import MISSING_WORDS, Hints, infer, shorten
from metaod.tables._objects import text_of

_TOTAL = re.compile(
    r"(?:(?:grand|sub|over)[ -]?)?totals?|sums?|summen?|gesamt(?:summe|ergebnis)?|insgesamt|"
    r"zwischensumme|average|mean|mittelwert|durchschnitt|total général|somme|suma|totale",
    re.IGNORECASE,
)
_MOST_NOTES = 5
_ROUNDING = 1e-3  # of totals
_FEWEST_CELLS = 3  # of the rows above notes


@dataclass(frozen=True)
class Footer:
    """The last rows of a table, if they seem to be no rows of it."""

    n_rows: int
    what: str
    is_sure: bool  # a total whose numbers are sums or means of those above, or without numbers

    def left_out(self) -> Message:
        """Say that they are left out."""
        return Message(
            "footer-left-out",
            "{what}, and {were} left out: {setting} keeps {them}",
            what=self.what,
            were="was" if self.n_rows == 1 else "were",
            them="it" if self.n_rows == 1 else "them",
            setting=Setting("skip_footer", 0),
        )

    def offered(self, n_skipped: int = 0) -> Message:
        """Say how to leave them out, above rows that are already."""
        setting = Setting("skip_footer", self.n_rows + n_skipped)
        template = "{what}: {setting} leaves out such rows"
        return Message("footer-read", template, what=self.what, setting=setting)

    def noted(self) -> Message:
        """Say what to do with rows of a table in memory, which are all kept."""
        template = "{what}: remove {them} from the table if {they} not rows of it"
        they, them = ("it is", "it") if self.n_rows == 1 else ("they are", "them")
        return Message("footer-read", template, what=self.what, they=they, them=them)


def find_footer(frame: pd.DataFrame, decimal: str) -> Footer | None:
    """Find a total and notes in the last rows of a frame whose columns are not typed yet."""
    if len(frame) < 3 or not any(map(may_be_text, (frame.index.dtype, *frame.dtypes))):
        return None
    label = frame.index[-1]
    if isinstance(label, str) and is_total(label) and (frame.index == label).sum() == 1:
        return Footer(1, f"the last row is called {shorten(label)!r}", is_sure=False)
    cells = [_texts(row) for row in frame.tail(_MOST_NOTES + 1).to_numpy(dtype=object)]
    n_notes = _count_notes(cells)
    total = _find_total(frame.iloc[: len(frame) - n_notes], cells[-1 - n_notes], decimal)
    if total is not None and n_notes:
        notes = "a note" if n_notes == 1 else "notes"
        what = f"the last {n_notes + 1} rows are a total and {notes}"
        return Footer(n_notes + 1, what, total.is_sure)
    if n_notes and sum(map(bool, cells[-1 - n_notes])) >= _FEWEST_CELLS:
        rows = "the last row has" if n_notes == 1 else f"the last {n_notes} rows have"
        return Footer(n_notes, f"{rows} one cell with words", is_sure=False)
    return total


def is_total(text: str) -> bool:
    """Whether a cell names a total.

    >>> [is_total(text) for text in ("Total:", "Grand total", "Gesamt", "Totally", "42")]
    [True, True, True, False, False]
    """
    return _TOTAL.fullmatch(text.strip().rstrip(":. ")) is not None


def _count_notes(cells: Sequence[Sequence[str]]) -> int:
    """Count the rows of one cell with words at the end."""
    n_notes = 0
    for row in reversed(cells[1:]):
        texts = [text for text in row if text]
        if len(texts) != 1 or len(texts[0].split()) < 2 or is_total(texts[0]):
            break
        n_notes += 1
    return n_notes


def _find_total(frame: pd.DataFrame, last: Sequence[str], decimal: str) -> Footer | None:
    filled = [place for place, text in enumerate(last) if text]
    if not filled or not is_total(last[filled[0]]):
        return None
    word, column = last[filled[0]], frame.iloc[:, filled[0]]
    if sum(isinstance(value, str) and value.strip() == word for value in column.tolist()) > 1:
        return None
    numbers = [_numbers(frame.iloc[:, place], decimal) for place in filled[1:]]
    measured = [values for values in numbers if values is not None]
    are_sums = [values for values in measured if _is_total(values)]
    what = f"the last row begins with {shorten(word)!r}"
    is_alone = len(filled) == 1 < len(last)  # its sums may be formulas without stored values
    return Footer(1, what, is_sure=is_alone or len(are_sums) > len(measured) / 2)


def _texts(row: Iterable[Any]) -> list[str]:
    """Return the words of a row; empty for a missing value, a digit for any other value."""
    texts = [value.strip() if isinstance(value, str) else _filled(value) for value in row]
    return ["" if text in MISSING_WORDS else text for text in texts]


def _filled(value: object) -> str:
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124 - only NaN differs
    return "" if value is None or value is pd.NA or value is pd.NaT or is_nan else "1"


def _numbers(column: "pd.Series[Any]", decimal: str) -> npt.NDArray[np.float64] | None:
    """Read a column as numbers, None if it holds something else; without missing values."""
    present: Sequence[Any] = column.dropna().tolist()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return np.array(present, dtype=np.float64)
    texts = [text for text in map(text_of, present) if text.strip() not in MISSING_WORDS]
    found = infer(texts, np.ones(len(texts), dtype=np.intp), Hints(decimal))
    if found is None or found.notation.what != "numbers" or not found.fits.all():
        return None
    return found.values.astype(np.float64)


def _is_total(values: npt.NDArray[np.float64]) -> bool:
    """Whether the last number is the sum or the mean of the others."""
    above, last = values[:-1], values[-1]
    if len(above) == 0:
        return False
    apart = min(abs(above.sum() - last), abs(above.mean() - last))
    return bool(apart <= _ROUNDING * np.abs(above).sum())
