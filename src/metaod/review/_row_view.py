"""What sets a row apart: its cells, those that few other rows resemble first.

Every column is compared with itself alone, in nats: the tail of a number, the surprisal of a
category less what is usual in its column, and the surprisal of a gap.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf, isfinite, log, log10, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.models import Matrix
from metaod.tables import ColumnRecord, Preparation, PreparationRecord, Style, Table, nanoseconds

SETS_APART = log(20)
"""Surprise from which a cell sets its row apart: that of a gap in 5 % of the rows."""

_UNUSUAL = 1.42  # that of a number at the end of its usual range

_FEW_LEVELS = 10  # numbers of no more different values are compared as categories
_OUTER = 1.6449  # standard deviations of the 5 % and 95 % quantiles of a normal distribution


@dataclass(frozen=True)
class RowCell:
    """A cell of a row, and how unusual it is in its column.

    Parameters
    ----------
    name : str
        The column.
    value : object
        The value; None if it is missing.
    usual : str
        What other rows have: a range, or how many have this value or gap. Empty if the column is
        not compared.
    surprise : float
        How unusual the value is, in nats; 0 for a usual one.
    text : str
        The value as the file has it, if it was read in some notation, as 1.234,50 €; else empty.
    """

    name: str
    value: Any
    usual: str = ""
    surprise: float = 0.0
    text: str = ""

    @property
    def sets_apart(self) -> bool:
        """Whether few other rows have such a value."""
        return self.surprise >= SETS_APART

    @property
    def is_unusual(self) -> bool:
        """Whether the value is outside the usual range, or of a category that is not frequent."""
        return self.surprise >= _UNUSUAL


class RowView:
    """Compares the cells of a row with their columns, each of which is summarised when needed.

    Parameters
    ----------
    table : Table
        The table, with typed columns.
    record : PreparationRecord
        What its preparation did: only columns that are used, and gaps that count, set a row apart.
    others : str, default="row"
        What the rows that are compared with are called: "training row" for rows of another table.
    """

    def __init__(self, table: Table, record: PreparationRecord, others: str = "row") -> None:
        frame = table.frame
        self._names = [str(name) for name in frame.columns]
        places = {name: place for place, name in enumerate(self._names)}
        self._values: Callable[[str], pd.Series[Any]] = lambda name: frame.iloc[:, places[name]]
        self._records = {column.name: column for column in record.columns}
        self._n_rows = len(frame)
        self._text, self._style, self._others = table.text, table.style, others
        self._lack = table.lack
        self._profiles: dict[str, _Column | None] = {}

    def cells(self, row: int) -> list[RowCell]:
        """Return the cells of a row, counted from 0: the most surprising first."""
        cells = []
        for name in self._names:
            column, value = self._profile(name), self._values(name).iloc[row]
            value = None if pd.isna(value) else value
            usual, surprise = ("", 0.0) if column is None else column.compare(value)
            usual = self._lack(name, row) or usual
            cells.append(RowCell(name, value, usual, surprise, self._text(name, row)))
        return sorted(cells, key=lambda cell: -cell.surprise)  # else in the table's order

    def cell(self, name: str, value: Any) -> RowCell:
        """Compare a value, None for a gap, with a column; also of a row that is not in the table.

        Categories are compared as text.
        """
        column, style = self._profile(name), self._style(name)
        text = "" if style.is_plain else style.text(value)
        if column is None:
            return RowCell(name, value, text=text)
        if value is None and not self._values(name).isna().any():  # of a new row
            none = _part(1, self._n_rows, self._others)
            return RowCell(name, value, f"in {none}", log(self._n_rows))
        return RowCell(name, value, *column.compare(value), text)

    def usual_among(self, name: str, values: "pd.Series[Any]") -> str:
        """Say what is usual among some values of a column of numbers; nothing of other columns."""
        if not isinstance(self._profile(name), _Numbers):
            return ""
        return _Numbers.of(values, self._style(name), self._others).usual()

    @classmethod
    def of_fitted(
        cls, preparation: Preparation, X: Matrix, table: Table, others: str = "row"
    ) -> "RowView":
        """Compare with the table that a preparation was fitted to, which is known by its matrix.

        Each column has the values of that table, in another order; `table` has their style.
        """
        sizes = [len(plan.record.outputs) for plan in preparation.columns_]
        starts = np.cumsum([0, *sizes]).tolist()
        columns = {
            plan.record.name: (plan, start)
            for plan, start in zip(preparation.columns_, starts, strict=False)
        }

        def values(name: str) -> "pd.Series[Any]":
            plan, start = columns[name]
            return _fitted_values(plan, X[:, start] if plan.record.outputs else None, len(X))

        view = cls(table, preparation.record_, others)
        view._names, view._values, view._n_rows = list(columns), values, len(X)
        return view

    def _profile(self, name: str) -> "_Column | None":
        if name not in self._profiles:
            style = self._style(name)
            self._profiles[name] = _profile(
                self._values(name), self._records.get(name), style, self._others
            )
        return self._profiles[name]


def _fitted_values(plan: Any, values: Any, n_rows: int) -> "pd.Series[Any]":
    """Return the values of a column in the user's units, the gaps first."""
    record = plan.record
    n_gaps = record.n_missing + record.n_infinite
    if values is None:
        present: Any = np.zeros(n_rows - n_gaps)
    elif record.action == "surprisal":
        present = np.repeat(np.array(plan.categories, dtype=object), plan.counts)
    else:
        filled = np.flatnonzero(values == record.fill)[:n_gaps]
        present = record.in_own_units(np.delete(values, filled))
    return (
        pd.Series([None] * (n_rows - len(present)) + list(present))
        if n_gaps
        else pd.Series(present)
    )


def _profile(
    series: "pd.Series[Any]", record: ColumnRecord | None, style: Style, others: str
) -> "_Column | None":
    if record is None or not record.counts_gaps:
        return None
    if not record.is_used:
        return _Gaps.of(series, others)
    has_numbers = record.kind in {"numeric", "duration", "date"} and series.dtype.kind in "iufmM"
    if has_numbers and series.nunique() > _FEW_LEVELS:
        return _Numbers.of(series, style, others)
    return _Levels.of(series, style, others)


@dataclass(frozen=True)
class _Gaps:
    """A column of which only the gaps are compared."""

    n_rows: int
    n_gaps: int
    others: str  # what the rows are called

    @classmethod
    def of(cls, series: "pd.Series[Any]", others: str) -> "_Gaps":
        return cls(len(series), int(series.isna().sum()), others)

    def part(self, count: int) -> str:
        return _part(count, self.n_rows, self.others)

    def compare(self, value: Any) -> tuple[str, float]:
        """Say what is usual, and how surprising the value is; None is a gap."""
        if value is not None:
            return "", 0.0
        return f"in {self.part(self.n_gaps)}", -log(self.n_gaps / self.n_rows)


@dataclass(frozen=True)
class _Numbers:
    """Numbers, with the median and the range of the central 90 %."""

    gaps: _Gaps
    low: float
    median: float
    high: float
    n_at_median: int
    unit: str  # of dates: M, of durations: m
    style: Style

    @classmethod
    def of(cls, series: "pd.Series[Any]", style: Style, others: str) -> "_Numbers":
        values = _as_floats(series)
        finite = values[np.isfinite(values)]
        ends = _low_median_high(finite) if len(finite) else (0.0, 0.0, 0.0)
        n_at_median = int(np.count_nonzero(values == ends[1]))
        return cls(_Gaps.of(series, others), *ends, n_at_median, series.dtype.kind, style)

    def compare(self, value: Any) -> tuple[str, float]:
        if value is None:
            return self.gaps.compare(None)
        number = _as_float(value)
        n_present = self.gaps.n_rows - self.gaps.n_gaps
        surprise = self._tail(number, n_present)
        if 2 * n_present < self.gaps.n_rows:
            presence = -log(n_present / self.gaps.n_rows)
            if presence > surprise:
                return f"missing in {self.gaps.part(self.gaps.n_gaps)}", presence
        if self.low == self.high:
            return f"{self.usual()} ({self.gaps.part(self.n_at_median)})", surprise
        return self.usual(), surprise

    def usual(self) -> str:
        """Say which value, or range of values, is usual."""
        if self.low == self.high:
            return f"usually {self._text(self.median)}"
        return f"usually {self._text(self.low)} to {self._text(self.high)}"

    def _tail(self, number: float, n_present: int) -> float:
        """Return -log of the two-sided tail of Student's t with 2 degrees of freedom.

        Its unit is the distance of the quantile on the same side of the median, so that a skewed
        column has no surprising side. A column of one value and a few others has no such unit.
        """
        if self.low == self.high:
            n_other = max(1, n_present - self.n_at_median)
            return 0.0 if number == self.median else -log(n_other / n_present)
        if not isfinite(number):
            return log(n_present)
        above, below = (self.high - self.median) / _OUTER, (self.median - self.low) / _OUTER
        unit = (above or below) if number > self.median else (below or above)
        z = abs(number - self.median) / unit
        if z > 1e100:
            return log(n_present) + 2 * log(1e100)
        root = sqrt(2 + z * z)
        return -log(2 / (root * (root + z)))

    def _text(self, number: float) -> str:
        if self.unit == "M":
            return self.style.text(np.datetime64(int(number // 1e9), "s").astype("M8[D]"))
        if self.unit == "m":
            return self.style.text(np.timedelta64(int(number // 1e9), "s"))
        width = (self.high - self.low) * self.style.factor
        return self.style.about(number, lambda own: _range_end(own, width))


@dataclass(frozen=True)
class _Levels:
    """Categories, with the number of rows of each; a gap is one of them."""

    gaps: _Gaps
    counts: dict[Hashable, int]
    entropy: float
    most: Hashable
    style: Style

    @classmethod
    def of(cls, series: "pd.Series[Any]", style: Style, others: str) -> "_Levels":
        counts = {level: int(n) for level, n in series.value_counts().items()}
        gaps = _Gaps.of(series, others)
        shares = np.array([*counts.values(), gaps.n_gaps or gaps.n_rows]) / gaps.n_rows
        most = next(iter(counts), None)
        return cls(gaps, counts, float(-(shares * np.log(shares)).sum()), most, style)

    def compare(self, value: Any) -> tuple[str, float]:
        n_rows = self.gaps.n_rows
        count = self.gaps.n_gaps if value is None else self.counts.get(value, 1)
        surprise = max(0.0, -log(count / n_rows) - self.entropy)
        usual = f"in {self.gaps.part(count)}"
        n_most = self.counts.get(self.most, 0)
        if value != self.most and 2 * n_most > n_rows:
            usual += f", usually {self.style.text(self.most)}"
        return usual, surprise


_Column = _Gaps | _Numbers | _Levels


def _low_median_high(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the median and the ends of the central 90 %, which some values have.

    Of three values or more, the smallest and the largest are outside.
    """
    ends = np.quantile(values, 0.05, method="higher"), np.quantile(values, 0.95, method="lower")
    low, high = sorted(map(float, ends))  # of two values they are exchanged
    return low, float(np.median(values)), high


def _as_floats(series: "pd.Series[Any]") -> npt.NDArray[np.float64]:
    if series.dtype.kind in "mM":
        plain = series.dt.tz_localize(None) if getattr(series.dtype, "tz", None) else series
        return np.asarray(nanoseconds(plain.to_numpy()))
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _as_float(value: Any) -> float:
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        plain = value.tz_localize(None) if isinstance(value, pd.Timestamp) and value.tz else value
        return float(nanoseconds(plain.to_numpy()))
    return float(value)


def _part(count: int, n_rows: int, others: str = "row") -> str:
    """Say which part of the rows has a value.

    >>> _part(1, 600), _part(3, 600), _part(599, 600, "training row")
    ('no other row', '0.5% of the rows', '99.8% of the training rows')
    """
    if count <= 1:
        return "no other row" if others == "row" else f"no {others}"
    share = 100 * count / n_rows
    part = f"{share:.1f}% of the" if share >= 0.1 else f"{count:,} of {n_rows:,}"
    return f"{part} {others}s"


def _range_end(number: float, spread: float) -> str:
    """Write a number with the digits that matter in a range of this width.

    >>> _range_end(1834.5678, 900.0), _range_end(0.034567, 0.02), _range_end(-3.0, 25.0)
    ('1835', '0.0346', '-3')
    """
    if not 1e-5 < spread < 1e9 or abs(number) >= 1e9 or not isfinite(spread):
        return f"{number:.3g}" if number not in (inf, -inf) else str(number)
    decimals = max(0, 2 - int(np.floor(log10(spread))))
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
