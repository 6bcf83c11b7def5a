"""The learners by name: ours, and those that other packages offer."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from metaod.errors import BadParameter
from metaod.learners._base import Learner

__all__ = ["ENTRY_POINTS", "learner_class", "learner_classes", "learner_names", "make_learner"]

ENTRY_POINTS = "metaod.learners"
"""Entry-point group by which another package offers a learner: its name = its class."""

_OURS: Mapping[str, str] = {
    "metaod": "metaod.learners.metaod:MetaODLearner",
    "metaod_c": "metaod.learners.metaod_c:MetaODC",
    "metaod_f": "metaod.learners.metaod_f:MetaODF",
    "squared_error": "metaod.learners.squared_error:SquaredErrorFactorisation",
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
    """Names of all learners: ours first, then those of other packages; none is imported."""
    others = sorted({point.name for point in entry_points(group=ENTRY_POINTS)})
    return (*_OURS, *(name for name in others if name not in _OURS))


@cache
def learner_classes() -> Mapping[str, type[Learner]]:
    """All learners by name: ours first, then those of other packages."""
    found = {name: _load(place) for name, place in _OURS.items()}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        if point.name not in found:
            found[point.name] = point.load()
    return found


def learner_class(name: str) -> type[Learner]:
    """The learner of that name."""
    if name in _OURS:
        return _load(_OURS[name])
    try:
        return learner_classes()[name]
    except KeyError:
        raise BadParameter("learner", "name", sorted(learner_classes()), name) from None


def make_learner(name: str, /, **params: Any) -> Learner:
    """A learner that is not fitted yet, with parameters other than its defaults.

    Examples
    --------
    >>> make_learner("global_best").name
    'global_best'
    """
    kind = learner_class(name)
    legal = [item.name for item in fields(kind)]
    for given, value in params.items():
        if given not in legal:
            raise BadParameter(kind.__name__, given, f"one of the parameters {legal}", value)
    return kind(**params)


def _load(place: str) -> type[Learner]:
    module, _, name = place.partition(":")
    found: type[Learner] = getattr(import_module(module), name)
    return found
