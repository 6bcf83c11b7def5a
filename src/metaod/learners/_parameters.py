"""Parameters of learners: checks of their values, and reading them from ``name=value``."""

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, get_type_hints

from metaod._state import decode
from metaod.errors import BadParameter

_MAX_SEED = 2**32 - 1  # the largest that scikit-learn takes


def check_counts(owner: object, *names: str) -> None:
    """Refuse parameters that are not positive integers."""
    for name in names:
        value = getattr(owner, name)
        if not _is_integer(value) or value < 1:
            raise _bad(owner, name, "an int in the range [1, inf)")


def check_ranges(owner: object, **intervals: str) -> None:
    """Refuse parameters that are not numbers in intervals such as ``(0, 1]``."""
    for name, interval in intervals.items():
        value = getattr(owner, name)
        low, high = (float(end) for end in interval[1:-1].split(","))
        is_number = not isinstance(value, bool) and isinstance(value, Real)
        number = float(value) if is_number else math.nan
        above = number > low or (interval[0] == "[" and number == low)
        below = number < high or (interval[-1] == "]" and number == high)
        if not above or not below:
            raise _bad(owner, name, f"a number in the range {interval}")


def check_options(owner: object, **options: Iterable[str]) -> None:
    """Refuse parameters that are none of the options."""
    for name, legal in options.items():
        if getattr(owner, name) not in legal:
            raise _bad(owner, name, legal)


def check_seed(owner: object) -> None:
    """Refuse a ``random_state`` that is not a seed for every generator in use."""
    value = getattr(owner, "random_state", 0)
    if not _is_integer(value) or not 0 <= value <= _MAX_SEED:
        raise _bad(owner, "random_state", f"an int in the range [0, {_MAX_SEED}]")


def check_forest(owner: object) -> None:
    """Refuse bad parameters of a forest."""
    check_counts(owner, "n_estimators", "min_samples_leaf")
    if getattr(owner, "max_depth", None) is not None:
        check_counts(owner, "max_depth")
    # scikit-learn takes the int 1 as one feature and the float 1.0 as all
    max_features = getattr(owner, "max_features", 1.0)
    if not isinstance(max_features, float) or not 0 < max_features <= 1:
        raise _bad(owner, "max_features", "a float in the range (0, 1]")


def forest_parameters(owner: object) -> dict[str, Any]:
    """Return the parameters of a learner that are those of its forest."""
    names = ("n_estimators", "min_samples_leaf", "max_depth", "max_features", "random_state")
    return {name: getattr(owner, name) for name in names if hasattr(owner, name)}


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _bad(owner: object, name: str, legal: str | Iterable[str]) -> BadParameter:
    return BadParameter(type(owner).__name__, name, legal, getattr(owner, name))


def read_parameters(kind: type[Any], settings: Iterable[str]) -> dict[str, Any]:
    """Read parameters of a learner from texts such as ``rank=5``, with their declared types.

    A value is read as JSON if it is JSON, otherwise as text.

    Examples
    --------
    >>> from metaod.learners import learner_class
    >>> read_parameters(learner_class("metaod"), ["random_state=3"])
    {'random_state': 3}
    """
    types = get_type_hints(kind)
    legal = [item.name for item in fields(kind)]
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise BadParameter(kind.__name__, "--set", "of the form NAME=VALUE", setting)
        if name not in legal:
            known = ", ".join(legal) or "none"
            legal_set = f"NAME=VALUE with one of the parameters {known}"
            raise BadParameter(kind.__name__, "--set", legal_set, setting)
        if name in found:
            raise BadParameter(kind.__name__, name, "given once", setting)
        found[name] = _read_value(kind.__name__, name, text, types[name])
    return found


def _read_value(learner: str, name: str, text: str, declared: Any) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    # a number stays a text if the parameter is declared as text
    for candidate in (value, text):
        with suppress(ValueError, ArithmeticError):
            return decode(declared, candidate, name)
    legal = declared.__name__ if isinstance(declared, type) else str(declared)
    raise BadParameter(learner, name, legal.replace("typing.", ""), value)
