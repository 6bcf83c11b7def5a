"""Decide the types of the columns of a frame that hold text or Python objects.

Text becomes numbers, truth values, dates or durations if every value is one, all in one notation.
If nearly every value is, the others are misfits: an error that names those of all columns, or
missing, or their columns stay text.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, Message, Setting, counted, listed
from metaod.options import BadValues
from metaod.tables._misfits import Misfits, are_most, is_other_number, misfit_notes, misfits_error
from metaod.tables._notations import (
    CODE,
    DATE,
    MISSING_WORDS,
    OBVIOUS_WORDS,
    WHOLE,
    Found,
    Hints,
    Notation,
    Plain,
    are_digits,
    infer,
    is_missing,
    na_setting,
    numbers_among,
    row_sample,
)
from metaod.tables._number_notation import NumberNotation
from metaod.tables._objects import Labels, is_text, read_objects, rounding_of, seconds_in, series_of
from metaod.tables._time_notations import DateNotation, count_zones

_WORTH_A_NOTE = 0.1  # share of numbers or dates in a column of text
_FREQUENT = 0.025  # share, and number, of cells with a text as 3+ or 12-24, which is no slip
_FEWEST = 5
_FEW_CODES, _LONG_CODE = 0.05, 3  # share of the cells, digits
_CODE = re.compile(CODE)
_FULL_DATE = re.compile(DATE)
_MOST_WORDS = 5
_EXACT = 2**53
_MAY_BE_GROUPED = re.compile(r"[+-]?(?:[1-9][0-9]{0,2}\.[0-9]{3}|[0-9]{1,3})")


def may_be_text(dtype: Any) -> bool:
    """Whether columns of this type hold text or any objects."""
    return dtype.kind == "O" or is_text(dtype)


def row_number(row: int) -> str:
    return f"row {row + 1}"


def rounding_warning(column: str, why: str) -> Message:
    return Message(
        "rounded-numbers",
        "column {column!r}: whole numbers {why} were rounded to floats (if they are identifiers, "
        "read it as text: {text})",
        column=column,
        why=why,
        text=Setting("text", column),
    )


@dataclass(frozen=True)
class Written:
    """The text of a column that was read, and its notation: another one may apply to later rows.

    The text is that of all cells that are not missing, also of those that do not fit the notation.
    """

    labels: Labels
    notation: Notation

    def take(self, rows: npt.NDArray[np.intp]) -> "Written":
        """Return some of the rows."""
        return replace(self, labels=replace(self.labels, codes=self.labels.codes[rows]))

    def example(self, rival: Notation) -> str:
        """Return the first text that another notation reads as another value."""
        (values, fits), others = (own.parse(self.labels.texts) for own in (self.notation, rival))
        return self.labels.texts[int(np.argmax(fits & (values != others[0])))].strip()


@dataclass
class ColumnTyper:
    """Decides the types of the columns of one table, and collects messages about them.

    `name_row` names a row, counted from 0, and `line_of` returns its line in a file. If the source
    `declared` its types, text is not read as truth values and nothing counts as a misfit.
    """

    missing: frozenset[str]
    errors: frozenset[str] = frozenset()  # of the missing words, those that are misfits
    hints: Hints = field(default_factory=Hints)
    bad_values: BadValues = "finding"
    source: str | None = None
    name_row: Callable[[int], str] = row_number
    line_of: Callable[[int], int] | None = None
    declared: bool = False
    footer: Message | None = None  # what an error says about the last rows
    warnings: list[Message] = field(default_factory=list)
    words: Mapping[str, int] = field(default_factory=dict)  # missing values that the reader found
    keeps_durations: bool = False  # as timedelta64, not as seconds
    notations: dict[str, Notation] = field(default_factory=dict)  # of all columns that were read
    written: dict[str, Written] = field(default_factory=dict)  # those that are not plain
    misfits: dict[str, Misfits] = field(default_factory=dict)
    own_missing: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by column
    _words: dict[str, dict[str, int]] = field(default_factory=dict)  # further ones by column
    _rivals: dict[str, Notation] = field(default_factory=dict)
    _may_be_grouped: set[str] = field(default_factory=set)  # columns of numbers such as 1.234

    def type_frame(
        self, frame: pd.DataFrame, as_text: Collection[str | None], left: Collection[str] = ()
    ) -> pd.DataFrame:
        """Return the frame with typed columns; raise an error for misfits.

        Columns `as_text` stay text, and those that are `left` stay as they are.
        """
        typed = frame.copy(deep=False)
        names = [
            name
            for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
            if may_be_text(dtype) and name not in left
        ]
        given = self.hints
        for name in chain(names, self._columns_to_repeat(names)):
            column = frame[name]
            series = self._type_series(column, name in as_text)
            if series is not column:
                typed[name] = series
        if self.misfits and self.bad_values == "error":
            raise misfits_error(self.misfits, self.source, self.name_row, self.line_of, self.footer)
        self._report(given)
        return typed

    def _columns_to_repeat(self, names: Iterable[str]) -> Iterable[str]:
        """Yield, once all columns are read, those that the notations of others decide.

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

    def _report(self, given: Hints) -> None:
        """Add messages on missing words and on notations."""
        words = sum(map(Counter, self._words.values()), Counter(self.words))
        if words:
            shown = [f"{word!r} ({n:,})" for word, n in words.most_common(_MOST_WORDS)]
            self._warn(
                "missing-words",
                "{cells} taken as missing: {shown}",
                cells=f"{words.total():,} cells were" if words.total() > 1 else "1 cell was",
                shown=", ".join(shown + (["..."] if len(words) > _MOST_WORDS else [])),
            )
        counts = {name: own.count for name, own in self.misfits.items()}
        self.warnings += misfit_notes(counts, self.bad_values)
        by_notation: dict[Notation, list[str]] = {}
        for name, item in self.written.items():
            if name in self._rivals:
                self.warnings.append(_rival_warning(name, item, self._rivals[name]))
            elif name:
                by_notation.setdefault(item.notation, []).append(name)
        for notation, names in by_notation.items():
            self._warn(
                "notation",
                "{columns} read as {notation}{no_effect}",
                columns=f"column {names[0]!r} was"
                if len(names) == 1
                else f"columns {listed(names)} were",
                notation=notation.words(),
                no_effect=_no_effect(notation, given.dayfirst),
            )

    def _type_series(self, series: "pd.Series[Any]", as_text: bool) -> "pd.Series[Any]":
        if is_text(series.dtype):
            labels = Labels.from_text(series)
        elif series.dtype == object:
            read, rounded = read_objects(series, self.name_row, as_text=as_text)
            if isinstance(read, pd.Series):
                if rounded:
                    self.warnings.append(rounding_warning(str(series.name), rounded))
                return self._in_seconds(read)
            labels = read
        else:
            return series
        # text= in memory keeps every word; what na= names is masked later
        keeps_words = as_text and self.source is None
        own = self.own_missing.get(str(series.name), frozenset())
        words: frozenset[str] = frozenset() if keeps_words else self.missing | own
        errors = self.errors - own
        known = labels.without(words - errors, numbers_among(words))
        kept = known.without(words & errors)
        if not as_text or not kept.texts:
            typed = self._read(str(series.name), known, kept)
            if typed is not None:
                self._count_missing(str(series.name), labels, known)
                return self._in_seconds(typed).set_axis(series.index)
        self._count_missing(str(series.name), labels, kept)
        if is_text(series.dtype) and kept is labels:
            return series
        return kept.to_series().set_axis(series.index)

    def _in_seconds(self, series: "pd.Series[Any]") -> "pd.Series[Any]":
        return series if self.keeps_durations else in_seconds(series)

    def _count_missing(self, name: str, labels: Labels, known: Labels) -> None:
        if labels is known:
            return
        left = set(known.texts)
        self._words[name] = {
            text.strip(): int(count)
            for text, count in zip(labels.texts, labels.counts(), strict=True)
            if text not in left and text.strip() in MISSING_WORDS - OBVIOUS_WORDS
        }

    def _read(self, name: str, labels: Labels, kept: Labels) -> "pd.Series[Any] | None":
        """Read the text of a column, or what is kept of it; None if it stays text."""
        found = infer(kept.texts, kept.counts(), self.hints, truths=not self.declared)
        self.misfits.pop(name, None)
        if found is None or not (found.codes or found.fits.all()):
            most = self._read_most(name, kept, found)
            if most is None:
                return None
            kept, found = most
        codes: str | None = found.codes
        is_plain_number = found.notation == Plain("numeric", self.hints.decimal)
        if is_plain_number:
            kept, codes = self._code_of(kept)
            if codes == "" and len(kept.texts) < len(found.values):
                found = Found(found.notation, *found.notation.parse(kept.texts))
            is_grouped = self.hints.decimal == "." and found.values.dtype.kind == "f"
            if is_grouped and all(_MAY_BE_GROUPED.fullmatch(text.strip()) for text in kept.texts):
                self._may_be_grouped.add(name)
        if codes and name:  # a column without a name becomes the rows' index
            self._warn("codes", "column {column!r} is taken as text: {why}", column=name, why=codes)
        if kept is not labels and not codes:
            self.misfits[name] = Misfits.of(labels, kept, found.notation.what)
        if codes is None or codes or (name in self.misfits and self.bad_values == "text"):
            self.written.pop(name, None)
            return None
        values = found.values
        self._remember(name, labels, found)
        if values.dtype.kind == "M":
            self._note_zones(name, kept.texts)
        has_gaps = bool((kept.codes < 0).any())
        rounded = ""
        if is_plain_number and kept.texts:
            rounded = _rounding(kept.texts, values, has_gaps)
        elif values.dtype.kind == "f" and np.abs(values).max(initial=0) >= _EXACT:
            rounded = "beyond 53 bits"
        if rounded:
            self._add(rounding_warning(name, rounded))
        return series_of(kept, values.astype(np.float64) if rounded else values)

    def _note_zones(self, name: str, texts: list[str]) -> None:
        n_zones, n_without = count_zones(texts)
        if n_zones > 1 or (n_zones and n_without):
            self._warn(
                "zones",
                "column {column!r} names {zones}: its times were read as UTC{without}",
                column=name,
                zones=counted(n_zones, "zone"),
                without=", also those that name none" if n_without else "",
            )

    def _code_of(self, labels: Labels) -> tuple[Labels, str | None]:
        """Return the whole numbers that are quantities, and why all are identifiers if they are.

        The reason is empty if they are not, and None for identifiers that need no message.
        """
        texts = [text.strip() for text in labels.texts]
        if not all(map(WHOLE.fullmatch, texts)):
            return labels, ""
        rows = labels.counts()
        is_code = np.array([_CODE.fullmatch(text) is not None for text in texts], dtype=bool)
        sizes = {len(text) for text in texts}
        if is_code.any():
            code = texts[int(np.argmax(is_code))]
            is_few = rows[is_code].sum() <= max(1, _FEW_CODES * rows.sum())
            if is_few and (len(sizes) > 1 or max(sizes) < _LONG_CODE):
                return labels.kept(~is_code), ""
            return labels, (
                f"whole numbers with leading zeros, as {code!r}, are identifiers (write them "
                "without the zeros if they are quantities)"
            )
        # so many digits that floats cannot tell them apart
        is_long = [abs(number) >= _EXACT and float(number) != number for number in map(int, texts)]
        n_long = int(rows[np.array(is_long, dtype=bool)].sum()) if self.line_of is None else 0
        return labels, None if n_long > _WORTH_A_NOTE * rows.sum() else ""

    def _remember(self, name: str, labels: Labels, found: Found) -> None:
        """Keep the notation of a column, and its text if another one may apply to later rows."""
        self.notations[name] = found.notation
        self._rivals.pop(name, None)
        if isinstance(found.notation, Plain):
            if name in self.written:  # read again, with the decimal mark of other columns
                self.written[name] = Written(labels, NumberNotation(self.hints.decimal))
                if self.hints.decimal == ".":
                    del self.written[name]
            return
        self.written[name] = Written(labels, found.notation)
        is_settled = (
            self.hints.dayfirst is not None
            if isinstance(found.notation, DateNotation)
            else self.hints.is_decimal_given
        )
        if found.rival is not None and not is_settled:
            self._rivals[name] = found.rival

    def _read_most(
        self, name: str, labels: Labels, found: Found | None
    ) -> tuple[Labels, Found] | None:
        """Decide on a column of which only some texts are numbers or dates; None if it is text."""
        rows, total = labels.counts(), int(labels.counts().sum())
        notations = [Plain("numeric", self.hints.decimal), Plain("date"), Plain("duration")]
        if not (self.declared or are_digits(labels.texts, rows)):
            notations.append(Plain("boolean"))
        sample = row_sample(labels.texts, rows)
        options = [
            Found(own, *own.parse(labels.texts))
            for own in notations
            if own.kind == "numeric" or own.parse(sample)[1].any()
        ]
        plain = {own.notation.what: own.fits for own in options if own.notation in notations[:2]}
        if found is not None:
            options.append(found)
        best = max(options, key=lambda option: int(rows[option.fits].sum()))
        what, fits = best.notation.what, best.fits
        alike = int(rows[fits].sum())
        is_guess = best is found and not best.notation.is_sure
        is_strict = self.bad_values == "error"
        is_clear, numeric = are_most(alike, total, what), 0
        if not is_clear:
            is_other = np.array([*map(is_other_number, labels.texts)], dtype=bool)
            numeric = int(rows[plain["numbers"] | is_other].sum())
            is_clear = are_most(numeric, total, "numbers") and (is_strict or 2 * alike >= total)
        if what == "numbers" and not is_strict:
            is_clear = is_clear and not _has_levels(labels, rows, fits, total)
        if not is_clear or (is_strict and (is_guess or self.declared)):
            counts = {kind: int(rows[own].sum()) for kind, own in plain.items()}
            counts |= {what: alike} if is_clear or not is_guess else {}
            counts["numbers"] = counts["numbers"] or numeric
            if max(numeric, *counts.values()) > _WORTH_A_NOTE * total and not self.declared:
                word = labels.texts[int(np.argmin(fits))] if 2 * alike > total else ""
                self._add(_mixture_warning(name, counts, total, word, are_most=is_clear))
            return None
        kept = labels.kept(fits)
        only = infer(kept.texts, kept.counts(), self.hints, truths=not self.declared)
        if only is None or not only.fits.all():
            only = Found(best.notation, *best.notation.parse(kept.texts), codes=best.codes)
        return kept, only

    def _warn(self, code: str, template: str, **values: object) -> None:
        self._add(Message(code, template, **values))

    def _add(self, warning: Message) -> None:
        if warning not in self.warnings:  # a column that is repeated
            self.warnings.append(warning)


def _has_levels(
    labels: Labels, rows: npt.NDArray[np.intp], fits: npt.NDArray[np.bool_], total: int
) -> bool:
    """Whether texts with digits that are no numbers are frequent, as 3+ beside 0, 1 and 2."""
    is_frequent = ~fits & (rows >= max(_FEWEST, _FREQUENT * total))
    places = np.flatnonzero(is_frequent).tolist()
    return any(any("0" <= mark <= "9" for mark in labels.texts[place]) for place in places)


def in_seconds(series: "pd.Series[Any]") -> "pd.Series[Any]":
    if series.dtype.kind != "m":
        return series
    return pd.Series(seconds_in(series.to_numpy()), index=series.index, name=series.name)


def _rounding(texts: list[str], values: npt.NDArray[Any], has_gaps: bool) -> str:
    """Describe plain whole numbers that floats do not hold exactly; empty if there are none."""
    if values.dtype.kind == "i":
        return rounding_of(int(values.min()), int(values.max()), has_gaps=has_gaps)
    are_whole = all(WHOLE.fullmatch(text.strip()) for text in texts)
    return "beyond 64 bits" if are_whole else ""


def _no_effect(notation: Notation, dayfirst: bool | None) -> str | Message:
    """Say that dates were not read in the order that the caller named, as not all fit it."""
    if dayfirst is None or not isinstance(notation, DateNotation):
        return ""
    if notation.order != ("mdy" if dayfirst else "dmy"):
        return ""
    template = ": not all values are dates in the other order, so {dayfirst} has no effect"
    return Message("no-effect", template, dayfirst=Setting("dayfirst", dayfirst))


def _rival_warning(name: str, item: Written, rival: Notation) -> Message:
    if isinstance(item.notation, DateNotation):
        setting = Setting("dayfirst", item.notation.order == "mdy")
    else:
        setting = Setting("decimal", rival.decimal if isinstance(rival, NumberNotation) else ",")
    return Message(
        "uncertain-notation",
        "column {column!r} was read as {notation}, which is not certain ({setting}, if {example!r} "
        "should be read the other way)",
        column=name,
        notation=item.notation.words(),
        setting=setting,
        example=item.example(rival),
    )


def _mixture_warning(
    column: str, counts: dict[str, int], total: int, word: str, *, are_most: bool
) -> Message:
    parts = [
        f"{count:,} of its {total:,} values are {kind}" for kind, count in counts.items() if count
    ]
    others = ", the others words" if sum(counts.values()) < total else ""
    template = "column {column!r} is taken as text: {parts}{others}"
    setting = na_setting(word)
    if are_most:
        setting = Setting("bad_values", "missing")
        template += " ({setting} takes these as missing)"
    elif word:
        template += " ({setting} takes such words as missing)"
    return Message(
        "mixed-column",
        template,
        column=column,
        parts=" and ".join(parts),
        others=others,
        setting=setting,
    )


def words_by_column(
    given: Iterable[str], names: Collection[str], path: str | None
) -> dict[str, frozenset[str]]:
    """Return the words of COLUMN=WORD by column; the longest name that there is counts.

    >>> words_by_column(["a=9", "a=b=9"], ["a", "a=b"], None)
    {'a': frozenset({'9'}), 'a=b': frozenset({'9'})}
    """
    found: dict[str, frozenset[str]] = {}
    for text in given:
        ends = [place for place, mark in enumerate(text) if mark == "=" and text[:place] in names]
        if not ends:
            remedy = Setting("na", f"={text}").advice("a word of all columns is written {set}")
            name = text.partition("=")[0]
            raise BadColumn(name, "is not in the table", path=path, remedy=remedy)
        name, word = text[: ends[-1]], text[ends[-1] + 1 :]
        found[name] = found.get(name, frozenset()) | {word.strip()}
    return found


def mask_missing(
    frame: pd.DataFrame,
    na: Iterable[str],
    own: Mapping[str, frozenset[str]],
    warnings: list[Message],
) -> pd.DataFrame:
    """Make the caller's missing values missing, in columns of any type but truth values."""
    everywhere = frozenset(na)
    masked = {}
    for name in frame.columns if everywhere else own.keys() & {*frame.columns}:
        column, words = frame[name], everywhere | own.get(name, frozenset())
        values = numbers_among(words)
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
