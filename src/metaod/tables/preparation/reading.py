"""Reading a column of any pandas type into numbers or labels."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, UserError
from metaod.tables.preparation.forms import Labels, NumberKind, Numbers, Reading, label, row_name
from metaod.tables.preparation.moments import days, seconds
from metaod.tables.preparation.objects import (
    LARGEST_EXACT,
    LOST_DIGITS,
    label_objects,
    read_objects,
)
from metaod.tables.preparation.parsing import parse_date, parse_number, parse_time, parse_truth

__all__ = ["read_as", "read_as_labels", "read_column"]

_PARSERS: dict[NumberKind, Callable[[str], float | None]] = {
    "numeric": parse_number,
    "date": parse_date,
    "boolean": parse_truth,
    "duration": parse_time,
}
_WORDS = {
    "numeric": "numbers",
    "boolean": "true and false",
    "date": "dates",
    "duration": "durations",
}


def read_column(series: "pd.Series[Any]") -> Reading:
    """Read a column as its type has it; text stays labels, whatever it may spell.

    Raises
    ------
    BadColumn
        Where a value is neither a number nor text nor a date.
    """
    if not isinstance(series.dtype, pd.api.extensions.ExtensionDtype):
        return _read_plain(series)
    try:
        return _read_extension(series)
    except UserError:
        raise
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        # what an extension type refuses is between it and the caller
        raise BadColumn(
            series.name,
            f"its type {series.dtype} cannot be read: {error}",
            remedy="convert the column to numbers or text, or leave it out",
        ) from error


def read_as(series: "pd.Series[Any]", kind: NumberKind) -> Numbers:
    """Read a column as numbers of a kind settled before, parsing text where need be.

    Raises
    ------
    BadColumn
        Where the column holds something else now; the first such row is named.
    """
    reading = read_column(series)
    if isinstance(reading, Labels):
        return Numbers(kind, _parse_as(series, reading, kind))
    values = reading.values
    if reading.kind == kind or (reading.kind, kind) == ("boolean", "numeric"):
        return reading
    fits = np.isnan(values)
    if (reading.kind, kind) == ("numeric", "boolean"):
        fits |= (values == 0) | (values == 1)
    if not fits.all():
        _refuse(series, int(np.argmin(fits)), kind)
    return reading


def read_as_labels(series: "pd.Series[Any]") -> Labels:
    """Read a column as labels, writing out as text what is none."""
    reading = read_column(series)
    if isinstance(reading, Labels):
        return reading
    if isinstance(series.dtype, pd.SparseDtype):
        series = _dense(series)
    if series.dtype == object:
        return label_objects(series)
    codes, uniques = pd.factorize(series)
    return Labels.merged(codes, [label(value) for value in uniques])


def _read_plain(series: "pd.Series[Any]") -> Reading:
    kind = series.dtype.kind
    if kind == "b":
        return Numbers("boolean", series.to_numpy().astype(np.float64))
    if kind in "iuf":
        return _read_numbers(series.to_numpy())
    if kind == "M":
        return Numbers("date", days(series.to_numpy()))
    if kind == "m":
        return Numbers("duration", seconds(series.to_numpy()))
    if kind == "c":
        raise BadColumn(
            series.name,
            "holds complex numbers",
            remedy="give their real and imaginary parts, or modulus and angle, as columns",
        )
    return read_objects(series)


def _read_extension(series: "pd.Series[Any]") -> Reading:
    dtype = series.dtype
    for kind, read in _EXTENSIONS:
        if isinstance(dtype, kind):
            return read(series)
    if dtype.kind in "biuf":
        return _read_nullable(series)
    return read_objects(series.astype(object))


def _read_sparse(series: "pd.Series[Any]") -> Reading:
    return read_column(_dense(series))


def _read_categories(series: "pd.Series[Any]") -> Labels:
    texts = [label(value) for value in series.cat.categories]
    return Labels.merged(series.cat.codes.to_numpy(), texts, declared=True)


def _read_periods(series: "pd.Series[Any]") -> Reading:
    return read_column(series.dt.to_timestamp(how="start"))


def _read_zoned(series: "pd.Series[Any]") -> Numbers:
    # numpy knows no zones, so that this is UTC
    return Numbers("date", days(series.dt.tz_convert(None).to_numpy()))


def _read_text(series: "pd.Series[Any]") -> Labels:
    codes, texts = pd.factorize(series.array)
    return Labels(codes.astype(np.intp, copy=False), [str(text) for text in texts])


def _read_arrow(series: "pd.Series[Any]") -> Reading:
    kind, unit = series.dtype.kind, _arrow_unit(series.dtype)
    if kind == "U":
        return _read_text(series)
    if kind in "biuf":
        return _read_nullable(series)
    if unit and kind == "M":
        return Numbers("date", days(series.to_numpy(dtype=f"M8[{unit}]")))
    if unit and kind == "m":
        return Numbers("duration", seconds(series.to_numpy(dtype=f"m8[{unit}]")))
    return read_objects(series.astype(object))


def _arrow_unit(dtype: object) -> str | None:
    # times of day have a unit too, and are objects all the same
    return getattr(dtype.pyarrow_dtype, "unit", None) if isinstance(dtype, pd.ArrowDtype) else None


_EXTENSIONS: tuple[tuple[type, Callable[["pd.Series[Any]"], Reading]], ...] = (
    (pd.SparseDtype, _read_sparse),
    (pd.CategoricalDtype, _read_categories),
    (pd.PeriodDtype, _read_periods),
    (pd.DatetimeTZDtype, _read_zoned),
    (pd.StringDtype, _read_text),
    (pd.ArrowDtype, _read_arrow),
)


def _dense(series: "pd.Series[Any]") -> "pd.Series[Any]":
    return pd.Series(np.asarray(series.array), index=series.index, name=series.name)


def _read_nullable(series: "pd.Series[Any]") -> Numbers:
    kind = series.dtype.kind
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "b":
        return Numbers("boolean", values)
    if kind == "f":
        return Numbers("numeric", values)
    present = series.dropna().to_numpy(dtype=np.int64 if kind == "i" else np.uint64)
    return Numbers("numeric", values, whole=True, note=_read_numbers(present).note)


def _read_numbers(array: npt.NDArray[Any]) -> Numbers:
    with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes infinite
        # a column of a matrix is scattered over memory: gathered once, it is quick ever after
        values = np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind == "f":
        return Numbers("numeric", values)
    return Numbers("numeric", values, whole=True, note=LOST_DIGITS if _loses(array, values) else "")


def _loses(integers: npt.NDArray[Any], values: npt.NDArray[np.float64]) -> bool:
    """Whether some integer is not the float that it was converted to."""
    if values.size == 0 or np.abs(values).max() < LARGEST_EXACT:
        return False
    # the largest integers round up to a power of two that their own type cannot hold
    beyond = values >= float(np.iinfo(integers.dtype).max)
    if beyond.any():
        return True
    return bool((values.astype(integers.dtype) != integers).any())


def _parse_as(
    series: "pd.Series[Any]", column: Labels, kind: NumberKind
) -> npt.NDArray[np.float64]:
    parse = _PARSERS[kind]
    parsed = [parse(text) for text in column.texts]
    fails = np.array([value is None for value in parsed] + [False])[column.codes]
    if fails.any():
        _refuse(series, int(np.argmax(fails)), kind)
    return np.array([np.nan if value is None else value for value in parsed] + [np.nan])[
        column.codes
    ]


def _refuse(series: "pd.Series[Any]", row: int, kind: NumberKind) -> NoReturn:
    shown = repr(label(series.iloc[row]))
    if len(shown) > 40:
        shown = f"{shown[:37]}..."
    raise BadColumn(
        series.name,
        f"held {_WORDS[kind]} when the preparation was fitted, and "
        f"{row_name(series.index, row)} holds {shown}",
        remedy="mend the value or fit again",
    )
