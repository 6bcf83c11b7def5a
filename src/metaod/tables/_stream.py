"""A file that is read in chunks: a sample decides the types of columns, and chunks get the same.

What a cell is read as does not depend on the other rows of its chunk.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from metaod.errors import BadFile, Message, Setting, UserError
from metaod.options import BadValues, Reading
from metaod.tables._column_types import (
    Written,
    in_seconds,
    mask_missing,
    may_be_text,
    words_by_column,
)
from metaod.tables._footers import find_footer
from metaod.tables._misfits import MisfitCount, Misfits, late_error, misfit_notes
from metaod.tables._notations import (
    ERROR_WORDS,
    MISSING_WORDS,
    Notation,
    Parsed,
    Plain,
    numbers_among,
    parse_later,
)
from metaod.tables._objects import Labels, as_text_column, series_of
from metaod.tables._reading import check_options, finish
from metaod.tables._table import Original, Table
from metaod.tables.readers import choose_reader
from metaod.tables.readers._names import index_by_unnamed
from metaod.tables.readers._reader import Chunks, Content, OnRows, RowNumbers
from metaod.tables.readers._source import CELL_BYTES, check_exists, open_unread

MOST_ROWS = 2_000_000
"""Files of more rows are read in chunks."""


def stream_table(source: "str | PathLike[Any]", **options: Any) -> "TableStream":
    """Open a file to read it in chunks; an error if it can only be read at once.

    Parameters
    ----------
    source : path-like
        A Parquet file, or delimited text, also gzipped.
    **options
        Options of :func:`metaod.read_table`, without `label`. Of `bad_values`, the default differs:
        a value outside the sample that does not fit its column is missing, with a note.
    """
    name = os.fsdecode(source)
    given = Reading(**options).checked("read_table")
    if given.label is not None:
        what = "the label measures tables that are read at once, not in chunks"
        ignored = "leave it out and ignore its column: {ignore}"
        remedy = Message("no-label-in-chunks", ignored, ignore=Setting("ignore", given.label))
        raise UserError(what, where=name, remedy=remedy, code="label-in-chunks")
    opened = open_unread(source)
    if opened is None and name != "-":
        check_exists(source)
    if opened is not None:
        reader = choose_reader(opened)
        check_options(given, reader.kind, reader.options)
        chunks = reader.chunks(opened, given)
        if chunks is not None:
            return TableStream(chunks, given)
    what = "cannot be read in chunks; only Parquet and delimited text in a file can"
    at_once = "read it at once, or convert it"
    raise UserError(what, where=name, remedy=at_once, code="not-in-chunks")


def is_large(source: "str | PathLike[Any]") -> bool:
    """Whether a file should be read in chunks: over 2,000,000 rows, or half of the free memory.

    The size of a Parquet file is in its footer; that of text is estimated from its first lines.
    Files of other formats are never large: they can only be read at once.
    """
    opened = open_unread(source)
    if opened is None:
        return False
    try:
        n_rows, n_columns = choose_reader(opened).shape(opened)
    except UserError:  # which reading it explains
        return False
    return n_rows > MOST_ROWS or CELL_BYTES * n_rows * n_columns > Reading().memory_limit


class TableStream:
    """A file whose rows are read in chunks, each an ordinary table typed as a sample is.

    Parameters
    ----------
    chunks : Chunks
        The file.
    options : Reading
        How to read it. Of `bad_values`, `error` and `text` refuse a value outside the sample that
        does not fit its column, since no type can change any more.
    """

    n_rows: int
    sample: Table
    rows: RowNumbers

    def __init__(self, chunks: Chunks, options: Reading) -> None:
        self.file, self._options = chunks, options
        self._late: BadValues = options.bad_values or "finding"
        self.source, self.names = chunks.source, chunks.names
        self._counts: dict[str, MisfitCount] = {}

    @property
    def raw(self) -> Any:
        """The records of delimited text, None for other formats."""
        return self.file.raw

    def draw(self, size: int, seed: int, on_rows: OnRows | None = None) -> None:
        """Draw a sample of rows and decide the types of columns.

        Afterwards `sample` is the table of these rows, `rows` their places in the file, and
        `n_rows` the number of all rows.
        """
        rows, n_rows = self.file.draw(size, seed, on_rows)
        self.check_unchanged()
        skipped = self._options.skip_footer or 0
        n_rows -= skipped
        if n_rows < 1:
            what = f"has no more than {skipped} lines" if skipped else "holds no rows"
            raise BadFile(self.source.name, what, remedy="check how it was made")
        content, footer, name = self.file.sample(n_rows), None, self.source.name
        ending = None if self._options.skip_footer == 0 else self.file.ending(n_rows)
        if ending is not None:
            footer = find_footer(ending.frame, ending.decimal, is_whole=len(ending.frame) == n_rows)
        if footer is not None and footer.is_sure and self._options.skip_footer is None:
            self._options = replace(self._options, skip_footer=footer.n_rows)
            n_rows -= footer.n_rows
            content = self.file.sample(n_rows)
            content = replace(content, warnings=(*content.warnings, footer.left_out()))
            footer = None
        elif footer is not None and ending is not None:
            # its cells may not fit: an error, as of a table that is read at once
            finish(ending, self._options, name, name, footer)
        table = finish(content, self._options, name, name, footer)
        self._set_notations(content, table)
        self.rows, self.n_rows = rows[rows < n_rows], n_rows
        read = self._read_cells
        original = Original(self.names, self.raw, read, self.source, self.file.stamp)
        self.sample = replace(table, original=original)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Yield all rows, in chunks; all columns or those that are named."""
        only = columns if self._late in ("finding", "missing") else None
        self._counts = {}
        for first, frame in self.file.frames(only):
            table = self._table_of(frame, first)
            for name, found in table.misfits.items():
                self._counts.setdefault(name, MisfitCount(found.what)).add(found, first)
            yield replace(table, misfits=table.misfits if self._late == "finding" else {})
        self.check_unchanged()

    def cells(self, rows: RowNumbers | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the cells as the file has them, as Arrow tables, each with its first row."""
        return self.file.cells(rows)

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """Read some rows, in the order given."""
        if len(rows) == 0:
            return self.sample.take(np.empty(0, dtype=np.intp))
        self.check_unchanged()
        order = np.argsort(rows, kind="stable")
        table = self._table_of(self.file.picked(rows[order]), 0)
        table = replace(table, misfits=table.misfits if self._late == "finding" else {})
        self.check_unchanged()
        if isinstance(table.frame.index, pd.RangeIndex):
            start, step = self.file.index
            table.frame.index = start + step * rows[order]
        return table.take(np.argsort(order, kind="stable"))

    @property
    def covers_all(self) -> bool:
        """Whether the sample holds all rows."""
        return len(self.rows) == self.n_rows

    def misfits(self) -> list[Message]:
        """Describe the values that did not fit their columns, after a pass over all chunks."""
        return misfit_notes(self._counts, self._late)

    def check_unchanged(self) -> None:
        """Refuse a file that was changed since it was opened: its rows are no longer those."""
        self.file.check_unchanged()

    def _read_cells(self, rows: npt.NDArray[np.intp] | None = None) -> Any:
        self.check_unchanged()
        cells = pa.concat_tables([part for _, part in self.cells(rows)])
        self.check_unchanged()
        return cells

    # types of columns

    def _set_notations(self, content: Content, sample: Table) -> None:
        """Keep how text was read in the sample."""
        words = frozenset() if content.declares_types else MISSING_WORDS
        self._missing = words.union(self._options.missing_words)
        names = {str(name) for name in content.frame.columns}
        self._own_missing = words_by_column(self._options.column_words, names, self.source.name)
        self._errors = words & ERROR_WORDS.difference(self._options.missing_words)
        self._has_unnamed_index = content.may_hold_index
        self._whole = {  # pyarrow reads hexadecimal numbers in these columns
            name for name, kind in content.types.items() if pa.types.is_integer(kind)
        }
        frame = sample.frame
        if content.may_hold_index and content.frame.columns[0] == "":
            frame = frame.assign(**{"": frame.index})
        decimal = self._options.decimal or content.decimal
        self._notations: dict[str, Notation | None] = {
            str(name): _notation_of(frame[name], decimal) for name in frame.columns
        }
        self._notations.update({name: own.notation for name, own in sample.written.items()})

    def _table_of(self, frame: pd.DataFrame, first_row: int) -> Table:
        """Type the columns of rows as those of the sample."""
        written: dict[str, Written] = {}
        misfits: dict[str, Misfits] = {}
        typed = frame.copy(deep=False)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
            if name in self._notations and may_be_text(dtype):
                typed[name] = self._typed(str(name), frame[name], first_row, written, misfits)
        if self._has_unnamed_index and len(typed.columns) > 1:
            typed = index_by_unnamed(typed, [])
        if self._options.missing_words or self._own_missing:
            typed = mask_missing(typed, self._options.missing_words, self._own_missing, [])
        as_text = [name for name in self._options.text_columns if name in typed]
        typed = as_text_column(typed, as_text)
        if isinstance(typed.index, pd.RangeIndex):
            start, step = self.file.index
            stop = first_row + len(typed)
            typed.index = pd.RangeIndex(start + step * first_row, start + step * stop, step)
        written = {name: item for name, item in written.items() if name in typed.columns}
        misfits = {name: item for name, item in misfits.items() if name in typed.columns}
        table = Table(typed, None, self.source.name, typed=True, bad_values=self._late)
        return replace(table, written=written, misfits=misfits, notations=self.sample.notations)

    def _typed(
        self,
        name: str,
        column: "pd.Series[Any]",
        first_row: int,
        written: dict[str, Written],
        misfits: dict[str, Misfits],
    ) -> "pd.Series[Any]":
        notation = self._notations[name]
        missing = self._missing
        if notation is not None and self._late == "finding":
            missing -= self._errors
        missing |= self._own_missing.get(name, frozenset())
        labels = Labels.from_text(column).without(missing, numbers_among(missing))
        if notation is None:
            return labels.to_series().set_axis(column.index)
        values, fits = self._parse(name, notation, labels.texts)
        if not isinstance(notation, Plain):
            written[name] = Written(labels, notation)
        if not fits.all():
            kept = labels.kept(fits)
            found = misfits[name] = Misfits.of(labels, kept, notation.what)
            if self._late in ("text", "error"):
                as_text = self._late == "text"
                raise late_error(name, found, first_row, self.source.name, as_text=as_text)
            labels, values = kept, values[fits]
        return in_seconds(series_of(labels, values)).set_axis(column.index)

    def _parse(self, name: str, notation: Notation, texts: list[str]) -> Parsed:
        values, fits = parse_later(notation, texts)
        for place in np.flatnonzero(~fits).tolist() if name in self._whole else ():
            if "0x" in texts[place].lower():
                with suppress(ValueError, OverflowError):
                    values[place], fits[place] = float(int(texts[place].strip(), 16)), True
        return values, fits


def _notation_of(column: "pd.Series[Any]", decimal: str) -> Notation | None:
    """Return the plain notation of a column of the sample; None if it is text or empty."""
    dtype = column.dtype
    if may_be_text(dtype) or (dtype.kind == "f" and bool(column.isna().all())):
        return None
    if pd.api.types.is_bool_dtype(dtype):
        return Plain("boolean")
    return Plain("date") if dtype.kind == "M" else Plain("numeric", decimal)
