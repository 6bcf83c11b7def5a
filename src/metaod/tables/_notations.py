"""How the text of a column is read: infer the notation that its texts share.

A notation parses texts into values and tells which texts are written in it; what becomes of the
others is decided by whoever reads the column (`_misfits`). Plain numbers, truth values, ISO dates
and times of day are notations like any other.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from metaod.errors import Setting
from metaod.tables._number_notation import FEW, NumberNotation, are_codes, number_notations
from metaod.tables._time_notations import (
    MIXED_DATES,
    DateNotation,
    DurationNotation,
    date_notations,
    duration_notations,
    likely_order,
)

NumberKind = Literal["numeric", "boolean", "date", "duration"]
Parsed = tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]

_MOST_RIVALS = 3
_MOST_ALIKE = 0.95  # of texts in one notation
_SAMPLE = 200  # cells from which the possible notations are guessed
_FIRST_TEXTS = 20
_FEWEST_TRUTHS = 0.2  # share of words in a column of truth values


@dataclass(frozen=True)
class Plain:
    """Plain decimal numbers, true and false, ISO dates, or times of day (HH:MM)."""

    tag: ClassVar[str] = "plain"
    is_sure: ClassVar[bool] = True
    kind: NumberKind
    decimal: str = "."

    @property
    def what(self) -> str:
        """What the values are."""
        names = {"numeric": "numbers", "boolean": "truth values", "date": "dates"}
        return names.get(self.kind, "durations")

    def parse(self, texts: Sequence[str]) -> Parsed:
        """Return the values, and which texts are written so; whole numbers as int64."""
        if self.kind == "numeric":
            values, fits = np.zeros(len(texts)), np.zeros(len(texts), dtype=np.bool_)
            if len(texts) >= FEW:
                values, fits, _ = NumberNotation(self.decimal).parse_usual(texts)
            for place in np.flatnonzero(~fits).tolist():
                number = parse_number(texts[place], self.decimal)
                if number is not None:
                    values[place], fits[place] = number, True
            if len(texts) and fits.all() and all(WHOLE.fullmatch(text.strip()) for text in texts):
                whole = [int(text.strip()) for text in texts]
                if min(whole) >= -(2**63) and max(whole) < 2**63:
                    return np.array(whole, dtype=np.int64), fits
            return values, fits
        if self.kind == "date":
            return _parsed(texts, parse_date, "M8[us]")
        if self.kind == "boolean":
            return _parsed(texts, parse_truth, "bool")
        seconds, fits = _parsed(texts, parse_time, "f8")
        return np.rint(seconds * 1e9).astype("m8[ns]"), fits

    def parse_later(self, texts: Sequence[str]) -> Parsed:
        """Parse texts of later rows: times of day are also seconds, without a type for them."""
        if self.kind not in ("numeric", "duration"):
            return self.parse(texts)

        def number(text: str) -> float | None:
            value = parse_number(text, self.decimal)
            return parse_time(text) if value is None else value

        return _parsed(texts, number, "f8")

    def words(self) -> str:
        """Describe the values."""
        return {"boolean": "true and false", "duration": "times of day"}.get(self.kind, self.what)


Notation = Plain | NumberNotation | DateNotation | DurationNotation


def _parsed(texts: Sequence[str], parse: Callable[[str], Any], dtype: str) -> Parsed:
    parsed = [parse(text) for text in texts]
    fits = np.array([value is not None for value in parsed], dtype=np.bool_)
    return np.array([0 if value is None else value for value in parsed], dtype=dtype), fits


def parse_later(notation: Notation, texts: Sequence[str]) -> Parsed:
    """Parse texts of later rows in a notation decided before; each text on its own."""
    if isinstance(notation, Plain):
        return notation.parse_later(texts)
    values, fits = notation.parse(texts)
    if values.dtype.kind == "M":
        for place in np.flatnonzero(~fits).tolist():  # ISO dates may stand beside other dates
            stamp = parse_date(texts[place])
            if stamp is not None:
                values[place], fits[place] = stamp, True
    return values, fits


@dataclass(frozen=True)
class Hints:
    """What decides where a column could be read in two ways."""

    decimal: str = "."
    is_decimal_given: bool = False  # by the caller: the other mark is not read
    dayfirst: bool | None = None


@dataclass(frozen=True)
class Found:
    """A notation with the values of the texts, and which texts are written in it."""

    notation: Notation
    values: npt.NDArray[Any]
    fits: npt.NDArray[np.bool_]
    rival: Notation | None = None  # another notation of all texts, with other values
    codes: str = ""  # why the texts are codes, which are not read

    def share(self, counts: npt.NDArray[np.integer]) -> float:
        return float(counts[self.fits].sum() / max(1, counts.sum()))


def infer(
    texts: Sequence[str],
    counts: npt.NDArray[np.integer],
    hints: Hints | None = None,
    *,
    truths: bool = True,
) -> Found | None:
    """Find the notation of the texts, or of at least half of them; `counts` are rows per text.

    Without `truths`, true and false are words.
    """
    hints = hints or Hints()
    kinds: tuple[NumberKind, ...] = ("numeric", "date", "boolean", "duration")
    for kind in kinds if truths else ("numeric", "date", "duration"):
        plain = Plain(kind, hints.decimal if kind == "numeric" else ".")
        if plain.parse(texts[:_FIRST_TEXTS])[1].all():
            found = Found(plain, *plain.parse(texts))
            if found.fits.all() and not (kind == "boolean" and are_digits(texts, counts)):
                return found
    return _find_notation(texts, counts, hints)


def are_digits(texts: Sequence[str], counts: npt.NDArray[np.integer]) -> bool:
    """Whether 0 and 1 are so frequent that true and false do not belong to their column."""
    is_word = np.array([text.strip() not in ("0", "1") for text in texts], dtype=bool)
    return bool(counts[is_word].sum() < _FEWEST_TRUTHS * counts.sum())


def row_sample(texts: Sequence[str], counts: npt.NDArray[np.integer]) -> list[str]:
    """Return the texts of some rows: a few usual texts may be in most, and slips in one each."""
    ends = np.cumsum(counts)
    drawn = np.linspace(0, ends[-1] - 1, min(int(ends[-1]), _SAMPLE)).astype(np.intp)
    return [texts[place] for place in np.searchsorted(ends, drawn, side="right").tolist()]


def _find_notation(
    texts: Sequence[str], counts: npt.NDArray[np.integer], hints: Hints
) -> Found | None:
    sample = row_sample(texts, counts)
    if 2 * sum(any("0" <= character <= "9" for character in text) for text in sample) < len(sample):
        return None
    candidates: list[Notation] = [
        *date_notations(sample),
        *duration_notations(texts, sample),
        *number_notations(texts, sample, hints.decimal, only=hints.is_decimal_given),
    ]
    shares = {item: float(item.parse(sample)[1].mean()) for item in candidates}
    most = max(shares.values(), default=0)
    if most < _MOST_ALIKE:  # a date in another notation may be a slip, many are none
        mixed = {item: float(item.parse(sample)[1].mean()) for item in MIXED_DATES}
        shares |= {item: share for item, share in mixed.items() if share >= _MOST_ALIKE}
    likely = sorted(
        (item for item in shares if shares[item] >= 0.5), key=lambda item: -shares[item]
    )
    if not likely:
        return None
    best = Found(likely[0], *likely[0].parse(texts))
    # parsing all texts takes time: the others are tried where they can change the result
    others = [item for item in likely[1:] if shares[item] == 1 or not best.fits.all()]
    found = [Found(item, *item.parse(texts)) for item in others[:_MOST_RIVALS]]
    best = max([best, *found], key=lambda item: item.share(counts))  # the first of equals
    rivals = [item for item in found if item.fits.all() and _differ(item, best)]
    if best.fits.all() and rivals:
        best = _settle(best, rivals[0], texts, hints)
    notation = best.notation
    if isinstance(notation, NumberNotation):
        fitting = [text for text, fits in zip(texts, best.fits, strict=True) if fits]
        codes = are_codes(fitting, notation)
        is_open = best.rival is None and notation.thousands not in (",", ".")
        if is_open and not any(notation.decimal in text for text in fitting):
            notation = replace(notation, decimal="")
        best = replace(best, notation=notation, codes=codes)
    return best


def _differ(one: Found, other: Found) -> bool:
    is_same_kind = type(one.notation) is type(other.notation)
    return is_same_kind and not np.array_equal(one.values, other.values)


def _settle(best: Found, rival: Found, texts: Sequence[str], hints: Hints) -> Found:
    """Decide between two notations; of numbers, the one with the table's decimal mark is best."""
    if isinstance(best.notation, NumberNotation) and isinstance(rival.notation, NumberNotation):
        # three digits behind a mark are thousands rather than parts of a cent
        is_money = best.notation.is_currency and rival.notation.thousands
        if is_money and not best.notation.thousands and not hints.is_decimal_given:
            best, rival = rival, best
    if isinstance(best.notation, DateNotation) and isinstance(rival.notation, DateNotation):
        order = likely_order(texts, best.notation.separator)
        if hints.dayfirst is not None:
            order = "dmy" if hints.dayfirst else "mdy"
        if best.notation.order != order:
            best, rival = rival, best
    return replace(best, rival=rival.notation)


def same_quantity(notation: Notation) -> bool:
    """Whether values in this notation mean the same as plain ones: not if they have units."""
    return not (isinstance(notation, NumberNotation) and notation.has_unit)


def widened(notation: Notation, texts: Sequence[str]) -> Notation | None:
    """Return a notation of later texts that reads the same quantity, None if there is none.

    The fitted rows may have had no number with decimals or thousands, or another separator in
    dates of the same order. They may also have had plain numbers or dates alone.
    """
    hints = Hints()
    if isinstance(notation, NumberNotation):
        hints = Hints(notation.decimal or ".", is_decimal_given=bool(notation.decimal))
    elif isinstance(notation, DateNotation):
        hints = Hints(dayfirst=notation.order != "mdy")
    counts = np.ones(len(texts), dtype=np.intp)
    found = infer(texts, counts, hints)
    if found is not None and not found.fits.all():  # judged by those alone that are written in it
        fitting = [text for text, fits in zip(texts, found.fits, strict=True) if fits]
        only = infer(fitting, counts[found.fits], hints)
        found = only if only is not None and only.fits.all() else found
    if found is None or isinstance(found.notation, Plain):
        return None
    other, is_same = found.notation, False
    if isinstance(notation, Plain):
        is_kind = notation.what in ("numbers", "dates") and other.what == notation.what
        is_same = is_kind and found.rival is None and not found.codes and same_quantity(other)
    elif isinstance(notation, NumberNotation) and isinstance(other, NumberNotation):
        groups = ("", notation.thousands or other.thousands)
        is_same = other.mark == notation.mark and other.thousands in groups
    elif isinstance(notation, DateNotation) and isinstance(other, DateNotation):
        is_same = {notation.order, other.order} != {"dmy", "mdy"}
    return other if is_same else None


ERROR_WORDS = frozenset({"#DIV/0!", "#NAME?", "#NUM!", "#REF!", "#VALUE!"})
"""What spreadsheets write for a formula that failed: missing values among text, else misfits."""
MISSING_WORDS = ERROR_WORDS | frozenset(
    [
        *("", "?", "-", "--", ".", "nil", "NIL"),
        *("NA", "N/A", "na", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A"),
        *("NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
        *("NULL", "null", "Null", "#NULL!", "None", "none", "NONE"),
    ]
)
OBVIOUS_WORDS = frozenset({"", "NA", "NaN", "nan", "NULL", "null"})
"""Words for missing values that need no note."""
BOOLEANS = {"true": True, "false": False}
_TRUTH = {**BOOLEANS, "1": True, "0": False}

_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_INFINITY = r"[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
NUMBER = {
    mark: rf"[+-]?(?:[0-9]+{re.escape(mark)}?[0-9]*|{re.escape(mark)}[0-9]+){_EXPONENT}|{_INFINITY}"
    for mark in (".", ",")
}
_NUMBERS = {mark: re.compile(pattern) for mark, pattern in NUMBER.items()}
# whole numbers with leading zeros, such as postcodes, are names rather than quantities
CODE = r"[+-]?0[0-9]+"
WHOLE = re.compile(r"[+-]?[0-9]{1,40}")  # longer ones are slow to read and become floats anyway

# a number with the other decimal mark or with grouped thousands
_APOSTROPHES_AND_NARROW_BLANKS = "'\u2019\u00a0\u202f"
_ONE_MARK = rf"[+-]?[0-9]*([.,])[0-9]+{_EXPONENT}"
OTHER_NOTATION = re.compile(
    rf"{_ONE_MARK}"
    r"|[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?"
    r"|[+-]?[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?"
    rf"|[+-]?[0-9]{{1,3}}(?:[{_APOSTROPHES_AND_NARROW_BLANKS}][0-9]{{3}})+(?:[.,][0-9]+)?"
)
_CLOCK = r"(?:[01][0-9]|2[0-3])(?::[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?)?"
_ZONE = r"Z|[+-][0-9]{2}(?::?[0-9]{2})?"
# the form of a full date, which the calendar may not have; months are left out, because they
# often are the names of columns
DATE = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[ T]{_CLOCK}(?:{_ZONE})?)?"
_DATE = re.compile(
    r"(?P<month>[0-9]{4}-[0-9]{2})"
    r"|(?P<day>[0-9]{4}(?P<mark>[-/])[0-9]{2}(?P=mark)[0-9]{2})"
    rf"(?:[ T](?P<clock>{_CLOCK})\s?(?P<zone>{_ZONE})?)?"
)
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]+)?))?")

# without leading zeros: 007 is a name, and not missing where 7 is
_PLAIN = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHORT_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")  # longer ones may be beyond 64 bits


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Read a plain decimal number, or None where the text is not one.

    >>> parse_number(" -1.5e3"), parse_number("inf"), parse_number("1_000"), parse_number("0x1F")
    (-1500.0, inf, None, None)
    """
    text = text.strip()
    is_number = _NUMBERS[decimal].fullmatch(text) or text.lower() == "nan"
    return float(text.replace(",", ".")) if is_number else None


def parse_date(text: str) -> dt.datetime | None:
    """Read a date as a naive stamp in UTC (the first day of a month), or None if it is not one.

    >>> parse_date("1970-01-02T12:00+02"), parse_date("1970/01"), parse_date("2021-02-30")
    (datetime.datetime(1970, 1, 2, 10, 0), None, None)
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    written = f"{match['month']}-01" if match["month"] else match["day"].replace("/", "-")
    if match["clock"]:
        written += f"T{match['clock'].replace(',', '.')}{match['zone'] or ''}"
    try:
        stamp = dt.datetime.fromisoformat(written)
        return stamp.astimezone(dt.UTC).replace(tzinfo=None) if stamp.tzinfo else stamp
    except (OverflowError, ValueError):  # the 30th of February, or the year 0 in UTC
        return None


def parse_time(text: str) -> float | None:
    """Read a time of day as seconds since midnight, or None where the text is not one.

    >>> parse_time("10:15"), parse_time("00:01:30"), parse_time("9:15"), parse_time("24:00")
    (36900.0, 90.0, None, None)
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    seconds, _, fraction = (match[3] or "0").partition(".")
    # the fraction is added last, as where a duration becomes seconds
    return int(match[1]) * 3600 + int(match[2]) * 60 + int(seconds) + float(f"0.{fraction}")


def parse_truth(text: str) -> bool | None:
    return _TRUTH.get(text.strip().lower())


def shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def numbers_among(words: Iterable[str]) -> frozenset[float]:
    """Return the numbers that some of the words spell.

    >>> sorted(numbers_among(["-999", "1.5", "NA", "007"]))
    [-999, 1.5]
    """
    plain = [word for word in map(str.strip, words) if _PLAIN.fullmatch(word)]
    return frozenset(int(word) if _SHORT_WHOLE.fullmatch(word) else float(word) for word in plain)


def na_setting(word: str) -> Setting:
    """Return the option that makes a word missing in all columns."""
    return Setting("na", f"{'=' if '=' in word[1:] else ''}{shorten(word)}")


def is_missing(value: object, words: frozenset[str], numbers: frozenset[float]) -> bool:
    """Whether a value is one of the words or numbers; ``'-9.0'`` is the number -9.

    >>> [is_missing(value, frozenset({"x"}), frozenset({-9})) for value in (" x", "-9.0", -9, True)]
    [True, True, True, False]
    """
    if isinstance(value, str):
        word = value.strip()
        if word in words:
            return True
        return bool(numbers) and _PLAIN.fullmatch(word) is not None and float(word) in numbers
    if not numbers or isinstance(value, bool):
        return False
    return isinstance(value, Real | Decimal) and value in numbers
