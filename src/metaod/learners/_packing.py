"""Nested states as JSON and a list of named arrays, and back."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import UserError

__all__ = ["Arrays", "NotPlain", "pack", "plain", "unpack"]

Arrays = dict[str, npt.NDArray[Any]]

_REFERENCE = "$array"
"""The one key of what stands in a state's JSON for an array; its value is the array's name."""

_STEP = re.compile(r"[A-Za-z0-9_]+")
"""A key on the way to an array: it becomes part of the name of a file."""


class NotPlain(UserError):
    """Something is neither an array nor plain data, and cannot be written to a file."""


def pack(state: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """A state as JSON can hold it, and its arrays by name.

    An array's name is the way to it: keys and places in lists, joined by dots.

    Examples
    --------
    >>> packed, arrays = pack({"rank": 2, "parts": [{"V": np.zeros((3, 2))}]})
    >>> packed
    {'rank': 2, 'parts': [{'V': {'$array': 'parts.0.V'}}]}
    >>> list(arrays)
    ['parts.0.V']
    """
    arrays: Arrays = {}
    packed: dict[str, Any] = _pack(dict(state), (), arrays)
    return packed, arrays


def plain(value: Any, what: str) -> Any:
    """Plain data as JSON gives it back: no arrays, no tuples, no numpy scalars.

    Examples
    --------
    >>> plain({"cycle": (1, np.float64(0.5))}, "parameters")
    {'cycle': [1, 0.5]}
    """
    return _pack(value, (what,), None)


def unpack(packed: Any, arrays: Arrays) -> Any:
    """What :func:`pack` was given; KeyError for an array that is not there, or is named twice."""
    left = dict(arrays)
    state = _unpack(packed, left)
    if left:
        raise KeyError(next(iter(left)))
    return state


def _pack(value: Any, way: tuple[str, ...], arrays: Arrays | None) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping) and all(_is_key(key) for key in value):
        return {key: _pack(item, (*way, key), arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item, (*way, str(place)), arrays) for place, item in enumerate(value)]
    name = ".".join(way)
    if isinstance(value, np.ndarray) and arrays is not None and all(map(_STEP.fullmatch, way)):
        arrays[name] = value
        return {_REFERENCE: name}
    raise NotPlain(
        f"{type(value).__name__} {value!r:.60} cannot be written to a file",
        where=name,
        remedy="use numbers, texts, lists and dictionaries by name",
    )


def _is_key(key: object) -> bool:
    # a dollar marks what stands for an array
    return isinstance(key, str) and not key.startswith("$")


def _unpack(packed: Any, left: Arrays) -> Any:
    if isinstance(packed, list):
        return [_unpack(item, left) for item in packed]
    if not isinstance(packed, dict):
        return packed
    if packed.keys() == {_REFERENCE}:
        return left.pop(packed[_REFERENCE])
    return {key: _unpack(item, left) for key, item in packed.items()}
