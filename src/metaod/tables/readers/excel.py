"""XLSX workbooks; needs the extra ``excel``."""

import warnings
import zipfile
from typing import Any

import pandas as pd

from metaod.errors import BadFile, BadParameter, MissingExtra
from metaod.tables._text_values import MISSING_WORDS
from metaod.tables.readers._names import check_names, default_names, has_header
from metaod.tables.readers._reader import Content, Reader, ReadOptions
from metaod.tables.readers._source import (
    Source,
    check_bytes,
    check_zip,
    damaged,
    library_errors,
    zip_members,
)

_MAX_ROWS = 2**20  # of the format; openpyxl would pad a tiny file up to any row that it names

_Row = tuple[int, tuple[Any, ...]]  # its number in the sheet, and its cells


def _read(source: Source, options: ReadOptions) -> Content:
    """Read the rows and columns of a sheet that are not blank; formulas as their saved values."""
    rows, messages = _read_rows(source, options)
    missing = MISSING_WORDS.union(options.na)
    width = max(len(cells) for _, cells in rows)
    columns = [[cells[j] if j < len(cells) else None for _, cells in rows] for j in range(width)]
    used = [j for j in range(width) if any(cell is not None for cell in columns[j])]
    columns = [columns[j] for j in used]

    header = options.header
    if header is None:
        below = list(zip(*(column[1:201] for column in columns), strict=True))
        header, warning = has_header([column[0] for column in columns], below, missing)
        messages += [warning] if warning else []
    names = default_names(len(columns))
    if header:
        first = ["" if column[0] is None else str(column[0]) for column in columns]
        names = check_names(first, source.name, rows[0][0], [j + 1 for j in used])
        columns, rows = [column[1:] for column in columns], rows[1:]
    if not rows:
        raise BadFile(source.name, "holds a header but no rows", remedy="check the export")

    frame = pd.DataFrame(dict(zip(names, columns, strict=True)), dtype=object)
    return Content(
        frame, tuple(messages), locate=lambda row: f"row {rows[row][0]}", may_hold_index=True
    )


def _read_rows(source: Source, options: ReadOptions) -> tuple[list[_Row], list[str]]:
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
        if options.sheet is None and (n_sheets := len(book.worksheets)) > 1:
            messages.append(f"of {n_sheets} sheets the first, {sheet.title!r}, was read")
        sheet.reset_dimensions()  # the size that the sheet declares may be wrong
        rows: list[_Row] = []
        width = 0
        all_rows = sheet.iter_rows(values_only=True, max_row=_MAX_ROWS + 1)
        for number, cells in enumerate(all_rows, start=1):
            if number > _MAX_ROWS:
                what = f"sheet {sheet.title!r} names rows beyond {_MAX_ROWS:,}, the most possible"
                raise damaged(source.name, what)
            if any(cell is not None for cell in cells):
                rows.append((number, cells))
                width = max(width, len(cells))
            check_bytes(source.name, "takes at least", 8 * len(rows) * width, options.max_bytes)
    if not rows:
        what = f"sheet {sheet.title!r} is empty"
        raise BadFile(source.name, what, remedy="name another (--sheet)")
    return rows, messages


def _choose_sheet(sheets: list[Any], source: str, wanted: str | int | None) -> Any:
    titles = [sheet.title for sheet in sheets]
    if not sheets:
        raise BadFile(source, "holds no sheet of cells", remedy="check how it was saved")
    if wanted is None:
        return sheets[0]
    if isinstance(wanted, int) and 0 <= wanted < len(sheets):
        return sheets[wanted]
    if wanted in titles:
        return sheets[titles.index(str(wanted))]
    legal = f"a sheet of {source}, by name or counted from 0: {', '.join(map(repr, titles))}"
    raise BadParameter("read_table", "sheet", legal, wanted)


READER = Reader(
    "an XLSX workbook",
    (".xlsx", ".xlsm"),
    lambda source, _: "xl/workbook.xml" in (zip_members(source) or ()),
    _read,
    options=frozenset({"header", "sheet"}),
)
