"""A table as read: its columns, an optional label, its cells in the file, and rows to prepare."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from itertools import islice
from statistics import mode
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from metaod.errors import BadFile, BadParameter, Message, Setting, UserError, counted
from metaod.options import BadValues, Reading
from metaod.tables._column_types import Written
from metaod.tables._column_values import Cells, Place
from metaod.tables._misfits import Misfits
from metaod.tables._notations import MISSING_WORDS, Notation, Plain
from metaod.tables._objects import Labels, text_of
from metaod.tables._styles import Style
from metaod.tables.readers._json_text import JsonRecords
from metaod.tables.readers._names import check_unique
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._reader import Content, SheetPlaces
from metaod.tables.readers._source import Source
from metaod.tables.readers.memory import read_memory

_BATCH = 2**16
_FIRST_ROWS = 100
_EXACT_DIGITS = 15  # every number of that many digits is a double of its own
_WHOLE = r"^ *(?:0|-?[1-9][0-9]*) *$"
_NUMBER = r"^ *-?(?:0|[1-9][0-9]*)(?:{mark}[0-9]+)?(?:[eE][+-]?[0-9]+)? *$"


@dataclass(frozen=True, eq=False)
class Original:
    """The cells of a file; it is read again when they are wanted.

    Parameters
    ----------
    names : tuple of str
        All columns, the label and the row index included.
    raw : RawText or None
        Of delimited text: its records, which can be copied byte for byte.
    read : callable
        Reads the cells of all or some rows, which rise, all columns: an Arrow table or a frame.
        Those of delimited text are text.
    source : Source
        The file.
    stamp : tuple of int or None
        Its size and time.
    sheet : SheetPlaces or None
        Where the table is in a workbook.
    records : JsonRecords or None
        Where its rows are in JSON.
    """

    names: tuple[str, ...]
    raw: RawText | None
    read: Callable[..., Any]
    source: Source
    stamp: tuple[int, int] | None
    sheet: SheetPlaces | None = None
    records: JsonRecords | None = None

    @classmethod
    def of(
        cls,
        content: Content,
        source: Source,
        read_again: Callable[[], Content],
        label: str | None,
    ) -> "Original":
        """Describe a content that was just read, without keeping it."""
        if content.raw is not None:
            raw = content.raw
            return cls(raw.names, raw, partial(_text_cells, raw), raw.source, raw.source.stamp)
        frame = content.frame
        names = [str(name) for name in (*frame.index.names, *frame.columns) if name is not None]
        has_label_array = content.label_values is not None and label is not None
        if has_label_array:
            names.append(str(label))
        read = content.read_cells
        if read is None:
            read = partial(_frame_cells, read_again, label if has_label_array else None)
        read = partial(some_cells, read)
        places = content.sheet, content.records
        return cls(tuple(names), None, read, source, source.stamp, *places)

    def check_unchanged(self) -> None:
        """Refuse a file that was changed after it was read: its rows are no longer those."""
        self.source.check_unchanged(self.stamp)

    @property
    def _is_unchanged(self) -> bool:
        """Whether the file is there as it was read."""
        try:
            return self.source.stamp == self.stamp
        except BadFile:
            return False

    def texts(self, rows: Sequence[int]) -> dict[str, list[str]]:
        """Return the cells of some rows of delimited text by column; none if the file changed."""
        if self.raw is None or not self._is_unchanged:
            return {}
        in_order = sorted(rows)
        fields = dict(zip(in_order, self.raw.rows(frozenset(rows)), strict=True))
        columns = zip(*(fields[row] for row in rows), strict=True)
        return {name: list(cells) for name, cells in zip(self.names, columns, strict=False)}

    @cached_property
    def decimals(self) -> dict[str, int]:
        """The decimals that the numbers of a column have, if it keeps zeros at the end: 12.50."""
        if self.raw is None or not self._is_unchanged:
            return {}
        number = re.compile(rf"\s*[+-]?[0-9]+(?:{re.escape(self.raw.decimal)}([0-9]*))?\s*")
        columns = zip(*islice(self.raw.rows(), _FIRST_ROWS), strict=False)
        found = {}
        for name, cells in zip(self.raw.names, columns, strict=False):
            parts = [match[1] or "" for match in map(number.fullmatch, cells) if match]
            usual = mode(map(len, parts)) if parts else 0
            keeps_zeros = any(len(part) == usual and part.endswith("0") for part in parts)
            found[name] = usual if keeps_zeros else 0
        return found

    def read_numbers(self, rows: npt.NDArray[np.intp] | None = None) -> Any:
        """Read the cells, or those of some rows; text becomes numbers if that loses no digit.

        Columns stay text with leading zeros, with whole numbers of more than 15 digits, and with
        anything but plain numbers and words for missing values. Empty cells are null.
        """
        cells = self.read(None if rows is None else np.sort(rows))
        if rows is not None:
            cells = cells.take(np.argsort(np.argsort(rows, kind="stable"), kind="stable"))
        if self.raw is None:
            return cells
        numbers = [_as_numbers(column, self.raw.decimal) for column in cells.columns]
        return pa.table(numbers, names=cells.column_names)


def _text_cells(raw: RawText, rows: npt.NDArray[np.int64] | None = None) -> Any:
    return pa.concat_tables([table for _, table in raw.cells(rows, _BATCH)])


def some_cells(read: Callable[[], Any], rows: npt.NDArray[np.intp] | None = None) -> Any:
    """Return some of the cells, as an Arrow table or a frame, that a function reads; or all."""
    cells = read()
    return cells if rows is None else cells.take(rows)


def _frame_cells(read_again: Callable[[], Content], array_name: str | None) -> pd.DataFrame:
    content = read_again()
    frame = content.frame
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    if array_name is not None:
        frame = frame.assign(**{array_name: content.label_values})
    return frame


def _as_numbers(column: Any, decimal: str) -> Any:
    """Convert text to int64 or float64 if every cell is a plain number that they hold exactly."""
    column = pc.if_else(pc.equal(column, ""), None, column)
    missing = pc.is_in(column, value_set=pa.array(sorted(MISSING_WORDS)))
    present = pc.if_else(missing, None, column)
    if present.null_count == len(column):
        return column
    if _all_match(present, _WHOLE):
        trimmed = pc.utf8_trim(present, " ")
        is_short = pc.max(pc.utf8_length(trimmed)).as_py() <= _EXACT_DIGITS
        return trimmed.cast(pa.int64()) if is_short else column
    if not _all_match(present, _NUMBER.format(mark=re.escape(decimal))):
        return column
    texts = pc.utf8_trim(pc.replace_substring(present, decimal, "."), " ")
    numbers = texts.cast(pa.float64())
    long = pc.greater(pc.utf8_length(texts), _EXACT_DIGITS)
    doubtful = zip(texts.filter(long).to_pylist(), numbers.filter(long).to_pylist(), strict=True)
    if not np.isfinite(numbers.drop_null().to_numpy()).all():
        return column
    if any(Decimal(text) != Decimal(repr(number)) for text, number in doubtful):
        return column
    return numbers


def _all_match(column: Any, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is True


@dataclass(frozen=True)
class Table:
    """A table as read, before preparation.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns without the label; the row order and index are those of the source.
    label : numpy.ndarray of int8 or None
        1 for an outlier, 0 otherwise; for evaluation only, never to select or score.
    source : str
        The path of the file, or the type of the object.
    warnings : tuple of Message
        Warnings of the reader.
    typed : bool
        Whether the columns have their final types, as after `read_table`: text is not parsed.
    original : Original or None
        All columns as the file has them, to write them again.
    written : mapping of str to Written
        Columns whose text was read in some notation, as $1,234.50 or 18.03.2024: their text and
        notation. A fitted preparation reads later rows in its own notation.
    misfits : mapping of str to Misfits
        Cells that are not what their column is, as a word in a column of numbers: they are missing
        in the frame.
    notations : mapping of str to Notation
        The notations of the other columns that were read from text.
    bad_values : {"finding", "missing", "text", "error"}
        The option with which it was read: with the last two, a fitted preparation refuses cells
        that are not what its columns are.
    file_column : str or None
        Of several files: the column that names the file. It names rows and is not used.
    """

    frame: pd.DataFrame
    label: npt.NDArray[np.int8] | None = None
    source: str = "table"
    warnings: tuple[Message, ...] = ()
    typed: bool = False
    original: Original | None = None
    written: Mapping[str, Written] = field(default_factory=dict, repr=False)
    misfits: Mapping[str, Misfits] = field(default_factory=dict, repr=False)
    notations: Mapping[str, Notation] = field(default_factory=dict, repr=False)
    bad_values: BadValues = field(default="finding", repr=False)
    file_column: str | None = None

    @classmethod
    def untyped(cls, source: object) -> "Table":
        """Take a table in memory without deciding the types of its columns: a plan does that."""
        return cls(read_memory(source, Reading()).frame, source=type(source).__name__)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.frame.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns, the label not counted."""
        return int(self.frame.shape[1])

    @property
    def index(self) -> "pd.Index[Any]":
        """The row index, to join scores to the rows."""
        return self.frame.index

    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Return some of the rows, without the file that they came from."""
        written = {name: own.take(rows) for name, own in self.written.items()}
        misfits = {name: own.take(rows) for name, own in self.misfits.items()}
        misfits = {name: own for name, own in misfits.items() if len(own.rows)}
        label = None if self.label is None else self.label[rows]
        frame = self.frame.iloc[rows]
        return replace(
            self, frame=frame, label=label, original=None, written=written, misfits=misfits
        )

    def joined(self, other: "Table") -> "Table":
        """Return the rows of this table and then those of another one with the same columns."""
        parts = self, other
        frame = pd.concat([own.frame[self.frame.columns] for own in parts], ignore_index=True)
        written = {}
        for name in self.written.keys() | other.written.keys():
            labels = Labels.from_text(pd.concat([_texts(own, name) for own in parts]))
            notation = (self.written.get(name) or other.written[name]).notation
            written[name] = Written(labels, notation)
        misfits = {}
        for name in self.misfits.keys() | other.misfits.keys():
            found = [own.misfits[name] for own in parts if name in own.misfits]
            if name in other.misfits:
                found[-1] = replace(found[-1], rows=found[-1].rows + self.n_rows)
            if merged := Misfits.merged(found):
                n_values = int(frame[name].notna().sum()) + len(merged.rows)
                misfits[name] = replace(merged, n_values=n_values)
        return Table(frame, source=self.source, typed=True, written=written, misfits=misfits)

    def text(self, column: str, row: int) -> str:
        """Return a cell as written, if it was read in a notation or is a misfit; else nothing."""
        if column in self.written:
            labels = self.written[column].labels
            code = labels.codes[row]
            return labels.texts[code] if code >= 0 else ""
        text = self.misfits[column].text(row) if column in self.misfits else ""
        style = self.style(column)
        return text if text or style.is_plain else style.text(self.frame[column].iloc[row])

    def lack(self, column: str, row: int) -> str:
        """Say what a cell of a wrong type is not, as "not a number"; nothing of other cells."""
        own = self.misfits.get(column)
        return f"not a {own.what.removesuffix('s')}" if own and own.text(row) else ""

    def style(self, column: str) -> Style:
        """Return how the values of a column are written."""
        own = self.written.get(column)
        if own is None:
            return Style.of(self.notations.get(column, Plain("numeric")))
        return Style.of(own.notation, own.labels.texts)

    def given(self) -> pd.DataFrame:
        """Return the frame with the texts of misfits in their cells."""
        frame = self.frame.copy(deep=False)
        for name, own in self.misfits.items():
            values = frame[name].astype(object)
            values.iloc[own.rows] = own.texts
            frame[name] = values
        return frame

    def checked_label(self) -> npt.NDArray[np.int8]:
        """Return the label, which must have outliers and inliers."""
        if self.label is None:
            named = "name the column that marks outliers: {set}"
            remedy = Message("name-label", named, set=Setting("label"))
            what = "the table has no label"
            raise UserError(what, where=self.source, remedy=remedy, code="no-label")
        n_outliers = int(self.label.sum())
        if n_outliers in (0, self.n_rows):
            what = f"the label marks every row as {'an outlier' if n_outliers else 'an inlier'}"
            remedy = Message("one-class", "a comparison needs outliers and inliers")
            raise UserError(what, where=self.source, remedy=remedy, code="one-class")
        return self.label

    def __repr__(self) -> str:
        size = f"{counted(self.n_rows, 'row')} × {counted(self.n_columns, 'column')}"
        if self.label is not None:
            size += f", {counted(int(self.label.sum()), 'labelled outlier')}"
        return f"Table({self.source!r}: {size})"


class Rows(Table):
    """A table that is prepared: its frame shares the values of the given one."""

    @classmethod
    def of(cls, table: object, fitted_names: Sequence[str] | None = None) -> "Rows":
        """Take the rows of a table, a frame or an array; refuse anything else."""
        own, given = Table(pd.DataFrame()), table
        if isinstance(table, Table):
            own, given = table, table.frame
        return cls(**{**vars(own), "frame": _as_frame(given, own.source, fitted_names)})

    @property
    def missing(self) -> frozenset[str]:
        """The words that are missing values: none if the types of columns are decided."""
        return frozenset() if self.typed else MISSING_WORDS

    @property
    def place(self) -> Place:
        """Where the rows are, for errors."""
        return Place(self.frame.index, None if self.original is None else self.source)

    def cells(self, name: str) -> Cells:
        """Return a column."""
        written, misfits = self.written.get(name), self.misfits.get(name)
        return Cells(self.frame[name], self.missing, self.place, written, misfits)

    def replaced(self, columns: Mapping[str, Cells]) -> "Rows":
        """Return the rows with other cells in some columns."""
        if not columns:
            return self
        frame = self.frame.assign(**{name: own.series for name, own in columns.items()})
        written = {name: own for name, own in self.written.items() if name not in columns}
        written |= {name: own.written for name, own in columns.items() if own.written is not None}
        misfits = {name: own for name, own in self.misfits.items() if name not in columns}
        misfits |= {name: own.misfits for name, own in columns.items() if own.misfits is not None}
        return replace(self, frame=frame, written=written, misfits=misfits)

    def __len__(self) -> int:
        return len(self.frame)


def _as_frame(table: object, source: str, fitted_names: Sequence[str] | None) -> pd.DataFrame:
    if hasattr(type(table), "__arrow_c_stream__") and not isinstance(
        table, pd.DataFrame | pd.Series
    ):
        table = read_memory(table, Reading()).frame
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
        columns: pd.Index[Any] = table.columns
        levels = [name if isinstance(name, tuple) else (name,) for name in columns]
        frame.columns = pd.Index(["/".join(map(str, names)) for names in levels])
        check_unique(frame.columns)
    elif isinstance(table, np.ndarray):
        frame = _frame_of_array(table, fitted_names)
    else:
        legal, remedy = (
            "a Table, a frame or a numpy array",
            "Use metaod.read_table first",
        )
        raise BadParameter("Preparation", "table", legal, type(table), remedy=remedy)
    for axis, name in ((1, "columns"), (0, "rows")):
        if frame.shape[axis] == 0:
            raise UserError(f"the table has no {name}", where=source, remedy="give at least one")
    return frame


def _frame_of_array(
    array: "np.ndarray[Any, Any]", fitted_names: Sequence[str] | None
) -> pd.DataFrame:
    legal, remedy = "", ""
    if array.dtype.names is not None:
        legal, remedy = "an array without named fields", "Read it with metaod.read_table first"
    elif array.ndim != 2:
        legal, remedy = "an array of rows × columns", "Reshape it"
    if legal:
        given = f"an array of shape {array.shape} and type {array.dtype}"
        raise BadParameter("Preparation", "table", legal, given, remedy=remedy)
    names = fitted_names or [f"x{number}" for number in range(1, array.shape[1] + 1)]
    if len(names) != array.shape[1]:
        what = (
            f"the array has {array.shape[1]} columns, but Preparation was fitted with {len(names)}"
        )
        remedy = "give the same columns in the same order, or a frame with their names"
        raise UserError(what, remedy=remedy)
    return pd.DataFrame(array, columns=list(names), copy=False)


def _texts(table: Table, name: str) -> "pd.Series[Any]":
    """Return the text of a column: as written, if it was read in a notation."""
    if name in table.written:
        return table.written[name].labels.to_series()
    values = table.frame[name].astype(object)
    return values.map(text_of).where(values.notna(), None)
