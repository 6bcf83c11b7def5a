"""What a fitted learner carries, as plain data and arrays, and how it is read back with checks."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError

__all__ = ["DamagedState", "State", "StateReader"]

State = dict[str, Any]
"""Names to arrays (float64, float32 or integers), texts, numbers, booleans, None, lists of these,
and states."""


class DamagedState(UserError):
    """What was saved does not fit together."""


class StateReader:
    """Reads a :data:`State` that came from outside, checking every kind and shape.

    Parameters
    ----------
    state : mapping
        What was saved.
    where : str
        Where it came from, for messages.
    sizes : mapping of str to int, optional
        Sizes already known, by the letter that stands for them in a shape.

    Examples
    --------
    >>> reader = StateReader({"V": np.zeros((3, 2))}, "a.metaod", {"m": 3})
    >>> reader.array("V", ("m", "k")).shape, reader.size("k")
    ((3, 2), 2)
    """

    def __init__(
        self, state: Mapping[str, Any], where: str, sizes: Mapping[str, int] | None = None
    ) -> None:
        self._state = state
        self._where = where
        self._sizes = dict(sizes or {})

    def array(self, name: str, shape: tuple[str | int, ...], kind: str = "f") -> npt.NDArray[Any]:
        """An array of this shape and kind.

        Parameters
        ----------
        name : str
            Its name.
        shape : tuple of str or int
            A number, or the letter of a size: bound when it is first met, checked from then on.
        kind : {"f", "i", "b"}, default="f"
            Floating numbers (all finite), integers or booleans.
        """
        value = self._get(name)
        kinds = {"f": "f", "i": "iu", "b": "b"}[kind]
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            raise self.damaged(f"{name} is no array of kind {kind!r}")
        if value.ndim != len(shape):
            raise self.damaged(f"{name} has {value.ndim} dimensions, not {len(shape)}")
        for length, size in zip(value.shape, shape, strict=True):
            expected = size if isinstance(size, int) else self._sizes.setdefault(size, length)
            if length != expected:
                raise self.damaged(f"{name} has shape {value.shape}: {length} is not {expected}")
        if kind == "f" and not np.isfinite(value).all():
            raise self.damaged(f"{name} holds NaN or infinities")
        return value

    def size(self, letter: str) -> int:
        """A size that was met in a shape."""
        return self._sizes[letter]

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.damaged(f"{name} is no finite number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.damaged(f"{name} is no finite number")
        return number

    def numbers(self, name: str) -> dict[str, float]:
        """Finite numbers by name."""
        value = self._get(name)
        if not isinstance(value, Mapping):
            raise self.damaged(f"{name} does not hold numbers by name")
        inner = StateReader(value, self._where)
        return {str(key): inner.number(key) for key in value}

    def text(self, name: str) -> str:
        """A text."""
        value = self._get(name)
        if not isinstance(value, str):
            raise self.damaged(f"{name} is no text")
        return value

    def texts(self, name: str, *, distinct: bool = True) -> list[str]:
        """A list of texts, one at least; each once, unless told otherwise."""
        value = self._get(name)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            raise self.damaged(f"{name} is no list of texts")
        if distinct and len(set(value)) != len(value):
            raise self.damaged(f"{name} holds a text twice")
        return list(value)

    def has(self, name: str) -> bool:
        """Whether there is something of that name that is not None."""
        return self._state.get(name) is not None

    def part(self, name: str, **sizes: int) -> "StateReader":
        """The state of that name, with sizes that are known from outside it."""
        value = self._get(name)
        if not isinstance(value, Mapping):
            raise self.damaged(f"{name} is no state")
        return StateReader(value, self._where, {**self._sizes, **sizes})

    def parts(self, name: str) -> Iterator["StateReader"]:
        """The states in the list of that name."""
        value = self._get(name)
        if not isinstance(value, list):
            raise self.damaged(f"{name} is no list of states")
        for item in value:
            if not isinstance(item, Mapping):
                raise self.damaged(f"{name} is no list of states")
            yield StateReader(item, self._where, self._sizes)

    def damaged(self, message: str) -> DamagedState:
        """The error that says so."""
        return DamagedState(message, where=self._where, remedy="train the learner again")

    def _get(self, name: str) -> Any:
        if name not in self._state:
            raise self.damaged(f"{name} is missing")
        return self._state[name]
