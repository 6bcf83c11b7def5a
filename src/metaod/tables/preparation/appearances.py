"""Text that a person reads as dates, times or amounts, and a program can only guess at."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["LOOKS_MEASURED", "looks_measured"]

LOOKS_MEASURED = (
    "its text looks like dates or amounts, and is taken as names (write dates as YYYY-MM-DD, "
    "times as HH:MM and numbers plainly, as 1234.5, to have them used)"
)

_CURRENCY = "[$€£¥₹]"
_DATE = (
    r"(?:\d{4}([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2(?:\d{4}|\d{2}))"
    r"(?:[T ,]+[\d:.]+(?:\s?[AaPp][Mm])?(?:Z|[+-][\d:]+)?)?"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?"
_GROUPS = r"(?:[.,'\u2019\u00a0\u202f ]\d{3})*"
_AMOUNT = (
    rf"[+-]?\s?{_CURRENCY}?\s?[+-]?(?:\d{{1,3}}{_GROUPS}|\d+)(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
    rf"\s?(?:%|{_CURRENCY})?"
)
_MEASURED = re.compile(rf"\s*(?:{_DATE}|{_TIME}|{_AMOUNT})\s*", re.ASCII)
# postcodes, article and account numbers: digits that are names
_CODE = re.compile(r"\s*[+-]?(?:0\d+|\d{16,})\s*", re.ASCII)


def looks_measured(texts: Sequence[str], counts: npt.NDArray[np.integer]) -> bool:
    """Whether most rows of a column of text look like dates, times or amounts.

    Parameters
    ----------
    texts : sequence of str
        The distinct texts.
    counts : numpy.ndarray of int
        How many rows have each.

    Examples
    --------
    >>> looks_measured(["31.01.2024", "$1.50", "?"], np.array([1, 1, 1]))
    True
    >>> looks_measured(["01000", "A-17", "10.0.0.1"], np.array([1, 1, 1]))
    False
    """
    looks = [bool(_MEASURED.fullmatch(text)) and not _CODE.fullmatch(text) for text in texts]
    return bool(counts[looks].sum() > counts.sum() / 2)
