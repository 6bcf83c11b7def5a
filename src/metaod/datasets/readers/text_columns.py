"""Columns that Arrow left as text: words, or numbers with a mistake among them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from metaod.datasets.readers.words import (
    FOREIGN_NUMBER,
    NUMBER,
    Verdict,
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
        """Return a text column as numbers or text; raise where nearly all of it is numbers."""
        column = self.without_missing(column)
        counts = pc.value_counts(column.drop_null())
        values, counts = counts.field("values"), counts.field("counts")
        numbers = self._numbers(values)
        foreign = pc.and_not(_matches(values, FOREIGN_NUMBER), numbers)
        n_values = pc.sum(counts).as_py() or 0
        n_numbers = pc.sum(counts.filter(numbers)).as_py() or 0
        n_foreign = pc.sum(counts.filter(foreign)).as_py() or 0
        verdict = weigh(n_numbers, n_foreign, n_values - n_numbers - n_foreign)
        if verdict in (Verdict.NUMBERS, Verdict.MISSING):
            return self._as_floats(column)
        if verdict is Verdict.MISTAKE:
            no_number = pc.fill_null(pc.invert(self._numbers(column)), False)
            row = pc.index(no_number, True).as_py()
            raise mixture_error(
                name,
                column[row].as_py(),
                numbers=n_numbers,
                total=n_values,
                place=f"row {row + 1}",
                source=self.source,
                line=None if self.line_of is None else self.line_of(row),
            )
        if verdict is Verdict.MIXTURE:
            warnings.append(mixture_warning(name, numbers=n_numbers, total=n_values))
        return column

    def _numbers(self, column: Any) -> Any:
        return _matches(column, NUMBER[self.decimal])

    def _as_floats(self, column: Any) -> Any:
        column = pc.ascii_trim_whitespace(column)
        if self.decimal == ",":
            column = pc.replace_substring(column, ",", ".")
        return column.cast(pa.float64())


def _matches(column: Any, pattern: str) -> Any:
    return pc.match_substring_regex(column, rf"^[ \t]*(?:{pattern})[ \t]*$")
