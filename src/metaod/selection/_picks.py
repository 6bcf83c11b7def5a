"""What a pick may be: one model, or a small ensemble that is ranked and picked as one model."""

from typing import Any, Literal

from metaod.errors import BadParameter
from metaod.learners import Choice
from metaod.models import member_ids

__all__ = ["PICKS", "Pick", "check_pick", "resolved"]

Pick = Literal["ensemble", "single"]

PICKS: tuple[Pick, ...] = ("ensemble", "single")
"""What may be picked: the best of models and averages, or one model alone."""

_DEFAULT: Pick = "ensemble"


def check_pick(value: Any) -> Pick:
    """What may be picked; the default for None.

    Examples
    --------
    >>> check_pick("single")
    'single'
    """
    for name in PICKS:
        if isinstance(value, str) and value == name:
            return name
    if value is not None:
        raise BadParameter("select", "pick", f"one of {PICKS}, or None", value)
    return _DEFAULT


def resolved(answer: Choice) -> Choice:
    """The models to fit: an average gives its weight to its members in equal parts.

    Parameters
    ----------
    answer : Choice
        Models and averages, with weights.

    Examples
    --------
    >>> resolved(Choice({'ZAverage(members="ECOD() + MCD()")': 1.0})).weights
    {'ECOD()': 0.5, 'MCD()': 0.5}
    """
    weights: dict[str, float] = {}
    for name, weight in answer.weights.items():
        members = member_ids(name)
        for member in members:
            weights[member] = weights.get(member, 0.0) + weight / len(members)
    return Choice(dict(sorted(weights.items(), key=lambda item: -item[1])))
