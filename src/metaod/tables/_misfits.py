"""Cells that do not fit the notation of their column, and what becomes of them.

This is the only place that decides: such cells are an error, are taken as missing, or make their
column text. `bad_values` is the user's choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from metaod.errors import BadColumn, BadFile, Message, Setting, UserError, counted
from metaod.tables._notations import OTHER_NOTATION, shorten
from metaod.tables._objects import Labels, spread

_MOST_COLUMNS = 5
_MOST_VALUES = 3


@dataclass(frozen=True)
class Misfits:
    """The cells of a column that are not what its other cells are.

    `fits` tells of each text whether it fits; `what` names what the others are: numbers, dates,
    durations or truth values.
    """

    column: str
    labels: Labels
    fits: npt.NDArray[np.bool_]
    what: str

    @cached_property
    def rows(self) -> npt.NDArray[np.intp]:
        """The rows of the cells."""
        return np.flatnonzero(spread(~self.fits, False, self.labels.codes))

    @property
    def texts(self) -> list[str]:
        """The texts that do not fit, in the order of their first rows."""
        return [self.labels.texts[code] for code in dict.fromkeys(self._codes.tolist())]

    @property
    def _codes(self) -> npt.NDArray[np.intp]:
        return self.labels.codes[self.rows]

    def sentence(self, place: Callable[[int], str]) -> str | Message:
        """Name the first values, how often and where they occur."""
        distinct, firsts, counts = np.unique(self._codes, return_index=True, return_counts=True)
        shown: list[str] = []
        for i in np.argsort(firsts)[:_MOST_VALUES].tolist():
            times = f"{counts[i]:,} times, first in " if counts[i] > 1 else ""
            where = place(int(self.rows[firsts[i]]))
            shown.append(f"{shorten(self.labels.texts[distinct[i]])!r} ({times}{where})")
        if len(distinct) > _MOST_VALUES:
            shown.append(f"{len(distinct) - _MOST_VALUES:,} other values")
        values = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
        are, a = ("is", "a ") if len(shown) == 1 else ("are", "")
        if not self.fits.any():  # all have the other mark
            template = "{values} {have} another decimal mark than {decimal} says"
            have = "has" if len(shown) == 1 else "have"
            return Message(
                "bad-values", template, values=values, have=have, decimal=Setting("decimal")
            )
        total = int((self.labels.codes >= 0).sum())
        alike = f"{total - len(self.rows):,} of this column's {total:,} values are"
        if self.what == "numbers" and all(map(_is_other_number, self.texts)):
            numbers = f"{a}number{'' if a else 's'}"
            return f"{values} {are} {numbers} in another notation than {alike}"
        return f"{values} {are} not {a}{self.what[:-1] if a else self.what}, as {alike}"

    def handled(self, as_what: str) -> Message:
        """Describe what became of the values: taken as ``missing``, or the column as ``text``."""
        n_cells = len(self.rows)
        is_one = n_cells == 1
        values = f"{n_cells:,} values that are not {self.what}"
        if is_one:
            values = f"1 value that is not a {self.what[:-1]}"
        if as_what == "missing":
            template = f"column {{column!r}}: {{values}} {'was' if is_one else 'were'} "
            template += "taken as missing: {shown}"
        else:
            template = "column {column!r}: taken as text for {values}: {shown}"
        return Message(
            f"bad-values-{as_what}",
            template,
            column=self.column,
            values=values,
            shown=_listed_texts(self.texts[:_MOST_VALUES], len(self.texts)),
        )

    def readable(self) -> Labels:
        """Return the labels with the cells that do not fit as missing ones."""
        places = np.cumsum(self.fits) - 1
        codes = spread(np.where(self.fits, places, -1), -1, self.labels.codes).astype(np.intp)
        kept = zip(self.labels.texts, self.fits.tolist(), strict=True)
        return Labels(codes, [text for text, fits in kept if fits])


def _is_other_number(text: str) -> bool:
    return OTHER_NOTATION.fullmatch(text.strip()) is not None


def _listed_texts(texts: Sequence[str], n_all: int) -> str:
    more = ", ..." if n_all > len(texts) else ""
    return ", ".join(repr(shorten(text)) for text in texts) + more


def misfits_error(
    found: Sequence[Misfits],
    source: str | None,
    name_row: Callable[[int], str],
    line_of: Callable[[int], int] | None,
    footer: Message | None,
) -> UserError:
    """Return one error for the cells of all columns, with the options that settle them."""
    remedy = Message(
        "bad-values",
        "{footer}fix them, or {read}take all such values as missing: {missing}, or their columns "
        "as text: {as_text}; {na} and {text} settle single ones",
        footer=Message("footer", "{footer}; ", footer=footer) if footer else "",
        read="" if source else "in metaod.read_table ",
        missing=Setting("bad_values", "missing"),
        as_text=Setting("bad_values", "text"),
        na=Setting("na"),
        text=Setting("text"),
    )

    def place(row: int) -> str:
        return name_row(row) if line_of is None else f"line {line_of(row)}"

    if len(found) == 1:
        [only] = found
        what = only.sentence(place)
        if source is None or line_of is None:
            return BadColumn(only.column, what, remedy=remedy, path=source, code="bad-values")
        line = line_of(int(only.rows[0]))
        return BadFile(
            source, what, line=line, column=only.column, remedy=remedy, code="bad-values"
        )
    template = "column {column!r}: {what}"
    parts: list[str | Message] = [
        Message("bad-values", template, column=item.column, what=item.sentence(place))
        for item in found[:_MOST_COLUMNS]
    ]
    if len(found) > _MOST_COLUMNS:
        parts.append(f"and {len(found) - _MOST_COLUMNS} other columns")
    what = Message(
        "bad-values",
        f"{len(found)} columns hold values that cannot be read: "
        + "; ".join(f"{{part{i}}}" for i in range(len(parts))),
        **{f"part{i}": part for i, part in enumerate(parts)},
    )
    if source is None:
        return UserError(what, remedy=remedy)
    return BadFile(source, what, remedy=remedy)


@dataclass
class LateMisfits:
    """Cells of a column in chunks that do not fit the notation that the sample has."""

    column: str
    what: str
    n_cells: int = 0
    first_row: int = 0
    texts: dict[str, None] = field(default_factory=dict)  # the first ones, in their order

    def add(self, found: Misfits, first_row: int) -> None:
        """Count the cells of a chunk that begins at this row."""
        if self.n_cells == 0:
            self.first_row = first_row + int(found.rows[0])
        self.n_cells += len(found.rows)
        self.texts.update(dict.fromkeys(found.texts))
        self.texts = dict.fromkeys(list(self.texts)[:_MOST_VALUES])

    def note(self) -> Message:
        """Say what became of them."""
        return Message(
            "late-bad-values",
            "Column {column!r}: {values} no {what} {were} taken as missing, first in row "
            "{row:,}: {shown} ({text} reads the column as text; {error} refuses such a file).",
            column=self.column,
            values=f"{counted(self.n_cells, 'value')} that {'is' if self.n_cells == 1 else 'are'}",
            what=self.what.removesuffix("s"),
            were="was" if self.n_cells == 1 else "were",
            row=self.first_row + 1,
            shown=_listed_texts(list(self.texts), self.n_cells),
            text=Setting("text", self.column),
            error=Setting("bad_values", "error"),
        )


def late_error(found: Misfits, first_row: int, source: str, *, as_text: bool) -> BadColumn:
    """Return the error for the first cell of a chunk that does not fit."""
    what = Message(
        "late-bad-values",
        "row {row:,}: {value!r} is not a {what}, as the sample's values are",
        row=first_row + int(found.rows[0]) + 1,
        value=shorten(found.texts[0]),
        what=found.what.removesuffix("s"),
    )
    template = "read the column as text: {text}"
    if not as_text:
        template = f"fix it, take such values as missing: {{missing}}, or {template}"
    remedy = Message(
        "late-bad-values",
        template,
        text=Setting("text", found.column),
        missing=Setting("bad_values", "missing"),
    )
    return BadColumn(found.column, what, path=source, remedy=remedy)
