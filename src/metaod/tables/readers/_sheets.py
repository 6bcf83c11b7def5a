"""Tables in the sheets of workbooks, whatever their format: which sheet, titles, names, limits."""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd

from metaod.errors import BadFile, BadParameter, Message, Setting, listed
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
from metaod.tables.readers._source import CELL_BYTES, Source, check_bytes, check_expansion

_ROWS_TO_CHECK = 200
_FULL_ROWS = 5  # of text make a table

Row = tuple[int, tuple[Any, ...]]
"""Its number in the sheet, counted from 1, and its cells; None for an empty one."""


@dataclass(frozen=True)
class Book:
    """A workbook: the titles of its sheets, and a function that yields the filled rows of one."""

    titles: list[str]
    rows: Callable[[int], Iterator[Row]]


def read_book(book: Book, source: Source, options: Reading) -> Content:
    """Read the rows and columns of a sheet that are not blank."""
    place = _choose_sheet(book, source.name, options.sheet)
    messages = []
    if options.sheet is None and len(book.titles) > 1:
        messages.append(_sheets_note(book.titles, place))
    rows = _read_rows(book, place, source, options.memory_limit)
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
    if numbers != tuple(range(2, len(rows) + 2)):
        messages.append(_places_note(numbers))
    return Content(
        frame,
        tuple(messages),
        locate=lambda row: f"row {numbers[row]}",
        may_hold_index=True,
        sheet=SheetPlaces(book.titles[place], header_row, numbers, places),
    )


def _read_rows(book: Book, place: int, source: Source, max_bytes: int) -> list[Row]:
    rows: list[Row] = []
    width = n_filled = 0
    for number, cells in book.rows(place):
        rows.append((number, cells))
        width, n_filled = max(width, len(cells)), n_filled + len(cells) - cells.count(None)
        n_bytes = CELL_BYTES * len(rows) * width
        check_bytes(source.name, "needs at least", n_bytes, max_bytes)
        check_expansion(source.name, CELL_BYTES * n_filled, n_bytes, "remove the empty columns")
    if not rows:
        what = f"sheet {book.titles[place]!r} is empty"
        raise BadFile(source.name, what, remedy=Setting("sheet").advice("name another: {set}"))
    return rows


def _choose_sheet(book: Book, source: str, wanted: str | int | None) -> int:
    titles = book.titles
    if not titles:
        raise BadFile(source, "holds no sheet of cells", remedy="check how it was saved")
    if wanted is None:
        places = range(len(titles) if len(titles) > 1 else 0)
        return next((place for place in places if _has_table(book, place)), 0)
    if isinstance(wanted, str) and wanted in titles:
        return titles.index(wanted)
    if str(wanted).isdecimal() and int(wanted) < len(titles):
        return int(wanted)
    legal = f"a sheet of {source}, by name or counted from 0: {', '.join(map(repr, titles))}"
    raise BadParameter("read_table", "sheet", legal, wanted)


def _has_table(book: Book, place: int) -> bool:
    """Whether the beginning of a sheet holds a column of values, or many full rows of text."""
    below = []
    for number, cells in book.rows(place):
        if number > _ROWS_TO_CHECK:
            break
        below.append(cells)
    below = below[1:]
    for column in zip_longest(*below):
        n_values = sum(isinstance(cell, int | float | dt.date | dt.time) for cell in column)
        if n_values > len(below) / 2:
            return True
    n_full = sum(all(cell is not None for cell in cells) and len(cells) > 1 for cells in below)
    return n_full >= _FULL_ROWS


def _sheets_note(titles: list[str], place: int) -> Message:
    return Message(
        "sheet",
        "of {n_sheets} sheets ({sheets}) {read!r} was read{over} ({setting} reads another)",
        n_sheets=len(titles),
        sheets=listed(titles, most=10),
        read=titles[place],
        over=f", as no table begins in {listed(titles[:place])}" if place else "",
        setting=Setting("sheet"),
    )


def _places_note(numbers: tuple[int, ...]) -> Message:
    return Message(
        "sheet-rows",
        "rows are counted from 1 below the names: row 1 is row {first:,} of the sheet, and row "
        "{n_rows:,}, the last, is row {last:,}",
        first=numbers[0],
        n_rows=len(numbers),
        last=numbers[-1],
    )
