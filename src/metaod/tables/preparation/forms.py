"""The two plain forms in which a column of any type is read: numbers, or labels."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["Labels", "NumberKind", "Numbers", "Reading", "label", "row_name"]

NumberKind = Literal["numeric", "boolean", "date", "duration"]

# past this many bits Python refuses to write an integer in decimal digits
_MOST_DECIMAL_BITS = 4096


@dataclass(frozen=True)
class Numbers:
    """A column as float64: NaN where a value is missing, ±inf where it is infinite.

    Parameters
    ----------
    kind : {"numeric", "boolean", "date", "duration"}
        What the numbers stand for: themselves, 0 and 1, days since 1970-01-01, or seconds.
    values : numpy.ndarray of float64
        One value per row. It may share memory with the caller's table: never written to.
    whole : bool
        Whether the column came as integers; only such numbers can be identifiers.
    note : str
        What was lost on the way, if anything.
    """

    kind: NumberKind
    values: npt.NDArray[np.float64]
    whole: bool = False
    note: str = ""


@dataclass(frozen=True)
class Labels:
    """A column of text or categories: a code per row, a text per code.

    Parameters
    ----------
    codes : numpy.ndarray of intp
        Position in `texts` for every row, -1 where the value is missing.
    texts : list of str
        The distinct texts. A declared category that no row has may be among them.
    declared : bool
        Whether the caller declared the column categorical: then it is not parsed.
    """

    codes: npt.NDArray[np.intp]
    texts: list[str]
    declared: bool = False

    @classmethod
    def merged(
        cls, codes: npt.NDArray[Any], texts: list[str], *, declared: bool = False
    ) -> "Labels":
        """Build labels from codes whose texts may repeat, as those of 1 and '1' do."""
        codes = codes.astype(np.intp, copy=False)
        first: dict[str, int] = {}
        places = np.array([first.setdefault(text, len(first)) for text in texts], dtype=np.intp)
        if len(first) < len(texts):
            # the appended -1 is what code -1, a missing value, looks up
            codes = np.append(places, -1)[codes]
        return cls(codes, list(first), declared)


Reading = Numbers | Labels


def label(value: object) -> str:
    """Write a single value as the text that stands for it among categories.

    Whole floats are written as integers are: a column of integers turns into floats as soon as
    one value is missing, and its categories should stay the same.

    Examples
    --------
    >>> [label(value) for value in (1, 1.0, 1.5, True, "1", b"one")]
    ['1', '1', '1.5', 'True', '1', 'one']
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value.bit_length() > _MOST_DECIMAL_BITS:
        return hex(value)
    return str(value)


def row_name(index: "pd.Index[Any]", row: int) -> str:
    """Name a row for an error message: its position, and its index label where that differs.

    Examples
    --------
    >>> row_name(pd.RangeIndex(5), 3), row_name(pd.Index(["a", "b"]), 1)
    ('row 3 (counted from 0)', "row 1 (index 'b')")
    """
    shown = index[row]
    if isinstance(shown, np.generic):
        shown = shown.item()
    return f"row {row} (counted from 0)" if shown == row else f"row {row} (index {shown!r})"
