"""OpenDocument sheets, parsed as a stream of XML."""

import datetime as dt
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from xml.parsers import expat

from metaod.errors import BadFile
from metaod.options import Reading
from metaod.tables.readers._reader import Content
from metaod.tables.readers._sheets import Book, Row, read_book
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    check_expansion,
    check_zip,
    damaged,
    library_errors,
)

_MOST_ROWS, _MOST_COLUMNS = 2**20, 2**14
_MOST_BLANKS = 1000  # that one element stands for
_MOST_EXPANSION = 1000  # equal rows and cells are stored once, with their number
_BLOCK = 2**16
_TABLE, _OFFICE, _TEXT = (
    f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0 " for name in ("table", "office", "text")
)
_ERROR = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0 value-type"


def read(source: Source, options: Reading) -> Content:
    """Read a sheet; formulas as their stored values."""
    with (
        library_errors(source.name, "an OpenDocument sheet"),
        source.open() as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        check_zip(archive, source, options.memory_limit)
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise BadFile(source.name, "is protected by a password", remedy="save it without one")
        titles = _Sheet(source, -1)
        for _ in titles.rows(archive):
            pass
        book = Book(titles.titles, lambda place: _Sheet(source, place).rows(archive))
        return replace(read_book(book, source, options), sheet=None)  # it is not written


class _Sheet:
    """Collects the rows of one sheet, and the titles of all."""

    def __init__(self, source: Source, wanted: int) -> None:
        self.titles: list[str] = []
        self._source, self._wanted = source, wanted
        self._rows: list[tuple[int, int, tuple[Any, ...]]] = []  # number, how often, cells
        self._number = 1
        self._n_cells = 0
        self._tables = self._notes = 0  # that are open
        self._cells: list[tuple[Any, int]] = []
        self._cell: Mapping[str, str] | None = None
        self._text: list[str] = []
        self._repeats = 1

    def rows(self, archive: zipfile.ZipFile) -> Iterator[Row]:
        """Yield the rows that are not blank."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse
        with archive.open("content.xml") as stream:
            while chunk := stream.read(_BLOCK):
                parser.Parse(chunk)
                for number, repeats, cells in self._rows:
                    for place in range(repeats):
                        self._n_cells += len(cells)
                        n_bytes = CELL_BYTES * self._n_cells
                        size, remedy = self._source.size, "save it as CSV"
                        name = self._source.name
                        check_expansion(name, size, n_bytes, remedy, most=_MOST_EXPANSION)
                        yield number + place, cells
                self._rows.clear()
            parser.Parse(b"", True)

    def _refuse(self, *_: Any) -> None:
        raise damaged(self._source.name, "declares entities, which no sheet needs")

    @property
    def _is_wanted(self) -> bool:
        return self._tables == 1 and len(self.titles) == self._wanted + 1 and not self._notes

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == f"{_TABLE}table":
            self._tables += 1
            if self._tables == 1:
                self.titles.append(attributes.get(f"{_TABLE}name", ""))
        elif name == f"{_OFFICE}annotation":
            self._notes += 1
        elif not self._is_wanted:
            return
        elif name == f"{_TABLE}table-row":
            self._cells = []
            self._repeats = int(attributes.get(f"{_TABLE}number-rows-repeated", 1))
        elif name in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            self._cell, self._text = attributes, []
        elif name == f"{_TEXT}p" and self._text:
            self._text.append("\n")
        elif name == f"{_TEXT}s":
            self._text.append(" " * min(int(attributes.get(f"{_TEXT}c", 1)), _MOST_BLANKS))
        elif name in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            self._text.append("\t" if name.endswith("tab") else "\n")

    def _characters(self, text: str) -> None:
        if self._cell is not None and not self._notes:
            self._text.append(text)

    def _end(self, name: str) -> None:
        if name == f"{_TABLE}table":
            self._tables -= 1
        elif name == f"{_OFFICE}annotation":
            self._notes -= 1
        elif self._cell is not None and name.startswith(_TABLE) and name.endswith("table-cell"):
            repeats = int(self._cell.get(f"{_TABLE}number-columns-repeated", 1))
            self._cells.append((self._value(self._cell), repeats))
            self._cell = None
        elif name == f"{_TABLE}table-row" and self._is_wanted:
            self._end_row()

    def _end_row(self) -> None:
        while self._cells and self._cells[-1][0] is None:
            self._cells.pop()
        width = sum(repeats for _, repeats in self._cells)
        last = self._number + self._repeats - 1
        if width > _MOST_COLUMNS or (width and last > _MOST_ROWS) or self._repeats < 1:
            what = f"names cells beyond row {_MOST_ROWS:,} or column {_MOST_COLUMNS:,}"
            raise damaged(self._source.name, what)
        if width:
            cells = tuple(value for value, repeats in self._cells for _ in range(repeats))
            self._rows.append((self._number, self._repeats, cells))
        self._number = last + 1

    def _value(self, cell: Mapping[str, str]) -> Any:
        kind = cell.get(f"{_OFFICE}value-type")
        text = "".join(self._text)
        if cell.get(_ERROR) == "error":
            return text
        if kind in ("float", "percentage", "currency"):
            number = float(cell[f"{_OFFICE}value"])
            return int(number) if number.is_integer() else number
        if kind == "date":
            return dt.datetime.fromisoformat(cell[f"{_OFFICE}date-value"])
        if kind == "time":
            return cell[f"{_OFFICE}time-value"]
        if kind == "boolean":
            return cell[f"{_OFFICE}boolean-value"] == "true"
        return cell.get(f"{_OFFICE}string-value", text) or None
