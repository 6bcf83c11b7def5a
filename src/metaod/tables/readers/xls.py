"""XLS workbooks of Excel 97 to 2003; needs the extra ``excel``."""

import datetime as dt
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from metaod.errors import required
from metaod.options import Reading
from metaod.tables.readers._reader import Content
from metaod.tables.readers._sheets import Book, Row, read_book
from metaod.tables.readers._source import Source, library_errors


def read(source: Source, options: Reading) -> Content:
    """Read a sheet; the format holds at most 65,536 rows of 256 cells."""
    xlrd = required("xlrd", extra="excel", needed_for="reading XLS workbooks")
    with library_errors(source.name, "an XLS workbook"), source.open() as stream:
        settings = {"logfile": io.StringIO(), "on_demand": True, "ragged_rows": True}
        with xlrd.open_workbook(file_contents=stream.read(), **settings) as book:
            opened = Book(book.sheet_names(), lambda place: _rows(book, place))
            return replace(read_book(opened, source, options), sheet=None)  # it is not written


def _rows(book: Any, place: int) -> Iterator[Row]:
    sheet = book.sheet_by_index(place)
    for row in range(sheet.nrows):
        cells = tuple(_value(cell, book) for cell in sheet.row(row))
        if cells.count(None) < len(cells):
            yield row + 1, cells


def _value(cell: Any, book: Any) -> Any:
    import xlrd  # noqa: PLC0415 - an extra

    value = cell.value
    if cell.ctype in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK) or value == "":
        return None
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return bool(value)
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return xlrd.error_text_from_code.get(value, "#N/A")
    if cell.ctype == xlrd.XL_CELL_DATE:
        moment: dt.datetime = xlrd.xldate_as_datetime(value, book.datemode)
        return moment.time() if 0 <= value < 1 else moment
    return int(value) if isinstance(value, float) and value.is_integer() else value
