"""All learners by name: those of this package, and those that other packages offer."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any

from metaod.errors import BadParameter
from metaod.learners._base import Learner

ENTRY_POINTS = "metaod.learners"  # group in which other packages offer learners, as name = class

_OURS: Mapping[str, str] = {
    "metaod": "metaod.learners.metaod:MetaODLearner",
    "metaod_c": "metaod.learners.metaod_c:MetaODC",
    "metaod_f": "metaod.learners.metaod:MetaODF",
    "metaod_released": "metaod.learners.metaod:ReleasedMetaOD",
    "squared_error": "metaod.learners.metaod:SquaredErrorFactorisation",
    "alors": "metaod.learners.alors:ALORS",
    "supervised_surrogates": "metaod.learners.supervised_surrogates:SupervisedSurrogates",
    "argosmart": "metaod.learners.argosmart:ARGOSMART",
    "isac": "metaod.learners.isac:ISAC",
    "global_best": "metaod.learners.global_best:GlobalBest",
    "global_best_rank": "metaod.learners.global_best:GlobalBestRank",
    "random_selection": "metaod.learners.random_selection:RandomSelection",
    "pyod_rule": "metaod.learners.pyod_rule:PyODRule",
    "gain_forest": "metaod.learners.gain_forest:GainForest",
    "fixed": "metaod.learners.fixed:FixedChoice",
}


@cache
def learner_names() -> tuple[str, ...]:
    """Return the names of all learners without importing them, those of this package first."""
    others = sorted({point.name for point in entry_points(group=ENTRY_POINTS)})
    return (*_OURS, *(name for name in others if name not in _OURS))


@cache
def learner_classes() -> Mapping[str, type[Learner]]:
    """Return all learners by name, those of this package first."""
    found: dict[str, type[Learner]] = {name: resolve_name(path) for name, path in _OURS.items()}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        if point.name not in found:
            found[point.name] = point.load()
    return found


def learner_class(name: str) -> type[Learner]:
    """Return the learner with this name."""
    if name in _OURS:
        ours: type[Learner] = resolve_name(_OURS[name])
        return ours
    try:
        return learner_classes()[name]
    except KeyError:
        raise BadParameter("learner", "name", sorted(learner_classes()), name) from None


def make_learner(name: str, /, **params: Any) -> Learner:
    """Make an unfitted learner with the given parameters."""
    kind = learner_class(name)
    legal = [item.name for item in fields(kind)]
    for given, value in params.items():
        if given not in legal:
            raise BadParameter(kind.__name__, given, f"one of the parameters {legal}", value)
    return kind(**params)
