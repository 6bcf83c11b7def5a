"""The saved state of dataclasses: plain data and arrays, and the checked way back.

A class with a `tag` is written with it, so that a field may hold one of several classes.
"""

from dataclasses import fields, is_dataclass
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt


class Shape:
    """The shape of an array that is saved: a number, a name or None for any size, a dimension.

    The first array that uses a name sets the size, for all that is decoded with it.

    Parameters
    ----------
    *sizes : str, int or None
        One for each dimension.
    below : str, optional
        The values are indices below this size, if it is known.
    missing : bool, default=False
        Whether values may be NaN.
    """

    def __init__(
        self, *sizes: str | int | None, below: str | None = None, missing: bool = False
    ) -> None:
        self.sizes, self.below, self.missing = sizes, below, missing


def encode(value: Any) -> Any:
    """Return a dataclass, with all that its fields hold, as dictionaries, lists and arrays."""
    if is_dataclass(value) and not isinstance(value, type):
        state = {item.name: encode(getattr(value, item.name)) for item in fields(value)}
        return {"tag": value.tag, **state} if hasattr(value, "tag") else state
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def decode(kind: Any, value: Any, name: str = "state", sizes: dict[str, int] | None = None) -> Any:
    """Undo :func:`encode`; ValueError if a value has another type or shape than its field.

    Parameters
    ----------
    kind : type
        A dataclass, a :class:`Shape` for an array of floats, ``Annotated[array, Shape(...)]``, str,
        bool, int, float, Any, Literal, or tuples, dictionaries with text keys and unions of them.
    value : object
        Plain data from an untrusted source.
    name : str
        What the value is called in errors.
    sizes : dict of str to int, optional
        Known sizes by their names in shapes; those that arrays set are added.

    Examples
    --------
    >>> decode(tuple[int, ...], [3, 4])
    (3, 4)
    """
    sizes = {} if sizes is None else sizes
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, Shape) or origin is Annotated:
        return _array(kind, value, name, sizes)
    if is_dataclass(kind):
        return _instance(kind, value, name, sizes)
    if origin in (Union, UnionType):
        own = _chosen(args, value, name)
        return None if own is None else decode(own, value, name, sizes)
    if origin is tuple and isinstance(value, list):
        return tuple(decode(args[0], item, f"{name}.{i}", sizes) for i, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: decode(args[1], item, f"{name}.{key}", sizes) for key, item in value.items()}
    return _plain(kind, value, name)


def _chosen(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    """Return the type of a value: the class with its tag, if there are several; None for None."""
    if value is None and NoneType in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    if len(kinds) == 1:
        return kinds[0]
    tag = value.get("tag") if isinstance(value, dict) else None
    found = next((kind for kind in kinds if kind.tag == tag), None)
    if found is None:
        raise ValueError(f"{name} has the tag {tag!r:.40}, which is none of its classes'")
    return found


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
        found[item.name] = decode(types[item.name], value[item.name], own, sizes)
    return kind(**found)


def _array(kind: Any, value: Any, name: str, sizes: dict[str, int]) -> npt.NDArray[Any]:
    dtype, shape = np.dtype(np.float64), kind
    if not isinstance(kind, Shape):
        array_type, shape = get_args(kind)
        dtype = np.dtype(get_args(get_args(array_type)[1])[0])
    kinds = {"f": "f", "i": "iu", "u": "u", "b": "b"}[dtype.kind]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        raise ValueError(f"{name} is not an array of {dtype}")
    array = value.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(array, value):
        raise ValueError(f"{name} holds numbers that are too large for {dtype}")
    wanted: list[int] = []
    for size, length in zip(shape.sizes, array.shape, strict=False):
        known = sizes.setdefault(size, length) if isinstance(size, str) else size
        wanted.append(length if known is None else known)
    if array.ndim != len(shape.sizes) or list(array.shape) != wanted:
        raise ValueError(f"{name} has the shape {array.shape}, not {shape.sizes} of {sizes}")
    if dtype.kind == "f" and not (np.isfinite(array) | (np.isnan(array) & shape.missing)).all():
        raise ValueError(f"{name} holds NaN or infinities")
    if shape.below is not None:
        limit = sizes.get(shape.below, np.inf)
        if ((array < 0) | (array >= limit)).any():
            raise ValueError(f"{name} holds an index that is not below {limit}")
    return array
