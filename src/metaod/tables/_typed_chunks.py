"""Type the rows of a chunk as those of a sample were typed: a cell depends on no other rows."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metaod.options import BadValues, Reading
from metaod.tables._column_types import Written, in_seconds, mask_missing, may_be_text
from metaod.tables._misfits import LateMisfits, Misfits, late_error
from metaod.tables._notations import Notation, Parsed, Plain, parse_later
from metaod.tables._objects import Labels, as_text_column, series_of
from metaod.tables._table import Table
from metaod.tables._text_values import MISSING_WORDS, numbers_among
from metaod.tables.readers._names import index_by_unnamed
from metaod.tables.readers._reader import Content


class ChunkTyper:
    """Turns chunks of a file into tables whose columns are typed as those of a sample.

    Cells that do not fit the notation of their column become missing, and are counted; or they
    are an error.

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
        self._source = sample.source
        words = () if content.declares_types else MISSING_WORDS
        self._missing = frozenset(options.missing_words).union(words)
        self._has_unnamed_index = content.may_hold_index
        self._whole = {  # pyarrow reads hexadecimal numbers in these columns
            name for name, kind in content.types.items() if pa.types.is_integer(kind)
        }
        frame = sample.frame
        if content.may_hold_index and content.frame.columns[0] == "":
            frame = frame.assign(**{"": frame.index})
        decimal = options.decimal or content.decimal
        self._notations: dict[str, Notation | None] = {
            str(name): _notation_of(frame[name], decimal) for name in frame.columns
        }
        self._notations.update({name: own.notation for name, own in sample.written.items()})
        self.misfits: dict[str, LateMisfits] = {}

    def table_of(self, frame: pd.DataFrame, first_row: int) -> Table:
        """Type the columns of rows that the reader of the format returned."""
        written: dict[str, Written] = {}
        typed = frame.copy(deep=False)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
            if name in self._notations and may_be_text(dtype):
                typed[name] = self._typed(str(name), frame[name], first_row, written)
        if self._has_unnamed_index and len(typed.columns) > 1:
            typed = index_by_unnamed(typed, [])
        if self._options.missing_words:
            typed = mask_missing(typed, self._options.missing_words, [])
        typed = as_text_column(
            typed, [name for name in self._options.text_columns if name in typed]
        )
        if isinstance(typed.index, pd.RangeIndex):
            start, step = self._index
            stop = first_row + len(typed)
            typed.index = pd.RangeIndex(start + step * first_row, start + step * stop, step)
        own = {name: item for name, item in written.items() if name in typed.columns}
        return Table(typed, None, self._source, typed=True, written=own)

    def _typed(
        self, name: str, column: "pd.Series[Any]", first_row: int, written: dict[str, Written]
    ) -> "pd.Series[Any]":
        labels = Labels.from_text(column).without(self._missing, numbers_among(self._missing))
        notation = self._notations[name]
        if notation is None:
            return labels.to_series().set_axis(column.index)
        values, fits = self._parse(name, notation, labels.texts)
        if not fits.all():
            misfits = Misfits(name, labels, fits, notation.what)
            if self._late != "missing":
                as_text = self._late == "text"
                raise late_error(misfits, first_row, self._source, as_text=as_text)
            known = self.misfits.setdefault(name, LateMisfits(name, notation.what))
            known.add(misfits, first_row)
            labels, values = misfits.readable(), values[fits]
        if not isinstance(notation, Plain):
            written[name] = Written(labels, notation)
        return in_seconds(series_of(labels, values)).set_axis(column.index)

    def _parse(self, name: str, notation: Notation, texts: list[str]) -> Parsed:
        values, fits = parse_later(notation, texts)
        for place in np.flatnonzero(~fits).tolist() if name in self._whole else ():
            if "0x" in texts[place].lower():
                try:
                    values[place], fits[place] = float(int(texts[place].strip(), 16)), True
                except (ValueError, OverflowError):
                    continue
        return values, fits


def _notation_of(column: "pd.Series[Any]", decimal: str) -> Notation | None:
    """Return the plain notation of a column of the sample; None if it is text or empty."""
    dtype = column.dtype
    if may_be_text(dtype) or (dtype.kind == "f" and bool(column.isna().all())):
        return None
    if pd.api.types.is_bool_dtype(dtype):
        return Plain("boolean")
    return Plain("date") if dtype.kind == "M" else Plain("numeric", decimal)
