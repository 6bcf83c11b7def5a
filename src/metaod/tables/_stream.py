"""A file whose rows are read in chunks, because they may not fit in memory.

A first pass draws a sample over the whole file, which decides the types of columns. Then rows are
read in chunks, each an ordinary table whose columns are typed as in the sample.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from metaod.errors import BadFile, Message
from metaod.options import BadValues, Reading
from metaod.tables._footers import Footer
from metaod.tables._original import Original
from metaod.tables._reading import finish
from metaod.tables._table import Table
from metaod.tables._typed_chunks import ChunkTyper
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import Source

OnRows = Callable[[int, int | None], None]
"""Receives how many rows were read, and of how many if that is known."""

_CHUNK_CELLS, _CHUNK_ROWS = 2**21, 2**16


class TableStream(ABC):
    """A file whose rows are read in chunks.

    Parameters
    ----------
    source : Source
        The file.
    options : Reading
        How to read it.
    names : tuple of str
        All columns of the file.
    late : {'error', 'missing', 'text'}
        What to do with values outside the sample that do not fit their column: `error` and `text`
        refuse the file, since no type can change any more.
    index : tuple of int
        The number of the first row in the table's index, and the step to the next.
    """

    raw: RawText | None = None
    n_rows: int
    sample: Table
    rows: npt.NDArray[np.int64]

    def __init__(
        self,
        source: Source,
        options: Reading,
        names: Sequence[str],
        late: BadValues,
        index: tuple[int, int] = (0, 1),
    ) -> None:
        self.source, self.options, self.names = source, options, tuple(names)
        self._late, self._index = late, index
        self.stamp = source.stamp
        self.chunk_rows = int(np.clip(_CHUNK_CELLS // max(1, len(names)), 256, _CHUNK_ROWS))

    @abstractmethod
    def draw(self, size: int, seed: int, on_rows: OnRows | None = None) -> None:
        """Draw a sample of rows and decide the types of columns.

        Afterwards `sample` is the table of these rows, `rows` their places in the file, and
        `n_rows` the number of all rows.
        """

    @abstractmethod
    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Yield all rows, in chunks; all columns or those that are named."""

    @abstractmethod
    def cells(self, rows: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the cells as the file has them, as Arrow tables, each with its first row.

        With `rows`, rising, only these; then the first row is a place among them. If there are
        none, the only table is empty.
        """

    @abstractmethod
    def _rising_rows(self, rows: npt.NDArray[np.int64]) -> Table:
        """Read some rows, at least one, in the file's order."""

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """Read some rows, in the order given."""
        if len(rows) == 0:
            return self.sample.take(np.empty(0, dtype=np.intp))
        self.check_unchanged()
        order = np.argsort(rows, kind="stable")
        table = self._rising_rows(rows[order])
        self.check_unchanged()
        if isinstance(table.frame.index, pd.RangeIndex):
            start, step = self._index
            table.frame.index = start + step * rows[order]
        return table.take(np.argsort(order, kind="stable"))

    @property
    def covers_all(self) -> bool:
        """Whether the sample holds all rows."""
        return len(self.rows) == self.n_rows

    def misfits(self, used: frozenset[str]) -> list[Message]:
        """Describe the values of used columns that did not fit the types that the sample has."""
        return [own.note() for name, own in self._typer.misfits.items() if name in used]

    def check_unchanged(self) -> None:
        """Refuse a file that was changed since it was opened: its rows are no longer those."""
        if self.source.stamp != self.stamp:
            what = "was changed while its rows were scored"
            raise BadFile(self.source.name, what, remedy="run the command again")

    def _set_sample(
        self,
        content: Content,
        rows: npt.NDArray[np.int64],
        n_rows: int,
        footer: Footer | None = None,
    ) -> None:
        table = finish(content, self.options, self.source.name, self.source.name, footer)
        self._typer = ChunkTyper(content, table, self.options, self._late, self._index)
        self.rows, self.n_rows = rows, n_rows
        original = Original(
            self.names, self.raw, self._read_cells, self.source, self.stamp, self._read_cells
        )
        self.sample = replace(table, original=original)

    def _read_cells(self, rows: npt.NDArray[np.intp] | None = None) -> Any:
        self.check_unchanged()
        cells = pa.concat_tables([part for _, part in self.cells(rows)])
        self.check_unchanged()
        return cells
