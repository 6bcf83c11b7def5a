"""Detector families beyond the paper's: oblique isolation forests and PyOD's cheap ones.

Grids are small: few settings that differ in what they find, not many that hardly do.

Where PyOD's own class would do harm, a class of ours with its interface takes its place, with the
same training scores unless it says otherwise: ECOD and COPOD score new rows by the rows that come
with them, CBLOF fails where no cluster is small, weighted PCA divides by variances of 0, and MCD
is slow, random and fails where half of the rows are the same.
"""

from typing import Any

from metaod.models._family import Family

__all__ = ["FAMILIES"]

Params = dict[str, Any]


def _robust_covariance(params: Params, n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's form
    # the half of the rows that counts has to span the columns
    if n_rows < 2 * n_columns + 2:
        needed = 2 * n_columns + 2
        return f"{n_columns} columns need at least {needed} rows, the table has {n_rows}"
    # some hundred covariances and decompositions of them take minutes beyond
    if n_columns > 300:
        return f"takes at most 300 columns, the table has {n_columns}"
    return None


def _more_rows_than_clusters(params: Params, n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's form
    k = params.get("n_clusters", 8)
    if n_rows <= k:
        return f"n_clusters={k} needs at least {k + 1} rows, the table has {n_rows}"
    return None


_ESTIMATORS = "metaod.models.families"

FAMILIES = (
    Family(
        "SCiForest",
        f"{_ESTIMATORS}.oblique_estimator:SCiForest",
        # three hyperplanes a node and 32 levels find what ten and no limit do, at half the time
        {"n_estimators": (100,), "n_dims": (2, 5), "n_trials": (3,), "max_depth": (32,)},
        random=True,
        builtin=True,
    ),
    Family(
        "ExtendedIForest",
        f"{_ESTIMATORS}.oblique_estimator:ExtendedIForest",
        {"n_estimators": (200,), "n_dims": (2,)},
        random=True,
        builtin=True,
    ),
    Family(
        "MCD", f"{_ESTIMATORS}.mcd:MCD", {"core": (0.75,)}, rule=_robust_covariance, builtin=True
    ),
    Family("PCA", f"{_ESTIMATORS}.pca:PCA", {"weighted": (True, False)}, builtin=True),
    Family("ECOD", f"{_ESTIMATORS}.tails:ECOD", {}, builtin=True),
    Family("COPOD", f"{_ESTIMATORS}.tails:COPOD", {}, builtin=True),
    Family(
        "CBLOF",
        f"{_ESTIMATORS}.cblof:CBLOF",
        {"n_clusters": (8,)},
        random=True,
        rule=_more_rows_than_clusters,
        builtin=True,
    ),
)
"""The families; each can be had on any scaling."""
