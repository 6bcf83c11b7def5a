"""What the reader of a format returns, and files in chunks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import Message
from metaod.tables._column_types import row_number
from metaod.tables.readers._json_text import JsonRecords
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._source import Source

OnRows = Callable[[int, int | None], None]
"""Receives how many rows were read, and of how many if that is known."""

RowNumbers = npt.NDArray[np.int64]

_CHUNK_CELLS, _CHUNK_ROWS = 2**21, 2**16
_BLOCK = 2**16


@dataclass(frozen=True)
class SheetPlaces:
    """Where a table is in a sheet.

    Parameters
    ----------
    title : str
        The sheet.
    header : int or None
        The row of the names, counted from 1.
    rows : tuple of int
        The rows of the table.
    columns : mapping of str to int
        Its columns.
    formulas : mapping of str to ndarray of bool
        Of the columns with formulas, which rows of the table hold one.
    """

    title: str
    header: int | None
    rows: tuple[int, ...]
    columns: Mapping[str, int]
    formulas: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def holds_formula(self, row: int, column: str) -> bool:
        """Tell whether a cell of the table, with rows counted from 0, holds a formula."""
        return column in self.formulas and bool(self.formulas[column][row])


@dataclass(frozen=True)
class Content:
    """A table as a reader returns it, with the label still among its columns."""

    frame: pd.DataFrame
    warnings: tuple[Message, ...] = ()
    label_values: npt.NDArray[Any] | None = None  # if the label is not a column but another array
    locate: Callable[[int], str] = row_number  # describes the place of a row, counted from 0
    line_of: Callable[[int], int] | None = None  # the line of a row of delimited text
    decimal: str = "."
    declares_types: bool = False
    may_hold_index: bool = False  # a first column without a name is the row index
    raw: RawText | None = None  # of delimited text: its records as the file has them
    missing: Mapping[str, int] = field(default_factory=dict)  # how many cells each word made empty
    read_cells: Callable[[], Any] | None = None  # with all their digits
    types: Mapping[str, Any] = field(default_factory=dict)  # Arrow's, of delimited text
    sheet: SheetPlaces | None = None  # of a workbook
    records: JsonRecords | None = None  # of JSON


class Chunks(ABC):
    """A file whose rows are read in chunks, because they may not fit in memory.

    A reader that can do so returns one from its `chunks`. Frames are as the reader returns them
    for the whole file: types of text are decided by who reads the chunks.
    """

    raw: RawText | None = None
    index: tuple[int, int] = (0, 1)  # the number of the first row in the index, and the step
    chunk_rows: int

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        self.source, self.names = source, tuple(names)
        self.stamp = source.stamp
        self.chunk_rows = int(np.clip(_CHUNK_CELLS // max(1, len(names)), 256, _CHUNK_ROWS))

    @abstractmethod
    def draw(self, size: int, seed: int, on_rows: OnRows | None) -> tuple[RowNumbers, int]:
        """Draw a sample of rows; return their places, rising, and the number of all rows."""

    @abstractmethod
    def sample(self, n_rows: int) -> Content:
        """Return those of the drawn rows that are among the first `n_rows`, which are the table."""

    def ending(self, n_rows: int) -> Content | None:  # noqa: ARG002 - only some formats have it
        """Return the sample with the last rows, which may be a total and notes."""
        return None

    @abstractmethod
    def frames(self, columns: Sequence[str] | None) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield all rows in frames, each with its first row; all columns or some."""

    @abstractmethod
    def picked(self, rows: RowNumbers) -> pd.DataFrame:
        """Return some rows, rising."""

    @abstractmethod
    def cells(self, rows: RowNumbers | None) -> Iterator[tuple[int, Any]]:
        """Yield the cells as the file has them, as Arrow tables, each with its first row.

        With `rows`, rising, only these; then the first row is a place among them. If there are
        none, the only table is empty.
        """

    def check_unchanged(self) -> None:
        """Refuse a file that was changed since it was opened: its rows are no longer those."""
        self.source.check_unchanged(self.stamp)


class RowSample:
    """Collects a sample from rows that are offered in their order.

    Parameters
    ----------
    size : int
        The most rows.
    seed : int
        Of the draw.
    """

    def __init__(self, size: int, seed: int) -> None:
        self._size, self._seed = size, seed
        self.n_offered = 0
        self._keys = np.empty(0, dtype=np.uint64)
        self._rows: RowNumbers = np.empty(0, dtype=np.int64)
        self._items: list[Any] = []
        self._limit = np.uint64(2**64 - 1)

    def offer(self, items: Sequence[Any]) -> None:
        """Offer the next rows."""
        rows = np.arange(self.n_offered, self.n_offered + len(items), dtype=np.int64)
        self.n_offered += len(items)
        keys = _row_keys(rows, self._seed)
        kept = np.flatnonzero(keys <= self._limit)
        self._keys = np.concatenate([self._keys, keys[kept]])
        self._rows = np.concatenate([self._rows, rows[kept]])
        self._items += [items[place] for place in kept.tolist()]
        if len(self._keys) > 2 * self._size:
            self._prune()

    def drawn(self) -> tuple[RowNumbers, list[Any]]:
        """Return the numbers of the rows in the sample, rising, and what was offered of them."""
        self._prune()
        return self._rows, self._items

    def _prune(self) -> None:
        if len(self._keys) <= self._size:
            return
        kept = np.sort(np.argsort(self._keys, kind="stable")[: self._size])
        self._keys, self._rows = self._keys[kept], self._rows[kept]
        self._items = [self._items[place] for place in kept.tolist()]
        self._limit = self._keys.max()


def draw_rows(n_rows: int, size: int, seed: int) -> RowNumbers:
    """Return the numbers of the rows that :class:`RowSample` draws from so many, rising.

    >>> draw_rows(5, 9, seed=0).tolist(), len(draw_rows(1000, 9, seed=0))
    ([0, 1, 2, 3, 4], 9)
    """
    if size >= n_rows:
        return np.arange(n_rows, dtype=np.int64)
    sample = RowSample(size, seed)
    for start in range(0, n_rows, _BLOCK):
        sample.offer(range(start, min(start + _BLOCK, n_rows)))
    return sample.drawn()[0]


def _row_keys(rows: RowNumbers, seed: int) -> npt.NDArray[np.uint64]:
    """Hash numbers of rows (SplitMix64)."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        keys = start + (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
