"""Decide the types of columns of text or Python objects, for the readers and the preparation.

Text becomes numbers, truth values, dates or durations if every value is one, all in one notation.
If nearly every value is a number or a date, the others count as mistakes: they are an error, which
names those of all columns, or missing, or their columns stay text.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.options import BadValues
from metaod.tables._mistakes import Mistake, mistakes_error
from metaod.tables._notations import Found, Hints, Notation, find_notation
from metaod.tables._number_notation import NumberNotation
from metaod.tables._objects import (
    Labels,
    is_text,
    read_objects,
    rounding_of,
    seconds_in,
    series_of,
    spread,
)
from metaod.tables._record import listed
from metaod.tables._text_values import (
    CODE,
    DATE,
    MISSING_WORDS,
    OBVIOUS_WORDS,
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
from metaod.tables._time_notations import DateNotation

_Typed: TypeAlias = "tuple[pd.Series[Any] | None, str]"

_NEARLY_ALL = 0.9
_CODE = re.compile(CODE)
_FULL_DATE = re.compile(DATE)
_PLAIN_KINDS = {"number", "boolean", "date", "time"}
_FIRST_TEXTS = 20
_MOST_WORDS = 5
_EXACT = 2**53
_MAY_BE_GROUPED = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}\.[0-9]{3}|[0-9]{1,3})")


def may_be_text(dtype: Any) -> bool:
    """Whether columns of this type hold text or any objects."""
    return dtype.kind == "O" or is_text(dtype)


def row_number(row: int) -> str:
    return f"row {row + 1}"


def rounding_warning(column: str, why: str) -> str:
    return (
        f"column {column!r}: whole numbers {why} were rounded to floats (if they name things "
        f"rather than count them, take it as text: text={column!r}, --text {column!r})"
    )


@dataclass(frozen=True)
class Written:
    """The text of a column that was read, and its notation: another one may apply to later rows."""

    labels: Labels
    notation: Notation


@dataclass
class ColumnTyper:
    """Decides the types of the columns of one table, and collects what is to be said of them.

    `name_row` names a row, counted from 0, and `line_of` returns its line in a file. If the source
    `declared` its types, text is not read as truth values and nothing counts as a mistake.
    """

    missing: frozenset[str]
    hints: Hints = field(default_factory=Hints)
    bad_values: BadValues = "error"
    source: str | None = None
    name_row: Callable[[int], str] = row_number
    line_of: Callable[[int], int] | None = None
    declared: bool = False
    footer: str = ""  # what an error says of the last rows
    warnings: list[str] = field(default_factory=list)
    written: dict[str, Written] = field(default_factory=dict)  # by column
    words: Mapping[str, int] = field(default_factory=dict)  # missing values that the reader found
    mistakes: dict[str, Mistake] = field(default_factory=dict)
    _words: dict[str, dict[str, int]] = field(default_factory=dict)  # further ones by column
    _rivals: dict[str, Notation] = field(default_factory=dict)
    _may_be_grouped: set[str] = field(default_factory=set)  # columns of numbers such as 1.234
    _missing_numbers: frozenset[float] = field(init=False, repr=False)
    _dayfirst_given: bool | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._dayfirst_given = self.hints.dayfirst
        self._missing_numbers = numbers_among(self.missing)

    def type_frame(self, frame: pd.DataFrame, as_text: Collection[str | None]) -> pd.DataFrame:
        typed = frame.copy(deep=False)
        names = [
            name
            for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
            if may_be_text(dtype)
        ]
        for name in chain(names, self.columns_to_repeat(names)):
            column = frame[name]
            series = self.type_series(column, name in as_text)
            if series is not column:
                typed[name] = series
        self.report()
        return typed

    def columns_to_repeat(self, names: Iterable[str]) -> Iterable[str]:
        """Yield, once all columns are typed, those that can be read in the light of the others.

        A column that can be read in two ways is read as the others, which cannot, are.
        """
        settled = [item.notation for name, item in self.written.items() if name not in self._rivals]
        orders = {item.order for item in settled if isinstance(item, DateNotation)}
        marks = {
            item.decimal
            for item in settled
            if isinstance(item, NumberNotation) and item.decimal
            if item.decimal == "," or item.thousands
        }
        if self.hints.dayfirst is None and ("dmy" in orders) != ("mdy" in orders):
            self.hints = replace(self.hints, dayfirst="dmy" in orders)
        repeated = set(self._rivals)
        if not self.hints.is_decimal_given and len(marks) == 1:
            self.hints = replace(self.hints, decimal=marks.pop())
            repeated |= self._may_be_grouped if self.hints.decimal == "," else set()
        yield from [name for name in names if name in repeated]

    def report(self) -> None:
        """Raise an error for the mistakes of all columns, or add warnings of what was read."""
        if self.mistakes:
            raise mistakes_error(
                list(self.mistakes.values()), self.source, self.name_row, self.line_of, self.footer
            )
        words = sum(map(Counter, self._words.values()), Counter(self.words))
        if words:
            shown = [f"{word!r} ({n:,})" for word, n in words.most_common(_MOST_WORDS)]
            more = ["..."] if len(words) > _MOST_WORDS else []
            n_cells = f"{words.total():,} cells were" if words.total() > 1 else "1 cell was"
            self.warnings.append(f"{n_cells} taken as missing: {', '.join(shown + more)}")
        by_notation: dict[Notation, list[str]] = {}
        for name, item in self.written.items():
            if name in self._rivals:
                self.warnings.append(_rival_warning(name, item, self._rivals[name]))
            elif name:
                by_notation.setdefault(item.notation, []).append(name)
        for notation, names in by_notation.items():
            columns = (
                f"column {names[0]!r} was" if len(names) == 1 else f"columns {listed(names)} were"
            )
            self.warnings.append(f"{columns} read as {notation.words()}{self._no_effect(notation)}")

    def _no_effect(self, notation: Notation) -> str:
        """Say that dates were not read in the order that the caller named, as not all fit it."""
        given = self._dayfirst_given
        if given is None or not isinstance(notation, DateNotation):
            return ""
        if notation.order != ("mdy" if given else "dmy"):
            return ""
        option = "--dayfirst" if given else "--monthfirst"
        reason = "not all values are dates in the other order"
        return f": {reason}, so dayfirst={given} ({option}) has no effect"

    def type_series(self, series: "pd.Series[Any]", as_text: bool) -> "pd.Series[Any]":
        if is_text(series.dtype):
            labels = Labels.from_text(series)
        elif series.dtype == object:
            read, rounded = read_objects(series, self.name_row, as_text=as_text)
            if isinstance(read, pd.Series):
                if rounded:
                    self.warnings.append(rounding_warning(str(series.name), rounded))
                return in_seconds(read)
            labels = read
        else:
            return series
        # text= in memory keeps every word; what na= names is masked later
        keeps_words = as_text and self.source is None
        kept = labels if keeps_words else labels.without(self.missing, self._missing_numbers)
        if kept is not labels:
            self._count_missing(str(series.name), labels)
        if not as_text or not kept.texts:
            typed, _ = self.type_labels(str(series.name), kept)
            if typed is not None:
                return in_seconds(typed).set_axis(series.index)
        if is_text(series.dtype) and kept is labels:
            return series
        return kept.to_series().set_axis(series.index)

    def _count_missing(self, name: str, labels: Labels) -> None:
        rows = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.texts))
        words = [text.strip() for text in labels.texts]
        self._words[name] = {
            word: int(count)
            for word, count in zip(words, rows, strict=True)
            if word in MISSING_WORDS and word not in OBVIOUS_WORDS
        }

    def type_labels(self, name: str, labels: Labels) -> _Typed:
        """Read labels as numbers, truth values, dates or durations and name which; else None."""
        if labels.texts and parse_date(labels.texts[0]):
            stamps = list(map(parse_date, labels.texts))  # parsed once where all are dates
            if None not in stamps:
                dates = spread(np.array(stamps, dtype="M8[us]"), "NaT", labels.codes)
                return pd.Series(dates), "dates"
        rows = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.texts))
        first = {text_kind(text, self.hints.decimal) for text in labels.texts[:_FIRST_TEXTS]}
        looks_plain = first <= _PLAIN_KINDS
        found = None if looks_plain else find_notation(labels.texts, rows, self.hints)
        if found is not None and found.fits.all():
            return self._type_found(name, labels, found)
        kinds = [text_kind(text, self.hints.decimal) for text in labels.texts]
        if (plain := self._type_plain(name, labels, set(kinds))) is not None:
            return plain
        if looks_plain:
            found = find_notation(labels.texts, rows, self.hints)
        if found is not None and (found.codes or found.fits.all()):
            return self._type_found(name, labels, found)
        if self.declared:
            return None, "text"
        return self._type_mixture(name, labels, kinds, rows, found)

    def _type_plain(self, name: str, labels: Labels, kinds: set[TextKind]) -> "_Typed | None":
        """Convert a column of plain numbers, truth values or times of day."""
        if kinds <= {"number"}:
            self._rivals.pop(name, None)
            typed, what = self._type_numbers(name, labels)
            if name in self.written:  # read again, with the decimal mark of other columns
                self.written[name] = Written(labels, NumberNotation(self.hints.decimal))
                if typed is None or self.hints.decimal == ".":
                    del self.written[name]
            return typed, what
        may_be_truth = "boolean" in kinds and not self.declared
        if may_be_truth and all(parse_truth(text) is not None for text in labels.texts):
            truths = np.array([parse_truth(text) for text in labels.texts], dtype=object)
            has_gaps = bool((labels.codes < 0).any())
            dtype = "boolean" if has_gaps else "bool"
            return pd.Series(spread(truths, None, labels.codes), dtype=dtype), "true and false"
        if kinds == {"time"}:
            seconds = np.array([parse_time(text) for text in labels.texts], dtype=np.float64)
            spans = np.rint(seconds * 1e9).astype("m8[ns]")
            return pd.Series(spread(spans, "NaT", labels.codes)), "times of day"
        return None

    def _type_found(self, name: str, labels: Labels, found: Found) -> _Typed:
        """Convert a column that is written in one notation, unless it holds codes."""
        if found.codes:
            if name:
                self.warnings.append(f"column {name!r} is taken as text: {found.codes}")
            return None, "text"
        self.written[name] = Written(labels, found.notation)
        self._rivals.pop(name, None)
        is_settled = (
            self.hints.dayfirst is not None
            if isinstance(found.notation, DateNotation)
            else self.hints.is_decimal_given
        )
        if found.rival is not None and not is_settled:
            self._rivals[name] = found.rival
        if found.values.dtype.kind == "f" and np.abs(found.values).max() >= _EXACT:
            self._warn(rounding_warning(name, "beyond 53 bits"))
        return series_of(labels, found.values), found.notation.words()

    def _type_mixture(
        self,
        name: str,
        labels: Labels,
        kinds: list[TextKind],
        rows: npt.NDArray[np.integer],
        found: Found | None,
    ) -> _Typed:
        """Decide on a column of which only some texts are numbers or dates."""
        total = int(rows.sum())
        plain = {kind: np.array([own == kind for own in kinds]) for kind in ("number", "date")}
        options = [(f"{kind}s", fits) for kind, fits in plain.items()]
        if found is not None:
            options.append((found.notation.tag, found.fits))
        what, fits = max(options, key=lambda option: int(rows[option[1]].sum()))
        alike = int(rows[fits].sum())
        numeric = int(
            rows[[kind in ("number", "number in another notation") for kind in kinds]].sum()
        )
        is_guess = found is not None and found.fits is fits and not found.notation.is_sure
        are_most = max(alike, numeric) >= _NEARLY_ALL * total
        if not are_most or (is_guess and self.bad_values == "error"):
            counts = {f"{kind}s": int(rows[own].sum()) for kind, own in plain.items()}
            counts |= {what: alike} if are_most or not is_guess else {}
            if max(numeric, *counts.values()) > (1 - _NEARLY_ALL) * total:
                remedy = " (--bad-values missing takes these as missing)" if are_most else ""
                if not are_most and 2 * alike > total:
                    word = shorten(labels.texts[int(np.argmin(fits))])
                    remedy = f" (na= (--na) takes words such as {word!r} as missing)"
                self._warn(_mixture_warning(name, counts, total) + remedy)
            return None, "text"
        mistake = Mistake(name, labels, fits, what)
        if self.bad_values == "error":
            self.mistakes[name] = mistake
            return None, "text"
        self._warn(f"column {name!r}: {mistake.handled(self.bad_values)}")
        if self.bad_values == "text":
            return None, "text"
        return self.type_labels(name, mistake.readable())

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:  # a column that is repeated
            self.warnings.append(warning)

    def _type_numbers(self, name: str, labels: Labels) -> _Typed:
        texts = [text.strip() for text in labels.texts]
        values = [parse_number(text, self.hints.decimal) for text in texts]
        series = pd.Series(spread(np.array(values, dtype=np.float64), np.nan, labels.codes))
        if not texts or not all(map(WHOLE.fullmatch, texts)):
            if self.hints.decimal == "." and all(map(_MAY_BE_GROUPED.fullmatch, texts)):
                self._may_be_grouped.add(name)
            return series, "numbers"
        code = next(filter(_CODE.fullmatch, texts), None)
        if code is not None:
            if name:  # a column without a name becomes the rows' index
                self.warnings.append(
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
            self.warnings.append(rounding_warning(name, rounded))
        if has_gaps or rounded:
            return series, "numbers"
        return pd.Series(np.array(whole, dtype=np.int64)[labels.codes]), "numbers"


def in_seconds(series: "pd.Series[Any]") -> "pd.Series[Any]":
    if series.dtype.kind != "m":
        return series
    return pd.Series(seconds_in(series.to_numpy()), index=series.index, name=series.name)


def _rival_warning(name: str, item: Written, rival: Notation) -> str:
    example = item.labels.texts[0].strip()
    if isinstance(item.notation, DateNotation):
        other = (
            "dayfirst=True, --dayfirst"
            if item.notation.order == "mdy"
            else ("dayfirst=False, --monthfirst")
        )
        remedy = f"{other}, if {example!r} is to be read the other way"
    else:
        mark = rival.decimal if isinstance(rival, NumberNotation) else ","
        remedy = f"decimal={mark!r}, --decimal {mark}, if {example!r} is to be read the other way"
    return f"column {name!r} was read as {item.notation.words()}, which is not certain ({remedy})"


def _mixture_warning(column: str, counts: dict[str, int], total: int) -> str:
    parts = [
        f"{count:,} of its {total:,} values are {kind}" for kind, count in counts.items() if count
    ]
    others = ", the others words" if sum(counts.values()) < total else ""
    return f"column {column!r} is taken as text: {' and '.join(parts)}{others}"


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
