"""All learners by name: those of this package, registered ones, and those of other packages."""

import warnings
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any

from metaod.errors import BadParameter
from metaod.learners._base import Learner

ENTRY_POINTS = "metaod.learners"  # group in which other packages offer learners, as name = class

_PATHS = {
    "metaod": "metaod.learners.metaod:MetaODLearner",
    "gain_forest": "metaod.learners.gain_forest:GainForest",
}


def register_learner(name: str, path: str) -> None:
    """Make a learner known by its name, for this process.

    Parameters
    ----------
    name : str
        The name that ``metaod train --learner`` and artifacts use.
    path : str
        The class as ``package.module:Class``; it is imported when it is first needed.
    """
    _PATHS[name] = path


def learner_classes() -> Mapping[str, type[Learner]]:
    """Return all learners by name, those of this package first."""
    found: dict[str, type[Learner]] = {name: resolve_name(path) for name, path in _PATHS.items()}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        # a broken plug-in must not break the others or the command
        try:
            if point.name not in found:
                found[point.name] = point.load()
        except Exception as error:  # another package's code may raise anything
            left_out = f"the learner {point.name!r} of {point.value!r} is left out"
            warnings.warn(f"{left_out}: {error}", stacklevel=2)
    return found


def learner_class(name: str) -> type[Learner]:
    """Return the learner with this name."""
    if name in _PATHS:
        ours: type[Learner] = resolve_name(_PATHS[name])
        return ours
    known = learner_classes()
    if name not in known:
        raise BadParameter("learner", "name", sorted(known), name)
    return known[name]


def make_learner(name: str, /, **params: Any) -> Learner:
    """Make an unfitted learner with the given parameters."""
    kind = learner_class(name)
    legal = [item.name for item in fields(kind)]
    for given, value in params.items():
        if given not in legal:
            raise BadParameter(kind.__name__, given, f"one of the parameters {legal}", value)
    return kind(**params)
