"""XLSX workbooks; needs the extra ``excel``."""

import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from metaod.errors import Message, counted, required
from metaod.options import Reading
from metaod.tables.readers._reader import Content
from metaod.tables.readers._sheets import Book, Row, read_book
from metaod.tables.readers._source import Source, check_zip, damaged, library_errors

_MAX_ROWS = 2**20  # of the format; openpyxl would pad a tiny file up to any row that it names
_BLOCK = 2**20


def read(source: Source, options: Reading) -> Content:
    """Read a sheet; formulas as their stored values."""
    openpyxl = required("openpyxl", extra="excel", needed_for="reading XLSX workbooks")
    with (
        library_errors(source.name, "an XLSX workbook"),
        warnings.catch_warnings(),
        source.open() as stream,
    ):
        warnings.simplefilter("ignore")  # openpyxl warns of styles and validations it ignores
        with zipfile.ZipFile(stream) as archive:
            check_zip(archive, source, options.memory_limit)
            has_formulas = any(map(_holds_formulas, _sheets_of(archive)))
        stream.seek(0)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        titles = [sheet.title for sheet in book.worksheets]
        content = read_book(
            Book(titles, lambda place: _rows(book.worksheets[place], source.name)), source, options
        )
        if not has_formulas or content.sheet is None:
            return content
        stream.seek(0)
        book = openpyxl.load_workbook(stream, read_only=True, keep_links=False)
        rows = _rows(book[content.sheet.title], source.name)
        return _with_formulas(content, rows)


def _rows(sheet: Any, source: str) -> Iterator[Row]:
    sheet.reset_dimensions()  # the size that the sheet declares may be wrong
    all_rows = sheet.iter_rows(values_only=True, max_row=_MAX_ROWS + 1)
    for number, cells in enumerate(all_rows, start=1):
        if number > _MAX_ROWS:
            what = f"sheet {sheet.title!r} names rows beyond {_MAX_ROWS:,}, the most possible"
            raise damaged(source, what)
        if cells.count(None) < len(cells):
            yield number, cells


def _sheets_of(archive: zipfile.ZipFile) -> Iterator[Any]:
    for name in archive.namelist():
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            with archive.open(name) as stream:
                yield stream


def _holds_formulas(stream: Any) -> bool:
    end = b""
    while chunk := stream.read(_BLOCK):
        if b"<f>" in end + chunk or b"<f " in end + chunk:
            return True
        end = chunk[-2:]
    return False


def _with_formulas(content: Content, rows: Iterator[Row]) -> Content:
    """Add which cells hold formulas, and a note on those whose values are not stored."""
    from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula  # noqa: PLC0415 - an extra

    places, frame = content.sheet, content.frame
    assert places is not None  # noqa: S101 - of a workbook
    row_of = {number: row for row, number in enumerate(places.rows)}
    held = np.zeros(frame.shape, dtype=np.bool_)
    for number, cells in rows:
        row = row_of.get(number)
        for j, column in enumerate(places.columns.values() if row is not None else ()):
            cell = cells[column - 1] if column <= len(cells) else None
            held[row, j] = isinstance(cell, ArrayFormula | DataTableFormula) or (
                isinstance(cell, str) and cell.startswith("=")
            )
    names = [str(name) for name in frame.columns]
    formulas = {name: held[:, j] for j, name in enumerate(names) if held[:, j].any()}
    content = replace(content, sheet=replace(places, formulas=formulas))
    counts = (held & frame.isna().to_numpy()).sum(axis=0).tolist()
    found = {name: count for name, count in zip(names, counts, strict=True) if count}
    if not found:
        return content
    note = Message(
        "formulas",
        "{formulas} without a stored value {are} missing ({columns}): open the workbook in a "
        "spreadsheet program and save it",
        formulas=counted(sum(found.values()), "formula"),
        are="is" if sum(found.values()) == 1 else "are",
        columns=", ".join(f"{name!r}: {count:,}" for name, count in found.items()),
    )
    return replace(content, warnings=(*content.warnings, note))
