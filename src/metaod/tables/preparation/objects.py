"""Columns of Python objects: their types are looked at value by value."""

import datetime as dt
import decimal
import enum
import numbers
import uuid
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn
from metaod.tables.preparation.forms import Labels, Numbers, Reading, label, row_name
from metaod.tables.preparation.moments import days_of, seconds_of

__all__ = ["LARGEST_EXACT", "LOST_DIGITS", "label_objects", "read_objects"]

LARGEST_EXACT = 2.0**53
LOST_DIGITS = "numbers beyond 2**53 were rounded to the nearest float"

_Sort = Literal["number", "boolean", "date", "duration", "text"]

# the first match counts: a bool is an int, a datetime is a date
_SORTS: tuple[tuple[_Sort, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("duration", (dt.timedelta, np.timedelta64, dt.time)),
    ("text", (str, bytes, uuid.UUID, enum.Enum, pd.Interval)),
    ("number", (numbers.Real, decimal.Decimal)),
    ("date", (dt.date, np.datetime64, pd.Period)),
)


def read_objects(series: "pd.Series[Any]") -> Reading:
    """Read a column of objects: numbers, dates or durations if all are such, else labels."""
    objects = series.to_numpy(dtype=object)
    try:
        present = ~np.asarray(pd.isna(series), dtype=bool)
    except decimal.InvalidOperation as error:
        raise BadColumn(
            series.name, "holds a signalling NaN", remedy="replace it by a missing value"
        ) from error
    shown = objects[present]
    sorts: set[_Sort] = set()
    for kind in set(map(type, shown)):
        sort = _sort(kind)
        if sort is None:
            row = next(int(row) for row in np.flatnonzero(present) if type(objects[row]) is kind)
            raise BadColumn(
                series.name,
                f"{row_name(series.index, row)} holds a value of type {kind.__name__}, and only "
                "numbers, text, dates and durations can be prepared",
                remedy="turn it into columns of its own, or leave the column out",
            )
        sorts.add(sort)
    if sorts <= {"number", "boolean"}:
        return _read_numbers(shown, present, sorts)
    if sorts == {"date"}:
        return Numbers("date", _convert(series, present, days_of))
    if sorts == {"duration"}:
        return Numbers("duration", _convert(series, present, seconds_of))
    return label_objects(series)


def label_objects(series: "pd.Series[Any]") -> Labels:
    """Write out a column of objects as labels."""
    objects = series.to_numpy(dtype=object)
    present = ~np.asarray(pd.isna(series), dtype=bool)
    shown = objects[present]
    if set(map(type, shown)) != {str}:
        # written out first: 1, 1.0 and True are equal, and would become whichever came first
        shown = np.array([label(value) for value in shown], dtype=object)
    found, texts = pd.factorize(shown)
    codes = np.full(present.shape, -1, dtype=np.intp)
    codes[present] = found
    return Labels(codes, [str(text) for text in texts])


def _sort(kind: type) -> _Sort | None:
    return next((sort for sort, types in _SORTS if issubclass(kind, types)), None)


def _read_numbers(
    shown: npt.NDArray[Any], present: npt.NDArray[np.bool_], sorts: set[_Sort]
) -> Numbers:
    try:
        converted = shown.astype(np.float64)
    except OverflowError:
        converted = np.array([_as_float(value) for value in shown], dtype=np.float64)
    values = np.full(present.shape, np.nan)
    values[present] = converted
    if sorts == {"boolean"}:
        return Numbers("boolean", values)
    whole = bool(sorts) and all(
        issubclass(kind, numbers.Integral) for kind in set(map(type, shown))
    )
    large = np.flatnonzero(np.isfinite(converted) & (np.abs(converted) >= LARGEST_EXACT))
    lost = any(_is_rounded(shown[row], float(converted[row])) for row in large)
    return Numbers("numeric", values, whole=whole, note=LOST_DIGITS if lost else "")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _is_rounded(value: Any, converted: float) -> bool:
    # Python compares its own numbers exactly; numpy's would be rounded before comparing
    return bool((value.item() if isinstance(value, np.generic) else value) != converted)


def _convert(
    series: "pd.Series[Any]", present: npt.NDArray[np.bool_], convert: Callable[[Any], float]
) -> npt.NDArray[np.float64]:
    values = np.full(present.shape, np.nan)
    objects = series.to_numpy(dtype=object)
    for row in np.flatnonzero(present):
        try:
            values[row] = convert(objects[row])
        except (OverflowError, ValueError) as error:  # pandas' OutOfBounds errors are ValueErrors
            raise BadColumn(
                series.name,
                f"{row_name(series.index, int(row))}: {error}",
                remedy="mend the value or leave the column out",
            ) from error
    return values
