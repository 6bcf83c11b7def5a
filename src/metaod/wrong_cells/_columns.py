"""The columns of a table as evidence needs them: numbers, codes of values, texts, and bins."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables import Given, Style, Table, cell_text, hash_of_name, nanoseconds, row_hashes

Kind = Literal["number", "date", "truth", "text"]
Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

N_BINS = 64  # of a predictor; its first bin holds missing values
_FEW = 32  # distinct numbers that are predicted as categories
_MOST_CLASSES = 63  # rarer values are predicted as one
_SKEW = 3.0  # of a positive column that is compared on logarithms
_PLAIN = Style()
_DAY = 86_400e9
_ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads the bits of a count
_FENCE = 1.5  # quartile ranges beyond the quartiles
_OF_NAMES, _FEWEST_DIGITS = 0.98, 6
_NEARLY_ALL = np.array([0.002, 0.998])  # of the values lie between
_LARGEST = 1e100  # sums and products of larger numbers overflow; findings show them as they are
_LEAST = 1e-300
_MOST_INFINITE = 0.01  # of the numbers of a column are errors


@dataclass(frozen=True, eq=False)
class Column:
    """A column of all rows.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "date", "truth", "text"}
        What its values are; dates are days since 1970.
    codes : ndarray of int
        The number of each row's value among the distinct ones; -1 if it is missing.
    distinct : ndarray
        The distinct values: numbers that rise, or texts.
    misfits : mapping of int to str
        Cells that are not what the column is, as written, by row.
    style : Style, optional
        How its values are written.
    given : Usual or None
        What is usual in each row's context, if the user named one.
    """

    name: str
    kind: Kind
    codes: Codes
    distinct: npt.NDArray[Any]
    misfits: Mapping[int, str]
    style: Style = _PLAIN
    given: "Usual | None" = None

    @property
    def is_number(self) -> bool:
        """Whether its values have an order and distances."""
        return self.kind != "text"

    @cached_property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows have a value."""
        return self.codes >= 0

    @cached_property
    def misfitting(self) -> npt.NDArray[np.bool_]:
        """Which rows have a value of another type."""
        found = np.zeros(len(self.codes), dtype=np.bool_)
        found[list(self.misfits)] = True
        return found

    @cached_property
    def counts(self) -> Codes:
        """Rows of each distinct value."""
        return np.bincount(self.codes[self.present], minlength=len(self.distinct))

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {value: code for code, value in enumerate(self.distinct.tolist())}

    def count_of(self, value: Any) -> int:
        """Return how many rows have a value."""
        code = self._places.get(value)
        return 0 if code is None else int(self.counts[code])

    @cached_property
    def below(self) -> Codes:
        """Rows with at most each distinct value."""
        return np.cumsum(self.counts)

    def ends_beside(self, row: int) -> tuple[float, float]:
        """Return the range of nearly all values, without that of a row."""
        code, below = self.codes[row], self.below
        own = self.counts[code] if code >= 0 else 0
        wanted = _NEARLY_ALL * (below[-1] - own)
        places = np.searchsorted(below, wanted)
        if code >= 0:
            places = np.where(places >= code, np.searchsorted(below, wanted + own), places)
        low, high = self.distinct[np.minimum(places, len(self.distinct) - 1)].tolist()
        return float(low), float(high)

    @cached_property
    def values(self) -> Values:
        """The numbers of all rows; NaN if missing."""
        return self.spread(self.distinct.astype(np.float64), np.nan)

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """A hash of each row's value that depends on the value alone."""
        of_values = pd.util.hash_array(self.distinct, categorize=False)
        return self.spread(of_values, np.uint64(0))

    @cached_property
    def scale(self) -> "Scale":
        """How far numbers are from each other, on a scale that wild values do not spoil."""
        return Scale.of(self.distinct.astype(np.float64), self.counts)

    @cached_property
    def is_few(self) -> bool:
        """Whether its values are predicted as categories."""
        return not self.is_number or (len(self.distinct) <= _FEW and self.given is None)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all its numbers are whole."""
        return not np.any(self.distinct.astype(np.float64) % 1)

    @cached_property
    def n_digits(self) -> int | None:
        """The digits of numbers that name things: of nearly all of its whole numbers, and many."""
        if self.kind != "number" or not self.is_whole or not len(self.distinct):
            return None
        sizes = np.maximum(np.abs(self.distinct.astype(np.float64)), 1.0)
        counts = np.bincount(np.floor(np.log10(sizes)).astype(np.int64) + 1)
        is_usual = counts.max() >= _OF_NAMES * len(sizes) and counts.argmax() >= _FEWEST_DIGITS
        return int(counts.argmax()) if is_usual else None

    @cached_property
    def mapped(self) -> Values:
        """The numbers of all rows on the column's scale; NaN if missing."""
        return self.map(self.values)

    def map(self, values: Any, rows: Any = slice(None)) -> Values:
        """Return numbers of some rows on the column's scale, which in context is each row's own."""
        return self._scale(rows, np.ndim(values)).map(values)

    def back(self, mapped: Any, rows: Any) -> Values:
        """Return the numbers that are at places of some rows on the column's scale."""
        return self._scale(rows, np.ndim(mapped)).back(mapped)

    def _scale(self, rows: Any, n_axes: int) -> "Scale":
        if self.given is None:
            return self.scale
        shape = (-1, *[1] * (n_axes - 1))
        middle, spread = self.given.middle[rows], self.given.spread[rows]
        own: Any = {"middle": middle.reshape(shape), "spread": spread.reshape(shape)}
        return replace(self.scale, is_log=self.given.is_log, **own)

    @cached_property
    def in_context(self) -> "Column":
        """The column of the distances from what is usual in each row's context."""
        codes, distinct = pd.factorize(np.sinh(self.mapped), sort=True)
        return Column(self.name, "number", codes.astype(np.int64), np.asarray(distinct), {})

    @cached_property
    def by_count(self) -> Codes:
        """The codes of the distinct values, the most frequent first, whatever the order of rows."""
        ties = self.distinct if self.is_number else pd.util.hash_array(self.distinct)
        return np.lexsort((ties, -self.counts))

    @cached_property
    def classes(self) -> tuple[Codes, int]:
        """Return a class of each distinct value and how many there are; rare ones share the last.

        Codes of distinct values depend on the order of rows for texts, ranks by count do not.
        """
        ranks = np.argsort(self.by_count)
        return np.minimum(ranks, _MOST_CLASSES - 1), min(len(ranks), _MOST_CLASSES)

    def of_class(self, wanted: int) -> int | None:
        """Return the code of the value of a class; None of the one that rare values share."""
        is_shared = wanted == _MOST_CLASSES - 1 and len(self.distinct) > _MOST_CLASSES
        return None if is_shared else int(self.by_count[wanted])

    def without(self, rows: Codes) -> "Column":
        """Return the column with gaps in some rows."""
        codes = self.codes.copy()
        codes[rows] = -1
        kept, codes[codes >= 0] = np.unique(codes[codes >= 0], return_inverse=True)
        return replace(self, codes=codes, distinct=self.distinct[kept])

    def spread(self, of_distinct: Any, missing: Any) -> npt.NDArray[Any]:
        """Return what distinct values have for each row."""
        own = np.asarray(of_distinct)
        return np.append(own, np.asarray([missing], dtype=own.dtype))[self.codes]

    def bins(self, reference: Codes) -> npt.NDArray[np.uint8]:
        """Return the bin of each row, by the values of the reference rows; 0 if it is missing."""
        if not self.is_number:
            own, _ = self.classes
            return self.spread(own % (N_BINS - 1) + 1, 0).astype(np.uint8)
        if self.given is not None:
            return self.in_context.bins(reference)
        if len(self.distinct) < N_BINS:
            return self.spread(np.arange(1, len(self.distinct) + 1), 0).astype(np.uint8)
        known = self.values[reference]
        known = known[~np.isnan(known)]
        if not len(known):
            return self.present.astype(np.uint8)
        ends = np.unique(np.quantile(known, np.linspace(0, 1, N_BINS - 1)[1:-1]))
        of_distinct = 1 + np.searchsorted(ends, self.distinct.astype(np.float64), side="left")
        return self.spread(of_distinct, 0).astype(np.uint8)

    def value(self, number: float) -> Any:
        """Return a number as the table has it: a date, true or false, or a number."""
        if self.kind == "date":
            return pd.Timestamp(np.datetime64(round(number * 86_400), "s"))
        return bool(number >= 0.5) if self.kind == "truth" else float(number)

    def shown(self, number: float, n_digits: int = 4) -> str:
        """Write a number of the column as the user has them, with so many digits."""
        return self.style.text(
            self.value(number), lambda own: f"{float(f'{own:.{n_digits}g}') + 0.0:.12g}"
        )


@dataclass(frozen=True, eq=False)
class Usual:
    """What is usual for the numbers of a column in each row's context.

    Parameters
    ----------
    middle, spread : ndarray of float
        The middle and the spread of each row, of logarithms if `is_log`.
    is_log : bool
        Whether the column is compared on logarithms.
    words : ndarray of object
        The names of the rows' contexts.
    """

    middle: Values
    spread: Values
    is_log: bool
    words: npt.NDArray[Any]

    def take(self, rows: Codes) -> "Usual":
        """Return what is usual in some of the rows."""
        return Usual(self.middle[rows], self.spread[rows], self.is_log, self.words[rows])

    def joined(self, later: "Usual") -> "Usual":
        """Return what is usual in rows, then in later ones."""
        parts = ("middle", "spread", "words")
        own = (np.concatenate([getattr(self, part), getattr(later, part)]) for part in parts)
        middle, spread, words = own
        return Usual(middle, spread, self.is_log, words)


@dataclass(frozen=True)
class Scale:
    """Maps numbers to a scale on which distances can be compared, and back.

    The middle half of the values spans about 1.35; beyond it the scale is logarithmic. Positive
    values with a long tail are taken as logarithms first.
    """

    middle: float
    spread: float
    is_log: bool
    low: float  # usual ends: 5 and 95 %
    high: float

    @classmethod
    def of(cls, distinct: Values, counts: Codes) -> "Scale":
        """Take the scale of values that rise."""
        if not len(distinct):
            return cls(0.0, 1.0, False, 0.0, 0.0)
        below = np.cumsum(counts)
        places = np.searchsorted(below, np.array([0.05, 0.25, 0.5, 0.75, 0.95]) * below[-1])
        ends = distinct[np.minimum(places, len(distinct) - 1)]
        low, _, middle, _, high = ends.tolist()
        is_positive = low > 0 and counts[distinct <= 0].sum() <= 0.001 * below[-1]
        is_log = is_positive and high - middle > _SKEW * (middle - low) and high > 5 * middle
        own = np.log(np.maximum(ends, _LEAST)) if is_log else ends
        spread = max((own[3] - own[1]) / 1.349, (own[4] - own[0]) / 3.29)
        if spread <= 0:  # nearly constant: the step between values, or their size
            steps = np.diff(np.log(np.maximum(distinct, _LEAST)) if is_log else distinct)
            usual = abs(own[2]) * 0.01
            spread = min(float(steps.min()) if len(steps) else 1.0, usual or np.inf)
        return cls(float(own[2]), float(max(spread, _LEAST)), bool(is_log), low, high)

    def map(self, values: Any) -> Values:
        """Return values on the scale."""
        own = np.log(np.maximum(values, _LEAST)) if self.is_log else values
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.arcsinh((own - self.middle) / self.spread))

    def back(self, mapped: Any) -> Values:
        """Return the values of places on the scale."""
        own = self.middle + self.spread * np.sinh(np.clip(mapped, -600, 600))
        return np.asarray(np.exp(np.clip(own, -700, 700)) if self.is_log else own)

    @property
    def middle_value(self) -> float:
        """The middle of the values."""
        return float(np.exp(self.middle)) if self.is_log else self.middle

    def outside(self, values: Any) -> Values:
        """Return by how many spreads values lie outside the usual range, not on logarithms."""
        return self.distances(values, np.clip(values, self.low, self.high))

    def distances(self, values: Any, others: Any) -> Values:
        """Return by how many spreads values differ, not on logarithms."""
        width = max((self.high - self.low) / 3.29, _LEAST if self.is_log else self.spread)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.abs(values - others) / width)


def columns_of(table: Table, given: Given | None = None) -> list[Column]:
    """Return the columns of a table, in its order, in their context if there is one."""
    found = []
    for label, series in table.frame.items():
        name = str(label)
        own = table.misfits.get(name)
        texts = {} if own is None else dict(zip(own.rows.tolist(), own.texts, strict=True))
        if series.dtype.kind == "f":
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
            infinite = np.flatnonzero(np.isinf(numbers)).tolist()
            if len(infinite) <= _MOST_INFINITE * len(numbers):  # more are usual, as the log of 0
                texts |= {row: str(series.iloc[row]) for row in infinite}
        kind, values = _typed(series)
        codes, distinct = pd.factorize(values, sort=kind != "text")
        codes, distinct = codes.astype(np.int64), np.asarray(distinct)
        in_context = given and given.of(name)
        usual = Usual(*in_context, given.words) if given and in_context else None
        found.append(Column(name, kind, codes, distinct, texts, table.style(name), usual))
    return found


def _typed(series: "pd.Series[Any]") -> tuple[Kind, npt.NDArray[Any]]:
    types = pd.api.types
    if types.is_bool_dtype(series.dtype):
        return "truth", series.to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_datetime64_any_dtype(series.dtype):
        stamps = series.dt.tz_convert(None) if series.dt.tz is not None else series
        return "date", nanoseconds(stamps.to_numpy()) / _DAY
    if types.is_timedelta64_dtype(series.dtype):
        return "number", series.dt.total_seconds().to_numpy(dtype=np.float64)
    if types.is_numeric_dtype(series.dtype):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        finite = np.where(np.isfinite(numbers), numbers + 0.0, np.nan)  # -0.0 becomes 0.0
        return "number", np.clip(finite, -_LARGEST, _LARGEST)
    texts = series.astype(object)
    return "text", texts.where(texts.isna(), texts.map(str)).to_numpy(dtype=object)


def moved(
    reference: Sequence[Column], new: Sequence[Column], moving: Container[str]
) -> list[Column]:
    """Return reference columns whose dates are moved to where those of new rows are.

    All are moved by as many days, so that times between them stay: by as many as the column that
    needs fewest.
    """
    later = {own.name: own for own in new if own.kind == "date" and own.present.any()}
    dates = [own.name for own in reference if own.name in moving and own.kind == "date"]
    steps = [
        float(round(np.nanmedian(later[own.name].values) - np.nanmedian(own.values)))
        for own in reference
        if own.name in dates and own.name in later and own.present.any()
    ]
    days = min(steps, key=abs, default=0.0)
    return [
        replace(own, distinct=own.distinct + days) if own.name in dates else own
        for own in reference
    ]


def are_near(values: npt.NDArray[np.float64], new: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Tell which values lie within Tukey's fences of the new ones; no gap does."""
    low, high = np.nanquantile(values[new], [0.25, 0.75])
    reach = _FENCE * (high - low)
    return np.asarray((values >= low - reach) & (values <= high + reach))


def joined(reference: Sequence[Column], new: Sequence[Column]) -> list[Column]:
    """Return the columns of reference rows followed by new ones, which have the same names."""
    by_name = {column.name: column for column in new}
    return [_joined(column, by_name[column.name]) for column in reference]


def _joined(first: Column, second: Column) -> Column:
    n_first, values = len(first.codes), second.distinct
    misfits = {**first.misfits, **{n_first + row: text for row, text in second.misfits.items()}}
    if first.is_number and not second.is_number:  # read as text now: what is no number is a misfit
        values = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
        unread = second.spread(np.isnan(values), False)
        texts = second.spread(second.distinct, "")
        misfits |= {n_first + row: texts[row] for row in np.flatnonzero(unread).tolist()}
    elif second.is_number and not first.is_number:
        values = np.array([cell_text(value) for value in values], dtype=object)
    both = np.concatenate([first.distinct, values])
    codes, distinct = pd.factorize(both, sort=first.is_number)
    own = np.append(codes[: len(first.distinct)], -1)[first.codes]
    later = np.append(codes[len(first.distinct) :], -1)[second.codes]
    joined_codes = np.concatenate([own, later]).astype(np.int64)
    values = np.asarray(distinct)
    given = first.given and second.given and first.given.joined(second.given)
    return Column(first.name, first.kind, joined_codes, values, misfits, second.style, given)


def hashes_of(columns: Sequence[Column]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row's cells in some columns, whatever their order is."""
    return row_hashes((column.hashes, hash_of_name(column.name)) for column in columns)


def row_keys(table: Table) -> npt.NDArray[np.uint64]:
    """Return a hash of each row; the second of two equal rows has another than the first."""
    columns = columns_of(table)
    keys = hashes_of(columns) if columns else np.zeros(table.n_rows, dtype=np.uint64)
    repeated = pd.Series(keys).groupby(keys).cumcount().to_numpy(dtype=np.uint64)
    return np.asarray(keys + repeated * _ODD)


def canonical_order(columns: Sequence[Column]) -> Codes:
    """Return an order of the rows that depends on their cells alone; of no columns of no rows."""
    return np.argsort(hashes_of(columns), kind="stable") if columns else np.arange(0)


def in_order(columns: Sequence[Column], order: Codes) -> list[Column]:
    """Return the columns with their rows in another order."""
    places = np.argsort(order)
    return [
        replace(
            column,
            codes=column.codes[order],
            misfits={int(places[row]): text for row, text in column.misfits.items()},
            given=column.given and column.given.take(order),
        )
        for column in columns
    ]
