"""Parquet files, and Arrow tables as frames of float64, int64, bool, datetime64 and text."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from metaod.options import Reading
from metaod.tables.readers._arrow import MOST_EXPANSION, check_texts, content_of_arrow, text_bytes
from metaod.tables.readers._names import check_unique
from metaod.tables.readers._reader import Chunks, Content, OnRows, RowNumbers, draw_rows
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    check_bytes,
    check_expansion,
    check_width,
    library_errors,
)

_BUFFER, _CHUNK_BYTES, _MOST_CHUNK_BYTES = 2**20, 2**27, 2**30


def read(source: Source, options: Reading) -> Content:
    """Read a Parquet file."""
    with library_errors(source.name, "Parquet"), source.open() as stream:
        metadata = pyarrow.parquet.read_metadata(stream)
        _check_size(metadata, source.name, options.memory_limit)
        n_bytes = 8 * metadata.num_rows * metadata.num_columns
        part = "read a part of it"
        check_expansion(source.name, source.size, n_bytes, part, most=MOST_EXPANSION)
        stream.seek(0)
        texts = _texts(metadata, options.memory_limit)
        table = pyarrow.parquet.ParquetFile(stream, read_dictionary=texts).read()
        table.validate(full=True)
        check_unique(table.column_names, source.name)
        check_texts(table, source, options.memory_limit)
        content = content_of_arrow(table, source.name)
    return replace(content, read_cells=partial(_read_cells, source))


def _read_cells(source: Source) -> Any:
    with library_errors(source.name, "Parquet"), source.open() as stream:
        return pyarrow.parquet.ParquetFile(stream).read()


def _check_size(metadata: Any, source: str, max_bytes: int) -> None:
    rows, columns = metadata.num_rows, metadata.num_columns
    check_width(source, (rows, columns))
    declared = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    what = f"promises {rows:,} rows × {columns:,} columns, which need"
    check_bytes(source, what, max(CELL_BYTES * rows * columns, declared), max_bytes)


def _texts(metadata: Any, max_bytes: int = _CHUNK_BYTES) -> list[str]:
    """Name the columns whose texts, stored once each, could need much memory: read them so."""
    most = min(_CHUNK_BYTES, max_bytes)
    found = set()
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            is_text = column.physical_type == "BYTE_ARRAY"
            if is_text and group.num_rows * column.total_uncompressed_size > most:
                found.add(column.path_in_schema)
    return sorted(found)


class ParquetChunks(Chunks):
    """A Parquet file in batches."""

    def __init__(self, source: Source) -> None:
        with library_errors(source.name, "Parquet"), source.open() as stream:
            file = pyarrow.parquet.ParquetFile(stream)
            self._schema, n_rows = file.schema_arrow, file.metadata.num_rows
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            self._texts = _texts(file.metadata)
        names = self._schema.names
        self._n_rows = n_rows
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)], dtype=np.int64)
        check_width(source.name, (n_rows, len(names)))
        check_unique(names, source.name)
        super().__init__(source, names)
        self._index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        for own in self._index:
            if isinstance(own, dict) and own.get("kind") == "range":
                self.index = int(own["start"]), int(own["step"])
        # long texts: so many bytes may be in memory at a time
        n_bytes = max(1, sum(group.total_byte_size for group in groups))
        self.chunk_rows = max(1, min(self.chunk_rows, _CHUNK_BYTES * n_rows // n_bytes))

    def draw(self, size: int, seed: int, on_rows: OnRows | None) -> tuple[RowNumbers, int]:
        """Draw rows, and read the row groups that hold them."""
        rows = draw_rows(self._n_rows, size, seed)
        parts = [self._schema.empty_table()]
        for first, part in self._picked(rows):
            parts.append(part)
            if on_rows is not None:
                on_rows(first, self._n_rows)
        self._sample = pa.concat_tables(parts)
        return rows, self._n_rows

    def sample(self, n_rows: int) -> Content:  # noqa: ARG002 - all rows are those of the table
        """Return the drawn rows."""
        with library_errors(self.source.name, "Parquet"):
            return content_of_arrow(self._sample, self.source.name)

    def frames(self, columns: Sequence[str] | None) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield batches."""
        only = None
        if columns is not None:
            wanted = {*columns, *(name for name in self._index if isinstance(name, str))}
            only = [name for name in self.names if name in wanted]
        for first, part in self._batches(columns=only):
            yield first, self._frame(part)

    def picked(self, rows: RowNumbers) -> pd.DataFrame:
        """Return some rows."""
        return self._frame(pa.concat_tables([part for _, part in self._picked(rows)]))

    def cells(self, rows: RowNumbers | None) -> Iterator[tuple[int, Any]]:
        """Yield the cells with their types."""
        if rows is None:
            yield from self._batches()
            return
        if len(rows) == 0:
            yield 0, self._schema.empty_table()
        first = 0
        for _, part in self._picked(rows):
            yield first, part
            first += part.num_rows

    def _frame(self, part: Any) -> pd.DataFrame:
        with library_errors(self.source.name, "Parquet"):
            return content_of_arrow(part, self.source.name).frame

    def _picked(self, rows: RowNumbers) -> Iterator[tuple[int, Any]]:
        """Yield some rows, rising, in parts; each with the first row of the batch it is from."""
        ends = np.searchsorted(rows, self._starts)
        groups = np.flatnonzero(np.diff(ends) > 0).tolist()
        for first, part in self._batches(groups):
            start, stop = np.searchsorted(rows, [first, first + part.num_rows])
            if stop > start:
                yield first, part.take(pa.array(rows[start:stop] - first))

    def _batches(
        self, groups: Sequence[int] | None = None, columns: list[str] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield the rows of all or some row groups as Arrow tables, each with its first row."""
        with library_errors(self.source.name, "Parquet"), self.source.open() as stream:
            # a buffer: otherwise the whole part of a column in a row group is read at once
            file = pyarrow.parquet.ParquetFile(
                stream, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=self._texts
            )
            # all groups together: a batch may then hold the rows of several small ones
            runs = [list(range(len(self._starts) - 1))] if groups is None else [[i] for i in groups]
            for run in runs:
                first = int(self._starts[run[0]])
                for batch in file.iter_batches(self.chunk_rows, run, columns):
                    batch.validate(full=True)
                    part = pa.Table.from_batches([batch], batch.schema)
                    what = f"rows {first + 1:,} to {first + part.num_rows:,} need"
                    check_bytes(self.source.name, what, text_bytes(part), _MOST_CHUNK_BYTES)
                    fields = [self._schema.field(name) for name in part.column_names]
                    yield first, part.cast(pa.schema(fields, self._schema.metadata))
                    first += batch.num_rows


def chunks(source: Source, _: Reading) -> ParquetChunks | None:
    """Open a file to read it in chunks; None for a packed one."""
    return None if source.packed else ParquetChunks(source)


def shape(source: Source) -> tuple[float, float]:
    """Return the number of rows and columns; 0 for a packed file."""
    if source.packed is not None:
        return 0, 0
    with library_errors(source.name, "Parquet"), source.open() as stream:
        metadata = pyarrow.parquet.read_metadata(stream)
        return metadata.num_rows, metadata.num_columns
