"""The extended space: few settings of many families, each on the scalings that suit it.

The same detector on another scaling is another model. Settings that the paper has too keep their
ids, so that they are computed once for both spaces.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from metaod.models._extended_families import FAMILIES
from metaod.models._family import Family
from metaod.models._spec import DEFAULT_SCALING, ModelSpec

__all__ = ["EXTENDED_FAMILIES", "extended_models"]

EXTENDED_FAMILIES = (
    Family(
        "KDE",
        "metaod.models.families.kde_estimator:LeaveOneOutKDE",
        {"gamma_scale": (0.1, 0.3, 1.0, 3.0)},
        builtin=True,
    ),
    *FAMILIES,
)
"""Families of the package's own that the paper does not have."""


class _Part(NamedTuple):
    detector: str
    grid: Mapping[str, Sequence[Any]]
    scalings: Sequence[str] = (DEFAULT_SCALING,)


_ALL = ("zscore", "robust", "signedlog", "whitened")
_FAR = {"method": ("largest",)}
_OBLIQUE = {"n_estimators": (100,), "n_trials": (3,), "max_depth": (32,)}
"""Three hyperplanes a node and 32 levels find what ten and no limit do, in half the time."""

_PARTS = (
    _Part("KDE", {"gamma_scale": (0.3, 1.0)}, _ALL),
    _Part("KNN", {"n_neighbors": (5, 20, 100, 300), **_FAR}),
    _Part("KNN", {"n_neighbors": (20, 100, 300), **_FAR}, ("robust",)),
    _Part("KNN", {"n_neighbors": (100, 300), **_FAR}, ("signedlog", "whitened")),
    _Part("LOF", {"n_neighbors": (20, 100, 400), "metric": ("euclidean",)}),
    _Part("OCSVM", {"nu": (0.9,), "kernel": ("rbf",)}, ("zscore", "robust")),
    # PyOD's default, against which every other choice is measured
    _Part("IForest", {"n_estimators": (100,), "max_features": (1.0,)}),
    _Part("IForest", {"n_estimators": (200,), "max_features": (0.5,)}),
    _Part("IForest", {"n_estimators": (200,), "max_features": (1.0,)}, ("zscore", "signedlog")),
    _Part("HBOS", {"n_bins": (10,), "alpha": (0.1,)}),
    _Part("SCiForest", {"n_dims": (5,), **_OBLIQUE}, ("robust", "signedlog")),
    _Part("SCiForest", {"n_dims": (2,), **_OBLIQUE}, ("signedlog",)),
    _Part("ExtendedIForest", {"n_dims": (2,), "n_estimators": (200,)}, ("signedlog",)),
    _Part("MCD", {}, ("robust", "signedlog")),
    _Part("MCD", {"core": (0.75,)}, ("robust",)),
    _Part("PCA", {"weighted": (True,)}),
    _Part("PCA", {"weighted": (False,)}, ("signedlog",)),
    _Part("COPOD", {}),
    _Part("CBLOF", {"n_clusters": (8,)}),
)


def extended_models() -> Iterator[ModelSpec]:
    """The models of the extended space, family by family, each grid once a scaling.

    Examples
    --------
    >>> next(extended_models())
    KDE(gamma_scale=0.3)
    """
    for part in _PARTS:
        for scaling, *values in product(part.scalings, *part.grid.values()):
            yield ModelSpec(part.detector, dict(zip(part.grid, values, strict=True)), scaling)
