"""Read a pandas column of any type as one of two plain forms: numbers or labels."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, Message, Setting, UserError
from metaod.tables._column_types import Written, in_seconds
from metaod.tables._misfits import Misfits
from metaod.tables._notations import (
    ERROR_WORDS,
    Notation,
    NumberKind,
    Plain,
    parse_later,
    same_quantity,
    shorten,
    widened,
)
from metaod.tables._objects import Labels, is_text, read_objects, seconds_in, series_of, text_of

_LARGEST_EXACT = 2.0**53
_DAY = 86_400 * 10**6  # microseconds
_ROUNDED = "numbers beyond 2**53 were rounded to the nearest float"

# times of day are seconds in some sources and durations in others
_COMPATIBLE = {("boolean", "numeric"), ("duration", "numeric"), ("numeric", "duration")}


@dataclass(frozen=True)
class Place:
    """Where rows are, for errors: in a file, whose rows count from 1, or in a frame."""

    index: "pd.Index[Any]"
    path: str | None = None

    def row(self, row: int) -> str:
        """Name a row, counted from 0: by its position, and its label where that differs.

        >>> Place(pd.RangeIndex(5)).row(3), Place(pd.Index(["a", "b"])).row(1)
        ('row 3 (counted from 0)', "row 1 (index 'b')")
        """
        if self.path is not None:
            return f"row {row + 1}"
        shown = self.index[row]
        if isinstance(shown, np.generic):
            shown = shown.item()
        return f"row {row} (counted from 0)" if shown == row else f"row {row} (index {shown!r})"

    def error(self, column: object, what: str | Message, remedy: str | Message) -> BadColumn:
        """Return an error about a column of these rows."""
        return BadColumn(column, what, path=self.path, remedy=remedy)


@dataclass(frozen=True)
class Numbers:
    """A column as float64 (NaN if missing), read-only: it may share memory with the table."""

    kind: NumberKind
    values: npt.NDArray[np.float64]
    whole: bool = False  # read from integers; only these can be identifiers
    note: str = ""  # on digits that were lost


@dataclass(frozen=True)
class Cells:
    """A column of rows to prepare, and the words that are missing values in its text."""

    series: "pd.Series[Any]"
    missing: frozenset[str]
    place: Place
    written: Written | None = None  # its text, if it was read in a notation
    misfits: Misfits | None = None  # cells that are missing in the series

    @property
    def name(self) -> str:
        """The column's name."""
        return str(self.series.name)

    def as_text(self) -> "Cells":
        """Return the text of a column that was read in a notation or has misfits, else itself."""
        if self.written is not None:
            values = self.written.labels.to_series().to_numpy()
        elif self.misfits is not None:
            values = self.series.to_numpy(dtype=object, copy=True)
            values[self.misfits.rows] = self.misfits.texts
        else:
            return self
        series = pd.Series(values, self.series.index, name=self.series.name, dtype=object)
        return Cells(series, self.missing, self.place)

    def read(self) -> Numbers | Labels:
        """Read the column by its type; text becomes labels without the missing words."""
        return _read_column(self.series, self.missing, self.place)

    def labels(self, known: tuple[str, ...] = ()) -> Labels:
        """Read the column as labels; other values are written as text, known words stay."""
        missing = self.missing.difference(known)
        column = _read_column(self.series, missing, self.place)
        if isinstance(column, Labels):
            return column
        series = self.series
        if isinstance(series.dtype, pd.SparseDtype):
            series = _dense(series)
        if series.dtype == object:
            labels, _ = read_objects(series, self.place.row, as_text=True)
            if isinstance(labels, Labels):
                return labels.without(missing)
        codes, uniques = pd.factorize(series)
        return Labels.merged(codes, map(text_of, uniques))

    def numbers(self) -> Numbers:
        """Read a column of numbers."""
        column = self.read()
        assert isinstance(column, Numbers)  # noqa: S101 - for the type checker
        return column

    def typed(
        self, kind: NumberKind, notation: Notation | None = None, *, role: str = ""
    ) -> tuple["Cells", str]:
        """Return the column with the type of a kind and notation decided before.

        Cells that cannot be read so are misfits, and missing. Text is read in its own notation if
        that means the same; the returned text describes how, if not as the first table. Only few
        cells may be misfits in a column that the user named for a `role`: else it is an error.
        """
        own = None if self.written is None else self.written.notation
        is_same = own in (None, notation) or (notation is None and same_quantity(own))
        if not is_same:
            return self._read_again(kind, notation, role)
        if (
            kind == "numeric"
            and isinstance(self.series.dtype, np.dtype)
            and self.series.dtype.kind in "iuf"
        ):
            return self, ""  # the usual case, without a copy of the values
        column = replace(self, missing=self.missing - ERROR_WORDS).read()
        if isinstance(column, Labels):
            return self._parsed(column, kind, notation, role)
        if column.kind == kind or (column.kind, kind) in _COMPATIBLE:
            if kind == "numeric" and self.series.dtype.kind == "m":
                return replace(self, series=in_seconds(self.series)), ""
            return self, ""
        is_gap = np.isnan(column.values)
        values: Any = pd.array(column.values == 1, dtype="boolean")
        fits = np.isin(column.values, (0, 1)) & ((column.kind, kind) == ("numeric", "boolean"))
        if (column.kind, kind) == ("numeric", "date"):
            values = _stamps(days_in_numbers(column.values))
            fits = ~np.isnat(values)
        rows = np.flatnonzero(~fits & ~is_gap)
        shown = self.as_text().series.iloc[rows]
        texts = [text_of(value).removesuffix(" 00:00:00") for value in shown]
        n_values = len(is_gap) - int(is_gap.sum())
        known = [] if self.misfits is None else [self.misfits]
        misfits = Misfits.merged([*known, Misfits(rows, texts, Plain(kind).what, n_values)])
        series = pd.Series(values, self.series.index, name=self.series.name)
        return self._with(series.where(fits), None, misfits, role), ""

    def _read_again(
        self, kind: NumberKind, notation: Notation | None, role: str
    ) -> tuple["Cells", str]:
        """Read text that was read in its own notation in the one decided before."""
        read, _ = self.as_text().typed(kind, notation, role=role)
        before, after = self.read(), read.read()
        is_equal = (
            isinstance(before, Numbers)
            and isinstance(after, Numbers)
            and np.array_equal(before.values, after.values, equal_nan=True)
        )
        words = "" if is_equal or notation is None else notation.words()
        return read, f"read as {words}, as the fitted rows were" if words else ""

    def _parsed(
        self, labels: Labels, kind: NumberKind, notation: Notation | None, role: str
    ) -> tuple["Cells", str]:
        wanted, words = Plain(kind) if notation is None or labels.declared else notation, ""
        values, fits = parse_later(wanted, labels.texts)
        if not fits.all() and not role and not labels.declared:
            other = widened(wanted, labels.texts)
            if other is not None and (read := other.parse(labels.texts))[1].sum() > fits.sum():
                values, fits = read
                words = f"read as {other.words()}" if notation is None else ""
        kept = labels.kept(fits)
        series = series_of(kept, values[fits])
        series = in_seconds(series) if kind == "numeric" else series
        series = series.set_axis(self.series.index).rename(self.name)
        found = Misfits.of(labels, kept, wanted.what)
        misfits = found if len(found.rows) else None  # declared categories may be in no row
        written = None if notation is None or labels.declared else Written(labels, notation)
        return self._with(series, written, misfits, role), words

    def _with(
        self,
        series: "pd.Series[Any]",
        written: Written | None,
        misfits: Misfits | None,
        role: str,
    ) -> "Cells":
        if role and misfits is not None and not misfits.are_few:
            n_fails, name = len(misfits.rows), self.series.name
            told = f"{n_fails:,} of its {misfits.n_values:,} values"
            told += f" {'is' if n_fails == 1 else 'are'} not {misfits.what}, such as "
            told += shorten(repr(misfits.texts[0]))
            named = Message("role", "is named in {role}, but {told}", role=Setting(role), told=told)
            remedy = Message("role", "fix them, or do not name it in {role}", role=Setting(role))
            raise self.place.error(name, named, remedy)
        return replace(self, series=series, written=written, misfits=misfits)


def _read_column(
    series: "pd.Series[Any]", missing: frozenset[str], place: Place
) -> Numbers | Labels:
    if isinstance(series.dtype, np.dtype):
        return _read_numpy(series, missing, place)
    try:
        return _read_extension(series, missing, place)
    except UserError:
        raise
    except (ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        what = f"its type {series.dtype} cannot be read: {error}"
        remedy = "convert the column to numbers or text, or leave it out"
        raise place.error(series.name, what, remedy) from error


def _read_numpy(
    series: "pd.Series[Any]", missing: frozenset[str], place: Place
) -> Numbers | Labels:
    kind = series.dtype.kind
    if kind == "O":
        read, rounded = read_objects(series, place.row)
        if isinstance(read, Labels):
            return read.without(missing)
        column = _read_column(read, missing, place)
        return replace(column, note=_ROUNDED) if rounded and isinstance(column, Numbers) else column
    if kind == "c":
        remedy = "give their real and imaginary parts, or modulus and angle, as columns"
        raise place.error(series.name, "holds complex numbers", remedy)
    values = series.to_numpy()
    if kind == "M":
        return Numbers("date", _days(values))
    if kind == "m":
        return Numbers("duration", seconds_in(values))
    return Numbers("boolean", values.astype(np.float64)) if kind == "b" else _read_numbers(values)


def _read_extension(
    series: "pd.Series[Any]", missing: frozenset[str], place: Place
) -> Numbers | Labels:
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
    return _read_column(series, missing, place)


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


def _stamps(days: npt.NDArray[np.float64]) -> npt.NDArray[np.datetime64]:
    stamps = np.full(days.shape, "NaT", dtype="M8[us]")
    known = ~np.isnan(days)
    stamps[known] = np.rint(days[known] * _DAY).astype(np.int64).astype("M8[us]")
    return stamps


def _days(stamps: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    # apart: nanoseconds would lose their last digits in the division
    whole = stamps.astype("M8[D]")
    rest = (stamps - whole) / np.timedelta64(1, "D")
    return np.asarray(whole.astype(np.int64) + rest, dtype=np.float64)


# whole numbers that are no quantities: dates, identifiers and numbers of rows

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
    """Whether whole numbers are surely dates, without being named as such.

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
_FEW_REPEATS, _REPEATED = 2, 0.005  # values of an identifier, or this share of them
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


def without_few_repeats(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return the values that occur once, if so few are repeated that these may be mistakes.

    >>> without_few_repeats(np.array([*range(30), 7.0])).tolist() == [*range(7), *range(8, 30)]
    True
    >>> without_few_repeats(np.array([1.0, 2.0, 2.0])) is without_few_repeats(np.zeros(30)) is None
    True
    """
    n_repeats = len(values) - pd.unique(values).size
    if n_repeats == 0:
        return values
    most = max(_FEW_REPEATS, _REPEATED * len(values))
    if n_repeats > most or len(values) < _FEWEST_NUMBERED:
        return None
    return values[~pd.Series(values).duplicated(keep=False).to_numpy()]
