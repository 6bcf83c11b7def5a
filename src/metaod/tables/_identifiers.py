"""Whole numbers that are no quantities: identifiers, numbers of rows, and dates.

Each notation of dates in numbers has its own magnitude, so that one value suffices.
"""

import re

import numpy as np
import numpy.typing as npt

_EXCEL_EPOCH = 25_569  # days from 1899-12-30 to 1970-01-01
# units of the time since 1970-01-01 per day, and the values read so: 1973 to 2286
_SINCE_1970 = tuple((86_400.0 * unit, 1e8 * unit, 1e10 * unit) for unit in (1, 1e3, 1e6, 1e9))

_NAMES = re.compile(
    r"(?:^|[\W\d_])(?i:date|datetime|epoch|time|timestamp|ts)$|[a-z](?:Date|Time|Timestamp|Ts)$"
)
_FEWEST = 20  # rows; of 100 random numbers of eight digits, fewer than 4 are days of this form


def days_in_numbers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return days since 1970-01-01, NaN for numbers that are not dates.

    Years, YYYYMMDD, days of Excel, and seconds, milliseconds, microseconds or nanoseconds since
    1970 are dates.

    >>> days_in_numbers(np.array([1971, 19710101, 25934, 86_400 * 5000, 19711301])).tolist()
    [365.0, 365.0, 365.0, 5000.0, nan]
    """
    days = np.full(values.shape, np.nan)
    whole = values == np.floor(values)
    is_year = whole & (values >= 1000) & (values < 3000)
    days[is_year] = _days_as_written(values[is_year].astype(np.int64) * 10_000 + 101)
    is_excel = (values >= 20_000) & (values < 80_000)
    days[is_excel] = values[is_excel] - _EXCEL_EPOCH
    is_written = whole & (values >= 1000_01_01) & (values < 3000_01_01)
    days[is_written] = _days_as_written(values[is_written].astype(np.int64))
    for per_day, low, high in _SINCE_1970:
        is_stamp = (values >= low) & (values < high)
        days[is_stamp] = values[is_stamp] / per_day
    return days


def _days_as_written(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    year, month, day = numbers // 10_000, numbers // 100 % 100, numbers % 100
    is_month = (month >= 1) & (month <= 12)
    months = (year * 12 + np.where(is_month, month, 1) - 1 - 1970 * 12).astype("M8[M]")
    found = months.astype("M8[D]") + (day - 1)
    is_day = is_month & (day >= 1) & (found.astype("M8[M]") == months)
    return np.where(is_day, found.astype(np.float64), np.nan)


def are_dates(name: str, whole: npt.NDArray[np.float64]) -> bool:
    """Whether whole numbers are surely dates, though nobody says so.

    They are all days such as 20240131 from 1900 to 2100, or the column's name says so and they are
    seconds or parts of seconds since 1970, from 2000 to 2040.

    >>> days = np.array([20240131.0, 20240229.0, 20231224.0] * 10)
    >>> are_dates("x", days), are_dates("x", days + 1), are_dates("sold", days * 80)
    (True, False, False)
    >>> are_dates("created_ts", days * 80)
    True
    """
    low, high = whole.min(), whole.max()
    if low >= 1900_01_01 and high < 2101_01_01:
        return (
            len(whole) >= _FEWEST and not np.isnan(_days_as_written(whole.astype(np.int64))).any()
        )
    seconds = [(9.5e8 * unit, 2.21e9 * unit) for unit in (1, 1e3, 1e6, 1e9)]
    return any(low >= start and high < end for start, end in seconds) and bool(_NAMES.search(name))


# boundaries inside camelCase and before the last capital of an acronym: userId, IDNumber
_WORD_STARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_LETTERS = re.compile(r"[\W\d_]+")

_LAST_WORDS = frozenset(
    {"id", "uuid", "guid", "identifier", "key", "rowid", "sku", "ean", "gtin", "iban", "isbn"}
)
_NUMBER_WORDS = frozenset({"no", "nr", "num", "number"})  # after another word: invoice no
_LAST_LETTERS = ("nummer", "nr")  # of German compounds: Kundennummer, Belegnr
_WHOLE_NAMES = frozenset(
    {"index", "idx", "row", "rownum", "rownumber", "rowindex", "unnamed", "id code"}
    | {
        f"{thing} {word}"
        for thing in ("row", "record", "line", "serial", "sequence")
        for word in ("index", "idx")
    }
)


def names_identifier(name: str) -> bool:
    """Whether a column's name means an identifier: a price index or a bid is a measurement.

    >>> names = ("ID", "userID", "Unnamed: 0", "Kunden-Nr", "Order #", "bid", "idle", "price index")
    >>> list(filter(names_identifier, names))
    ['ID', 'userID', 'Unnamed: 0', 'Kunden-Nr', 'Order #']
    """
    words = [word.lower() for word in _NOT_LETTERS.split(_WORD_STARTS.sub(" ", name)) if word]
    if not words:
        return False
    return (
        name.rstrip().endswith("#")
        or words[-1] in _LAST_WORDS
        or (len(words) > 1 and words[-1] in _NUMBER_WORDS)
        or words[-1].endswith(_LAST_LETTERS)
        or " ".join(words) in _WHOLE_NAMES
    )


_FEWEST_NUMBERED = 20  # rows
_NEARLY_A_LINE = 0.98  # the squared correlation of a sorted normal variable with its ranks is 0.955


def counts_rows(values: npt.NDArray[np.float64]) -> bool:
    """Whether whole numbers count the rows of the file: numbers of orders, lines or seconds.

    They rise or fall with every row, and nearly evenly, or mostly by the same step. A table that is
    sorted by a measurement differs: its values are dense in the middle and sparse at the ends.

    >>> counts_rows(np.arange(1000.0, 1100.0)), counts_rows(np.arange(30.0) ** 3)
    (True, False)
    """
    if len(values) < _FEWEST_NUMBERED:
        return False
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    if np.unique(steps, return_counts=True)[1].max() > len(steps) / 2:
        return True
    correlation = np.corrcoef(values, np.arange(len(values)))[0, 1]
    return bool(correlation**2 > _NEARLY_A_LINE)
