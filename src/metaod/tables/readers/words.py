"""Which words mean a missing value, which are numbers or dates, and what of a mixture."""

import datetime as dt
import re
from enum import Enum
from typing import Literal

from metaod.errors import BadColumn, BadFile, UserError

__all__ = [
    "BOOLEANS",
    "CODE",
    "DATE",
    "FOREIGN_NUMBER",
    "MISSING_WORDS",
    "NUMBER",
    "Verdict",
    "code_warning",
    "is_day",
    "mixture_error",
    "mixture_warning",
    "rounding_warning",
    "weigh",
]

MISSING_WORDS = frozenset(
    [
        *("", "?", "-", "--", ".", "nil", "NIL"),
        *("NA", "N/A", "na", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A"),
        *("NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
        *("NULL", "null", "Null", "#NULL!", "None", "none", "NONE"),
        *("#DIV/0!", "#NAME?", "#NUM!", "#REF!", "#VALUE!"),
    ]
)

BOOLEANS = {"true": True, "false": False}

# Patterns that Python's re (fullmatch) and Arrow's RE2 (between ^ and $) read alike.
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_INFINITY = r"[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
NUMBER = {
    mark: rf"[+-]?(?:[0-9]+{re.escape(mark)}?[0-9]*|{re.escape(mark)}[0-9]+){_EXPONENT}|{_INFINITY}"
    for mark in (".", ",")
}
# a number that is not one by the decimal mark in force: the other mark, or thousands grouped
_APOSTROPHES_AND_NARROW_BLANKS = "'\u2019\u00a0\u202f"
_ONE_MARK = rf"[+-]?[0-9]*([.,])[0-9]+{_EXPONENT}"
FOREIGN_NUMBER = (
    rf"{_ONE_MARK}"
    r"|[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?"
    r"|[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?"
    rf"|[+-]?[0-9]{{1,3}}(?:[{_APOSTROPHES_AND_NARROW_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?"
)
_TIME = r"(?:[01][0-9]|2[0-3])(?::[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?)?"
# of a form only: see is_day for the 30th of February
DATE = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[ T]{_TIME}(?:Z|[+-][0-9:]+)?)?"
# a whole number with leading zeros, which is a name rather than a quantity
CODE = r"[+-]?0[0-9]+"

_MOSTLY = 0.9
_FOREIGN = re.compile(FOREIGN_NUMBER)
_OTHER_MARK = re.compile(_ONE_MARK)


class Verdict(Enum):
    """What a column of words, numbers and dates is."""

    MISSING = "every value is missing"
    NUMBERS = "every value is a number"
    DATES = "every value is a date"
    MISTAKE = "nearly every value is a number"
    MISTAKEN_DATE = "nearly every value is a date"
    MIXTURE = "numbers or dates, and words"
    WORDS = "words"


def is_day(word: str) -> bool:
    """Whether the calendar has a day written ``YYYY-MM-DD``.

    Examples
    --------
    >>> is_day("2024-02-29"), is_day("2024-02-30")
    (True, False)
    """
    try:
        dt.date.fromisoformat(word)
    except ValueError:
        return False
    return True


def weigh(numbers: int, foreign: int, words: int, dates: int = 0) -> Verdict:
    """Judge a column by how many of its values are numbers, foreign numbers, words and dates.

    Examples
    --------
    >>> weigh(numbers=99, foreign=0, words=1)
    <Verdict.MISTAKE: 'nearly every value is a number'>
    >>> weigh(numbers=0, foreign=0, words=5, dates=5)
    <Verdict.MIXTURE: 'numbers or dates, and words'>
    """
    total = numbers + foreign + words + dates
    if total == 0:
        return Verdict.MISSING
    if numbers == total:
        return Verdict.NUMBERS
    if dates == total:
        return Verdict.DATES
    if numbers + foreign >= _MOSTLY * total:
        return Verdict.MISTAKE
    if dates >= _MOSTLY * total:
        return Verdict.MISTAKEN_DATE
    share = max(numbers + foreign, dates) / total
    return Verdict.MIXTURE if share > 1 - _MOSTLY else Verdict.WORDS


def mixture_error(
    column: str,
    value: str,
    *,
    kind: Literal["number", "date"],
    n_alike: int,
    total: int,
    place: str,
    source: str | None = None,
    line: int | None = None,
) -> UserError:
    """Word the error for a value that is no number, or date, where nearly all are.

    Parameters
    ----------
    column, value : str
        The column and the first value that is of another kind.
    kind : {"number", "date"}
        What nearly all values are.
    n_alike, total : int
        How many of the values that are there are of that kind.
    place : str
        The place in words, for what has no lines.
    source : str, optional
        The file; none for a table in memory.
    line : int, optional
        The line of the file, where it has lines.
    """
    shown = value if len(value) <= 40 else value[:37] + "..."
    as_text = f"or take the column as text: text={column!r} (--text {column!r})"
    foreign = kind == "number" and _FOREIGN.fullmatch(value.strip())
    if foreign and (other := _OTHER_MARK.fullmatch(value.strip())):
        what = f"{shown!r} is a number with another decimal mark"
        remedy = (
            f"say decimal={other[1]!r} (--decimal {other[1]}), or remove it if it groups "
            f"thousands, {as_text}"
        )
    elif foreign:
        what = f"{shown!r} is a number with thousands separators"
        remedy = f"write the file without them, {as_text}"
    else:
        what = f"{shown!r} is not a {kind}, as {n_alike:,} of this column's {total:,} values are"
        remedy = f"mend it, name it as missing: na={shown!r} (--na {shown!r}), {as_text}"
    if source is None or line is None:
        return BadColumn(column, f"{place}: {what}", remedy=remedy, path=source)
    return BadFile(source, what, line=line, column=column, remedy=remedy)


def mixture_warning(column: str, *, numbers: int, dates: int, total: int) -> str:
    """Word the warning for a column of numbers, dates and words that is taken as text."""
    kinds = {"numbers": numbers, "dates": dates}
    counts = [
        f"{count:,} of its {total:,} values are {kind}" for kind, count in kinds.items() if count
    ]
    others = ", the others words" if numbers + dates < total else ""
    return f"column {column!r} is taken as text: {' and '.join(counts)}{others}"


def code_warning(column: str, value: str) -> str:
    """Word the warning for whole numbers that are taken as names."""
    return (
        f"column {column!r} is taken as text: whole numbers with leading zeros, as {value!r}, "
        "name things (write them without the zeros if they are quantities)"
    )


def rounding_warning(column: str, why: str) -> str:
    """Word the warning for whole numbers that only a float holds, and not exactly."""
    return (
        f"column {column!r}: whole numbers {why} were rounded to floats (if they name things "
        f"rather than count them, take it as text: text={column!r}, --text {column!r})"
    )
