"""Decide the types of columns of text or Python objects, for the readers and the preparation.

Text becomes numbers, truth values, dates or times of day if every value is one. If nearly every
value is a number or a date, the others count as mistakes, and an error names the first.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, BadFile, UserError
from metaod.tables._objects import Labels, is_text, read_objects, rounding_of, seconds_in, spread
from metaod.tables._text_values import (
    CODE,
    DATE,
    OTHER_DECIMAL_MARK,
    OTHER_NOTATION,
    WHOLE,
    TextKind,
    is_missing,
    numbers_among,
    parse_date,
    parse_number,
    parse_time,
    parse_truth,
    shorten,
    text_kind,
)

_NEARLY_ALL = 0.9
_CODE = re.compile(CODE)
_FULL_DATE = re.compile(DATE)


def row_number(row: int) -> str:
    return f"row {row + 1}"


def rounding_warning(column: str, why: str) -> str:
    return (
        f"column {column!r}: whole numbers {why} were rounded to floats (if they name things "
        f"rather than count them, take it as text: text={column!r}, --text {column!r})"
    )


@dataclass(frozen=True)
class ColumnTyper:
    """Decides the types of the columns of one table.

    `name_row` names a row, counted from 0, and `line_of` returns its line in a file. If the source
    `declared` its types, text is not read as truth values and nothing counts as a mistake.
    """

    missing: frozenset[str]
    decimal: str = "."
    source: str | None = None
    name_row: Callable[[int], str] = row_number
    line_of: Callable[[int], int] | None = None
    declared: bool = False
    _missing_numbers: frozenset[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_missing_numbers", numbers_among(self.missing))

    def type_frame(
        self, frame: pd.DataFrame, as_text: Collection[str | None], warnings: list[str]
    ) -> pd.DataFrame:
        typed = frame.copy(deep=False)
        for name in frame.columns:
            column = frame[name]
            series = self.type_series(column, name in as_text, warnings)
            if series is not column:
                typed[name] = series
        return typed

    def type_series(
        self, series: "pd.Series[Any]", as_text: bool, warnings: list[str]
    ) -> "pd.Series[Any]":
        if is_text(series.dtype):
            labels = Labels.from_text(series)
        elif series.dtype == object:
            read, rounded = read_objects(series, self.name_row, as_text=as_text)
            if isinstance(read, pd.Series):
                if rounded:
                    warnings.append(rounding_warning(str(series.name), rounded))
                return _in_seconds(read)
            labels = read
        else:
            return series
        # text= in memory keeps every word; what na= names is masked later
        keeps_words = as_text and self.source is None
        kept = labels if keeps_words else labels.without(self.missing, self._missing_numbers)
        if not as_text or not kept.texts:
            typed, _ = self.type_labels(str(series.name), kept, warnings)
            if typed is not None:
                return _in_seconds(typed).set_axis(series.index)
        if is_text(series.dtype) and kept is labels:
            return series
        return kept.to_series().set_axis(series.index)

    def type_labels(
        self, name: str, labels: Labels, warnings: list[str]
    ) -> "tuple[pd.Series[Any] | None, str]":
        """Read labels as numbers, truth values, dates or times of day and name which; else None."""
        if labels.texts and parse_date(labels.texts[0]):
            stamps = list(map(parse_date, labels.texts))  # parsed once where all are dates
            if None not in stamps:
                dates = spread(np.array(stamps, dtype="M8[us]"), "NaT", labels.codes)
                return pd.Series(dates), "dates"
        kinds = [text_kind(text, self.decimal) for text in labels.texts]
        rows = np.bincount(labels.codes[labels.codes >= 0], minlength=len(kinds)).tolist()
        counts: Counter[TextKind] = Counter()
        for kind, n_rows in zip(kinds, rows, strict=True):
            counts[kind] += n_rows
        total = counts.total()
        if counts["number"] == total:
            return self._type_numbers(name, labels, warnings)
        may_be_truth = counts["boolean"] and not self.declared
        if may_be_truth and all(parse_truth(text) is not None for text in labels.texts):
            truths = np.array([parse_truth(text) for text in labels.texts], dtype=object)
            has_gaps = bool((labels.codes < 0).any())
            dtype = "boolean" if has_gaps else "bool"
            return pd.Series(spread(truths, None, labels.codes), dtype=dtype), "true and false"
        if counts["time"] == total:
            seconds = np.array([parse_time(text) for text in labels.texts], dtype=np.float64)
            spans = np.rint(seconds * 1e9).astype("m8[ns]")
            return pd.Series(spread(spans, "NaT", labels.codes)), "times of day"
        if self.declared:
            return None, "text"
        numeric = counts["number"] + counts["number in another notation"]
        if numeric >= _NEARLY_ALL * total:
            raise self._mistake(name, labels, kinds, "number", counts["number"])
        if counts["date"] >= _NEARLY_ALL * total:
            raise self._mistake(name, labels, kinds, "date", counts["date"])
        if max(numeric, counts["date"]) > (1 - _NEARLY_ALL) * total:
            warnings.append(_mixture_warning(name, counts["number"], counts["date"], total))
        return None, "text"

    def _type_numbers(
        self, name: str, labels: Labels, warnings: list[str]
    ) -> "tuple[pd.Series[Any] | None, str]":
        texts = [text.strip() for text in labels.texts]
        values = [parse_number(text, self.decimal) for text in texts]
        series = pd.Series(spread(np.array(values, dtype=np.float64), np.nan, labels.codes))
        if not texts or not all(map(WHOLE.fullmatch, texts)):
            return series, "numbers"
        code = next(filter(_CODE.fullmatch, texts), None)
        if code is not None:
            if name:  # a column without a name becomes the rows' index
                warnings.append(
                    f"column {name!r} is taken as text: whole numbers with leading zeros, as "
                    f"{code!r}, name things (write them without the zeros if they are quantities)"
                )
            return None, "text"
        whole = [int(text) for text in texts]
        if self.line_of is None and any(
            math.isinf(value) or int(value) != number
            for value, number in zip(values, whole, strict=True)
            if value is not None
        ):
            return None, "text"  # so many digits that floats cannot tell them apart: names
        has_gaps = bool((labels.codes < 0).any())
        rounded = rounding_of(min(whole), max(whole), has_gaps=has_gaps)
        if rounded:
            warnings.append(rounding_warning(name, rounded))
        if has_gaps or rounded:
            return series, "numbers"
        return pd.Series(np.array(whole, dtype=np.int64)[labels.codes]), "numbers"

    def _mistake(
        self,
        name: str,
        labels: Labels,
        kinds: list[TextKind],
        kind: Literal["number", "date"],
        n_alike: int,
    ) -> UserError:
        other = spread(np.array([found != kind for found in kinds]), False, labels.codes)
        row = int(np.argmax(other))
        value = labels.texts[labels.codes[row]]
        shown = shorten(value)
        as_text = f"take the column as text: {self._option('text', name)}"
        mark = OTHER_DECIMAL_MARK.fullmatch(value.strip())
        if kind == "number" and mark and self.line_of is not None:
            what = f"{shown!r} is a number with another decimal mark"
            remedy = (
                f"say decimal={mark[1]!r} (--decimal {mark[1]}), or remove it if it groups "
                f"thousands, or {as_text}"
            )
        elif kind == "number" and OTHER_NOTATION.fullmatch(value.strip()):
            notation = "another decimal mark" if mark else "thousands separators"
            what = f"{shown!r} is a number with {notation}"
            remedy = f"write the numbers plainly, as 1234.5, or {as_text}"
        else:
            total = int((labels.codes >= 0).sum())
            what = (
                f"{shown!r} is not a {kind}, as {n_alike:,} of this column's {total:,} values are"
            )
            remedy = f"mend it, name it as missing: {self._option('na', shown)}, or {as_text}"
        if self.source is None or self.line_of is None:
            return BadColumn(name, f"{self.name_row(row)}: {what}", remedy=remedy, path=self.source)
        return BadFile(self.source, what, line=self.line_of(row), column=name, remedy=remedy)

    def _option(self, option: str, value: str) -> str:
        if self.source is None:
            return f"metaod.read_table(table, {option}={value!r})"
        return f"{option}={value!r} (--{option} {value!r})"


def _in_seconds(series: "pd.Series[Any]") -> "pd.Series[Any]":
    if series.dtype.kind != "m":
        return series
    return pd.Series(seconds_in(series.to_numpy()), index=series.index, name=series.name)


def _mixture_warning(column: str, n_numbers: int, n_dates: int, total: int) -> str:
    kinds = {"numbers": n_numbers, "dates": n_dates}
    counts = [
        f"{count:,} of its {total:,} values are {kind}" for kind, count in kinds.items() if count
    ]
    others = ", the others words" if n_numbers + n_dates < total else ""
    return f"column {column!r} is taken as text: {' and '.join(counts)}{others}"


def mask_missing(frame: pd.DataFrame, na: Iterable[str], warnings: list[str]) -> pd.DataFrame:
    """Make the caller's missing values missing, in columns of any type but truth values."""
    words = frozenset(na)
    values = numbers_among(words)
    masked = {}
    for name in frame.columns:
        column = frame[name]
        hits = column.isin(_missing_in(column, words, values))
        if not hits.any():
            continue
        if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iu":
            masked[name] = column.mask(hits)
            continue
        left = column[~hits]
        if len(left) and (why := rounding_of(int(left.min()), int(left.max()), has_gaps=True)):
            warnings.append(rounding_warning(name, why))
        masked[name] = column.astype("float64").mask(hits)
    return frame.assign(**masked)


def _missing_in(
    column: "pd.Series[Any]", words: frozenset[str], values: frozenset[float]
) -> list[Any]:
    """Return the values that count as missing in a column of this type."""
    dtype, types = column.dtype, pd.api.types
    found: list[Any] = []
    if isinstance(dtype, pd.CategoricalDtype):
        found = [value for value in dtype.categories if is_missing(value, words, values)]
    elif types.is_bool_dtype(dtype):
        pass
    elif types.is_integer_dtype(dtype):
        found = [int(number) for number in values if abs(number) < 2**63 and number % 1 == 0]
    elif types.is_numeric_dtype(dtype):
        found = [float(number) for number in values]
    elif types.is_datetime64_any_dtype(dtype):
        dates = [word for word in words if _FULL_DATE.fullmatch(word)]
        stamps = pd.to_datetime(dates, format="ISO8601", errors="coerce", utc=True).dropna()
        found = list(stamps if isinstance(dtype, pd.DatetimeTZDtype) else stamps.tz_localize(None))
    elif types.is_string_dtype(column):
        found = [text for text in column.dropna().unique() if is_missing(text, words, values)]
    return found
