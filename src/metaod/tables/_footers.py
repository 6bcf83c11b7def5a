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
from metaod.tables._record import number_text

_TOTAL = re.compile(
    r"(?:(?:grand|sub|over)[ -]?)?totals?|sums?|summen?|gesamt(?:summe|ergebnis)?|insgesamt|"
    r"zwischensumme|average|mean|mittelwert|durchschnitt|total général|somme|suma|totale",
    re.IGNORECASE,
)
_MOST_NOTES = 5
_ROUNDING = 1e-3  # of totals
_FEWEST_CELLS = 3  # of the rows above notes
_MOSTLY_NUMBERS = 0.9  # of the cells of a column of numbers


@dataclass(frozen=True)
class Footer:
    """The last rows of a table, if they seem to be no rows of it."""

    n_rows: int
    what: str
    is_sure: bool  # a total: see `_find_total`

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


def find_footer(frame: pd.DataFrame, decimal: str, *, is_whole: bool = True) -> Footer | None:
    """Find a total and notes in the last rows of a frame whose columns are not typed yet.

    Of a sample, only sums that happen to match are known to be totals.
    """
    if len(frame) < 3 or not any(map(may_be_text, (frame.index.dtype, *frame.dtypes))):
        return None
    label = frame.index[-1]
    if isinstance(label, str) and is_total(label) and (frame.index == label).sum() == 1:
        return Footer(1, f"the last row is called {shorten(label)!r}", is_sure=False)
    cells = [_texts(row) for row in frame.tail(_MOST_NOTES + 1).to_numpy(dtype=object)]
    n_notes = _count_notes(cells)
    above = frame.iloc[: len(frame) - n_notes]
    total = _find_total(above, cells[-1 - n_notes], decimal, is_whole=is_whole)
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


def _find_total(
    frame: pd.DataFrame, last: Sequence[str], decimal: str, *, is_whole: bool
) -> Footer | None:
    """Return the last row as a total if its first cell says so.

    It is surely one if it has no numbers, or if most of its numbers are sums or means. If they are
    only as large as sums, because rows are wrong, cells must be empty that other rows have.
    """
    filled = [place for place, text in enumerate(last) if text]
    if not filled or not is_total(last[filled[0]]):
        return None
    word, column = last[filled[0]], frame.iloc[:, filled[0]]
    if sum(isinstance(value, str) and value.strip() == word for value in column.tolist()) > 1:
        return None
    numbers = {place: _numbers(frame.iloc[:, place], decimal) for place in filled[1:]}
    measured = {place: values for place, values in numbers.items() if values is not None}
    n_sums = sum(map(_is_total, measured.values()))
    apart = [
        f"{frame.columns[place]!r} is {difference} the sum of the rows"
        for place, values in measured.items()
        if is_whole and (difference := _difference(values))
    ]
    is_alone = len(filled) == 1 < len(last)  # its sums may be formulas without stored values
    is_sure = is_alone or n_sums > len(measured) / 2
    is_sure = is_sure or (bool(apart) and _lacks_cells(frame, filled, decimal))
    what = f"the last row begins with {shorten(word)!r}"
    return Footer(1, f"{what} ({', '.join(apart)})" if apart else what, is_sure=is_sure)


def _lacks_cells(frame: pd.DataFrame, filled: Sequence[int], decimal: str) -> bool:
    """Whether the last row has few of the texts and dates that other rows have, and other gaps."""
    columns = {place: frame.iloc[:, place] for place in range(frame.shape[1])}
    del columns[filled[0]]
    usual = [
        place
        for place, own in columns.items()
        if 2 * sum(map(bool, _texts(own.tolist()))) > len(frame)
    ]
    labels = [place for place in usual if _numbers(columns[place], decimal) is None]
    return not set(usual) <= set(filled) and 2 * len(set(labels) & set(filled)) <= len(labels)


def _texts(row: Iterable[Any]) -> list[str]:
    """Return the words of a row; empty for a missing value, a digit for any other value."""
    texts = [value.strip() if isinstance(value, str) else _filled(value) for value in row]
    return ["" if text in MISSING_WORDS else text for text in texts]


def _filled(value: object) -> str:
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124 - only NaN differs
    return "" if value is None or value is pd.NA or value is pd.NaT or is_nan else "1"


def _numbers(column: "pd.Series[Any]", decimal: str) -> npt.NDArray[np.float64] | None:
    """Read a column of numbers that ends in one, else None; without what is no number."""
    present: Sequence[Any] = column.dropna().tolist()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return np.array(present, dtype=np.float64)
    texts = [text for text in map(text_of, present) if text.strip() not in MISSING_WORDS]
    found = infer(texts, np.ones(len(texts), dtype=np.intp), Hints(decimal))
    if found is None or found.notation.what != "numbers" or not found.fits[-1]:
        return None
    is_number = found.fits
    return found.values[is_number].astype(float) if is_number.mean() >= _MOSTLY_NUMBERS else None


def _is_total(values: npt.NDArray[np.float64]) -> bool:
    """Whether the last number is the sum or the mean of the others."""
    above, last = values[:-1], values[-1]
    if len(above) == 0:
        return False
    apart = min(abs(above.sum() - last), abs(above.mean() - last))
    return bool(apart <= _ROUNDING * np.abs(above).sum())


def _difference(values: npt.NDArray[np.float64]) -> str:
    """Say by how much the last number misses the sum of the others, if it is as large as one."""
    above, last = values[:-1], values[-1]
    sizes = np.abs(above)
    if len(above) == 0 or _is_total(values):
        return ""
    if abs(last) < max(np.quantile(sizes, 0.9, method="lower"), len(above) * np.median(sizes) / 2):
        return ""
    difference = last - above.sum()
    return f"{number_text(abs(difference))} {'more' if difference > 0 else 'less'} than"
