"""Columns of Python objects, as sheets and lists hold them, become typed columns."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from metaod.datasets.readers.content import row_place
from metaod.datasets.readers.words import (
    BOOLEANS,
    FOREIGN_NUMBER,
    NUMBER,
    Verdict,
    mixture_error,
    mixture_warning,
    rounding_warning,
    weigh,
)
from metaod.errors import BadColumn

__all__ = ["ObjectJudge"]

_NUMBER = re.compile(NUMBER["."])
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")  # longer ones would be slow, and are floats anyway
_FOREIGN = re.compile(FOREIGN_NUMBER)


@dataclass(frozen=True)
class ObjectJudge:
    """Judges columns of Python objects.

    Parameters
    ----------
    missing : frozenset of str
        Words that mean a missing value.
    source : str, optional
        The file; none for a table in memory.
    place : callable
        Names the place of a row, counted from 0.
    """

    missing: frozenset[str]
    source: str | None = None
    place: Callable[[int], str] = row_place

    def judge(
        self, name: str, values: Sequence[Any], *, as_text: bool, warnings: list[str]
    ) -> "pd.Series[Any]":
        """Return a typed column; raise where nearly all of it is numbers."""
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
        verdict = weigh(numbers, kinds["foreign"], kinds["word"] + kinds["date"])
        if verdict in (Verdict.NUMBERS, Verdict.MISSING):
            return _numbers(name, plain, warnings)
        if verdict is Verdict.MISTAKE:
            others = ("foreign", "word", "date")
            row = next(row for row, value in enumerate(plain) if _kind(value) in others)
            raise mixture_error(
                name,
                str(plain[row]),
                numbers=numbers,
                total=total,
                place=self.place(row),
                source=self.source,
            )
        if verdict is Verdict.MIXTURE:
            warnings.append(mixture_warning(name, numbers=numbers, total=total))
        return _texts(plain)

    def _plain(self, name: str, value: Any, row: int) -> Any:
        """Return None, a bool, a number, a date or a str for a value of any type."""
        if isinstance(value, bytes):
            value = value.decode("utf-8", errors="replace")
        if isinstance(value, str):
            # half of a surrogate pair, which no file can hold, would stop pandas
            value = value if value.isascii() else value.encode(errors="replace").decode()
            return None if value.strip() in self.missing else str(value)
        if isinstance(value, np.generic) and value.dtype.kind not in "mM":
            value = value.item()
        if _is_missing(value):
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


def _is_missing(value: Any) -> bool:
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
    return "foreign" if _FOREIGN.fullmatch(word) else "word"


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
