"""Parameters of learners as a user types them: ``name=value``."""

import json
import math
from collections.abc import Iterable
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from metaod.errors import BadParameter
from metaod.learners._base import Learner

__all__ = ["read_parameters"]


def read_parameters(kind: type[Learner], settings: Iterable[str]) -> dict[str, Any]:
    """Parameters of a learner from texts such as ``rank=5``, each of the type it is declared with.

    Parameters
    ----------
    kind : type of Learner
        The learner.
    settings : iterable of str
        The texts. A value is read as JSON where it is JSON, otherwise as text.

    Examples
    --------
    >>> from metaod.learners import learner_class
    >>> read_parameters(learner_class("random_selection"), ["random_state=3"])
    {'random_state': 3}
    """
    types = get_type_hints(kind)
    legal = [item.name for item in fields(kind)]
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise BadParameter(kind.__name__, "--set", "of the form name=value", setting)
        if name not in legal:
            known = ", ".join(legal) or "none"
            raise BadParameter(kind.__name__, name, f"one of its parameters ({known})", setting)
        if name in found:
            raise BadParameter(kind.__name__, name, "given once", setting)
        found[name] = _read(kind.__name__, name, text, types[name])
    return found


def _read(learner: str, name: str, text: str, declared: Any) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    # a text that looks like a number is still a text where a text is declared
    for candidate in (value, text):
        for kind in _alternatives(declared):
            fits, read = _fit(candidate, kind)
            if fits:
                return read
    raise BadParameter(learner, name, _in_words(declared), value)


def _alternatives(declared: Any) -> tuple[Any, ...]:
    if get_origin(declared) in (UnionType, Union):
        return get_args(declared)
    return (declared,)


def _fit(value: Any, kind: Any) -> tuple[bool, Any]:
    """Whether a value is of the kind, and the value as that kind."""
    if get_origin(kind) is Literal:
        return value in get_args(kind), value
    plain = get_origin(kind) or kind
    if plain is tuple and isinstance(value, list):
        return True, tuple(value)
    if plain is float and type(value) is int:
        return True, float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return False, value
    # type, not isinstance: a boolean is no number; objects of other types cannot be typed in
    plain_kinds = (bool, int, float, str, list, dict, NoneType)
    return plain in plain_kinds and type(value) is plain, value


def _in_words(declared: Any) -> str:
    names = []
    for kind in _alternatives(declared):
        if get_origin(kind) is Literal:
            names += [repr(value) for value in get_args(kind)]
        elif kind is NoneType:
            names.append("null")
        else:
            names.append(str(getattr(kind, "__name__", kind)))
    return " or ".join(names)
