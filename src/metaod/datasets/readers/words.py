"""Which words mean a missing value, which are numbers, and what to do with a mixture."""

import re
from enum import Enum

from metaod.errors import BadColumn, BadFile, UserError

__all__ = [
    "BOOLEANS",
    "DATE",
    "FOREIGN_NUMBER",
    "MISSING_WORDS",
    "NUMBER",
    "Verdict",
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
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9:.]+(?:Z|[+-][0-9:]+)?)?"

_MOSTLY = 0.9
_FOREIGN = re.compile(FOREIGN_NUMBER)
_OTHER_MARK = re.compile(_ONE_MARK)


class Verdict(Enum):
    """What a column of words and numbers is."""

    MISSING = "every value is missing"
    NUMBERS = "every value is a number"
    MISTAKE = "nearly every value is a number"
    MIXTURE = "numbers and words"
    WORDS = "words"


def weigh(numbers: int, foreign: int, words: int) -> Verdict:
    """Judge a column by how many of its values are numbers, foreign numbers and words.

    Examples
    --------
    >>> weigh(numbers=99, foreign=0, words=1), weigh(numbers=5, foreign=0, words=5)
    (<Verdict.MISTAKE: 'nearly every value is a number'>, <Verdict.MIXTURE: 'numbers and words'>)
    """
    total = numbers + foreign + words
    if total == 0:
        return Verdict.MISSING
    if numbers == total:
        return Verdict.NUMBERS
    share = (numbers + foreign) / total
    if share >= _MOSTLY:
        return Verdict.MISTAKE
    return Verdict.MIXTURE if share > 1 - _MOSTLY else Verdict.WORDS


def mixture_error(
    column: str,
    value: str,
    *,
    numbers: int,
    total: int,
    place: str,
    source: str | None = None,
    line: int | None = None,
) -> UserError:
    """Word the error for a value that is no number in a column where nearly all are.

    Parameters
    ----------
    column, value : str
        The column and the first value that is no number.
    numbers, total : int
        How many of the values that are there are numbers.
    place : str
        The place in words, for what has no lines.
    source : str, optional
        The file; none for a table in memory.
    line : int, optional
        The line of the file, where it has lines.
    """
    shown = value if len(value) <= 40 else value[:37] + "..."
    as_text = f"or take the column as text: text={column!r} (--text {column!r})"
    if other := _OTHER_MARK.fullmatch(value.strip()):
        what = f"{shown!r} is a number with another decimal mark"
        remedy = (
            f"say decimal={other[1]!r} (--decimal {other[1]}), or remove it if it groups "
            f"thousands, {as_text}"
        )
    elif _FOREIGN.fullmatch(value.strip()):
        what = f"{shown!r} is a number with thousands separators"
        remedy = f"write the file without them, {as_text}"
    else:
        what = f"{shown!r} is not a number, as {numbers:,} of this column's {total:,} values are"
        remedy = f"mend it, name it as missing: na={shown!r} (--na {shown!r}), {as_text}"
    if source is None or line is None:
        return BadColumn(column, f"{place}: {what}", remedy=remedy, path=source)
    return BadFile(source, what, line=line, column=column, remedy=remedy)


def mixture_warning(column: str, *, numbers: int, total: int) -> str:
    """Word the warning for a column of numbers and words that is taken as text."""
    return (
        f"column {column!r} is taken as text: {numbers:,} of its {total:,} values are numbers, "
        "the others words"
    )


def rounding_warning(column: str, why: str) -> str:
    """Word the warning for whole numbers that only a float holds, and not exactly."""
    return (
        f"column {column!r}: whole numbers {why} were rounded to floats (if they name things "
        f"rather than count them, take it as text: text={column!r}, --text {column!r})"
    )
