"""Dates as days since 1970-01-01 and durations as seconds.

Whole days (or seconds) and the rest are converted apart, so that nanosecond stamps do not lose
their last digits before they are divided.
"""

import datetime as dt
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["days", "days_of", "seconds", "seconds_of"]

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - naive stamps are taken as UTC
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)
_SECONDS_A_DAY = 86_400


def days(stamps: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Days since 1970-01-01, NaN for NaT.

    Examples
    --------
    >>> days(np.array(["1970-01-02T12:00", "NaT"], dtype="M8[ns]")).tolist()
    [1.5, nan]
    """
    whole = stamps.astype("M8[D]")
    rest = (stamps - whole) / np.timedelta64(1, "D")
    return np.asarray(whole.astype(np.int64) + rest, dtype=np.float64)


def seconds(spans: npt.NDArray[np.timedelta64]) -> npt.NDArray[np.float64]:
    """Length in seconds, NaN for NaT.

    Examples
    --------
    >>> seconds(np.array([1500, -500], dtype="m8[ms]")).tolist()
    [1.5, -0.5]
    """
    size = np.abs(spans)
    whole = size.astype("m8[s]")
    rest = (size - whole) / np.timedelta64(1, "s")
    length = np.asarray(whole.astype(np.int64) + rest, dtype=np.float64)
    return np.where(spans == size, length, -length)


def days_of(value: Any) -> float:
    """Days since 1970-01-01 of one date, stamp or period (its start).

    Examples
    --------
    >>> days_of(dt.date(1970, 1, 3)), days_of(pd.Period("1970-02", "M"))
    (2.0, 31.0)
    """
    if isinstance(value, pd.Period):
        value = value.to_timestamp(how="start")
    elif isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if not isinstance(value, dt.datetime):
        return float(value.toordinal() - _EPOCH.toordinal())
    elapsed = value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)
    return float(elapsed.days + _nanoseconds(elapsed) / (_SECONDS_A_DAY * 10**9))


def seconds_of(value: Any) -> float:
    """Length in seconds of one duration, or seconds since midnight of a time of day.

    Examples
    --------
    >>> seconds_of(dt.timedelta(minutes=2)), seconds_of(dt.time(0, 1, 30))
    (120.0, 90.0)
    """
    if isinstance(value, dt.time):
        value = dt.timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        )
    elif isinstance(value, np.timedelta64):
        value = pd.Timedelta(value)
    length = value.days * _SECONDS_A_DAY * 10**9 + _nanoseconds(value)
    whole, rest = divmod(abs(length), 10**9)
    return math.copysign(whole + rest / 10**9, length)


def _nanoseconds(span: dt.timedelta) -> int:
    """Nanoseconds beyond the span's whole days."""
    # pandas' Timedelta is a timedelta that also counts nanoseconds
    more = span.nanoseconds if isinstance(span, pd.Timedelta) else 0
    return (span.seconds * 10**6 + span.microseconds) * 1000 + more
