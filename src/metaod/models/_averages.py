"""Averages: models that are the mean of two or more models' standardised scores.

An average is a :class:`~metaod.models._spec.ModelSpec` like any other, so that it can be a column
of the performance matrix, be ranked and be picked. Its members stand in its id.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations

from metaod.errors import BadParameter
from metaod.models._spec import ModelSpec

__all__ = [
    "AVERAGE",
    "average_of",
    "averages_of",
    "is_average",
    "member_ids",
    "members_of",
    "title_of",
]

AVERAGE = "ZAverage"
"""What stands in place of a detector's name in the id of an average."""

_AND = " + "
# a sign within quotes belongs to a member
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"| \+ |.', re.DOTALL)
_LEGAL = "two or more different models that are no averages, written A + B + ..."


def average_of(*members: ModelSpec) -> ModelSpec:
    """The average of some models, whatever the order in which they are given.

    Parameters
    ----------
    *members : ModelSpec
        Two or more different models, none an average itself.

    Examples
    --------
    >>> average_of(ModelSpec("MCD"), ModelSpec("ECOD"))
    ZAverage(members="ECOD() + MCD()")
    """
    ids = sorted(member.id for member in members)
    average = ModelSpec(AVERAGE, {"members": _AND.join(ids)})
    members_of(average)
    return average


def averages_of(representatives: Iterable[ModelSpec], most: int = 3) -> tuple[ModelSpec, ...]:
    """All averages of two models or more.

    Parameters
    ----------
    representatives : iterable of ModelSpec
        The models.
    most : int, default=3
        Models in one average at most.

    Examples
    --------
    >>> averages_of([ModelSpec("MCD"), ModelSpec("ECOD")])
    (ZAverage(members="ECOD() + MCD()"),)
    """
    if type(most) is not int or most < 2:
        raise BadParameter("averages_of", "most", "an int in the range [2, inf)", most)
    models = list(dict.fromkeys(representatives))
    return tuple(
        average_of(*members)
        for count in range(2, most + 1)
        for members in combinations(models, count)
    )


def is_average(spec: ModelSpec) -> bool:
    """Whether the model is an average of others."""
    return spec.detector == AVERAGE


@lru_cache(maxsize=4096)
def members_of(spec: ModelSpec) -> tuple[ModelSpec, ...]:
    """The models that an average is of; any other model is its own only member.

    Examples
    --------
    >>> members_of(ModelSpec.parse('ZAverage(members="ECOD() + MCD()")'))
    (ECOD(), MCD())
    >>> members_of(ModelSpec("MCD"))
    (MCD(),)
    """
    if not is_average(spec):
        return (spec,)
    text = dict(spec.params).get("members")
    plain = spec == ModelSpec(AVERAGE, {"members": text})
    if not plain or not isinstance(text, str):
        # the members are scaled each in its own way
        raise BadParameter(AVERAGE, "params", "'members' alone, without a scaling", spec.id)
    ids = [""]
    for token in _TOKEN.findall(text):
        if token == _AND:
            ids.append("")
        else:
            ids[-1] += token
    try:
        members = tuple(map(ModelSpec.parse, ids))
    except BadParameter as error:
        raise BadParameter(AVERAGE, "members", _LEGAL, text) from error
    if len(set(members)) < max(2, len(members)) or any(map(is_average, members)):
        raise BadParameter(AVERAGE, "members", _LEGAL, text)
    return members


def member_ids(model: str) -> tuple[str, ...]:
    """Ids of an average's members, by its id; the id itself of any other model.

    Examples
    --------
    >>> member_ids('ZAverage(members="ECOD() + MCD()")')
    ('ECOD()', 'MCD()')
    """
    # what is no average need not be an id: learners may name their columns as they like
    if not model.startswith(f"{AVERAGE}("):
        return (model,)
    return tuple(member.id for member in members_of(ModelSpec.parse(model)))


def title_of(model: str) -> str:
    """A model's id as people read it: of an average, its members.

    Examples
    --------
    >>> title_of('ZAverage(members="ECOD() + MCD()")')
    'ECOD() + MCD()'
    """
    return _AND.join(member_ids(model))
