"""Columns of Python objects and of text: labels, and values typed by the objects' own types."""

import datetime as dt
import decimal
import enum
import numbers
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from metaod.errors import BadColumn
from metaod.tables._notations import is_missing

_EXACT_IN_FLOAT = 2**53
_MOST_UNKNOWN = 0.2  # share of objects of other types, which become text
_MOST_DECIMAL_BITS = 4096  # Python refuses to write longer integers in decimal digits

_ObjectKind = Literal["number", "boolean", "date", "duration", "text"]
# the first match counts: a bool is an int, a datetime is a date
_OBJECT_KINDS: tuple[tuple[_ObjectKind, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("duration", (dt.timedelta, np.timedelta64, dt.time)),
    ("text", (str, bytes, uuid.UUID, enum.Enum, pd.Interval)),
    ("number", (numbers.Real, decimal.Decimal)),
    ("date", (dt.date, np.datetime64, pd.Period)),
)


@dataclass(frozen=True)
class Labels:
    """A column of text or categories: a code per row (-1 for a missing value), a text per code."""

    codes: npt.NDArray[np.intp]
    texts: list[str]
    declared: bool = False  # categorical by its type: texts are not parsed, some may be in no row

    @classmethod
    def merged(
        cls, codes: npt.NDArray[Any], texts: Iterable[str], *, declared: bool = False
    ) -> "Labels":
        """Build labels from codes whose texts may repeat, as those of 1 and '1' do."""
        first: dict[str, int] = {}
        positions = [first.setdefault(text, len(first)) for text in texts]
        codes = codes.astype(np.intp, copy=False)
        if len(first) < len(positions):
            codes = spread(positions, -1, codes)
        return cls(codes, list(first), declared)

    @classmethod
    def from_text(cls, series: "pd.Series[Any]") -> "Labels":
        codes, texts = pd.factorize(series.array)
        return cls(codes.astype(np.intp, copy=False), [str(text) for text in texts])

    def without(self, words: frozenset[str], values: frozenset[float] = frozenset()) -> "Labels":
        """Make missing the texts that are one of the words, or spell one of the values."""
        if values:
            gone = [is_missing(text, words, values) for text in self.texts]
        else:
            gone = [text.strip() in words for text in self.texts]
        return self.kept(~np.array(gone, dtype=np.bool_)) if any(gone) else self

    def kept(self, fits: npt.NDArray[np.bool_]) -> "Labels":
        """Make missing the texts that do not fit."""
        positions = np.where(fits, np.cumsum(fits) - 1, -1)
        texts = [text for text, is_kept in zip(self.texts, fits.tolist(), strict=True) if is_kept]
        return Labels(spread(positions, -1, self.codes).astype(np.intp), texts)

    def counts(self) -> npt.NDArray[np.intp]:
        """Return the number of rows of each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def to_series(self) -> "pd.Series[Any]":
        return pd.Series(spread(np.array(self.texts, dtype=object), None, self.codes))


def spread(values: Any, missing: Any, codes: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Look up the value of every code; code -1, a missing value, gets `missing`."""
    values = np.asarray(values)
    return np.append(values, np.array([missing], dtype=values.dtype))[codes]


def series_of(labels: Labels, values: npt.NDArray[Any]) -> "pd.Series[Any]":
    """Return the values of the labels' texts as a column; whole numbers with gaps as floats."""
    if values.dtype.kind in "Mm":
        return pd.Series(spread(values, "NaT", labels.codes))
    if values.dtype.kind in "bi" and not (labels.codes < 0).any():
        return pd.Series(values[labels.codes])
    if values.dtype.kind == "b":
        return pd.Series(spread(values.astype(object), None, labels.codes), dtype="boolean")
    return pd.Series(spread(values.astype(np.float64), np.nan, labels.codes))


def as_text_column(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Write the values of some columns that are not text as text."""
    for name in names:
        column = frame[name]
        if not pd.api.types.is_string_dtype(column.dtype):
            frame = frame.assign(**{name: column.astype(str).where(column.notna())})
    return frame


def is_text(dtype: object) -> bool:
    return isinstance(dtype, pd.StringDtype) or (
        isinstance(dtype, pd.ArrowDtype) and dtype.kind == "U"
    )


def text_of(value: object) -> str:
    """Write a value as the text of a category; 1.0 as 1, as missing values turn integers to floats.

    >>> [text_of(value) for value in (1, 1.0, 1.5, True, "1", b"one")]
    ['1', '1', '1.5', 'True', '1', 'one']
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        # half of a surrogate pair, which no file can hold, would stop pandas
        return str(value) if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value.bit_length() > _MOST_DECIMAL_BITS:
        return hex(value)
    return str(value)


def seconds_in(spans: npt.NDArray[np.timedelta64]) -> npt.NDArray[np.float64]:
    """Return lengths in seconds, NaN for NaT."""
    size = np.abs(spans)
    whole = size.astype("m8[s]")  # apart: nanoseconds would lose their last digits in the division
    rest = (size - whole) / np.timedelta64(1, "s")
    length = np.asarray(whole.astype(np.int64) + rest, dtype=np.float64)
    return np.where(spans == size, length, -length)


def rounding_of(low: int, high: int, *, has_gaps: bool) -> str:
    """Describe the whole numbers of a column that are rounded to floats; empty if none is."""
    if low < -(2**63) or high >= 2**63:
        return "beyond 64 bits"
    beyond = has_gaps and max(-low, high) > _EXACT_IN_FLOAT
    return "beyond 53 bits beside missing values" if beyond else ""


def read_objects(
    series: "pd.Series[Any]", name_row: Callable[[int], str], *, as_text: bool = False
) -> "tuple[pd.Series[Any] | Labels, str]":
    """Read Python objects: typed values if all are of one kind, else labels; and `rounding_of`."""
    objects = series.to_numpy(dtype=object)
    try:
        present = ~np.asarray(pd.isna(series), dtype=bool)
    except decimal.InvalidOperation:  # a signalling NaN
        is_signal = [isinstance(value, decimal.Decimal) and value.is_snan() for value in objects]
        return read_objects(series.mask(np.array(is_signal)), name_row, as_text=as_text)
    shown = objects[present]
    kinds: set[_ObjectKind] = set()
    types, unknown = Counter(map(type, shown)), 0
    for value_type, count in types.items():
        kind = next((kind for kind, types in _OBJECT_KINDS if issubclass(value_type, types)), None)
        unknown += 0 if kind else count
        kinds.add(kind or "text")
    if unknown > _MOST_UNKNOWN * len(shown):
        raise _unreadable(series, objects, name_row)
    if not kinds or (kinds <= {"number", "boolean"} and not as_text):
        values, rounded = _read_numbers(shown, present, kinds)
        return pd.Series(values, index=series.index, name=series.name), rounded
    if kinds in ({"date"}, {"duration"}) and not as_text:
        # pandas' OutOfBounds errors are ValueErrors
        with suppress(OverflowError, ValueError):
            found = _times(shown, is_date=kinds == {"date"})
            values = np.full(present.shape, "NaT", dtype=found.dtype)
            values[present] = found
            return pd.Series(values, index=series.index, name=series.name), ""
    # written out first: 1, 1.0 and True are equal, and would become whichever came first
    texts = np.array([text_of(value) for value in shown], dtype=object)
    found, distinct = pd.factorize(texts)
    codes = np.full(present.shape, -1, dtype=np.intp)
    codes[present] = found
    return Labels(codes, [str(text) for text in distinct]), ""


def _read_numbers(
    shown: npt.NDArray[Any], present: npt.NDArray[np.bool_], kinds: set[_ObjectKind]
) -> tuple[Any, str]:
    has_gaps = len(shown) < len(present)
    if kinds == {"boolean"}:
        if not has_gaps:
            return shown.astype(bool), ""
        truths = np.full(present.shape, None, dtype=object)
        truths[present] = shown
        return pd.array(truths, dtype="boolean"), ""
    rounded = ""
    whole = all(issubclass(kind, numbers.Integral) for kind in set(map(type, shown)))
    if len(shown) and whole:
        rounded = rounding_of(int(min(shown)), int(max(shown)), has_gaps=has_gaps)
        if not has_gaps and not rounded:
            return shown.astype(np.int64), ""
    try:
        converted = shown.astype(np.float64)
    except OverflowError:
        converted = np.array([_as_float(value) for value in shown], dtype=np.float64)
    if not whole:
        large = np.flatnonzero(np.isfinite(converted) & (np.abs(converted) >= _EXACT_IN_FLOAT))
        lost = any(_differs(shown[row], float(converted[row])) for row in large)
        rounded = "beyond 53 bits" if lost else ""
    values = np.full(present.shape, np.nan)
    values[present] = converted
    return values, rounded


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _differs(value: Any, converted: float) -> bool:
    # Python compares its own numbers exactly; numpy's would be rounded before comparing
    return bool((value.item() if isinstance(value, np.generic) else value) != converted)


def _unreadable(
    series: "pd.Series[Any]", objects: npt.NDArray[Any], name_row: Callable[[int], str]
) -> BadColumn:
    known = tuple(own for _, types in _OBJECT_KINDS for own in types)
    missing = pd.isna(series).tolist()
    row = next(
        row
        for row, value in enumerate(objects)
        if not missing[row] and not isinstance(value, known)
    )
    what = f"{name_row(row)} holds a value of type {type(objects[row]).__name__}, and only "
    what += "numbers, text, dates and durations can be read"
    remedy = "turn it into separate columns, or leave the column out"
    return BadColumn(series.name, what, remedy=remedy)


def _times(shown: npt.NDArray[Any], *, is_date: bool) -> npt.NDArray[Any]:
    if is_date:
        return np.array(list(map(_stamp, shown)), "M8[us]")
    return _durations(list(map(_nanoseconds, shown)))


def _stamp(value: Any) -> np.datetime64:
    if isinstance(value, pd.Period):
        value = value.to_timestamp(how="start")
    elif isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _nanoseconds(value: Any) -> int:
    if isinstance(value, dt.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        value = dt.timedelta(seconds=seconds, microseconds=value.microsecond)
    elif isinstance(value, np.timedelta64):
        value = pd.Timedelta(value)
    # pandas' Timedelta is a timedelta that also counts nanoseconds
    more = value.nanoseconds if isinstance(value, pd.Timedelta) else 0
    seconds = value.days * 86_400 + value.seconds
    return int((seconds * 10**6 + value.microseconds) * 1000 + more)


def _durations(nanoseconds: list[int]) -> npt.NDArray[Any]:
    if max(map(abs, nanoseconds)) < 2**63:
        return np.array(nanoseconds, dtype="m8[ns]")
    return np.array([count // 10**9 for count in nanoseconds], dtype="m8[s]")  # centuries


def plain_values(column: Any) -> list[Any]:
    """Return the values of a column of Arrow; times outside the years 1 to 9999 as pandas' own.

    >>> plain_values(pa.array([-1, 2932897], pa.int32()).cast(pa.date32()))
    [datetime.date(1969, 12, 31), Timestamp('10000-01-01 00:00:00')]
    """
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return list(map(_plain_value, column))


def _plain_value(scalar: Any) -> Any:
    with suppress(OverflowError, ValueError):
        return scalar.as_py()
    if pa.types.is_duration(scalar.type):
        return pd.Timedelta(np.timedelta64(scalar.value, scalar.type.unit))
    unit: Any = getattr(scalar.type, "unit", "D" if scalar.type == pa.date32() else "ms")
    stamp = pd.Timestamp(np.datetime64(scalar.value, unit))
    return stamp if getattr(scalar.type, "tz", None) is None else stamp.tz_localize("UTC")


def nanoseconds(times: Any) -> Any:
    """Return times as floats, NaN for gaps; numpy's integers would reach 1677 to 2262 only.

    >>> nanoseconds(np.array(["1970-01-02", "9999-01-01", "NaT"], "M8[s]")).tolist()
    [86400000000000.0, 2.533707648e+20, nan]
    """
    unit = np.array(1, times.dtype.str.replace("M", "m")) / np.timedelta64(1, "ns")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) * unit)
