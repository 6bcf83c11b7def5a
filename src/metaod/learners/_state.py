"""The saved state of a fitted learner, and a reader that checks it."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

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
        # files hold the smallest type
        return value.astype({"f": np.float64, "i": np.int64, "b": np.bool_}[kind])

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

    def decode(self, kind: Any) -> Any:
        """Return the state as a dataclass."""
        try:
            return _decode(kind, dict(self._state), "state", dict(self._sizes))
        except (ValueError, TypeError, ArithmeticError) as error:
            raise self.damaged(str(error)) from error

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


@dataclass(frozen=True)
class Shape:
    """The shape of an array that is a field: numbers, and names of sizes.

    The first array that uses a name sets the size, for its dataclass and those within it.

    Parameters
    ----------
    *sizes : str or int
        One for each dimension.
    below : str, optional
        The values are indices below this size, if it is known.
    missing : bool, default=False
        Whether values may be NaN.
    """

    sizes: tuple[str | int, ...]
    below: str | None = None
    missing: bool = False

    def __init__(self, *sizes: str | int, below: str | None = None, missing: bool = False) -> None:
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "below", below)
        object.__setattr__(self, "missing", missing)


def encode(value: Any) -> Any:
    """Return a dataclass, with all that its fields hold, as dictionaries, lists and arrays."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: encode(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def decode(kind: Any, value: Any, name: str = "state", **sizes: int) -> Any:
    """Undo :func:`encode`; ValueError if a value has another type or shape than its field.

    Parameters
    ----------
    kind : type
        A dataclass, ``Annotated[array, Shape(...)]``, str, bool, int, float, Any, Literal, or
        tuples, dictionaries with text keys and unions of them.
    value : object
        Plain data from an untrusted source.
    name : str
        What the value is called in errors.
    **sizes : int
        Known sizes by their names in shapes.

    Examples
    --------
    >>> decode(tuple[int, ...], [3, 4])
    (3, 4)
    """
    return _decode(kind, value, name, sizes)


def _decode(kind: Any, value: Any, name: str, sizes: dict[str, int]) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        dtype = np.dtype(get_args(get_args(args[0])[1])[0])
        return _array(dtype, args[1], value, name, sizes)
    if is_dataclass(kind):
        return _instance(kind, value, name, dict(sizes))
    if origin in (Union, UnionType):  # of one type and None
        own = next(arg for arg in args if arg is not NoneType)
        return None if value is None else _decode(own, value, name, sizes)
    if origin is tuple and isinstance(value, list):
        return tuple(_decode(args[0], item, f"{name}.{i}", sizes) for i, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: _decode(args[1], item, f"{name}.{key}", sizes) for key, item in value.items()}
    return _plain(kind, value, name)


def _plain(kind: Any, value: Any, name: str) -> Any:
    if kind is float and type(value) is int:
        value = float(value)  # OverflowError if it is too large
    is_literal = get_origin(kind) is Literal
    is_legal = value in get_args(kind) if is_literal else kind is Any or type(value) is kind
    if not is_legal or (kind is float and not isfinite(value)):
        raise ValueError(f"{name} is not {getattr(kind, '__name__', kind)}")
    return value


def _instance(kind: Any, value: Any, name: str, sizes: dict[str, int]) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a dictionary")
    types = get_type_hints(kind, include_extras=True)
    found = {}
    for item in fields(kind):
        if item.name not in value:
            raise ValueError(f"{name}.{item.name} is missing")
        own = f"{name}.{item.name}"
        found[item.name] = _decode(types[item.name], value[item.name], own, sizes)
    return kind(**found)


def _array(
    dtype: np.dtype[Any], shape: Shape, value: Any, name: str, sizes: dict[str, int]
) -> npt.NDArray[Any]:
    kinds = {"f": "f", "i": "iu", "u": "u", "b": "b"}[dtype.kind]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        raise ValueError(f"{name} is not an array of {dtype}")
    array = value.astype(dtype)
    wanted = [
        size if isinstance(size, int) else sizes.setdefault(size, length)
        for size, length in zip(shape.sizes, array.shape, strict=False)
    ]
    if array.ndim != len(shape.sizes) or list(array.shape) != wanted:
        raise ValueError(f"{name} has the shape {array.shape}, not {shape.sizes} of {sizes}")
    if dtype.kind == "f" and not (np.isfinite(array) | (np.isnan(array) & shape.missing)).all():
        raise ValueError(f"{name} holds NaN or infinities")
    if shape.below is not None:
        limit = sizes.get(shape.below, np.inf)
        if ((array < 0) | (array >= limit)).any():
            raise ValueError(f"{name} holds an index that is not below {limit}")
    return array
