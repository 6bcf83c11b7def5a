"""Columns that Arrow left as text: words, codes, or numbers or dates with a mistake among them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from metaod.errors import UserError
from metaod.tables.readers.words import (
    CODE,
    DATE,
    FOREIGN_NUMBER,
    NUMBER,
    Verdict,
    code_warning,
    is_day,
    mixture_error,
    mixture_warning,
    weigh,
)

__all__ = ["TextJudge"]


@dataclass(frozen=True)
class TextJudge:
    """Judges columns of text.

    Parameters
    ----------
    missing : frozenset of str
        Words that mean a missing value.
    decimal : str
        The decimal mark.
    source : str or None
        The file; None for a table in memory.
    line_of : callable or None
        Tells the line on which a row, counted from 0, stands; None where there are no lines.
    """

    missing: frozenset[str]
    decimal: str = "."
    source: str | None = None
    line_of: Callable[[int], int] | None = None

    def without_missing(self, column: Any) -> Any:
        """Make missing words null, also those with blanks around them."""
        words = pa.array(sorted(self.missing), pa.string())
        found = pc.is_in(pc.ascii_trim_whitespace(column), value_set=words)
        if not pc.any(found).as_py():
            return column
        return pc.if_else(found, pa.scalar(None, column.type), column)

    def judge(self, name: str, column: Any, warnings: list[str]) -> Any:
        """Return a text column as numbers or text; raise where nearly all is numbers or dates."""
        column = self.without_missing(column)
        counts = pc.value_counts(column.drop_null())
        values, counts = counts.field("values"), counts.field("counts")
        numbers = self._numbers(values)
        foreign = pc.and_not(_matches(values, FOREIGN_NUMBER), numbers)
        total, n_numbers, n_foreign, n_dates = (
            pc.sum(found).as_py() or 0
            for found in (counts, *map(counts.filter, (numbers, foreign, _dates(values))))
        )
        words = total - n_numbers - n_foreign - n_dates
        verdict = weigh(n_numbers, n_foreign, words, n_dates)
        if verdict in (Verdict.NUMBERS, Verdict.MISSING):
            if (code := _code_among(values)) is None:
                return self._as_floats(column)
            if name:  # one without a name is the rows' index
                warnings.append(code_warning(name, code))
        elif verdict is Verdict.MISTAKE:
            raise self._mistake(name, column, self._numbers(column), "number")
        elif verdict is Verdict.MISTAKEN_DATE:
            raise self._mistake(name, column, _dates(column), "date")
        elif verdict is Verdict.MIXTURE:
            warnings.append(mixture_warning(name, numbers=n_numbers, dates=n_dates, total=total))
        return column

    def _mistake(
        self, name: str, column: Any, alike: Any, kind: Literal["number", "date"]
    ) -> UserError:
        row = pc.index(pc.fill_null(pc.invert(alike), False), True).as_py()
        return mixture_error(
            name,
            column[row].as_py(),
            kind=kind,
            n_alike=pc.sum(alike).as_py(),
            total=len(column) - column.null_count,
            place=f"row {row + 1}",
            source=self.source,
            line=None if self.line_of is None else self.line_of(row),
        )

    def _numbers(self, column: Any) -> Any:
        return _matches(column, NUMBER[self.decimal])

    def _as_floats(self, column: Any) -> Any:
        column = pc.ascii_trim_whitespace(column)
        if self.decimal == ",":
            column = pc.replace_substring(column, ",", ".")
        return column.cast(pa.float64())


def _dates(column: Any) -> Any:
    """Tell which values are dates that the calendar has, null where there is none."""
    of_form = _matches(column, DATE)
    days = pc.utf8_slice_codeunits(pc.ascii_trim_whitespace(column), 0, len("2024-02-30"))
    real = [day for day in pc.unique(days.filter(of_form)).to_pylist() if is_day(day)]
    return pc.and_(of_form, pc.is_in(days, value_set=pa.array(real, pa.string())))


def _code_among(numbers: Any) -> str | None:
    """Return a whole number with leading zeros, if there is one and all are whole."""
    codes = _matches(numbers, CODE)
    if not pc.any(codes).as_py() or not pc.all(_matches(numbers, "[+-]?[0-9]+")).as_py():
        return None
    return str(numbers.filter(codes)[0].as_py()).strip()


def _matches(column: Any, pattern: str) -> Any:
    return pc.match_substring_regex(column, rf"^[ \t]*(?:{pattern})[ \t]*$")
