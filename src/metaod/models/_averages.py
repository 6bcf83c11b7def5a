"""Averages: models that are the mean of two or more models' standardised scores.

An average is a :class:`~metaod.models.ModelSpec` whose id contains the ids of its members.
"""

from collections.abc import Iterable
from itertools import combinations

from metaod.models._model_id import AVERAGE, MEMBER_SEPARATOR
from metaod.models._spec import ModelSpec


def average_of(*members: ModelSpec) -> ModelSpec:
    """Return the average of two or more different models, in any order; none is an average itself.

    Examples
    --------
    >>> average_of(ModelSpec("MCD"), ModelSpec("ECOD"))
    ZAverage(members="ECOD() + MCD()")
    """
    ids = sorted(member.id for member in members)
    average = ModelSpec(AVERAGE, {"members": MEMBER_SEPARATOR.join(ids)})
    _ = average.members  # raises if the members are not legal
    return average


def averages_of(models: Iterable[ModelSpec], most: int = 3) -> tuple[ModelSpec, ...]:
    """Return all averages of 2 to ``most`` of the models."""
    different = list(dict.fromkeys(models))
    return tuple(
        average_of(*members)
        for count in range(2, most + 1)
        for members in combinations(different, count)
    )


def member_ids(model: str) -> tuple[str, ...]:
    """Return the ids of an average's members; of any other model, its own id.

    Examples
    --------
    >>> member_ids('ZAverage(members="ECOD() + MCD()")')
    ('ECOD()', 'MCD()')
    """
    # a column of a learner need not be named by a model's id
    if not model.startswith(f"{AVERAGE}("):
        return (model,)
    return tuple(member.id for member in ModelSpec.parse(model).members)


REPRESENTATIVES = tuple(
    ModelSpec.parse(model)
    for model in (
        "IForest(n_estimators=200, max_features=1.0)",
        "IForest(n_estimators=200, max_features=1.0, scaling=signedlog)",
        "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=robust)",
        "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "SCiForest(n_dims=2, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=robust)",
        "KDE(gamma_scale=1.0, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=whitened)",
        "KNN(n_neighbors=300, method=largest, scaling=robust)",
        "KNN(n_neighbors=300, method=largest, scaling=signedlog)",
        "KNN(n_neighbors=300, method=largest, scaling=whitened)",
        "MCD(scaling=robust)",
        "MCD(core=0.75, scaling=robust)",
        "PCA(weighted=false, scaling=signedlog)",
    )
)
"""The models of the extended space that averages combine: one or a few of each family."""

COMMITTEE = tuple(REPRESENTATIVES[i] for i in (1, 3, 6, 7, 8, 12, 13))
"""One model of each kind: their average seldom wins by much and seldom loses by much."""


def candidate_averages(models: Iterable[ModelSpec] = REPRESENTATIVES) -> tuple[ModelSpec, ...]:
    """Return the averages that can be picked: of two or three representatives, and the committee.

    All members are among ``models``.

    Examples
    --------
    >>> len(candidate_averages(REPRESENTATIVES[:3]))
    4
    """
    available = set(models)
    averages = averages_of(spec for spec in REPRESENTATIVES if spec in available)
    if available.issuperset(COMMITTEE):
        averages = (*averages, average_of(*COMMITTEE))
    return averages
