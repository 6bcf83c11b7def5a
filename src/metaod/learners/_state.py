"""The saved state of a fitted learner, and a reader that checks it."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError

State = dict[str, Any]
"""Arrays of numbers or booleans, strings, numbers, None, lists of these and nested states."""

_DTYPE_KINDS = {"f": "f", "i": "iu", "b": "b"}


class DamagedState(UserError):
    """The parts of a saved state are missing or do not fit together."""


class StateReader:
    """Reads a :data:`State` from an untrusted source and checks every type and shape.

    Parameters
    ----------
    state : mapping
        The saved state.
    where : str
        Its source, for error messages.
    sizes : mapping of str to int, optional
        Known sizes by their names in shapes.

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
        """Return an array of this shape and kind.

        Each dimension is a number or the name of a size; the first array that uses a name sets the
        size. Kinds are "f" (finite floats), "i" (integers) and "b" (booleans).
        """
        value = self._get(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in _DTYPE_KINDS[kind]:
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

    def indices(self, name: str, size: str | int, below: int) -> npt.NDArray[np.intp]:
        """Return a vector of indices from 0 to ``below`` - 1."""
        value = self.array(name, (size,), "i").astype(np.intp)
        if ((value < 0) | (value >= below)).any():
            raise self.damaged(f"{name} holds an index outside 0 to {below - 1}")
        return value

    def size(self, name: str) -> int:
        """Return a size that an array has set."""
        return self._sizes[name]

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self._get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # an integer may be too large for a float
        if not is_number or not abs(value) <= sys.float_info.max:
            raise self.damaged(f"{name} is no finite number")
        return float(value)

    def numbers(self, name: str) -> dict[str, float]:
        """Return finite numbers by name."""
        inner = self.part(name)
        return {str(key): inner.number(key) for key in self._state[name]}

    def count(self, name: str) -> int:
        """Return an integer of at least 0."""
        value = self.number(name)
        # a float cannot hold every integer from 2**53 on
        if not 0 <= value < 2**53 or value != int(value):
            raise self.damaged(f"{name} is no count")
        return int(value)

    def text(self, name: str) -> str:
        """Return a string."""
        value = self._get(name)
        if not isinstance(value, str):
            raise self.damaged(f"{name} is no text")
        return value

    def texts(self, name: str, *, distinct: bool = True) -> list[str]:
        """Return a list of at least one string; by default all must differ."""
        value = self._get(name)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            raise self.damaged(f"{name} is no list of texts")
        if distinct and len(set(value)) != len(value):
            raise self.damaged(f"{name} holds a text twice")
        return list(value)

    def has(self, name: str) -> bool:
        """Whether the state holds a value other than None under this name."""
        return self._state.get(name) is not None

    def part(self, name: str, **sizes: int) -> "StateReader":
        """Return a reader of a nested state, with further known sizes."""
        return self._nested(name, self._get(name), sizes)

    def parts(self, name: str) -> Iterator["StateReader"]:
        """Yield a reader for each state in a list."""
        value = self._get(name)
        if not isinstance(value, list):
            raise self.damaged(f"{name} is no list of states")
        for item in value:
            yield self._nested(name, item, {})

    def damaged(self, message: str) -> DamagedState:
        """Return the error to raise for a damaged state."""
        return DamagedState(message, where=self._where, remedy="train the learner again")

    def _nested(self, name: str, value: Any, sizes: Mapping[str, int]) -> "StateReader":
        if not isinstance(value, Mapping):
            raise self.damaged(f"{name} is no state")
        return StateReader(value, self._where, {**self._sizes, **sizes})

    def _get(self, name: str) -> Any:
        if name not in self._state:
            raise self.damaged(f"{name} is missing")
        return self._state[name]
