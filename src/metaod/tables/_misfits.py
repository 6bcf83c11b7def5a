"""Cells that do not fit the notation of their column, and what becomes of them.

Such cells are findings that models take as missing; or they are missing, make their column text or
are an error: `bad_values` is the user's choice.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from metaod.errors import BadColumn, BadFile, Message, Setting, UserError, listed
from metaod.options import BadValues
from metaod.tables._notations import OTHER_NOTATION, shorten
from metaod.tables._objects import Labels

# Columns of numbers in public dirty tables have up to a fifth of wrong cells; in text with numbers,
# as house numbers with some 43-10, a quarter of the cells and more are not plain. A text has the
# form of a date only if it is one, so that dates may have more wrong cells.
_LEAST_ALIKE = {"dates": 2 / 3}
_LEAST = 0.8
_MOST_COLUMNS = 5
_MOST_VALUES = 3


def are_most(n_alike: int, n_values: int, what: str) -> bool:
    """Whether so many of a column's values make it a column of numbers, dates and so on."""
    return n_alike >= _LEAST_ALIKE.get(what, _LEAST) * n_values - 1e-9


@dataclass(frozen=True, eq=False)
class Misfits:
    """The cells of a column that are not what its other cells are.

    Parameters
    ----------
    rows : ndarray of int
        Their positions in the table, rising.
    texts : list of str
        The text of each of these cells, as written.
    what : str
        What the other cells are: numbers, dates, durations or truth values.
    n_values : int
        The cells of the column that are not missing, with these.
    """

    rows: npt.NDArray[np.intp]
    texts: list[str]
    what: str
    n_values: int

    @classmethod
    def of(cls, labels: Labels, kept: Labels, what: str) -> "Misfits":
        """Take the cells of `labels` that `kept` leaves out."""
        rows = np.flatnonzero((labels.codes >= 0) & (kept.codes < 0))
        texts = [labels.texts[code] for code in labels.codes[rows].tolist()]
        return cls(rows, texts, what, int(np.count_nonzero(labels.codes >= 0)))

    def take(self, rows: npt.NDArray[np.intp]) -> "Misfits":
        """Return those of some rows of the table, by their positions among these rows."""
        found = np.searchsorted(self.rows, rows)
        found[found == len(self.rows)] = 0
        kept = np.flatnonzero(self.rows[found] == rows) if len(self.rows) else found[:0]
        texts = [self.texts[place] for place in found[kept].tolist()]
        return replace(self, rows=kept, texts=texts)

    def text(self, row: int) -> str:
        """Return the text of a cell; empty if it is none of these."""
        place = int(np.searchsorted(self.rows, row))
        is_here = place < len(self.rows) and self.rows[place] == row
        return self.texts[place] if is_here else ""

    @property
    def are_few(self) -> bool:
        """Whether the column is mostly what it is read as."""
        return are_most(self.n_values - len(self.rows), self.n_values, self.what)

    @classmethod
    def merged(cls, parts: Sequence["Misfits"]) -> "Misfits | None":
        """Put together those of a column that were found one after the other; None if none."""
        parts = [own for own in parts if len(own.rows)]
        if len(parts) < 2:
            return parts[0] if parts else None
        rows = np.concatenate([own.rows for own in parts])
        texts, order = [text for own in parts for text in own.texts], np.argsort(rows)
        return replace(
            parts[-1],
            rows=rows[order],
            texts=[texts[place] for place in order.tolist()],
            n_values=parts[0].n_values,
        )

    def sentence(self, place: Callable[[int], str]) -> str | Message:
        """Name the first values, how often and where they occur."""
        counts, shown = Counter(self.texts), []
        for text in list(counts)[:_MOST_VALUES]:
            times = f"{counts[text]:,} times, first in " if counts[text] > 1 else ""
            where = place(int(self.rows[self.texts.index(text)]))
            shown.append(f"{shorten(text)!r} ({times}{where})")
        if len(counts) > _MOST_VALUES:
            shown.append(f"{len(counts) - _MOST_VALUES:,} other values")
        values = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
        are, a = ("is", "a ") if len(shown) == 1 else ("are", "")
        if self.n_values == len(self.rows):  # all have the other mark
            template = "{values} {have} another decimal mark than {decimal} says"
            have = "has" if len(shown) == 1 else "have"
            return Message(
                "bad-values", template, values=values, have=have, decimal=Setting("decimal")
            )
        n_alike = self.n_values - len(self.rows)
        alike = f"{n_alike:,} of this column's {self.n_values:,} values are"
        if self.what == "numbers" and all(map(is_other_number, counts)):
            numbers = f"{a}number{'' if a else 's'}"
            return f"{values} {are} {numbers} in another notation than {alike}"
        return f"{values} {are} not {a}{self.what[:-1] if a else self.what}, as {alike}"

    @property
    def count(self) -> "MisfitCount":
        """How many there are, and the first ones."""
        count = MisfitCount(self.what)
        count.add(self, 0)
        return count


@dataclass
class MisfitCount:
    """Counts the misfits of a column, also of one that is read in chunks."""

    what: str
    n_cells: int = 0
    first_row: int = 0
    texts: dict[str, None] = field(default_factory=dict)  # the first ones, in their order

    def add(self, found: Misfits, first_row: int) -> None:
        """Count the cells of rows that begin at this row."""
        if self.n_cells == 0:
            self.first_row = first_row + int(found.rows[0])
        self.n_cells += len(found.rows)
        self.texts.update(dict.fromkeys(found.texts))
        self.texts = dict.fromkeys(list(self.texts)[: _MOST_VALUES + 1])

    def note(self, column: str, as_what: BadValues) -> Message:
        """Describe what became of the values: missing ones, or the column text."""
        is_one = self.n_cells == 1
        values = f"{self.n_cells:,} values that are not {self.what}"
        if is_one:
            values = f"1 value that is not a {self.what[:-1]}"
        if as_what == "text":
            template = "column {column!r}: taken as text for {values}: {shown}"
        else:
            template = f"column {{column!r}}: {{values}} {'was' if is_one else 'were'} taken as "
            listed = "is listed as a finding" if is_one else "are listed as findings"
            template += f"missing and {listed}" if as_what == "finding" else "missing"
            template += ", first in row {row:,}: {shown}"
        shown = [repr(shorten(text)) for text in self.texts]
        return Message(
            f"bad-values-{as_what}",
            template,
            column=column,
            values=values,
            row=self.first_row + 1,
            shown=", ".join([*shown[:_MOST_VALUES], *(["..."] if shown[_MOST_VALUES:] else [])]),
        )


def misfit_notes(found: Mapping[str, MisfitCount], as_what: BadValues) -> list[Message]:
    """Describe what became of misfits: of each column, or of all if they are many."""
    if len(found) <= _MOST_COLUMNS:
        return [own.note(name, as_what) for name, own in found.items()]
    became = {"text": "these are taken as text", "missing": "these values were taken as missing"}
    became["finding"] = f"{became['missing']} and are listed as findings"
    note = Message(
        f"bad-values-{as_what}",
        "columns {columns} hold {n_values:,} values that are not what their other values are: "
        "{became}",
        columns=listed(list(found)),
        n_values=sum(own.n_cells for own in found.values()),
        became=became[as_what],
    )
    return [note]


def is_other_number(text: str) -> bool:
    """Whether a text is a number, perhaps in another notation than the others."""
    return OTHER_NOTATION.fullmatch(text.strip()) is not None


def misfits_error(
    found: Mapping[str, Misfits],
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
        [(name, only)] = found.items()
        what = only.sentence(place)
        if source is None or line_of is None:
            return BadColumn(name, what, remedy=remedy, path=source, code="bad-values")
        line = line_of(int(only.rows[0]))
        return BadFile(source, what, line=line, column=name, remedy=remedy, code="bad-values")
    template = "column {column!r}: {what}"
    parts: list[str | Message] = [
        Message("bad-values", template, column=name, what=item.sentence(place))
        for name, item in list(found.items())[:_MOST_COLUMNS]
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


def late_error(
    column: str, found: Misfits, first_row: int, source: str, *, as_text: bool
) -> BadColumn:
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
        text=Setting("text", column),
        missing=Setting("bad_values", "missing"),
    )
    return BadColumn(column, what, path=source, remedy=remedy)
