"""Read a pandas column of any type as one of two plain forms: numbers or labels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, UserError
from metaod.tables._dates import days_in_numbers
from metaod.tables._notations import Hints, Notation, find_notation, same_quantity, widened
from metaod.tables._objects import (
    Labels,
    is_text,
    read_objects,
    row_name,
    seconds_in,
    series_of,
    spread,
    text_of,
)
from metaod.tables._text_values import parse_date, parse_number, parse_time, parse_truth, shorten

NumberKind = Literal["numeric", "boolean", "date", "duration"]

_LARGEST_EXACT = 2.0**53
_ROUNDED = "numbers beyond 2**53 were rounded to the nearest float"
_PARSERS: dict[NumberKind, tuple[str, Callable[[str], Any]]] = {
    "numeric": ("numbers", parse_number),
    "boolean": ("true and false", parse_truth),
    "date": ("dates", parse_date),
    "duration": ("durations", parse_time),
}


# times of day are seconds in some sources and durations in others
_COMPATIBLE = {("boolean", "numeric"), ("duration", "numeric"), ("numeric", "duration")}


@dataclass(frozen=True)
class Numbers:
    """A column as float64 (NaN if missing), read-only: it may share memory with the table."""

    kind: NumberKind
    values: npt.NDArray[np.float64]
    whole: bool = False  # read from integers; only these can be identifiers
    note: str = ""  # on digits that were lost


def read_column(series: "pd.Series[Any]", missing: frozenset[str]) -> Numbers | Labels:
    """Read a column by its type; text becomes labels, of which the `missing` words are missing."""
    if isinstance(series.dtype, np.dtype):
        return _read_numpy(series, missing)
    try:
        return _read_extension(series, missing)
    except UserError:
        raise
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        what = f"its type {series.dtype} cannot be read: {error}"
        remedy = "convert the column to numbers or text, or leave it out"
        raise BadColumn(series.name, what, remedy=remedy) from error


def read_as(
    series: "pd.Series[Any]", kind: NumberKind, missing: frozenset[str], *, role: str = ""
) -> Numbers:
    """Read a column as numbers of a kind decided before, parsing text where necessary.

    Errors name the `role` for which it should hold them; if there is none, the first table did.
    """
    column = read_column(series, missing)
    if isinstance(column, Labels):
        parsed = [_parse(text, kind) for text in column.texts]
        fails = spread(np.array([value is None for value in parsed], bool), False, column.codes)
        if fails.any():
            raise _misfit(series, fails, kind, role)
        values = np.array(parsed, dtype="M8[us]" if kind == "date" else np.float64)
        values = _days(values) if kind == "date" else values
        return Numbers(kind, spread(values, np.nan, column.codes))
    if column.kind == kind or (column.kind, kind) in _COMPATIBLE:
        return column
    fits = np.isnan(column.values)
    if (column.kind, kind) == ("numeric", "date"):
        column = Numbers("date", days_in_numbers(column.values))
        fits |= ~np.isnan(column.values)
    if (column.kind, kind) == ("numeric", "boolean"):
        fits |= (column.values == 0) | (column.values == 1)
    if not fits.all():
        raise _misfit(series, ~fits, kind, role)
    return column


def read_in_notation(
    series: "pd.Series[Any]", notation: Notation, missing: frozenset[str]
) -> "pd.Series[Any]":
    """Read the text of a column in a notation decided before; other types stay as they are."""
    column = read_column(series, missing)
    if not isinstance(column, Labels) or column.declared:
        return series
    values, fits = notation.parse(column.texts)
    if values.dtype.kind == "M":
        for place in np.flatnonzero(~fits):  # ISO dates can stand beside other dates
            stamp = parse_date(column.texts[place])
            if stamp is not None:
                values[place], fits[place] = stamp, True
    if not fits.all() and (other := widened(notation, column.texts)) is not None:
        values, fits = other.parse(column.texts)
    fails = spread(~fits, False, column.codes)
    if fails.any():
        row = int(np.argmax(fails))
        what = (
            f"held {notation.words()} in the first table, and "
            f"{row_name(series.index, row)} holds {shorten(repr(text_of(series.iloc[row])))}"
        )
        raise BadColumn(series.name, what, remedy="mend the value or fit again")
    return pd.Series(series_of(column, values).to_numpy(), index=series.index, name=series.name)


def read_in_own_notation(
    series: "pd.Series[Any]", kind: NumberKind, missing: frozenset[str]
) -> "tuple[pd.Series[Any], str]":
    """Read the text of a column that is not plain by its own notation, and describe it.

    A column stays as it is if its text can be read in two ways, or means another quantity.
    """
    if series.dtype != object and not is_text(series.dtype):
        return series, ""
    column = read_column(series, missing)
    if not isinstance(column, Labels) or all(
        _parse(text, kind) is not None for text in column.texts
    ):
        return series, ""
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts))
    found = find_notation(column.texts, rows, Hints())
    if found is None or not found.fits.all() or found.rival is not None or found.codes:
        return series, ""
    is_kind = found.notation.tag == {"numeric": "numbers", "date": "dates"}.get(kind)
    if not is_kind or not same_quantity(found.notation):
        return series, ""
    values = series_of(column, found.values).to_numpy()
    return pd.Series(values, index=series.index, name=series.name), found.notation.words()


def _parse(text: str, kind: NumberKind) -> Any:
    value = _PARSERS[kind][1](text)
    if value is None and kind in ("numeric", "duration"):
        value = parse_time(text) if kind == "numeric" else parse_number(text)
    return value


def read_as_labels(series: "pd.Series[Any]", missing: frozenset[str]) -> Labels:
    """Read a column as labels; values that are not text are written as text."""
    column = read_column(series, missing)
    if isinstance(column, Labels):
        return column
    if isinstance(series.dtype, pd.SparseDtype):
        series = _dense(series)
    if series.dtype == object:
        labels, _ = read_objects(series, partial(row_name, series.index), as_text=True)
        if isinstance(labels, Labels):
            return labels.without(missing)
    codes, uniques = pd.factorize(series)
    return Labels.merged(codes, map(text_of, uniques))


def _read_numpy(series: "pd.Series[Any]", missing: frozenset[str]) -> Numbers | Labels:
    kind = series.dtype.kind
    if kind == "O":
        read, rounded = read_objects(series, partial(row_name, series.index))
        if isinstance(read, Labels):
            return read.without(missing)
        column = read_column(read, missing)
        return replace(column, note=_ROUNDED) if rounded and isinstance(column, Numbers) else column
    if kind == "c":
        remedy = "give their real and imaginary parts, or modulus and angle, as columns"
        raise BadColumn(series.name, "holds complex numbers", remedy=remedy)
    values = series.to_numpy()
    if kind == "M":
        return Numbers("date", _days(values))
    if kind == "m":
        return Numbers("duration", seconds_in(values))
    return Numbers("boolean", values.astype(np.float64)) if kind == "b" else _read_numbers(values)


def _read_extension(series: "pd.Series[Any]", missing: frozenset[str]) -> Numbers | Labels:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        texts = map(text_of, series.cat.categories)
        return Labels.merged(series.cat.codes.to_numpy(), texts, declared=True)
    if is_text(dtype):
        return Labels.from_text(series).without(missing)
    if dtype.kind in "biuf" and not isinstance(dtype, pd.SparseDtype):
        return _read_nullable(series)
    if isinstance(dtype, pd.SparseDtype):
        series = _dense(series)
    elif isinstance(dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp(how="start")
    elif isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert(None)  # UTC
    elif isinstance(dtype, pd.ArrowDtype) and dtype.kind in "Mm" and _unit(dtype):
        values = series.to_numpy(dtype=f"{dtype.kind}8[{_unit(dtype)}]")
        series = pd.Series(values, series.index, name=series.name)
    else:
        series = series.astype(object)
    return read_column(series, missing)


def _unit(dtype: pd.ArrowDtype) -> str | None:
    return getattr(dtype.pyarrow_dtype, "unit", None)


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
        # a column of a matrix is scattered over memory: a contiguous copy is faster to use
        values = np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind == "f":
        return Numbers("numeric", values)
    return Numbers("numeric", values, whole=True, note=_ROUNDED if _loses(array, values) else "")


def _loses(integers: npt.NDArray[Any], values: npt.NDArray[np.float64]) -> bool:
    if values.size == 0 or np.abs(values).max() < _LARGEST_EXACT:
        return False
    # the largest integers round up to a power of two that their own type cannot hold
    if (values >= float(np.iinfo(integers.dtype).max)).any():
        return True
    return bool((values.astype(integers.dtype) != integers).any())


def _days(stamps: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    whole = stamps.astype(
        "M8[D]"
    )  # apart: nanoseconds would lose their last digits in the division
    rest = (stamps - whole) / np.timedelta64(1, "D")
    return np.asarray(whole.astype(np.int64) + rest, dtype=np.float64)


def _misfit(
    series: "pd.Series[Any]", fails: npt.NDArray[np.bool_], kind: NumberKind, role: str
) -> BadColumn:
    row, what = int(np.argmax(fails)), _PARSERS[kind][0]
    value = shorten(repr(text_of(series.iloc[row])))
    if not role:
        place = row_name(series.index, row)
        told = f"held {what} in the first table, and {place} holds {value}"
        return BadColumn(series.name, told, remedy="mend the value or fit again")
    n_fails, n_values = int(fails.sum()), int(series.notna().sum())
    told = f"is named in {role!r} (--{role}), but {n_fails:,} of its {n_values:,} values"
    told += f" {'is' if n_fails == 1 else 'are'} not {what}, such as {value}"
    return BadColumn(series.name, told, remedy=f"mend them, or do not name it in {role!r}")
