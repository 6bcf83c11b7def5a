"""Values that the caller calls missing: words by their letters, numbers by their value."""

import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import pandas as pd

from metaod.tables.readers.words import DATE, rounding_warning

__all__ = ["is_missing", "mask_missing", "numbers_among"]

# without leading zeros: 007 is a name, and not missing where 7 is
_PLAIN = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")  # longer ones may be beyond 64 bits
_DATE = re.compile(DATE)
_EXACT_IN_FLOAT = 2**53


def numbers_among(words: Iterable[str]) -> frozenset[float]:
    """Return the numbers that some of the words spell.

    Examples
    --------
    >>> sorted(numbers_among(["-999", "1.5", "NA", "007"]))
    [-999, 1.5]
    """
    plain = [word for word in map(str.strip, words) if _PLAIN.fullmatch(word)]
    return frozenset(int(word) if _WHOLE.fullmatch(word) else float(word) for word in plain)


def is_missing(value: object, words: frozenset[str], numbers: frozenset[float]) -> bool:
    """Whether a value is one of the words or numbers; ``'-9.0'`` is the number -9.

    Examples
    --------
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


def mask_missing(frame: pd.DataFrame, na: Iterable[str], warnings: list[str]) -> pd.DataFrame:
    """Make missing what the caller calls so, in columns of any type but truth values."""
    words = frozenset(na)
    numbers = numbers_among(words)
    masked = {}
    for name in frame.columns:
        column = frame[name]
        hits = column.isin(_missing_in(column, words, numbers))
        if not hits.any():
            continue
        if (
            isinstance(column.dtype, pd.api.extensions.ExtensionDtype)
            or column.dtype.kind not in "iu"
        ):
            masked[name] = column.mask(hits)
            continue
        left = column[~hits]
        if len(left) and max(-int(left.min()), int(left.max())) > _EXACT_IN_FLOAT:
            warnings.append(rounding_warning(name, "beyond 53 bits beside missing values"))
        masked[name] = column.astype("float64").mask(hits)
    return frame.assign(**masked)


def _missing_in(
    column: "pd.Series[Any]", words: frozenset[str], numbers: frozenset[float]
) -> list[Any]:
    """Return what counts as missing in a column of this type, for `isin` to find."""
    dtype, types = column.dtype, pd.api.types
    found: list[Any] = []
    if isinstance(dtype, pd.CategoricalDtype):
        found = [value for value in dtype.categories if is_missing(value, words, numbers)]
    elif types.is_bool_dtype(dtype):
        pass
    elif types.is_integer_dtype(dtype):
        found = [int(number) for number in numbers if abs(number) < 2**63 and number % 1 == 0]
    elif types.is_numeric_dtype(dtype):
        found = [float(number) for number in numbers]
    elif types.is_datetime64_any_dtype(dtype):
        dates = [word for word in words if _DATE.fullmatch(word)]
        stamps = pd.to_datetime(dates, format="ISO8601", errors="coerce", utc=True).dropna()
        found = list(stamps if isinstance(dtype, pd.DatetimeTZDtype) else stamps.tz_localize(None))
    elif types.is_string_dtype(column):
        found = [text for text in column.dropna().unique() if is_missing(text, words, numbers)]
    return found
