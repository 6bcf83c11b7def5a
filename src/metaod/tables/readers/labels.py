"""The label: which rows are outliers, for evaluation only."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn

__all__ = ["read_label"]

# (inlier, outlier); the first pair that holds every value counts
_PAIRS = (
    ("0", "1"),
    ("1", "-1"),  # as scikit-learn's predict has it
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("n", "o"),
    ("inlier", "outlier"),
    ("normal", "anomaly"),
    ("normal", "outlier"),
    ("normal", "abnormal"),
)
_LEGAL = ", ".join(
    "-1/1 (-1 is the outlier)" if outlier == "-1" else f"{inlier}/{outlier}"
    for inlier, outlier in _PAIRS
)


def read_label(
    values: npt.NDArray[Any],
    name: str,
    *,
    source: str | None,
    place: Callable[[int], str],
) -> npt.NDArray[np.int8]:
    """Read a label column: 1 for an outlier, 0 otherwise.

    Accepted are 0/1, booleans, -1/1 (where -1 is the outlier, as in scikit-learn), and, in any
    case of letters, false/true, no/yes, n/y, n/o, inlier/outlier and normal/anomaly (or outlier,
    or abnormal). One of a pair alone will do; a column of nothing but 1 is all outliers.

    Examples
    --------
    >>> import numpy as np
    >>> read_label(np.array(["no", "Yes"]), "y", source=None, place=str)
    array([0, 1], dtype=int8)
    """
    codes, uniques = pd.factorize(values.astype(object))
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise BadColumn(
            name,
            f"{place(row)}: the label is missing",
            path=source,
            remedy="fill it in or remove the row",
        )
    words = [_word(value) for value in uniques]
    for inlier, outlier in _PAIRS:
        if set(words) <= {inlier, outlier}:
            return np.array([word == outlier for word in words], dtype=np.int8)[codes]
    found = sorted({repr(word[:40]) for word in words})
    shown = ", ".join(found[:10]) + (f", ... ({len(found):,} in all)" if len(found) > 10 else "")
    raise BadColumn(
        name,
        f"is no label of outliers; its values are: {shown}",
        path=source,
        remedy=f"a label has two values: {_LEGAL}",
    )


def _word(value: Any) -> str:
    """Write 1, 1.0, '1', '1.0', True and 'TRUE' each as its kind is best known."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    word = str(value).strip().lower()
    try:
        number = float(word)
    except ValueError:
        return word
    return str(int(number)) if number.is_integer() else word
