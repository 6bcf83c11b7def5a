"""Rows below a table: totals, and notes in a single cell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables._notations import Hints, find_notation
from metaod.tables._text_values import MISSING_WORDS, shorten

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
    is_sure: bool  # a total whose numbers are sums or means of those above

    def left_out(self) -> str:
        """Say that they are left out."""
        return f"{self.what}, and was left out: skip_footer=0 (--skip-footer 0) keeps it"

    def offered(self) -> str:
        """Say how to leave them out."""
        n_rows = self.n_rows
        return f"{self.what}: skip_footer={n_rows} (--skip-footer {n_rows}) leaves out such rows"


def find_footer(frame: pd.DataFrame, decimal: str) -> Footer | None:
    """Find a total or notes in the last rows of a frame whose columns are not typed yet."""
    if len(frame) < 3:
        return None
    cells = [_texts(row) for row in frame.tail(_MOST_NOTES + 1).to_numpy(dtype=object)]
    last = cells[-1]
    filled = [place for place, text in enumerate(last) if text]
    if not filled:
        return None
    word, column = last[filled[0]], frame.iloc[:, filled[0]]
    if _TOTAL.fullmatch(word.rstrip(":. ")):
        is_rare = sum(str(value).strip() == word for value in column.to_numpy()) == 1
        if not is_rare:
            return None
        numbers = [_numbers(frame.iloc[:, place], decimal) for place in filled[1:]]
        measured = [values for values in numbers if values is not None]
        are_sums = [values for values in measured if _is_total(values)]
        what = f"the last row begins with {shorten(word)!r}"
        return Footer(1, what, is_sure=len(are_sums) > len(measured) / 2)
    return _find_notes(cells)


def _find_notes(cells: Sequence[Sequence[str]]) -> Footer | None:
    n_notes = 0
    for row in reversed(cells):
        texts = [text for text in row if text]
        if len(texts) == 1 and len(texts[0].split()) > 1:
            n_notes += 1
            continue
        if n_notes and len(texts) >= _FEWEST_CELLS:
            rows = "the last row has" if n_notes == 1 else f"the last {n_notes} rows have"
            return Footer(n_notes, f"{rows} one cell with words", is_sure=False)
        break
    return None


def _texts(row: Iterable[Any]) -> list[str]:
    texts = ["" if pd.isna(value) else str(value).strip() for value in row]
    return ["" if text in MISSING_WORDS else text for text in texts]


def _numbers(column: "pd.Series[Any]", decimal: str) -> npt.NDArray[np.float64] | None:
    """Read a column as numbers, None if it holds something else; without missing values."""
    present: Sequence[Any] = column.dropna().tolist()
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return np.array(present, dtype=np.float64)
    texts = [str(value) for value in present if str(value).strip() not in MISSING_WORDS]
    found = find_notation(texts, np.ones(len(texts), dtype=np.intp), Hints(decimal))
    if found is None or found.notation.tag != "numbers" or not found.fits.all():
        return None
    return found.values.astype(np.float64)


def _is_total(values: npt.NDArray[np.float64]) -> bool:
    """Whether the last number is the sum or the mean of the others."""
    above, last = values[:-1], values[-1]
    if len(above) == 0:
        return False
    apart = min(abs(above.sum() - last), abs(above.mean() - last))
    return bool(apart <= _ROUNDING * np.abs(above).sum())
