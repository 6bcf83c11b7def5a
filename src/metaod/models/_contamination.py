"""The share of outliers that a user names."""

from numbers import Real
from typing import Any

from metaod.errors import BadParameter

__all__ = ["check_contamination"]

_LEGAL = "a number in the range (0, 0.5]"


def check_contamination(value: Any, *, owner: str = "SpecDetector", legal: str = _LEGAL) -> float:
    """The share of outliers as a plain float, refused outside (0, 0.5].

    Parameters
    ----------
    value : object
        What was given.
    owner, legal : str
        Whose parameter it is and what may be given, for the error.

    Examples
    --------
    >>> check_contamination(1 / 4)
    0.25
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 0.5:
        raise BadParameter(owner, "contamination", legal, value)
    return float(value)
