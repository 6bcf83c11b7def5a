"""The paper's eight detector families and their grids: 302 models in all.

The table in the paper's appendix has slips; what stands here is what its authors ran (ABOD has 12
values, HBOS varies ``alpha``, the two lists of LODA change places), which also gives the number of
models that the paper uses throughout.
"""

from collections.abc import Callable
from typing import Any

from metaod.models._family import Family

__all__ = ["PAPER_FAMILIES"]

_NEIGHBOURS = (1, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)
_TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_SIZES = (10, 20, 30, 40, 50, 75, 100, 150, 200)


def neighbours_rule(default: int) -> Callable[[dict[str, Any], int, int], str | None]:
    """The rule that a table has more rows than ``n_neighbors``, which is ``default`` if not given.

    Examples
    --------
    >>> neighbours_rule(5)({}, 4, 2)
    'n_neighbors=5 needs at least 6 rows, the table has 4'
    """

    def rule(params: dict[str, Any], n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's form
        k = params.get("n_neighbors", default)
        if isinstance(k, int) and k >= n_rows:
            return f"n_neighbors={k} needs at least {k + 1} rows, the table has {n_rows}"
        return None

    return rule


def _minkowski_is_euclidean(params: dict[str, Any]) -> dict[str, Any]:
    # PyOD's LOF uses p = 2 unless told otherwise
    if params.get("metric") == "minkowski" and params.get("p", 2) == 2:
        return {name: value for name, value in params.items() if name != "p"} | {
            "metric": "euclidean"
        }
    return params


def _one_neighbour_has_one_distance(params: dict[str, Any]) -> dict[str, Any]:
    # the mean and the median of one distance are that distance
    if params.get("n_neighbors") == 1 and params.get("method") in ("mean", "median"):
        return params | {"method": "largest"}
    return params


PAPER_FAMILIES = (
    Family(
        "LOF",
        "pyod.models.lof:LOF",
        {"n_neighbors": _NEIGHBOURS, "metric": ("manhattan", "euclidean", "minkowski")},
        rule=neighbours_rule(20),
        canonical=_minkowski_is_euclidean,
        builtin=True,
    ),
    Family(
        "KNN",
        "pyod.models.knn:KNN",
        {"n_neighbors": _NEIGHBOURS, "method": ("largest", "mean", "median")},
        rule=neighbours_rule(5),
        canonical=_one_neighbour_has_one_distance,
        builtin=True,
    ),
    Family(
        "OCSVM",
        "pyod.models.ocsvm:OCSVM",
        {"nu": _TENTHS, "kernel": ("linear", "poly", "rbf", "sigmoid")},
        builtin=True,
    ),
    Family(
        "COF",
        "pyod.models.cof:COF",
        {"n_neighbors": (3, 5, 10, 15, 20, 25, 50)},
        rule=neighbours_rule(20),
        builtin=True,
    ),
    Family(
        "ABOD",
        "pyod.models.abod:ABOD",
        {"n_neighbors": (3, 5, 10, 15, 20, 25, 50, 60, 70, 80, 90, 100)},
        rule=neighbours_rule(5),
        builtin=True,
    ),
    Family(
        "IForest",
        "pyod.models.iforest:IForest",
        {"n_estimators": _SIZES, "max_features": _TENTHS},
        random=True,
        builtin=True,
    ),
    Family(
        "HBOS",
        "pyod.models.hbos:HBOS",
        {"n_bins": (5, 10, 20, 30, 40, 50, 75, 100), "alpha": (0.1, 0.2, 0.3, 0.4, 0.5)},
        builtin=True,
    ),
    Family(
        "LODA",
        "pyod.models.loda:LODA",
        {"n_bins": (5, 10, 15, 20, 25, 30), "n_random_cuts": _SIZES},
        random=True,
        builtin=True,
    ),
)
