"""Names of columns: whether the first line holds them, and whether they are good ones."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

import pandas as pd

from metaod.errors import BadColumn, BadFile
from metaod.tables.readers.words import BOOLEANS, DATE, NUMBER

__all__ = ["as_index", "check_columns", "check_names", "default_names", "has_header"]

_VALUE = re.compile(rf"{NUMBER['.']}|{NUMBER[',']}|{DATE}")
_LOOK_AT = 200


def default_names(n_columns: int) -> tuple[str, ...]:
    """Names for columns that have none.

    Examples
    --------
    >>> default_names(3)
    ('x1', 'x2', 'x3')
    """
    return tuple(f"x{i + 1}" for i in range(n_columns))


def has_header(
    first: Sequence[object], rest: Sequence[Sequence[object]], missing: Collection[str]
) -> tuple[bool, str | None]:
    """Decide whether the first record holds names, and what to warn of.

    1. Names ``0, 1, 2, …`` (three or more, or after an empty one) are what pandas writes for
       columns without names: a header, with a warning.
    2. A word above a column of values (numbers, dates or booleans) makes it a header.
    3. Else a value, or a missing one beyond the first field, makes it data, with a warning.
    4. Else, where all is words, it is a header.

    Examples
    --------
    >>> has_header(["height", "name"], [["1.5", "Ann"], ["1.7", "Bo"]], {""})
    (True, None)
    >>> has_header(["1.5", "Ann"], [["1.7", "Bo"]], {""})[0]
    False
    """
    if _counts_from_zero(first):
        return True, (
            "the first line counts 0, 1, 2, ...: taken as names (header=False, --no-header, if "
            "it is data)"
        )
    words = [not _is_value(field) and _shown(field) not in missing for field in first]
    for column, word in enumerate(words):
        below = [row[column] for row in rest[:_LOOK_AT] if column < len(row)]
        there = [field for field in below if _shown(field) not in missing]
        values = sum(_is_value(field) for field in there)
        if word and there and values >= 0.9 * len(there):
            return True, None
    if words[0] or _shown(first[0]) == "":
        words = words[1:]
    if all(words):
        return True, None
    return False, (
        "no names were recognised in the first line: columns are x1, x2, ... (header=True, "
        "--header, if it holds names)"
    )


def check_names(
    names: Sequence[str], source: str, line: int, numbers: Sequence[int] | None = None
) -> tuple[str, ...]:
    """Strip names; refuse empty and doubled ones.

    An empty name of the first of several columns stands: it is how pandas and R write the rows'
    own index. Columns are counted from 1 unless their numbers are given.
    """
    names = tuple(name.strip() for name in names)
    first_at: dict[str, int] = {}
    for position, name in enumerate(names):
        column = position + 1 if numbers is None else numbers[position]
        if not name and (position > 0 or len(names) == 1):
            raise BadFile(
                source,
                "the column has no name",
                line=line,
                column=column,
                remedy="name it, remove it, or say header=False (--no-header) if there are none",
            )
        if name in first_at:
            raise BadFile(
                source,
                f"the name {name!r} is column {first_at[name]}'s already",
                line=line,
                column=column,
                remedy="rename it, or say header=False (--no-header) if these are no names",
            )
        first_at[name] = column
    return names


def as_index(frame: pd.DataFrame, warnings: list[str]) -> pd.DataFrame:
    """Make a first column without a name the rows' index."""
    if frame.columns[0] != "":
        return frame
    warnings.append("the first column has no name: taken as the rows' index")
    return frame.set_index("").rename_axis(index=None)


def check_columns(names: Sequence[object], source: str | None = None) -> None:
    """Refuse columns of one name where names come without lines."""
    doubled = next((name for name, count in Counter(names).items() if count > 1), None)
    if doubled is not None:
        raise BadColumn(doubled, "is there more than once", path=source, remedy="rename one")


def _shown(field: object) -> str:
    return "" if field is None else str(field).strip()


def _is_value(field: object) -> bool:
    shown = _shown(field)
    return bool(_VALUE.fullmatch(shown)) or shown.lower() in BOOLEANS


def _counts_from_zero(first: Sequence[object]) -> bool:
    shown = [_shown(field) for field in first]
    after_index = shown[0] == ""
    counted = shown[1:] if after_index else shown
    long_enough = len(counted) >= (1 if after_index else 3)
    return long_enough and counted == [str(i) for i in range(len(counted))]
