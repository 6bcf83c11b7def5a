"""Delimited text, also gzipped and in any encoding, in chunks of records."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaod.errors import BadFile
from metaod.options import BadValues, Reading
from metaod.tables._footers import find_footer
from metaod.tables._reading import finish
from metaod.tables._row_sample import RowSample
from metaod.tables._stream import OnRows, TableStream
from metaod.tables._table import Table
from metaod.tables._text_values import MISSING_WORDS
from metaod.tables.readers import delimited, parquet
from metaod.tables.readers._dialect import collapse_blanks, detect_dialect, repeat_code_columns
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import Source, as_utf8, check_width, library_errors

_CHUNK_BYTES = 2**25
_LAST_ROWS = 6  # among which totals and notes are looked for


class TextStream(TableStream):
    """Delimited text in chunks of records."""

    raw: RawText

    def __init__(self, source: Source, options: Reading, late: BadValues) -> None:
        text = as_utf8(source, options.encoding, keep=False)
        self._text = text.source
        self._dialect = detect_dialect(
            self._text, options, MISSING_WORDS.union(options.missing_words)
        )
        names = self._dialect.names
        check_width(source.name, (1, len(names)))
        self.raw = RawText(
            source,
            text.encoding,
            self._dialect.delimiter,
            self._dialect.decimal,
            names,
            self._dialect.header,
            self._dialect.skip_lines,
            n_rows=None,
        )
        super().__init__(source, options, names, late)
        self._warnings = (*text.warnings, *self._dialect.warnings)

    def draw(self, size: int, seed: int, on_rows: OnRows | None = None) -> None:
        drawn = RowSample(size, seed)
        last: deque[bytes] = deque(maxlen=_LAST_ROWS + (self.options.skip_footer or 0))
        records = (record.body for record in self.raw.records() if record.row >= 0)
        while bodies := list(islice(records, self.chunk_rows)):
            drawn.offer(bodies)
            last.extend(bodies[-(last.maxlen or 0) :])
            if on_rows is not None:
                on_rows(drawn.n_offered, None)
        self.check_unchanged()
        rows, bodies = drawn.drawn()
        skipped = self.options.skip_footer or 0
        n_rows = drawn.n_offered - skipped
        if n_rows < 1:
            what = f"has no more than {skipped} lines" if skipped else "holds no rows"
            raise BadFile(self.source.name, what, remedy="check how it was made")
        content = self._content(rows, bodies, n_rows)
        footer = None
        if self.options.skip_footer != 0:
            end = list(last)[: len(last) - skipped]
            ending = self._with_end(content, rows, bodies, end, n_rows)
            footer = find_footer(ending.frame, ending.decimal)
        if footer is not None and footer.is_sure and self.options.skip_footer is None:
            self.options = replace(self.options, skip_footer=footer.n_rows)
            n_rows -= footer.n_rows
            content = self._content(rows, bodies, n_rows)
            content = replace(content, warnings=(*content.warnings, footer.left_out()))
            footer = None
        elif footer is not None:  # whose cells may not fit: an error, as of a table read at once
            finish(ending, self.options, self.source.name, self.source.name, footer)
        self.raw = replace(self.raw, n_rows=n_rows)
        self._types = {
            name: pa.string() if pa.types.is_null(kind) else kind
            for name, kind in content.types.items()
        }
        self._set_sample(content, rows[rows < n_rows], n_rows, footer)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        only = None
        if columns is not None and self._late == "missing":
            only = [name for name in self.names if name in {*columns, ""}]
        for first, bodies in self._bodies():
            yield self._typed(bodies, first, only)
        self.check_unchanged()

    def cells(self, rows: npt.NDArray[np.int64] | None = None) -> Iterator[tuple[int, Any]]:
        schema = pa.schema([(name, pa.string()) for name in self.names])
        wanted = None if rows is None else frozenset(rows.tolist())
        fields, first = self.raw.rows(wanted), 0
        if wanted is not None and not wanted:
            yield first, schema.empty_table()
        while batch := list(islice(fields, self.chunk_rows)):
            columns = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
            yield first, pa.table(columns, schema=schema)
            first += len(batch)

    def _rising_rows(self, rows: npt.NDArray[np.int64]) -> Table:
        bodies = {record.row: record.body for record in self.raw.picked(frozenset(rows.tolist()))}
        return self._typed([bodies[row] for row in rows.tolist()], 0, None)

    def _bodies(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the rows' bytes in chunks, each with its first row."""
        bodies: list[bytes] = []
        first = n_bytes = 0
        for record in self.raw.records():
            if record.row < 0:
                continue
            bodies.append(record.body)
            n_bytes += len(record.body)
            if len(bodies) == self.chunk_rows or n_bytes > _CHUNK_BYTES:
                yield first, bodies
                first, bodies, n_bytes = first + len(bodies), [], 0
        if bodies:
            yield first, bodies

    def _joined(self, bodies: Sequence[bytes]) -> bytes:
        data = b"\n".join(bodies) + b"\n"
        if self.raw.body_encoding not in ("utf-8", "utf-8-sig", "ascii"):
            data = data.decode(self.raw.body_encoding).encode()
        return collapse_blanks(data) if self._dialect.delimiter == " " else data

    def _typed(self, bodies: Sequence[bytes], first: int, only: list[str] | None) -> Table:
        missing = MISSING_WORDS.union(self.options.missing_words)
        try:
            table = delimited.read_typed(
                self._joined(bodies), self._dialect, missing, self._types, only
            )
        except pa.ArrowInvalid as error:
            delimited.check_records(self._text, self._dialect)
            with library_errors(self.source.name, "delimited text"):
                raise error
        if table.num_rows != len(bodies):
            delimited.check_records(self._text, self._dialect)
            what = f"{table.num_rows:,} rows were read from {len(bodies):,} records"
            where = f"after row {first + 1:,}"
            raise BadFile(self.source.name, f"{what} {where}", remedy="look for odd quotes")
        frame, _ = parquet.frame_from_arrow(table, self.source.name)
        return self._typer.table_of(frame, first)

    def _content(
        self, rows: npt.NDArray[np.int64], bodies: Sequence[bytes], n_rows: int
    ) -> Content:
        kept = [body for body, row in zip(bodies, rows.tolist(), strict=True) if row < n_rows]
        data = self._joined(kept)
        plain = replace(self._dialect, header=False, skip_lines=0)
        plain = repeat_code_columns(plain, data)
        lines = _SampleLines(self.raw, rows)
        as_text = {
            name for name in (*self.options.text_columns, self.options.label) if name is not None
        }
        source = Source(self.source.name, data=data)
        try:
            content = delimited.read_records(
                source, plain, self.options, lines.line_of, as_text=as_text
            )
        except BadFile:
            delimited.check_records(self._text, self._dialect)
            raise
        if len(content.frame) != len(kept):
            delimited.check_records(self._text, self._dialect)
        self._dialect = replace(self._dialect, code_columns=plain.code_columns)
        return replace(content, warnings=(*self._warnings, *content.warnings))

    def _with_end(
        self,
        content: Content,
        rows: npt.NDArray[np.int64],
        bodies: Sequence[bytes],
        last: Sequence[bytes],
        n_rows: int,
    ) -> Content:
        """Read the sample with the last rows of the file, which may be a total and notes."""
        if len(content.frame) == n_rows:
            return content
        first = n_rows - len(last)
        above = [body for body, row in zip(bodies, rows.tolist(), strict=True) if row < first]
        places = np.concatenate([rows[rows < first], np.arange(first, n_rows)])
        return self._content(places, [*above, *last], n_rows)


class _SampleLines:
    """The lines at which the rows of a sample begin, found when the first is wanted."""

    def __init__(self, raw: RawText, rows: npt.NDArray[np.int64]) -> None:
        self._raw, self._rows = raw, rows
        self._lines: dict[int, int] = {}

    def line_of(self, place: int) -> int:
        if not self._lines:
            wanted, line = frozenset(self._rows.tolist()), 1
            for record in self._raw.records():
                if record.row in wanted:
                    self._lines[record.row] = line
                line += len(record.body.splitlines()) or 1
        return self._lines[int(self._rows[place])]
