"""Parameters of learners: those of forests, and reading them from ``name=value``."""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from typing import Any, get_type_hints

from metaod._legal import Legal, Whole
from metaod._state import decode
from metaod.errors import BadParameter


class _Share:
    """A float; scikit-learn takes the int 1 as one feature and the float 1.0 as all."""

    def allows(self, value: Any) -> bool:
        """Return whether the value is legal."""
        return isinstance(value, float) and 0 < value <= 1

    def __str__(self) -> str:
        return "a float in the range (0, 1]"


SHARED: dict[str, Legal] = {
    "n_estimators": Whole(1),
    "min_samples_leaf": Whole(1),
    "max_depth": Whole(1, optional=True),
    "max_features": _Share(),
    "random_state": Whole(0, 2**32 - 1),  # what scikit-learn takes
}
"""Legal values of parameters that several learners have: those of a forest."""


def forest_parameters(owner: object) -> dict[str, Any]:
    """Return the parameters of a learner that are those of its forest."""
    return {name: getattr(owner, name) for name in SHARED if hasattr(owner, name)}


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
        if not equals or name not in legal:
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
