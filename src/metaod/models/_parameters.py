"""Legal values of parameters, and checks of those that several detectors take."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter

_LEGAL_SHARE = "a number in the range (0, 0.5]"


class Legal(Protocol):
    """The legal values of a parameter; as text, they complete "must be"."""

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""


@dataclass(frozen=True)
class Whole:
    """Whole numbers in a range; None too if it is ``optional``.

    Examples
    --------
    >>> Whole(1).allows(2), Whole(1).allows(0), str(Whole(1))
    (True, False, 'an int in the range [1, inf)')
    """

    low: int
    high: float = math.inf
    optional: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""
        if value is None or isinstance(value, bool) or not isinstance(value, Integral):
            return value is None and self.optional
        return self.low <= int(value) <= self.high

    def __str__(self) -> str:
        end = "inf)" if math.isinf(self.high) else f"{self.high}]"
        return f"an int in the range [{self.low}, {end}" + (", or None" if self.optional else "")


@dataclass(frozen=True)
class Number:
    """Numbers above ``low`` and below ``high``, or equal to it if ``closed``.

    Examples
    --------
    >>> Number(0, 1).allows(0.5), Number(0, 1).allows(1), str(Number(0, 1))
    (True, False, 'a number in the range (0, 1)')
    """

    low: float
    high: float = math.inf
    closed: bool = False
    optional: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""
        if value is None or isinstance(value, bool) or not isinstance(value, Real):
            return value is None and self.optional
        return self.low < float(value) < self.high or (self.closed and float(value) == self.high)

    def __str__(self) -> str:
        end = f"{self.high}{']' if self.closed else ')'}"
        return f"a number in the range ({self.low}, {end}" + (", or None" if self.optional else "")


@dataclass(frozen=True)
class OneOf:
    """Any of the choices."""

    choices: tuple[Any, ...]

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""
        return any(value == choice and type(value) is type(choice) for choice in self.choices)

    def __str__(self) -> str:
        return "one of {" + ", ".join(map(repr, self.choices)) + "}"


def hyperparameters(**legal: Legal) -> Mapping[str, Legal]:
    """Declare the legal values of a detector's hyperparameters."""
    return legal


def check_contamination(
    value: Any, *, owner: str = "SpecDetector", legal: str = _LEGAL_SHARE
) -> float:
    """Return the share of outliers as a float; refuse it outside (0, 0.5].

    The error names ``owner`` and ``legal``.

    Examples
    --------
    >>> check_contamination(1 / 4)
    0.25
    """
    if not Number(0, 0.5, closed=True).allows(value):
        raise BadParameter(owner, "contamination", legal, value)
    return float(value)


def check_n_jobs(value: Any, *, owner: str = "SpecDetector") -> int | None:
    """Return the number of jobs, or None; negative numbers count from all cores, as in joblib.

    Examples
    --------
    >>> check_n_jobs(-1)
    -1
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) == 0:
        raise BadParameter(owner, "n_jobs", "an int other than 0, or None", value)
    return int(value)


def check_fixed(owner: str, value: Any, n_columns: int) -> npt.NDArray[np.bool_] | None:
    """Return which columns are in fixed units, or None for none of them.

    Examples
    --------
    >>> check_fixed("score_models", [True, False], 2)
    array([ True, False])
    """
    if value is None:
        return None
    found = np.asarray(value)
    if found.dtype != np.bool_ or found.shape != (n_columns,):
        raise BadParameter(owner, "fixed", f"None or {n_columns} truth values, one a column", value)
    return found
