"""The models of the extended space that averages are made of: one or a few a family."""

from collections.abc import Iterable

from metaod.models._averages import average_of, averages_of
from metaod.models._spec import ModelSpec

__all__ = ["COMMITTEE", "REPRESENTATIVES", "candidate_averages"]

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
"""What averages are made of, see :func:`~metaod.models._averages.averages_of`."""

COMMITTEE = tuple(
    ModelSpec.parse(model)
    for model in (
        "IForest(n_estimators=200, max_features=1.0, scaling=signedlog)",
        "SCiForest(n_dims=5, n_estimators=100, n_trials=3, max_depth=32, scaling=signedlog)",
        "KDE(gamma_scale=1.0, scaling=signedlog)",
        "KDE(gamma_scale=0.3, scaling=whitened)",
        "KNN(n_neighbors=300, method=largest, scaling=robust)",
        "MCD(core=0.75, scaling=robust)",
        "PCA(weighted=false, scaling=signedlog)",
    )
)
"""One model of each kind: their average seldom wins by much and seldom loses by much."""


def candidate_averages(models: Iterable[ModelSpec] = REPRESENTATIVES) -> tuple[ModelSpec, ...]:
    """The averages that may be picked: of two or three representatives, and of the committee.

    Parameters
    ----------
    models : iterable of ModelSpec, optional
        What there is; averages of other models are left out.

    Examples
    --------
    >>> len(candidate_averages(REPRESENTATIVES[:3]))
    4
    """
    there = set(models)
    averages = averages_of(spec for spec in REPRESENTATIVES if spec in there)
    if there.issuperset(COMMITTEE):
        averages = (*averages, average_of(*COMMITTEE))
    return averages
