"""The extended space: few settings of many families, each on the scalings that suit it.

The same detector on another scaling is another model. Settings that the paper has too keep their
ids, so that they are computed once for both spaces.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from metaod.detectors.extended_families import FAMILIES, SCALINGS_OF
from metaod.detectors.families import Family
from metaod.detectors.spec import DEFAULT_SCALING, ModelSpec

__all__ = ["EXTENDED_FAMILIES", "extended_models"]

EXTENDED_FAMILIES = (
    Family(
        "KDE",
        "metaod.detectors.estimators.kde:LeaveOneOutKDE",
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


_ALL = ("zscore", "robust", "signedlog")

_PARTS = (
    _Part("KDE", EXTENDED_FAMILIES[0].grid, _ALL),
    _Part("KDE", {"gamma_scale": (0.1, 0.3)}, ("whitened",)),
    _Part("KNN", {"n_neighbors": (5, 20, 50, 100), "method": ("largest",)}, _ALL),
    _Part("KNN", {"n_neighbors": (20, 100), "method": ("largest",)}, ("whitened",)),
    _Part("LOF", {"n_neighbors": (20, 50, 100), "metric": ("euclidean",)}, ("zscore", "robust")),
    _Part("OCSVM", {"nu": (0.5, 0.9), "kernel": ("rbf",)}, ("zscore", "robust")),
    # PyOD's default, against which every other choice is measured
    _Part("IForest", {"n_estimators": (100,), "max_features": (1.0,)}),
    _Part(
        "IForest",
        {"n_estimators": (200,), "max_features": (0.2, 0.5, 1.0)},
        ("zscore", "signedlog"),
    ),
    _Part("HBOS", {"n_bins": (10, 50), "alpha": (0.1,)}, ("zscore", "signedlog")),
    _Part("LODA", {"n_bins": (10,), "n_random_cuts": (100,)}, ("zscore", "robust")),
    *(
        _Part(item.name, item.grid, SCALINGS_OF.get(item.name, (DEFAULT_SCALING,)))
        for item in FAMILIES
    ),
)


def extended_models() -> Iterator[ModelSpec]:
    """The models of the extended space, family by family, each grid once a scaling.

    Examples
    --------
    >>> next(extended_models())
    KDE(gamma_scale=0.1)
    """
    for part in _PARTS:
        for scaling, *values in product(part.scalings, *part.grid.values()):
            yield ModelSpec(part.detector, dict(zip(part.grid, values, strict=True)), scaling)
