"""Delimited text: CSV, TSV and similar formats, at once or in chunks of records."""

import gzip
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metaod.errors import BadFile
from metaod.options import Reading
from metaod.tables._notations import ERROR_WORDS, MISSING_WORDS
from metaod.tables.readers._arrow import frame_from_arrow
from metaod.tables.readers._dialect import collapse_blanks, detect_dialect, repeat_code_columns
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._reader import Chunks, Content, OnRows, RowNumbers, RowSample
from metaod.tables.readers._records import Records, check_records, read_typed
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    as_utf8,
    check_bytes,
    check_width,
    library_errors,
)

_HEAD_BYTES = 2**20
_CHUNK_BYTES = 2**25
_LAST_ROWS = 6  # among which totals and notes are looked for


def read(source: Source, options: Reading) -> Content:
    """Read delimited text."""
    raw = source
    text = as_utf8(raw, options.encoding)
    source = text.source
    dialect = detect_dialect(source, options, MISSING_WORDS.union(options.missing_words))
    _check_memory(source, len(dialect.names), text.n_lines, options.memory_limit)
    if dialect.delimiter == " ":
        with source.open() as stream:
            source = replace(source, path=None, data=collapse_blanks(stream.read()))
    if options.skip_footer:
        source = _without_last_lines(source, options.skip_footer)
    records = RawText.of(raw, text.encoding, dialect)
    check = partial(check_records, records, options.skip_footer or 0)
    content = Records(source, dialect, check).read(options, records.line_finder())
    if text.n_quotes % 2 or _last_field_has_line_end(content.frame):
        check()  # pyarrow accepts a quote that is left open
    return replace(
        content,
        warnings=(*text.warnings, *dialect.warnings, *content.warnings),
        raw=replace(records, n_rows=len(content.frame)),
    )


def _check_memory(source: Source, n_columns: int, n_lines: int, max_bytes: int) -> None:
    """Refuse a text whose cells need more memory than allowed."""
    check_width(source.name, (n_lines, n_columns))
    n_cells = min(n_lines * n_columns, source.size)  # a cell takes a byte or more
    what = f"{n_lines:,} lines of {n_columns:,} fields need about"
    check_bytes(source.name, what, CELL_BYTES * n_cells + 2 * source.size, max_bytes)


def _without_last_lines(source: Source, n_lines: int) -> Source:
    """Return a text without its last lines; blank ones are not counted."""
    with source.open() as stream:
        data = stream.read().rstrip()
    for _ in range(n_lines):
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1].rstrip()
    if not data:
        raise BadFile(source.name, f"has no more than {n_lines} lines", remedy="skip fewer")
    return replace(source, path=None, data=data + b"\n")


def _last_field_has_line_end(frame: pd.DataFrame) -> bool:
    last = frame.iloc[-1, -1] if len(frame) else None
    return isinstance(last, str) and "\n" in last


class TextChunks(Chunks):
    """Delimited text in chunks of records."""

    raw: RawText

    def __init__(self, source: Source, options: Reading) -> None:
        text = as_utf8(source, options.encoding, keep=False)
        self._text, self._options = text.source, options
        missing = MISSING_WORDS.union(options.missing_words)
        self._dialect = detect_dialect(self._text, options, missing)
        self._missing = missing - ERROR_WORDS.difference(options.missing_words)
        check_width(source.name, (1, len(self._dialect.names)))
        super().__init__(source, self._dialect.names)
        self.raw = RawText.of(source, text.encoding, self._dialect)
        self._warnings = (*text.warnings, *self._dialect.warnings)

    def draw(self, size: int, seed: int, on_rows: OnRows | None) -> tuple[RowNumbers, int]:
        """Draw rows in a pass over the file."""
        drawn = RowSample(size, seed)
        last: deque[bytes] = deque(maxlen=_LAST_ROWS + (self._options.skip_footer or 0))
        records = (record.body for record in self.raw.records() if record.row >= 0)
        while bodies := list(islice(records, self.chunk_rows)):
            drawn.offer(bodies)
            last.extend(bodies[-(last.maxlen or 0) :])
            if on_rows is not None:
                on_rows(drawn.n_offered, None)
        self._rows, self._bodies = drawn.drawn()
        self._last = list(last)
        return self._rows, drawn.n_offered

    def sample(self, n_rows: int) -> Content:
        """Return the drawn rows, whose types decide those of the chunks."""
        self.raw = replace(self.raw, n_rows=n_rows)
        content = self._content(self._rows, self._bodies, n_rows)
        self._types = {
            name: pa.string() if pa.types.is_null(kind) else kind
            for name, kind in content.types.items()
        }
        return content

    def ending(self, n_rows: int) -> Content | None:
        """Return the sample with the last rows of the file."""
        last = self._last[: len(self._last) - (self._options.skip_footer or 0)]
        if self._rows[-1] == len(self._rows) - 1:  # all rows were drawn
            last = []
        first = n_rows - len(last)
        above = [body for body, row in zip(self._bodies, self._rows, strict=True) if row < first]
        places = np.concatenate([self._rows[self._rows < first], np.arange(first, n_rows)])
        return self._content(places, [*above, *last], n_rows)

    def frames(self, columns: Sequence[str] | None) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the rows in frames of the sample's types, or of text."""
        only = None
        if columns is not None:
            only = [name for name in self.names if name in {*columns, ""}]
        bodies: list[bytes] = []
        first = n_bytes = 0
        for record in self.raw.records():
            if record.row < 0:
                continue
            bodies.append(record.body)
            n_bytes += len(record.body)
            if len(bodies) == self.chunk_rows or n_bytes > _CHUNK_BYTES:
                yield first, self._frame(bodies, first, only)
                first, bodies, n_bytes = first + len(bodies), [], 0
        if bodies:
            yield first, self._frame(bodies, first, only)

    def picked(self, rows: RowNumbers) -> pd.DataFrame:
        """Return some rows."""
        bodies = {record.row: record.body for record in self.raw.picked(frozenset(rows.tolist()))}
        return self._frame([bodies[row] for row in rows.tolist()], 0, None)

    def cells(self, rows: RowNumbers | None) -> Iterator[tuple[int, Any]]:
        """Yield the cells as text."""
        return self.raw.cells(rows, self.chunk_rows)

    def _check(self) -> None:
        check_records(replace(self.raw, n_rows=None), self._options.skip_footer or 0)

    def _joined(self, bodies: Sequence[bytes]) -> bytes:
        data = b"\n".join(bodies) + b"\n"
        if self.raw.body_encoding not in ("utf-8", "utf-8-sig", "ascii"):
            data = data.decode(self.raw.body_encoding).encode()
        return collapse_blanks(data) if self._dialect.delimiter == " " else data

    def _frame(self, bodies: Sequence[bytes], first: int, only: list[str] | None) -> pd.DataFrame:
        data = self._joined(bodies)
        try:
            table = read_typed(data, self._plain, self._missing, self._types, only)
        except pa.ArrowInvalid as error:
            self._check()
            with library_errors(self.source.name, "delimited text"):
                raise error
        if table.num_rows != len(bodies):
            self._check()
            what = f"{table.num_rows:,} rows were read from {len(bodies):,} records"
            where = f"after row {first + 1:,}"
            raise BadFile(self.source.name, f"{what} {where}", remedy="look for unbalanced quotes")
        return frame_from_arrow(table, self.source.name)[0]

    def _content(self, rows: RowNumbers, bodies: Sequence[bytes], n_rows: int) -> Content:
        kept = [body for body, row in zip(bodies, rows.tolist(), strict=True) if row < n_rows]
        data = self._joined(kept)
        plain = replace(self._dialect, header=False, skip_lines=0)
        self._plain = plain = repeat_code_columns(plain, data)
        find = self.raw.line_finder(frozenset(rows.tolist()))
        records = Records(Source(self.source.name, data=data), plain, self._check)
        content = records.read(self._options, lambda place: find(int(rows[place])))
        if len(content.frame) != len(kept):
            self._check()
        self._dialect = replace(self._dialect, code_columns=plain.code_columns)
        return replace(content, warnings=(*self._warnings, *content.warnings))


chunks = TextChunks


def shape(source: Source) -> tuple[float, float]:
    """Estimate the rows and columns of a text from its first lines."""
    head = source.head(_HEAD_BYTES)
    lines = head.splitlines() or [b""]
    n_lines = max(1, len(lines) - 1)
    n_columns = max(lines[n_lines // 2].count(mark) for mark in (b",", b";", b"\t", b"|", b" ")) + 1
    return _unpacked_size(source, len(head)) * n_lines / max(1, len(head)), n_columns


def _unpacked_size(source: Source, n_head: int) -> float:
    """Return the size of a text; of a gzipped one, as its first megabyte was packed."""
    if source.packed is None:
        return source.size
    size = source.packed.stat().st_size
    with (
        library_errors(source.name, "gzip"),
        source.packed.open("rb") as packed,
        gzip.GzipFile(fileobj=packed) as stream,
    ):
        stream.read(n_head)
        return n_head * size / max(1, packed.tell())
