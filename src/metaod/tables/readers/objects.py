"""Columns of Python objects, as sheets and lists hold them, become typed columns."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, UserError
from metaod.tables.readers._reader import locate_row
from metaod.tables.readers.missing import is_missing, numbers_among
from metaod.tables.readers.words import (
    BOOLEANS,
    CODE,
    DATE,
    FOREIGN_NUMBER,
    NUMBER,
    Verdict,
    code_warning,
    is_day,
    mixture_error,
    mixture_warning,
    rounding_warning,
    weigh,
)

__all__ = ["ObjectJudge"]

_NUMBER = re.compile(NUMBER["."])
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")  # longer ones would be slow, and are floats anyway
_CODE = re.compile(CODE)
_DATE = re.compile(DATE)
_FOREIGN = re.compile(FOREIGN_NUMBER)


@dataclass(frozen=True)
class ObjectJudge:
    """Judges columns of Python objects.

    Parameters
    ----------
    missing : frozenset of str
        Words that mean a missing value; those that spell numbers mean the numbers too.
    source : str, optional
        The file; none for a table in memory.
    place : callable
        Names the place of a row, counted from 0.
    """

    missing: frozenset[str]
    source: str | None = None
    place: Callable[[int], str] = locate_row
    _missing_numbers: frozenset[float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_missing_numbers", numbers_among(self.missing))

    def judge(
        self, name: str, values: Sequence[Any], *, as_text: bool, warnings: list[str]
    ) -> "pd.Series[Any]":
        """Return a typed column; raise where nearly all is numbers or dates."""
        plain = [self._plain(name, value, row) for row, value in enumerate(values)]
        kinds = Counter(_kind(value) for value in plain)
        numbers = kinds["number"] + kinds["boolean"]
        total = len(plain) - kinds["missing"]
        if as_text and total:
            return _texts(plain)
        if total and kinds["boolean"] == total:
            return _booleans(plain, gaps=total < len(plain))
        if total and kinds["date"] == total:
            return _dates(plain)
        dates = kinds["date"] + kinds["text date"]
        verdict = weigh(numbers, kinds["foreign"], kinds["word"], dates)
        if verdict in (Verdict.NUMBERS, Verdict.MISSING):
            if (code := _code_among(plain)) is None:
                return _numbers(name, plain, warnings)
            if name:  # one without a name is the rows' index
                warnings.append(code_warning(name, code))
        elif verdict is Verdict.MISTAKE:
            raise self._mistake(name, plain, "number", ("number", "boolean"))
        elif verdict is Verdict.MISTAKEN_DATE:
            raise self._mistake(name, plain, "date", ("date", "text date"))
        elif verdict is Verdict.MIXTURE:
            warnings.append(mixture_warning(name, numbers=numbers, dates=dates, total=total))
        return _texts(plain)

    def _mistake(
        self, name: str, plain: list[Any], kind: Literal["number", "date"], alike: tuple[str, ...]
    ) -> UserError:
        kinds = [_kind(value) for value in plain]
        row = next(row for row, found in enumerate(kinds) if found not in (*alike, "missing"))
        return mixture_error(
            name,
            str(plain[row]),
            kind=kind,
            n_alike=sum(found in alike for found in kinds),
            total=len(kinds) - kinds.count("missing"),
            place=self.place(row),
            source=self.source,
        )

    def _is_missing(self, value: object) -> bool:
        return is_missing(value, self.missing, self._missing_numbers)

    def _plain(self, name: str, value: Any, row: int) -> Any:
        """Return None, a bool, a number, a date or a str for a value of any type."""
        if isinstance(value, bytes):
            value = value.decode("utf-8", errors="replace")
        if isinstance(value, str):
            # half of a surrogate pair, which no file can hold, would stop pandas
            value = value if value.isascii() else value.encode(errors="replace").decode()
            return None if self._is_missing(value) else str(value)
        if isinstance(value, np.generic) and value.dtype.kind not in "mM":
            value = value.item()
        if _is_gap(value) or self._is_missing(value):
            return None
        if isinstance(value, dt.timedelta):
            return value.total_seconds()
        if isinstance(value, np.timedelta64):
            return float(value.astype("timedelta64[us]").astype(np.int64)) / 1e6
        if isinstance(value, dt.time):
            return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
        if isinstance(value, bool | Real | Decimal | dt.date | np.datetime64):
            return value
        raise BadColumn(
            name,
            f"{self.place(row)}: a value of type {type(value).__name__}, which is no number, "
            "date or text",
            path=self.source,
            remedy="leave the column out, or write it as several plain columns",
        )


def _is_gap(value: Any) -> bool:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, Real) and value != value)  # noqa: PLR0124 - only NaN differs from itself
    )


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, str):
        return _kind_of_text(value.strip())
    if isinstance(value, bool):
        return "boolean"
    return "date" if isinstance(value, dt.date | np.datetime64) else "number"


def _kind_of_text(word: str) -> str:
    if _NUMBER.fullmatch(word):
        return "number"
    if word.lower() in BOOLEANS:
        return "boolean"
    if _DATE.fullmatch(word) and is_day(word[: len("2024-02-30")]):
        return "text date"
    return "foreign" if _FOREIGN.fullmatch(word) else "word"


def _code_among(plain: list[Any]) -> str | None:
    """Return a text of a whole number with leading zeros, if there is one and all are whole."""
    words = [value.strip() if isinstance(value, str) else value for value in plain]
    texts = [word for word in words if isinstance(word, str)]
    code = next((word for word in texts if _CODE.fullmatch(word)), None)
    whole = all(_WHOLE.fullmatch(word) for word in texts)
    return code if whole and not any(isinstance(word, float) for word in words) else None


def _texts(plain: list[Any]) -> "pd.Series[Any]":
    return pd.Series([None if value is None else str(value) for value in plain])


def _booleans(plain: list[Any], *, gaps: bool) -> "pd.Series[Any]":
    told = [BOOLEANS[v.strip().lower()] if isinstance(v, str) else v for v in plain]
    return pd.Series(told, dtype="boolean" if gaps else "bool")


def _dates(plain: list[Any]) -> "pd.Series[Any]":
    def naive(value: Any) -> Any:
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            return value.astimezone(dt.UTC).replace(tzinfo=None)
        return value

    return pd.Series(np.array([naive(value) for value in plain], dtype="datetime64[us]"))


def _numbers(name: str, plain: list[Any], warnings: list[str]) -> "pd.Series[Any]":
    read = [_number(value) for value in plain]
    if read and all(type(value) is int for value in read):
        if min(read) >= -(2**63) and max(read) < 2**63:
            return pd.Series(read, dtype="int64")
        warnings.append(rounding_warning(name, "beyond 64 bits"))
    return pd.Series([_float(value) for value in read], dtype="float64")


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return np.nan if value is None else value
    word = value.strip()
    if word.lower() in BOOLEANS:
        return BOOLEANS[word.lower()]
    return int(word) if _WHOLE.fullmatch(word) else float(word)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
