"""Where exactly a delimited text is faulty: a second, slow pass that only errors need."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from metaod.errors import BadFile
from metaod.tables.readers.dialect import Dialect
from metaod.tables.readers.source import Source

__all__ = ["check_records", "line_of_row"]

# A line after the last: the record it falls into was never closed. A noncharacter, so no text's.
_END = "\ufdd0"


@dataclass(frozen=True)
class _Record:
    first_line: int
    last_line: int
    fields: list[str]


def check_records(source: Source, dialect: Dialect) -> None:
    """Raise :class:`BadFile` at the first record with a quote never closed or a wrong width."""
    width = len(dialect.names)
    ragged: BadFile | None = None
    for record in _records(source, dialect):
        if any(field.endswith(_END) for field in record.fields) and record.fields != [_END]:
            raise BadFile(
                source.name,
                "a quote is opened in this record and never closed",
                line=record.first_line,
                remedy='close it, or write a quote inside a field as ""',
            )
        if ragged is None and len(record.fields) != width and record.fields != [_END]:
            ragged = _ragged(source, dialect, record)
            if record.last_line == record.first_line:
                break  # no quote was open, so it is this line's own fault
    if ragged is not None:
        raise ragged


def line_of_row(source: Source, dialect: Dialect, row: int) -> int:
    """Return the line on which a row, counted from 0, begins."""
    wanted = row + dialect.header
    for number, record in enumerate(_records(source, dialect)):
        if number == wanted:
            return record.first_line
    raise AssertionError("the row was read from this text")


def _records(source: Source, dialect: Dialect) -> Iterator[_Record]:
    with source.open() as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
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
            raise BadFile(
                source.name,
                f"this record cannot be split into fields ({error})",
                line=last_line + 1,
                remedy="look for a quote that is never closed",
            ) from error


def _ragged(source: Source, dialect: Dialect, record: _Record) -> BadFile:
    found, width = len(record.fields), len(dialect.names)
    than = "the header has" if dialect.header else "the first line has"
    remedy = "mend the line, or quote fields that contain the delimiter"
    if record.fields[0].startswith("#"):
        remedy = "comment lines are not read: remove them"
    elif dialect.delimiter == "," and (width, found) == (1, 2):
        remedy = "if the comma is a decimal mark, say decimal=',' (--decimal ,)"
    elif dialect.header and found == width + 1 and record.first_line == dialect.skip_lines + 2:
        remedy = (
            "if every line has one field more, row names were written without a header: write "
            "the file without them (R: row.names=FALSE)"
        )
    spans = ""
    if record.last_line > record.first_line:
        spans = f" (a quoted field goes on to line {record.last_line})"
    return BadFile(
        source.name,
        f"{found} {'field' if found == 1 else 'fields'}{spans} where {than} {width}, by the "
        f"delimiter {dialect.delimiter!r}",
        line=record.first_line,
        remedy=remedy,
    )
