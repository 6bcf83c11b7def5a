"""ARFF files: dense or sparse rows of numeric, nominal, string and date attributes.

Written by hand, as scipy's reader knows neither strings nor sparse rows and names no lines.
"""

import io
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from metaod.errors import BadFile
from metaod.tables.readers.arff_columns import ArffColumn
from metaod.tables.readers.arff_header import Attribute, read_header
from metaod.tables.readers.arff_syntax import split_sparse, split_values
from metaod.tables.readers.content import Content, gibibytes
from metaod.tables.readers.encodings import as_utf8
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source, too_large

__all__ = ["read"]

_VALUES_A_CHUNK = 200_000

_Line = tuple[int, str]
_Row = tuple[int, list[str | None]]


def read(source: Source, options: ReadOptions) -> Content:
    """Read an ARFF file.

    A nominal value must be a declared one. What a sparse row leaves out is 0, the first declared
    value, or, for strings and dates, missing.
    """
    text = as_utf8(source, source.encoding or options.encoding)
    line_of = array("q")
    with text.source.open() as stream, io.TextIOWrapper(stream, "utf-8-sig") as lines:
        numbered = enumerate(lines, start=1)
        attributes = [
            replace(declared, kind="string") if declared.name in options.text else declared
            for declared in read_header(numbered, source.name)
        ]
        columns = [ArffColumn(attribute, source.name) for attribute in attributes]
        reader = _RowReader(attributes, {"?", *options.na}, source.name)
        for chunk in _chunks(reader.rows(numbered), max(1, _VALUES_A_CHUNK // len(columns))):
            on_lines = [line for line, _ in chunk]
            line_of.extend(on_lines)
            claimed = 8 * len(line_of) * len(columns)
            if claimed > options.max_bytes:
                shown = f"takes {gibibytes(claimed)} or more"
                raise too_large(source.name, shown, options.max_bytes)
            by_column = zip(*(row for _, row in chunk), strict=True)
            for column, values in zip(columns, by_column, strict=True):
                column.add(values, on_lines)
    if not line_of:
        raise BadFile(source.name, "holds no rows after @data", remedy="check the export")
    frame = pd.DataFrame({column.attribute.name: column.series() for column in columns})
    return Content(frame, text.warnings, place=lambda row: f"line {line_of[row]}")


def _chunks(rows: Iterable[_Row], n_rows: int) -> Iterator[list[_Row]]:
    chunk: list[_Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == n_rows:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _RowReader:
    """Splits the lines after ``@data`` into one value an attribute, None where missing."""

    def __init__(self, attributes: Sequence[Attribute], missing: set[str], source: str) -> None:
        self.attributes = attributes
        self.missing = missing
        self.source = source
        self.left_out = [
            {"nominal": (*attribute.values, None)[0], "numeric": "0", "integer": "0"}.get(
                attribute.kind
            )
            for attribute in attributes
        ]

    def rows(self, lines: Iterable[_Line]) -> Iterator[_Row]:
        missing, width = self.missing, len(self.attributes)
        for number, raw in lines:
            line = raw.strip()
            if not line or line[0] == "%":
                continue
            row: list[str | None]
            if line[0] == "{":
                row = self._sparse(line, number)
            elif "'" in line or '"' in line or "," not in line:
                row = self._values(line, number)
            else:  # by far the most frequent, and the quickest
                row = [
                    None if value in missing else value for value in map(str.strip, line.split(","))
                ]
            if len(row) != width:
                raise BadFile(
                    self.source,
                    f"{len(row)} values where {width} attributes are declared",
                    line=number,
                    remedy="mend the line, or quote values that contain a comma",
                )
            yield number, row

    def _values(self, text: str, number: int) -> list[str | None]:
        values = split_values(text)
        if values is None:
            raise BadFile(
                self.source,
                "a quote is opened and not closed, or stands inside a value",
                line=number,
                remedy=r"close it, or write it as \' inside quotes",
            )
        return [None if value in self.missing and not quoted else value for value, quoted in values]

    def _sparse(self, line: str, number: int) -> list[str | None]:
        entries = split_sparse(line[1:-1]) if line.endswith("}") else None
        if entries is None:
            raise BadFile(
                self.source,
                "is no sparse row",
                line=number,
                remedy="write it as {index value, index value, ...}, indices counted from 0",
            )
        row = list(self.left_out)
        last = -1
        for index, value, quoted in entries:
            if not last < index < len(row):
                raise BadFile(
                    self.source,
                    f"index {index} where indices rise from 0 to {len(row) - 1}",
                    line=number,
                    remedy="mend the line",
                )
            row[index] = None if value in self.missing and not quoted else value
            last = index
        return row
