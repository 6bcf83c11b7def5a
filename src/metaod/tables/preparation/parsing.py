"""Text that is really numbers, dates, times of day or truth values.

Only forms that cannot be mistaken are parsed: plain decimal numbers, dates written year first
as in ISO 8601, and times of day by the 24-hour clock. ``03/04/2021`` stays text, for nobody can
tell its month from its day.
"""

import datetime as dt
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from metaod.tables.preparation.forms import Labels, NumberKind, Numbers
from metaod.tables.preparation.moments import days_of

__all__ = ["parse_date", "parse_labels", "parse_number", "parse_time", "parse_truth"]

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_NOT_FINITE = re.compile(r"\s*(?:nan|[+-]?inf(?:inity)?)\s*", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
# postcodes, article and telephone numbers: digits that are names
_CODE = re.compile(r"\s*[+-]?0\d", re.ASCII)
_DATE = re.compile(
    r"\s*(?P<day>\d{4}-\d{2}(?:-\d{2})?|\d{4}/\d{2}/\d{2})"
    r"(?:[T ](?P<time>(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:[.,]\d+)?)?)"
    r"\s?(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?\s*",
    re.ASCII,
)
_TIME = re.compile(r"\s*([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*", re.ASCII)
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


def parse_number(text: str) -> float | None:
    """Read a plain decimal number, or None where the text is not one.

    Examples
    --------
    >>> parse_number(" -1.5e3"), parse_number("inf"), parse_number("1_000"), parse_number("0x1F")
    (-1500.0, inf, None, None)
    """
    if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return float(text)
    return None


def parse_date(text: str) -> float | None:
    """Read a date in ISO 8601 as days since 1970-01-01, or None where the text is not one.

    Without a zone it is taken as UTC; a year and a month stand for the month's first day.

    Examples
    --------
    >>> parse_date("1970-01-02T12:00Z"), parse_date("1970/01/02"), parse_date("2021-02-30")
    (1.5, 1.0, None)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    written = match["day"].replace("/", "-")
    if len(written) == len("2021-01"):
        written += "-01"
        if match["time"]:
            return None
    if match["time"]:
        written += f"T{match['time'].replace(',', '.')}{match['zone'] or ''}"
    try:
        return days_of(dt.datetime.fromisoformat(written))
    except ValueError:  # the 30th of February
        return None


def parse_time(text: str) -> float | None:
    """Read a time of day as seconds since midnight, or None where the text is not one.

    Examples
    --------
    >>> parse_time("10:15"), parse_time("00:01:30"), parse_time("9:15"), parse_time("24:00")
    (36900.0, 90.0, None, None)
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3] or 0)


def parse_truth(text: str) -> float | None:
    """Read ``true``, ``false``, ``1`` or ``0``, or None where the text is none of them."""
    return _TRUTH.get(text.strip().lower())


def parse_labels(column: Labels) -> Numbers | None:
    """Read a column of text as numbers, dates or times of day, where all its texts are such.

    Digits that are names stay text: those with leading zeros, and those so many that a float
    cannot tell them apart.
    """
    if column.declared or not column.texts:
        return None
    parsed = _parse_all(column.texts, parse_number)
    if parsed is not None:
        whole = all(map(_WHOLE.fullmatch, column.texts))
        if not np.isfinite(parsed).any() or any(map(_CODE.match, column.texts)):
            return None
        if whole and any(map(_is_rounded, column.texts, parsed)):
            return None
        return Numbers("numeric", _spread(parsed, column), whole=whole)
    others: tuple[tuple[NumberKind, Callable[[str], float | None]], ...] = (
        ("date", parse_date),
        ("duration", parse_time),
    )
    for kind, parse in others:
        parsed = _parse_all(column.texts, parse)
        if parsed is not None:
            return Numbers(kind, _spread(parsed, column))
    return None


def _parse_all(texts: list[str], parse: Callable[[str], float | None]) -> list[float] | None:
    parsed = []
    for text in texts:
        value = parse(text)
        if value is None:
            return None
        parsed.append(value)
    return parsed


def _is_rounded(digits: str, parsed: float) -> bool:
    # Python refuses to read integers of thousands of digits, and so need we not
    return abs(parsed) >= 2.0**53 and (abs(parsed) > 1e300 or int(digits) != parsed)


def _spread(parsed: list[float], column: Labels) -> npt.NDArray[np.float64]:
    # the appended NaN is what code -1, a missing value, looks up
    return np.array([*parsed, np.nan])[column.codes]
