"""Write dataclasses as plain values for JSON, and read them back with checks of every field.

A class with a `tag` is written with it, so that a field may hold one of several classes.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def to_plain(value: Any) -> Any:
    """Write a dataclass, or a tuple of them, as plain values."""
    if is_dataclass(value):
        saved = {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
        return {"tag": value.tag, **saved} if hasattr(value, "tag") else saved
    return [to_plain(item) for item in value] if isinstance(value, tuple) else value


def from_plain(kind: Any, saved: Any) -> Any:
    """Read a value of a type as `to_plain` wrote it.

    Raise KeyError, TypeError or ValueError for anything else. Whole numbers are counts.
    """
    origin, choices = get_origin(kind), get_args(kind)
    if origin is Literal:
        if saved not in choices:
            raise ValueError(f"{saved!r} is not one of {', '.join(map(repr, choices))}")
        return saved
    if origin in (Union, UnionType):
        return None if saved is None and NoneType in choices else _of_union(choices, saved)
    if origin is tuple:
        if not isinstance(saved, list | tuple):
            raise TypeError(f"{saved!r} is not a list")
        return tuple(from_plain(choices[0], item) for item in saved)
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(saved, Mapping):
            raise TypeError(f"{saved!r} is not a dict")
        return kind(**{name: from_plain(own, saved[name]) for name, own in _fields(kind).items()})
    is_number = kind is float and isinstance(saved, int | float) and not isinstance(saved, bool)
    if type(saved) is not kind and not is_number:
        raise TypeError(f"{saved!r} is not a {kind.__name__}")
    if is_number and not isfinite(saved):
        raise ValueError(f"{saved!r} is not a finite number")
    if kind is int and saved < 0:
        raise ValueError(f"{saved!r} is not a count")
    return kind(saved)


def _of_union(choices: tuple[Any, ...], saved: Any) -> Any:
    classes = [choice for choice in choices if choice is not NoneType]
    if len(classes) == 1:
        return from_plain(classes[0], saved)
    found = next((item for item in classes if item.tag == saved["tag"]), None)
    if found is None:
        known = ", ".join(item.tag for item in classes)
        raise ValueError(f"{saved['tag']!r} is not one of {known}")
    return from_plain(found, saved)


@cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {item.name: hints[item.name] for item in fields(kind)}
