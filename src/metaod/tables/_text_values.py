"""Read one text: a missing value, a number, a truth value, a date, a time of day, or a word.

Only unambiguous notations are read: plain decimal numbers, ISO 8601 dates and 24-hour times.
"""

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real

MISSING_WORDS = frozenset(
    [
        *("", "?", "-", "--", ".", "nil", "NIL"),
        *("NA", "N/A", "na", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A"),
        *("NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
        *("NULL", "null", "Null", "#NULL!", "None", "none", "NONE"),
        *("#DIV/0!", "#NAME?", "#NUM!", "#REF!", "#VALUE!"),
    ]
)
OBVIOUS_WORDS = frozenset({"", "NA", "NaN", "nan", "NULL", "null"})
"""Words for missing values that need no note."""
BOOLEANS = {"true": True, "false": False}
_TRUTH = {**BOOLEANS, "1": True, "0": False}

_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_INFINITY = r"[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
NUMBER = {
    mark: rf"[+-]?(?:[0-9]+{re.escape(mark)}?[0-9]*|{re.escape(mark)}[0-9]+){_EXPONENT}|{_INFINITY}"
    for mark in (".", ",")
}
_NUMBERS = {mark: re.compile(pattern) for mark, pattern in NUMBER.items()}
# whole numbers with leading zeros, such as postcodes, are names rather than quantities
CODE = r"[+-]?0[0-9]+"
WHOLE = re.compile(r"[+-]?[0-9]{1,40}")  # longer ones are slow to read and become floats anyway

# a number with the other decimal mark or with grouped thousands
_APOSTROPHES_AND_NARROW_BLANKS = "'\u2019\u00a0\u202f"
_ONE_MARK = rf"[+-]?[0-9]*([.,])[0-9]+{_EXPONENT}"
OTHER_NOTATION = re.compile(
    rf"{_ONE_MARK}"
    r"|[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?"
    r"|[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?"
    rf"|[+-]?[0-9]{{1,3}}(?:[{_APOSTROPHES_AND_NARROW_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?"
)
_CLOCK = r"(?:[01][0-9]|2[0-3])(?::[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?)?"
_ZONE = r"Z|[+-][0-9]{2}(?::?[0-9]{2})?"
# the form of a full date, which the calendar may not have; months are left out, because they
# often are the names of columns
DATE = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[ T]{_CLOCK}(?:{_ZONE})?)?"
_DATE = re.compile(
    r"(?P<month>[0-9]{4}-[0-9]{2})"
    r"|(?P<day>[0-9]{4}(?P<mark>[-/])[0-9]{2}(?P=mark)[0-9]{2})"
    rf"(?:[ T](?P<clock>{_CLOCK})\s?(?P<zone>{_ZONE})?)?"
)
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]+)?))?")

# without leading zeros: 007 is a name, and not missing where 7 is
_PLAIN = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHORT_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")  # longer ones may be beyond 64 bits


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Read a plain decimal number, or None where the text is not one.

    >>> parse_number(" -1.5e3"), parse_number("inf"), parse_number("1_000"), parse_number("0x1F")
    (-1500.0, inf, None, None)
    """
    text = text.strip()
    is_number = _NUMBERS[decimal].fullmatch(text) or text.lower() == "nan"
    return float(text.replace(",", ".")) if is_number else None


def parse_date(text: str) -> dt.datetime | None:
    """Read a date as a naive stamp in UTC (the first day of a month), or None if it is not one.

    >>> parse_date("1970-01-02T12:00+02"), parse_date("1970/01"), parse_date("2021-02-30")
    (datetime.datetime(1970, 1, 2, 10, 0), None, None)
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    written = f"{match['month']}-01" if match["month"] else match["day"].replace("/", "-")
    if match["clock"]:
        written += f"T{match['clock'].replace(',', '.')}{match['zone'] or ''}"
    try:
        stamp = dt.datetime.fromisoformat(written)
        return stamp.astimezone(dt.UTC).replace(tzinfo=None) if stamp.tzinfo else stamp
    except (OverflowError, ValueError):  # the 30th of February, or the year 0 in UTC
        return None


def parse_time(text: str) -> float | None:
    """Read a time of day as seconds since midnight, or None where the text is not one.

    >>> parse_time("10:15"), parse_time("00:01:30"), parse_time("9:15"), parse_time("24:00")
    (36900.0, 90.0, None, None)
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    seconds, _, fraction = (match[3] or "0").partition(".")
    # the fraction is added last, as where a duration becomes seconds
    return int(match[1]) * 3600 + int(match[2]) * 60 + int(seconds) + float(f"0.{fraction}")


def parse_truth(text: str) -> bool | None:
    return _TRUTH.get(text.strip().lower())


def shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def numbers_among(words: Iterable[str]) -> frozenset[float]:
    """Return the numbers that some of the words spell.

    >>> sorted(numbers_among(["-999", "1.5", "NA", "007"]))
    [-999, 1.5]
    """
    plain = [word for word in map(str.strip, words) if _PLAIN.fullmatch(word)]
    return frozenset(int(word) if _SHORT_WHOLE.fullmatch(word) else float(word) for word in plain)


def is_missing(value: object, words: frozenset[str], numbers: frozenset[float]) -> bool:
    """Whether a value is one of the words or numbers; ``'-9.0'`` is the number -9.

    >>> [is_missing(value, frozenset({"x"}), frozenset({-9})) for value in (" x", "-9.0", -9, True)]
    [True, True, True, False]
    """
    if isinstance(value, str):
        word = value.strip()
        if word in words:
            return True
        return bool(numbers) and _PLAIN.fullmatch(word) is not None and float(word) in numbers
    if not numbers or isinstance(value, bool):
        return False
    return isinstance(value, Real | Decimal) and value in numbers
