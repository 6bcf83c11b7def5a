"""Legal values of parameters of detectors and learners, and the check of an object's parameters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from metaod.errors import BadParameter


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
    """Numbers between two ends, which are legal themselves where ``ends`` has a bracket.

    Examples
    --------
    >>> Number(0, 1).allows(0.5), Number(0, 1).allows(1), str(Number(0, 1, "(]"))
    (True, False, 'a number in the range (0, 1]')
    """

    low: float
    high: float = math.inf
    ends: str = "()"
    optional: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""
        if value is None or isinstance(value, bool) or not isinstance(value, Real):
            return value is None and self.optional
        number = float(value)
        inside = self.low < number < self.high
        return (
            inside
            or (number == self.low and "[" in self.ends)
            or (number == self.high and "]" in self.ends)
        )

    def __str__(self) -> str:
        text = f"a number in the range {self.ends[0]}{self.low}, {self.high}{self.ends[1]}"
        return text + (", or None" if self.optional else "")


@dataclass(frozen=True)
class OneOf:
    """Any of the choices."""

    choices: tuple[Any, ...]

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""
        return any(value == choice and type(value) is type(choice) for choice in self.choices)

    def __str__(self) -> str:
        return "one of {" + ", ".join(map(repr, self.choices)) + "}"


def parameters(**legal: Legal) -> Mapping[str, Legal]:
    """Declare the legal values of parameters."""
    return legal


def check_parameters(owner: object, legal: Mapping[str, Legal]) -> None:
    """Refuse attributes that are not legal values of parameters of these names."""
    for name, values in legal.items():
        value = getattr(owner, name)
        if not values.allows(value):
            raise BadParameter(type(owner).__name__, name, str(values), value)
