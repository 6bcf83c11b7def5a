"""XLSX workbooks; needs the extra ``excel``."""

import warnings
import zipfile
from typing import Any

import pandas as pd

from metaod.errors import BadFile, BadParameter, MissingExtra
from metaod.tables.readers.archives import check_archive
from metaod.tables.readers.content import Content, foreign_errors, gibibytes
from metaod.tables.readers.headers import as_index, check_names, default_names, has_header
from metaod.tables.readers.objects import ObjectJudge
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source, too_large
from metaod.tables.readers.words import MISSING_WORDS

__all__ = ["read"]

_MAX_ROWS = 2**20  # of the format; a tiny file may name a row far beyond, and be padded up to it

# a row's number in the sheet, and its cells
_Row = tuple[int, tuple[Any, ...]]


def read(source: Source, options: ReadOptions) -> Content:
    """Read one sheet: its rows that are not blank, the first of them perhaps names.

    Columns without a name and without a value are left out; formulas count by the values that
    were saved with them.
    """
    rows, told = _read_rows(source, options)
    missing = MISSING_WORDS.union(options.na)
    width = max(len(cells) for _, cells in rows)
    columns = [[cells[j] if j < len(cells) else None for _, cells in rows] for j in range(width)]
    there = [j for j in range(width) if any(cell is not None for cell in columns[j])]
    columns = [columns[j] for j in there]

    header, of_header = options.header, None
    if header is None:
        below = list(zip(*(column[1:201] for column in columns), strict=True))
        header, of_header = has_header([column[0] for column in columns], below, missing)
    if header:
        shown = ["" if column[0] is None else str(column[0]) for column in columns]
        names = check_names(shown, source.name, rows[0][0], [j + 1 for j in there])
        columns, rows = [column[1:] for column in columns], rows[1:]
    else:
        names = default_names(len(columns))
    if not rows:
        raise BadFile(source.name, "holds a header but no rows", remedy="check the export")

    told += [of_header] if of_header else []
    judge = ObjectJudge(missing, source.name, place=lambda row: f"row {rows[row][0]}")
    as_text = {*options.text, options.label}
    frame = pd.DataFrame(
        {
            name: judge.judge(name, column, as_text=name in as_text, warnings=told)
            for name, column in zip(names, columns, strict=True)
        }
    )
    return Content(as_index(frame, told), tuple(told), place=judge.place)


def _read_rows(source: Source, options: ReadOptions) -> tuple[list[_Row], list[str]]:
    """Return the rows that are not blank, and what to tell."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra, needed here only
    except ImportError as error:
        raise MissingExtra(
            "openpyxl", extra="excel", needed_for="reading XLSX workbooks"
        ) from error

    with (
        foreign_errors(source.name, "an XLSX workbook"),
        warnings.catch_warnings(),
        source.open() as stream,
    ):
        warnings.simplefilter("ignore")  # openpyxl's, of styles and validations it leaves out
        with zipfile.ZipFile(stream) as archive:
            check_archive(archive, source, options.max_bytes)
        stream.seek(0)
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        sheet = _choose(book.worksheets, source.name, options.sheet)
        told = []
        if options.sheet is None and len(book.worksheets) > 1:
            told.append(f"of {len(book.worksheets)} sheets the first, {sheet.title!r}, was read")
        sheet.reset_dimensions()  # what the sheet says of its own size need not be true
        rows: list[_Row] = []
        width = 0
        for number, cells in enumerate(
            sheet.iter_rows(values_only=True, max_row=_MAX_ROWS + 1), start=1
        ):
            if number > _MAX_ROWS:
                raise BadFile(
                    source.name,
                    f"sheet {sheet.title!r} names rows beyond {_MAX_ROWS:,}, the most there can be",
                    remedy="it is damaged: save it again",
                )
            if any(cell is not None for cell in cells):
                rows.append((number, cells))
                width = max(width, len(cells))
            if 8 * len(rows) * width > options.max_bytes:
                claimed = gibibytes(8 * len(rows) * width)
                raise too_large(source.name, f"takes {claimed} or more", options.max_bytes)
    if not rows:
        raise BadFile(
            source.name, f"sheet {sheet.title!r} is empty", remedy="name another (--sheet)"
        )
    return rows, told


def _choose(sheets: list[Any], source: str, wanted: str | int | None) -> Any:
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
