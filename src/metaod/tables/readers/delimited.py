"""Delimited text: CSV, TSV and similar formats, parsed by pyarrow.

pyarrow would read 01000 as 1000, so columns with such codes in the first megabyte are parsed as
text. Codes that begin further down are read as numbers: finding them takes a second pass.
"""

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from metaod.errors import BadFile, Message, Setting, UserError
from metaod.options import Reading
from metaod.tables._column_types import rounding_warning
from metaod.tables._footers import is_total
from metaod.tables._text_values import MISSING_WORDS, OBVIOUS_WORDS
from metaod.tables.readers._dialect import Dialect, collapse_blanks, detect_dialect, long_fields
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._reader import Content, Reader
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    as_utf8,
    check_bytes,
    check_width,
    head_text,
    library_errors,
)
from metaod.tables.readers.parquet import frame_from_arrow

_BLOCK_BYTES = 2**20
_BLOCK_BYTES_A_COLUMN = 800
_MANY_COLUMNS, _FIRST_RECORDS = 2000, 6
_DECIMAL = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_LARGEST_BLOCK = 2**31 - 1
# A line after the last; a record that contains it was never closed. A Unicode noncharacter.
_END = "\ufdd0"
_MOST_FOOTERS = 10
_FAILED_COLUMN = re.compile(r"In CSV column #([0-9]+):")


def _read(source: Source, options: Reading) -> Content:
    raw = source
    text = as_utf8(raw, raw.encoding or options.encoding)
    source = text.source
    dialect = detect_dialect(source, options, MISSING_WORDS.union(options.missing_words))
    _check_memory(source, len(dialect.names), text.n_lines, options.max_bytes)
    if dialect.delimiter == " ":
        with source.open() as stream:
            source = replace(source, path=None, data=collapse_blanks(stream.read()))
    if options.skip_footer:
        source = _without_last_lines(source, options.skip_footer)
    as_text = {name for name in (*options.text_columns, options.label) if name is not None}
    line_of = _Lines(source, dialect).line_of
    content = read_records(source, dialect, options, line_of, as_text=as_text)
    if text.n_quotes % 2 or _last_field_has_line_end(content.frame):
        check_records(source, dialect)  # pyarrow accepts a quote that is left open
    return replace(
        content,
        warnings=(*text.warnings, *dialect.warnings, *content.warnings),
        raw=RawText(
            raw,
            text.encoding,
            dialect.delimiter,
            dialect.decimal,
            dialect.names,
            dialect.header,
            dialect.skip_lines,
            n_rows=len(content.frame),
        ),
    )


def read_records(
    source: Source,
    dialect: Dialect,
    options: Reading,
    line_of: Callable[[int], int],
    *,
    as_text: Collection[str] = (),
) -> Content:
    """Read the records of a UTF-8 text whose dialect is known; pyarrow decides types."""
    missing = MISSING_WORDS.union(options.missing_words)
    types = {name: pa.string() for name in (*as_text, *dialect.code_columns)}
    if len(dialect.names) > _MANY_COLUMNS:
        table = _parse_wide(source, dialect, missing, types)
    else:
        table = _parse(source, dialect, missing, types)
    words = _missing_words(table, source, dialect, missing.difference(options.missing_words))
    warnings = [
        rounding_warning(name, "beyond 64 bits")
        for name, column in zip(dialect.names, table.columns, strict=True)
        if _has_rounded_integers(name, column, source, dialect)
    ]
    frame, type_warnings = frame_from_arrow(table, source.name)
    return Content(
        frame,
        (*warnings, *type_warnings),
        locate=lambda row: f"line {line_of(row)}",
        line_of=line_of,
        decimal=dialect.decimal,
        may_hold_index=True,
        missing=words,
        types=dict(zip(dialect.names, table.schema.types, strict=True)),
    )


def read_typed(
    data: bytes,
    dialect: Dialect,
    missing: Collection[str],
    types: dict[str, Any],
    only: list[str] | None = None,
) -> Any:
    """Read records of a UTF-8 text without a header as columns of known types.

    A column that holds something else is read as floats if its type is whole numbers, then as
    text; `types` is changed accordingly. Raise ArrowInvalid if the records are no table.
    """
    parse = pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    layout = pyarrow.csv.ReadOptions(
        block_size=min(len(data) + 1, _LARGEST_BLOCK), column_names=list(dialect.names)
    )
    while True:
        convert = pyarrow.csv.ConvertOptions(
            null_values=sorted(missing),
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
            column_types=types,
            include_columns=only,
        )
        try:
            return pyarrow.csv.read_csv(pa.py_buffer(data), layout, parse, convert)
        except pa.ArrowInvalid as error:
            failed = _FAILED_COLUMN.match(str(error))
            if failed is None:
                raise
            name = dialect.names[int(failed[1])]
            if pa.types.is_string(types[name]):
                raise
            types[name] = pa.float64() if types[name] == pa.int64() else pa.string()


def _check_memory(source: Source, n_columns: int, n_lines: int, max_bytes: int) -> None:
    """Refuse a text whose cells need more memory than allowed."""
    check_width(source.name, (n_lines, n_columns))
    n_cells = min(n_lines * n_columns, source.size)  # a cell takes a byte or more
    what = f"{n_lines:,} lines of {n_columns:,} fields need about"
    check_bytes(source.name, what, CELL_BYTES * n_cells + 2 * source.size, max_bytes)


def _parse(
    source: Source,
    dialect: Dialect,
    missing: frozenset[str],
    types: dict[str, Any],
    only: list[str] | None = None,
) -> Any:
    convert = pyarrow.csv.ConvertOptions(
        null_values=sorted(missing),
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
        column_types=types,
        include_columns=only,
    )
    parse = pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    # each column of each block takes its time: a wide table has few blocks
    block_bytes = max(_BLOCK_BYTES, _BLOCK_BYTES_A_COLUMN * len(dialect.names))
    while True:
        layout = pyarrow.csv.ReadOptions(
            block_size=block_bytes,
            skip_rows=dialect.skip_lines,
            column_names=list(dialect.names),
            skip_rows_after_names=int(dialect.header),
        )
        with library_errors(source.name, "delimited text"), source.open() as stream:
            try:
                return pyarrow.csv.read_csv(stream, layout, parse, convert)
            except pa.ArrowInvalid as error:
                # "straddling": a record is longer than a block; anything else is a faulty text
                enough = block_bytes > min(source.size, _LARGEST_BLOCK - 1)
                if "straddl" not in str(error) or enough:
                    check_records(source, dialect)
                    raise
        block_bytes = min(16 * block_bytes, _LARGEST_BLOCK)


def _without_last_lines(source: Source, n_lines: int) -> Source:
    """Return a text without its last lines; blank ones are not counted."""
    with source.open() as stream:
        data = stream.read().rstrip()
    for _ in range(n_lines):
        data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1].rstrip()
    if not data:
        raise BadFile(source.name, f"has no more than {n_lines} lines", remedy="skip fewer")
    return replace(source, path=None, data=data + b"\n")


def _parse_wide(
    source: Source, dialect: Dialect, missing: frozenset[str], types: dict[str, Any]
) -> Any:
    """Parse a wide table: pyarrow takes 80 µs a column to find its type, 10 µs if it is given."""
    first = [record.fields for record in islice(_records(source, dialect), 1, _FIRST_RECORDS)]
    columns = dict(zip(dialect.names, zip(*first, strict=False), strict=False))
    decimals = {
        name: pa.float64()
        for name, fields in columns.items()
        if dialect.decimal == "." and all(map(_DECIMAL.fullmatch, fields))
    }
    try:
        return _parse(source, dialect, missing, {**decimals, **types})
    except UserError:  # another kind of value further down, if it is no fault of the file
        return _parse(source, dialect, missing, types)


def _missing_words(
    table: Any, source: Source, dialect: Dialect, missing: frozenset[str]
) -> dict[str, int]:
    """Count the words, in columns with gaps, that were taken as missing; not in wide tables."""
    names = [
        name for name, column in zip(dialect.names, table.columns, strict=True) if column.null_count
    ]
    if not names or len(dialect.names) > _MANY_COLUMNS:
        return {}
    types = dict.fromkeys(names, pa.string())
    texts = _parse(source, dialect, frozenset([""]), types, only=names)
    looked_for = pa.array(sorted(missing - OBVIOUS_WORDS))
    counts: Counter[str] = Counter()
    for column in texts.columns:
        found = column.filter(pc.is_in(column, value_set=looked_for))
        for item in found.value_counts().to_pylist() if len(found) else ():
            counts[item["values"]] += item["counts"]
    return dict(counts)


def _last_field_has_line_end(frame: pd.DataFrame) -> bool:
    last = frame.iloc[-1, -1] if len(frame) else None
    return isinstance(last, str) and "\n" in last


def _has_rounded_integers(name: str, column: Any, source: Source, dialect: Dialect) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    extremes = pc.min_max(column).as_py()
    if max(-(extremes["min"] or 0), extremes["max"] or 0) < 2**63:
        return False
    raw = _parse(source, dialect, frozenset([""]), {name: pa.string()}, only=[name])
    whole = pc.match_substring_regex(raw.column(0), "^ *[+-]?[0-9]{19,} *$")
    return bool(pc.any(whole).as_py())


READER = Reader(
    "delimited text",
    (".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ".data"),
    lambda _, head: head_text(head) is not None and not head.startswith(b"PK\x03\x04"),
    _read,
    options=frozenset({"delimiter", "encoding", "decimal", "header", "skip_rows", "skip_footer"}),
)


# Records one by one: a second, slow pass that finds the line of an error


@dataclass(frozen=True)
class _Record:
    first_line: int
    last_line: int
    fields: list[str]


def check_records(source: Source, dialect: Dialect) -> None:
    """Raise :class:`BadFile` at the first record with an open quote or a wrong width."""
    width = len(dialect.names)
    ragged: BadFile | None = None
    above: _Record | None = None
    with closing(_records(source, dialect)) as records:
        for record in records:
            if any(field.endswith(_END) for field in record.fields) and record.fields != [_END]:
                what = "a quote is opened in this record and never closed"
                remedy = 'close it, or write a quote inside a field as ""'
                raise BadFile(source.name, what, line=record.first_line, remedy=remedy)
            if ragged is None and len(record.fields) != width and record.fields != [_END]:
                if record.last_line == record.first_line:  # no open quote can have caused it
                    below = _n_short_below(records, width)
                    ragged = _ragged_error(source, dialect, record, below, above)
                    break
                ragged = _ragged_error(source, dialect, record, None)
            above = record
    if ragged is not None:
        raise ragged


class _Lines:
    """The lines at which rows begin, found by one pass over the text when the first is wanted."""

    def __init__(self, source: Source, dialect: Dialect) -> None:
        self._source, self._dialect = source, dialect
        self._lines: array[int] = array("q")

    def line_of(self, row: int) -> int:
        if not self._lines:
            records = _records(self._source, self._dialect)
            self._lines.extend(record.first_line for record in records)
        return self._lines[row + self._dialect.header]


def _records(source: Source, dialect: Dialect) -> Generator[_Record, None, None]:
    with (
        source.open() as stream,
        io.TextIOWrapper(stream, "utf-8-sig", newline="") as text,
        long_fields(),
    ):
        for _ in range(dialect.skip_lines):
            next(text)

        def lines() -> Iterator[str]:
            yield from text
            yield _END

        reader = csv.reader(lines(), delimiter=dialect.delimiter)
        last_line = dialect.skip_lines
        try:
            for fields in reader:
                first_line, last_line = last_line + 1, dialect.skip_lines + reader.line_num
                if fields:
                    yield _Record(first_line, last_line, fields)
        except csv.Error as error:
            what = f"this record cannot be split into fields ({error})"
            remedy = "look for a quote that is never closed"
            raise BadFile(source.name, what, line=last_line + 1, remedy=remedy) from error


def _n_short_below(records: Iterator[_Record], width: int) -> int | None:
    """Return how many short records follow up to the end of the text; None if others do."""
    n_short = 0
    for record in records:
        if record.fields == [_END]:
            break
        if len(record.fields) >= width or n_short == _MOST_FOOTERS:
            return None
        n_short += 1
    return n_short


def _ragged_error(
    source: Source,
    dialect: Dialect,
    record: _Record,
    n_short_below: int | None,
    above: _Record | None = None,
) -> BadFile:
    found, width = len(record.fields), len(dialect.names)
    expected = "the header has" if dialect.header else "the first line has"
    remedy: str | Message = "fix the line, or quote fields that contain the delimiter"
    if record.fields[0].startswith("#"):
        remedy = "comment lines are not read: remove them"
    elif found < width and n_short_below is not None and record.first_line > 2:
        n_rows, line = 1 + n_short_below, record.first_line
        if above is not None and is_total(next(filter(str.strip, above.fields), "")):
            n_rows, line = n_rows + 1, above.first_line
        remedy = Message(
            "footer-read",
            "set {setting} if the table ends above line {line}",
            setting=Setting("skip_footer", n_rows),
            line=line,
        )
    elif dialect.delimiter == "," and (width, found) == (1, 2):
        remedy = Message(
            "decimal-comma",
            "if the comma is a decimal mark, set {setting}",
            setting=Setting("decimal", ","),
        )
    elif found == 1 and record.fields[0].strip() and not record.fields[0].strip("-=+ "):
        remedy = "lines of dashes are not read: remove them"
    elif dialect.header and found == width + 1 and not record.fields[-1].strip():
        remedy = (
            "lines end with a delimiter, but the header does not: add one to it, or remove them"
        )
    elif dialect.header and found == width + 1 and record.first_line == dialect.skip_lines + 2:
        remedy = (
            "if every line has one field more, row names were written without a header: write "
            "the file without them (R: row.names=FALSE)"
        )
    fields = "1 field" if found == 1 else f"{found} fields"
    if record.last_line > record.first_line:
        fields += f" (a quoted field continues to line {record.last_line})"
    what = f"{fields} where {expected} {width}, with the delimiter {dialect.delimiter!r}"
    return BadFile(source.name, what, line=record.first_line, remedy=remedy)
