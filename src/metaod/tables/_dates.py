"""Numbers that are dates: each notation has its own magnitude, so that one value suffices."""

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
