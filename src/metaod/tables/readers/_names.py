"""Titles and names above a table: detect them, and refuse names that cannot be used."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, BadFile, Message, Setting
from metaod.tables._notations import BOOLEANS, DATE, NUMBER, Notation, infer, shorten

_VALUE = re.compile(rf"{NUMBER['.']}|{NUMBER[',']}|{DATE}")
_ROWS_TO_CHECK = 200
_COLUMNS_TO_READ = 100  # in some notation, which takes a millisecond each
_LONGEST_NAME = 10**6
_MOST_TITLES = 20
NO_HEADER = Setting("header", False)


def default_names(n_columns: int) -> tuple[str, ...]:
    return tuple(f"x{i + 1}" for i in range(n_columns))


def has_header(
    first: Sequence[object], rest: Sequence[Sequence[object]], missing: Collection[str]
) -> tuple[bool, Message | None]:
    """Decide whether the first record holds names; also return a warning if that is a guess.

    A first row is a header if it counts 0, 1, 2, … as pandas does, if it has a word above a column
    of values (numbers, dates or booleans), or if it has only words.
    """
    if _counts_from_zero(first):
        template = "the first line counts 0, 1, 2, ...: taken as names ({setting}, if it is data)"
        return True, Message("guessed-header", template, setting=NO_HEADER)
    is_word = [not _is_value(field) and _as_text(field) not in missing for field in first]
    for column, word in enumerate(is_word):
        below = [row[column] for row in rest[:_ROWS_TO_CHECK] if column < len(row)]
        present = [field for field in below if _as_text(field) not in missing]
        n_values = sum(_is_value(field) for field in present)
        if not word or not present:
            continue
        if n_values >= 0.9 * len(present):
            return True, None
        notation = _notation_of(present) if column < _COLUMNS_TO_READ else None
        if notation is not None and notation.parse([_as_text(first[column])])[1][0]:
            is_word[column] = False
        elif notation is not None:
            return True, None
    if is_word[0] or _as_text(first[0]) == "":
        is_word = is_word[1:]
    if all(is_word):
        return True, None
    return False, Message(
        "no-header",
        "no names were recognised in the first line: columns are x1, x2, ... ({setting}, if it "
        "holds names)",
        setting=Setting("header", True),
    )


def check_names(
    names: Sequence[str], source: str, line: int, numbers: Sequence[int] | None = None
) -> tuple[str, ...]:
    """Strip names; refuse repeated ones, and empty ones except the first, the row index."""
    names = tuple(name.strip() for name in names)
    column_of: dict[str, int] = {}
    for position, name in enumerate(names):
        column = position + 1 if numbers is None else numbers[position]
        if not name and (position > 0 or len(names) == 1):
            remedy = NO_HEADER.advice("name it, remove it, or set {set} if there are none")
            raise BadFile(source, "the column has no name", line=line, column=column, remedy=remedy)
        if len(name) > _LONGEST_NAME:
            what = f"the column's name has {len(name):,} characters"
            remedy = NO_HEADER.advice("check the delimiter, or set {set} if it is no name")
            raise BadFile(source, what, line=line, column=column, remedy=remedy)
        if name in column_of:
            what = f"the name {name!r} is already that of column {column_of[name]}"
            remedy = NO_HEADER.advice("rename it, or set {set} if these are not names")
            raise BadFile(source, what, line=line, column=column, remedy=remedy)
        column_of[name] = column
    return names


def index_by_unnamed(frame: pd.DataFrame, warnings: list[Message]) -> pd.DataFrame:
    """Make a first column without a name the row index."""
    if frame.columns[0] != "":
        return frame
    what = "the first column has no name: taken as the rows' index"
    warnings.append(Message("index-column", what))
    return frame.set_index("").rename_axis(index=None)


def check_unique(names: Iterable[object], source: str | None = None) -> None:
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise BadColumn(repeated, "is there more than once", path=source, remedy="rename one")


def unreadable_type(name: str, kind: object, source: str | None) -> BadColumn:
    what = f"holds values of type {kind}, which are not numbers, dates or text"
    remedy = "leave it out, or write it as several plain columns"
    return BadColumn(name, what, path=source, remedy=remedy)


def _as_text(field: object) -> str:
    return "" if field is None else str(field).strip()


def _is_value(field: object) -> bool:
    text = _as_text(field)
    return bool(_VALUE.fullmatch(text)) or text.lower() in BOOLEANS


def _notation_of(fields: Sequence[object]) -> Notation | None:
    """Return the notation in which all fields of a column are written, if there is one."""
    texts = list(dict.fromkeys(map(_as_text, fields)))
    found = infer(texts, np.ones(len(texts), dtype=np.intp))
    return found.notation if found is not None and found.fits.all() and not found.codes else None


def _counts_from_zero(first: Sequence[object]) -> bool:
    texts = [_as_text(field) for field in first]
    after_index = texts[0] == ""
    counted = texts[1:] if after_index else texts
    long_enough = len(counted) >= (1 if after_index else 3)
    return long_enough and counted == [str(i) for i in range(len(counted))]


def count_titles(records: Sequence[Sequence[object]], missing: Collection[str]) -> int:
    """Return how many of the first records are a title.

    They have fewer fields than the first full record, or at most half as many filled cells, and
    the full record holds names.

    >>> count_titles([["Sales"], ["day", "price"], ["2024-01-02", "1.5"]], missing=[""])
    1
    """
    first = records[: _MOST_TITLES + 10]
    n_cells = [sum(map(_is_filled, record)) for record in first]
    full = max(n_cells, default=0)
    for place, record in enumerate(first[:-1]):
        lacks_first = n_cells[place] == full - 1 and not _is_filled(record[0])  # the row index
        if full >= 2 and (n_cells[place] == full or lacks_first):
            # one line of all names but one is the header, above rows with names of their own
            is_header = place == 1 and full > 2 and len(first[0]) == n_cells[0] == full - 1
            are_short = not is_header and all(
                len(above) < full or count <= max(1, full // 2)
                for above, count in zip(first[:place], n_cells, strict=False)
            )
            below = records[place + 1 : place + 1 + _ROWS_TO_CHECK]
            if 0 < place <= _MOST_TITLES and are_short:
                return place if has_header(record, below, missing) == (True, None) else 0
            return 0
    return 0


def title_warning(titles: Sequence[Sequence[object]], n_lines: int) -> Message:
    cell = next((str(cell) for record in titles for cell in record if _is_filled(cell)), "")
    return Message(
        "title-left-out",
        "{lines} left out as a title, {title!r}: {setting} reads them",
        lines="the first line was" if n_lines == 1 else f"the first {n_lines} lines were",
        title=shorten(cell.strip()),
        setting=Setting("skip_rows", 0),
    )


def _is_filled(cell: object) -> bool:
    return cell is not None and str(cell).strip() != ""
