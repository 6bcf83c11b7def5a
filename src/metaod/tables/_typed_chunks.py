"""Type the rows of a chunk as those of a sample were typed: a cell depends on no other rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from metaod.errors import BadColumn
from metaod.options import BadValues, Reading
from metaod.tables._column_types import Written, in_seconds, mask_missing, may_be_text
from metaod.tables._notations import Notation
from metaod.tables._objects import Labels, series_of, spread
from metaod.tables._table import Table
from metaod.tables._text_values import (
    MISSING_WORDS,
    numbers_among,
    parse_date,
    parse_number,
    parse_time,
    parse_truth,
    shorten,
)
from metaod.tables.readers._names import index_by_unnamed
from metaod.tables.readers._reader import Content

_MOST_VALUES = 3
_HEXADECIMAL = "0x"


@dataclass
class Misfits:
    """Values of a column that its type, which the sample decided, does not have."""

    kind: str
    n_cells: int = 0
    first_row: int = 0
    texts: dict[str, None] = field(default_factory=dict)  # the first ones, in their order

    def note(self, column: str) -> str:
        """Say what became of them."""
        values = "1 value that is" if self.n_cells == 1 else f"{self.n_cells:,} values that are"
        were = "was" if self.n_cells == 1 else "were"
        shown = ", ".join(repr(shorten(text)) for text in self.texts)
        more = ", ..." if self.n_cells > len(self.texts) else ""
        return (
            f"Column {column!r}: {values} no {self.kind} {were} taken as missing, first in row "
            f"{self.first_row + 1:,}: {shown}{more} (text= (--text) reads the column as text; "
            "bad_values='error' (--bad-values error) refuses such a file)."
        )


class ChunkTyper:
    """Turns chunks of a file into tables whose columns are typed as those of a sample.

    Cells that do not fit the type of their column become missing, and are counted; or they are
    an error.

    Parameters
    ----------
    content : Content
        The sample as the reader of the format returned it.
    sample : Table
        The sample, typed.
    options : Reading
        The options of reading.
    late : {'error', 'missing', 'text'}
        What to do with cells that do not fit: `text` is an error too.
    index : tuple of int
        The number of the first row in the table's index, and the step to the next.
    """

    def __init__(
        self,
        content: Content,
        sample: Table,
        options: Reading,
        late: BadValues = "missing",
        index: tuple[int, int] = (0, 1),
    ) -> None:
        self._options, self._late, self._index = options, late, index
        self._sample = sample
        self._decimal = options.decimal or content.decimal
        words = () if content.declares_types else MISSING_WORDS
        self._missing = frozenset(options.missing_words).union(words)
        self._missing_numbers = numbers_among(self._missing)
        self._has_unnamed_index = content.may_hold_index
        self._whole = {  # pyarrow reads hexadecimal numbers in these columns
            name for name, kind in content.types.items() if pa.types.is_integer(kind)
        }
        frame = sample.frame
        self._dtypes: dict[str, Any] = dict(zip(map(str, frame.columns), frame.dtypes, strict=True))
        if content.may_hold_index and content.frame.columns[0] == "":
            self._dtypes[""] = frame.index.dtype
        self._notations: Mapping[str, Notation] = {
            name: own.notation for name, own in sample.written.items()
        }
        self.misfits: dict[str, Misfits] = {}

    def table_of(self, frame: pd.DataFrame, first_row: int) -> Table:
        """Type the columns of rows that the reader of the format returned."""
        written: dict[str, Written] = {}
        typed = frame.copy(deep=False)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
            if name in self._dtypes and may_be_text(dtype):
                typed[name] = self._typed(str(name), frame[name], first_row, written)
        if self._has_unnamed_index and len(typed.columns) > 1:
            typed = index_by_unnamed(typed, [])
        if self._options.missing_words:
            typed = mask_missing(typed, self._options.missing_words, [])
        for name in self._options.text_columns:
            if name in typed and not may_be_text(typed[name].dtype):
                column = typed[name]
                typed = typed.assign(**{name: column.astype(str).where(column.notna())})
        if isinstance(typed.index, pd.RangeIndex):
            start, step = self._index
            stop = first_row + len(typed)
            typed.index = pd.RangeIndex(start + step * first_row, start + step * stop, step)
        own = {name: item for name, item in written.items() if name in typed.columns}
        return Table(typed, None, self._sample.source, typed=True, written=own)

    def _typed(
        self, name: str, column: "pd.Series[Any]", first_row: int, written: dict[str, Written]
    ) -> "pd.Series[Any]":
        labels = Labels.from_text(column).without(self._missing, self._missing_numbers)
        notation, dtype = self._notations.get(name), self._dtypes[name]
        if notation is not None:
            values, fits = notation.parse(labels.texts)
            if values.dtype.kind == "M":
                for place in np.flatnonzero(~fits).tolist():  # ISO dates may stand beside others
                    stamp = parse_date(labels.texts[place])
                    if stamp is not None:
                        values[place], fits[place] = stamp, True
            labels, values = self._without_misfits(
                name, labels, values, fits, notation.tag, first_row
            )
            written[name] = Written(labels, notation)
            return in_seconds(series_of(labels, values)).set_axis(column.index)
        if may_be_text(dtype) or (dtype.kind == "f" and self._sample_is_empty(name)):
            return labels.to_series().set_axis(column.index)
        kind, parse, stored = self._parser(name, dtype)
        parsed = [parse(text) for text in labels.texts]
        fits = np.array([value is not None for value in parsed], dtype=np.bool_)
        values = np.array([0 if value is None else value for value in parsed], dtype=stored)
        labels, values = self._without_misfits(name, labels, values, fits, kind, first_row)
        if stored == "bool":
            truths = spread(values.astype(object), None, labels.codes)
            has_gaps = bool((labels.codes < 0).any())
            return pd.Series(truths, column.index, dtype="boolean" if has_gaps else "bool")
        return series_of(labels, values).set_axis(column.index)

    def _sample_is_empty(self, name: str) -> bool:
        frame = self._sample.frame
        return name in frame.columns and bool(frame[name].isna().all())

    def _parser(self, name: str, dtype: Any) -> tuple[str, Callable[[str], Any], str]:
        """Return what a column holds, what reads a text as that, and the type of the values."""
        if pd.api.types.is_bool_dtype(dtype):
            return "truth value", parse_truth, "bool"
        if dtype.kind == "M":
            return "date", parse_date, "M8[us]"
        return "number", partial(self._number, is_whole=name in self._whole), "float64"

    def _number(self, text: str, is_whole: bool) -> float | None:
        value = parse_number(text, self._decimal)
        if value is None:
            value = parse_time(text)
        if value is None and is_whole and _HEXADECIMAL in text.lower():
            try:
                return float(int(text.strip(), 16))
            except (ValueError, OverflowError):
                return None
        return value

    def _without_misfits(
        self,
        name: str,
        labels: Labels,
        values: npt.NDArray[Any],
        fits: npt.NDArray[np.bool_],
        kind: str,
        first_row: int,
    ) -> tuple[Labels, npt.NDArray[Any]]:
        if fits.all():
            return labels, values
        bad = spread(~fits, False, labels.codes)
        found = self.misfits.setdefault(name, Misfits(kind.removesuffix("s")))
        rows = np.flatnonzero(bad)
        if self._late != "missing":
            value = labels.texts[labels.codes[rows[0]]]
            raise self._refused(name, value, first_row + int(rows[0]), found.kind)
        if found.n_cells == 0:
            found.first_row = first_row + int(rows[0])
        found.n_cells += len(rows)
        for row in rows.tolist():
            if len(found.texts) == _MOST_VALUES:
                break
            found.texts[labels.texts[labels.codes[row]]] = None
        places = np.cumsum(fits) - 1
        codes = spread(np.where(fits, places, -1), -1, labels.codes).astype(np.intp)
        texts = [text for text, fit in zip(labels.texts, fits.tolist(), strict=True) if fit]
        return Labels(codes, texts), values[fits]

    def _refused(self, name: str, value: str, row: int, kind: str) -> BadColumn:
        """Return the error for a value that does not fit the type that the sample has."""
        what = f"row {row + 1:,}: {shorten(value)!r} is not a {kind}, as the sample's values are"
        as_text = "read the column as text: text= (--text)"
        as_missing = "take such values as missing: bad_values='missing' (--bad-values missing)"
        remedy = as_text if self._late == "text" else f"mend it, {as_missing}, or {as_text}"
        return BadColumn(name, what, path=self._sample.source, remedy=remedy)
