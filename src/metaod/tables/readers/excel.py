"""XLSX workbooks; needs the extra ``excel``."""

import datetime as dt
import warnings
import zipfile
from itertools import zip_longest
from typing import Any

import pandas as pd

from metaod.errors import BadFile, BadParameter, Message, MissingExtra, Setting, listed
from metaod.options import Reading
from metaod.tables._notations import MISSING_WORDS
from metaod.tables.readers._names import (
    check_names,
    count_titles,
    default_names,
    has_header,
    title_warning,
)
from metaod.tables.readers._reader import Content, SheetPlaces
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    check_bytes,
    check_expansion,
    check_zip,
    damaged,
    library_errors,
)

_MAX_ROWS = 2**20  # of the format; openpyxl would pad a tiny file up to any row that it names

_ROWS_TO_CHECK = 200
_FULL_ROWS = 5  # of text make a table

_Row = tuple[int, tuple[Any, ...]]  # its number in the sheet, and its cells


def read(source: Source, options: Reading) -> Content:
    """Read the rows and columns of a sheet that are not blank; formulas as their saved values."""
    title, rows, messages = _read_rows(source, options)
    missing = MISSING_WORDS.union(options.missing_words)
    rows = [(number, cells) for number, cells in rows if number > (options.skip_rows or 0)]
    rows = rows[: max(0, len(rows) - (options.skip_footer or 0))]
    if not rows:
        what = "has no rows between those that are skipped"
        raise BadFile(source.name, what, remedy="skip fewer rows")
    if options.skip_rows is None and options.header is not False:
        beginning = zip(*zip_longest(*(cells for _, cells in rows[:_ROWS_TO_CHECK])), strict=True)
        n_titles = count_titles(list(beginning), missing)
        if n_titles:
            titles = [cells for _, cells in rows[:n_titles]]
            messages.append(title_warning(titles, rows[n_titles][0] - 1))
            rows = rows[n_titles:]
    width = max(len(cells) for _, cells in rows)
    columns = [[cells[j] if j < len(cells) else None for _, cells in rows] for j in range(width)]
    used = [j for j in range(width) if any(cell is not None for cell in columns[j])]
    columns = [columns[j] for j in used]

    header = options.header
    if header is None:
        below = list(zip(*(column[1:201] for column in columns), strict=True))
        header, warning = has_header([column[0] for column in columns], below, missing)
        messages += [warning] if warning else []
    names, header_row = default_names(len(columns)), None
    if header:
        header_row = rows[0][0]
        first = ["" if column[0] is None else str(column[0]) for column in columns]
        names = check_names(first, source.name, rows[0][0], [j + 1 for j in used])
        columns, rows = [column[1:] for column in columns], rows[1:]
    if not rows:
        raise BadFile(source.name, "holds a header but no rows", remedy="check the export")

    frame = pd.DataFrame(dict(zip(names, columns, strict=True)), dtype=object)
    places = dict(zip(names, (j + 1 for j in used), strict=True))
    numbers = tuple(number for number, _ in rows)
    return Content(
        frame,
        tuple(messages),
        locate=lambda row: f"row {numbers[row]}",
        may_hold_index=True,
        sheet=SheetPlaces(title, header_row, numbers, places),
    )


def _read_rows(source: Source, options: Reading) -> tuple[str, list[_Row], list[Message]]:
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError as error:
        needed_for = "reading XLSX workbooks"
        raise MissingExtra("openpyxl", extra="excel", needed_for=needed_for) from error

    with (
        library_errors(source.name, "an XLSX workbook"),
        warnings.catch_warnings(),
        source.open() as stream,
    ):
        warnings.simplefilter("ignore")  # openpyxl warns of styles and validations it ignores
        with zipfile.ZipFile(stream) as archive:
            check_zip(archive, source, options.max_bytes)
        stream.seek(0)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        sheet = _choose_sheet(book.worksheets, source.name, options.sheet)
        messages = []
        if options.sheet is None and len(book.worksheets) > 1:
            messages.append(_sheets_note([item.title for item in book.worksheets], sheet.title))
        sheet.reset_dimensions()  # the size that the sheet declares may be wrong
        rows: list[_Row] = []
        width = n_filled = 0
        all_rows = sheet.iter_rows(values_only=True, max_row=_MAX_ROWS + 1)
        for number, cells in enumerate(all_rows, start=1):
            if number > _MAX_ROWS:
                what = f"sheet {sheet.title!r} names rows beyond {_MAX_ROWS:,}, the most possible"
                raise damaged(source.name, what)
            filled = len(cells) - cells.count(None)
            if filled:
                rows.append((number, cells))
                width, n_filled = max(width, len(cells)), n_filled + filled
            n_bytes = CELL_BYTES * len(rows) * width
            check_bytes(source.name, "needs at least", n_bytes, options.max_bytes)
            check_expansion(source.name, CELL_BYTES * n_filled, n_bytes, "remove the empty columns")
    if not rows:
        what = f"sheet {sheet.title!r} is empty"
        raise BadFile(source.name, what, remedy=Setting("sheet").advice("name another: {set}"))
    return sheet.title, rows, messages


def _choose_sheet(sheets: list[Any], source: str, wanted: str | int | None) -> Any:
    titles = [sheet.title for sheet in sheets]
    if not sheets:
        raise BadFile(source, "holds no sheet of cells", remedy="check how it was saved")
    if wanted is None:
        return next(filter(_has_table, sheets), sheets[0]) if sheets[1:] else sheets[0]
    if isinstance(wanted, str) and wanted in titles:
        return sheets[titles.index(wanted)]
    if str(wanted).isdecimal() and int(wanted) < len(sheets):
        return sheets[int(wanted)]
    legal = f"a sheet of {source}, by name or counted from 0: {', '.join(map(repr, titles))}"
    raise BadParameter("read_table", "sheet", legal, wanted)


def _has_table(sheet: Any) -> bool:
    """Whether the beginning of a sheet holds a column of values, or many full rows of text."""
    sheet.reset_dimensions()
    beginning = sheet.iter_rows(values_only=True, max_row=_ROWS_TO_CHECK)
    below = [cells for cells in beginning if any(cell is not None for cell in cells)][1:]
    for column in zip_longest(*below):
        n_values = sum(isinstance(cell, int | float | dt.date | dt.time) for cell in column)
        if n_values > len(below) / 2:
            return True
    n_full = sum(all(cell is not None for cell in cells) and len(cells) > 1 for cells in below)
    return n_full >= _FULL_ROWS


def _sheets_note(titles: list[str], read: str) -> Message:
    place = titles.index(read)
    return Message(
        "sheet",
        "of {n_sheets} sheets ({sheets}) {read!r} was read{over} ({setting} reads another)",
        n_sheets=len(titles),
        sheets=listed(titles, most=10),
        read=read,
        over=f", as no table begins in {listed(titles[:place])}" if place else "",
        setting=Setting("sheet"),
    )
