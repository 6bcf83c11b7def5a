"""Values that do not fit their column: which they are, and the error that names those of all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from metaod.errors import BadColumn, BadFile, UserError
from metaod.tables._objects import Labels, spread
from metaod.tables._text_values import OTHER_NOTATION, shorten

_MOST_COLUMNS = 5
_MOST_VALUES = 3


@dataclass(frozen=True)
class Mistake:
    """The values of a column that are not what nearly all of its values are."""

    column: str
    labels: Labels
    fits: npt.NDArray[np.bool_]  # a truth value per text
    what: str  # what the others are: numbers, dates or durations

    def sentence(self, place: Callable[[int], str]) -> str:
        """Name the first values, how often and where they occur."""
        codes = self.labels.codes
        bad = np.flatnonzero(spread(~self.fits, False, codes))
        distinct, firsts, counts = np.unique(codes[bad], return_index=True, return_counts=True)
        order = np.argsort(firsts)
        shown: list[str] = []
        for code, first, count in zip(
            distinct[order], bad[firsts[order]], counts[order], strict=True
        ):
            if len(shown) == _MOST_VALUES:
                break
            times = f"{count:,} times, first in " if count > 1 else ""
            shown.append(f"{shorten(self.labels.texts[code])!r} ({times}{place(int(first))})")
        if len(distinct) > _MOST_VALUES:
            shown.append(f"{len(distinct) - _MOST_VALUES:,} other values")
        values = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
        total = int((codes >= 0).sum())
        if not self.fits.any():  # all have the other mark
            verb = "has" if len(shown) == 1 else "have"
            return f"{values} {verb} another decimal mark than decimal= (--decimal) says"
        alike = f"{total - len(bad):,} of this column's {total:,} values are"
        is_one = len(shown) == 1
        if self.what == "numbers" and self._are_other_numbers():
            verb = "is a number" if is_one else "are numbers"
            return f"{values} {verb} in another notation than {alike}"
        kind = f"is not a {self.what[:-1]}" if is_one else f"are not {self.what}"
        return f"{values} {kind}, as {alike}"

    def _are_other_numbers(self) -> bool:
        bad = [text for text, fits in zip(self.labels.texts, self.fits, strict=True) if not fits]
        return all(OTHER_NOTATION.fullmatch(text.strip()) for text in bad)

    def first_row(self) -> int:
        return int(np.argmax(spread(~self.fits, False, self.labels.codes)))

    def handled(self, as_what: Literal["missing", "text"]) -> str:
        """Describe what became of the values, for a warning."""
        bad = [text for text, fits in zip(self.labels.texts, self.fits, strict=True) if not fits]
        n_rows = int(spread(~self.fits, False, self.labels.codes).sum())
        shown = ", ".join(repr(shorten(text)) for text in bad[:_MOST_VALUES])
        more = ", ..." if len(bad) > _MOST_VALUES else ""
        values = f"{n_rows:,} values that are not {self.what}"
        if n_rows == 1:
            values = f"1 value that is not a {self.what[:-1]}"
        if as_what == "missing":
            return f"{values} {'was' if n_rows == 1 else 'were'} taken as missing: {shown}{more}"
        return f"taken as text for {values}: {shown}{more}"

    def readable(self) -> Labels:
        """Return the labels with the values that do not fit as missing ones."""
        bad = [text for text, fits in zip(self.labels.texts, self.fits, strict=True) if not fits]
        return self.labels.without(frozenset(text.strip() for text in bad))


def mistakes_error(
    mistakes: Sequence[Mistake],
    source: str | None,
    name_row: Callable[[int], str],
    line_of: Callable[[int], int] | None,
    footer: str,
) -> UserError:
    """Return one error for the mistakes of all columns, with the option that settles them."""
    remedy = (
        "mend them, or take all such values as missing: bad_values='missing' (--bad-values "
        "missing), or their columns as text: bad_values='text' (--bad-values text); na= (--na) "
        "and text= (--text) settle single ones"
    )
    if source is None:
        remedy = (
            "mend them, or take all such values as missing: metaod.read_table(table, "
            "bad_values='missing'), or their columns as text: bad_values='text'; na= and text= "
            "settle single ones"
        )
    remedy = f"{footer}; {remedy}" if footer else remedy

    def place(row: int) -> str:
        return name_row(row) if line_of is None else f"line {line_of(row)}"

    if len(mistakes) == 1:
        [mistake] = mistakes
        what = mistake.sentence(place)
        if source is None or line_of is None:
            return BadColumn(mistake.column, what, remedy=remedy, path=source)
        line = line_of(mistake.first_row())
        return BadFile(source, what, line=line, column=mistake.column, remedy=remedy)
    parts = [f"column {item.column!r}: {item.sentence(place)}" for item in mistakes[:_MOST_COLUMNS]]
    if len(mistakes) > _MOST_COLUMNS:
        parts.append(f"and {len(mistakes) - _MOST_COLUMNS} other columns")
    what = f"{len(mistakes)} columns hold values that cannot be read: {'; '.join(parts)}"
    return (
        UserError(what, where=source, remedy=remedy)
        if source is None
        else BadFile(source, what, remedy=remedy)
    )
