"""Parquet files in batches of rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaod.errors import BadFile
from metaod.options import BadValues, Reading
from metaod.tables._row_sample import draw_rows
from metaod.tables._stream import OnRows, TableStream
from metaod.tables._table import Table
from metaod.tables.readers import parquet
from metaod.tables.readers._names import check_unique
from metaod.tables.readers._source import Source, check_width, library_errors

_BUFFER, _CHUNK_BYTES = 2**20, 2**27


class ParquetStream(TableStream):
    """A Parquet file in batches."""

    def __init__(self, source: Source, options: Reading, late: BadValues) -> None:
        import pyarrow.parquet  # noqa: PLC0415 - slow to import

        with library_errors(source.name, "Parquet"), source.open() as stream:
            file = pyarrow.parquet.ParquetFile(stream)
            self.schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        n_bytes = sum(group.total_byte_size for group in groups)
        self._starts = np.cumsum([0, *(group.num_rows for group in groups)], dtype=np.int64)
        check_width(source.name, (self.n_rows, len(self.schema.names)))
        check_unique(self.schema.names, source.name)
        super().__init__(source, options, self.schema.names, late, self._stored_range())
        if self.n_rows == 0:
            raise BadFile(source.name, "holds no rows", remedy="check how it was made")
        # long texts: so many bytes may be in memory at a time
        self.chunk_rows = max(
            1, min(self.chunk_rows, _CHUNK_BYTES * self.n_rows // max(1, n_bytes))
        )

    def draw(self, size: int, seed: int, on_rows: OnRows | None = None) -> None:
        rows = draw_rows(self.n_rows, size, seed)
        parts = []
        for first, part in self._picked(rows):
            parts.append(part)
            if on_rows is not None:
                on_rows(first, self.n_rows)
        table = pa.concat_tables(parts)
        self.check_unchanged()
        with library_errors(self.source.name, "Parquet"):
            content = parquet.content_of_arrow(table, self.source.name)
        self._set_sample(content, rows, self.n_rows)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        only = None
        if columns is not None and self._late == "missing":
            stored = [name for name in self._stored_index() if isinstance(name, str)]
            only = [name for name in self.names if name in {*columns, *stored}]
        for first, part in self._batches(columns=only):
            yield self._typed(part, first)
        self.check_unchanged()

    def cells(self, rows: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[int, Any]]:
        if rows is None:
            yield from self._batches()
            return
        if len(rows) == 0:
            yield 0, self.schema.empty_table()
        first = 0
        for _, part in self._picked(rows):
            yield first, part
            first += part.num_rows

    def _rising_rows(self, rows: npt.NDArray[np.int64]) -> Table:
        return self._typed(pa.concat_tables([part for _, part in self._picked(rows)]), 0)

    def _stored_index(self) -> Any:
        """Return the columns, or the range, that pandas wrote as the index."""
        return (self.schema.pandas_metadata or {}).get("index_columns", [])

    def _stored_range(self) -> tuple[int, int]:
        for own in self._stored_index():
            if isinstance(own, dict) and own.get("kind") == "range":
                return int(own["start"]), int(own["step"])
        return 0, 1

    def _typed(self, part: Any, first: int) -> Table:
        with library_errors(self.source.name, "Parquet"):
            content = parquet.content_of_arrow(part, self.source.name)
        return self._typer.table_of(content.frame, first)

    def _picked(self, rows: npt.NDArray[np.int64]) -> Iterator[tuple[int, Any]]:
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
        import pyarrow.parquet  # noqa: PLC0415 - slow to import

        with library_errors(self.source.name, "Parquet"), self.source.open() as stream:
            # a buffer: otherwise the whole part of a column in a row group is read at once
            file = pyarrow.parquet.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
            # all groups together: a batch may then hold the rows of several small ones
            runs = [list(range(len(self._starts) - 1))] if groups is None else [[i] for i in groups]
            for run in runs:
                first = int(self._starts[run[0]])
                for batch in file.iter_batches(self.chunk_rows, run, columns):
                    batch.validate(full=True)
                    yield first, pa.Table.from_batches([batch], batch.schema)
                    first += batch.num_rows
