"""MCD: robust Mahalanobis distances by a deterministic search."""

from numbers import Real
from typing import Any

import numpy as np

from metaod.errors import BadParameter
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator
from metaod.models._family import Family, Settings, add_builtin

__all__ = ["MCD"]


class MCD(Estimator):
    """Mahalanobis distance by the mean and covariance of the more concentrated half of the rows.

    The half with the smallest covariance determinant is searched for from a few robust estimates
    as in DetMCD (Hubert, Rousseeuw and Verdonck, 2012), not from hundreds of random subsets as in
    FastMCD, which PyOD's ``MCD`` runs: scores are the same every time, in a fraction of the time.
    Location and covariance are then computed again from all rows that are not far from that half,
    and once more from the share ``core`` of the rows that are nearest, if it is given: a smaller
    core excludes outliers in large numbers. ``support_`` marks the rows that were used last.

    Rows in a plane, for example duplicates or columns that add up, are allowed: a direction in
    which the half has no extent gets a millionth of the table's variance.

    Examples
    --------
    >>> MCD().fit([[0.0], [0.1], [0.2], [0.3], [5.0]]).decision_scores_.argmax()
    np.int64(4)
    """

    def __init__(self, core: float | None = None) -> None:
        self.core = core

    def _fit(self, X: Matrix) -> Scores:
        # late: needs scipy.stats, which is slow to import
        from metaod.models._robust_covariance import (  # noqa: PLC0415 - see above
            core_gaussian,
            reweighted_gaussian,
        )

        given: Any = self.core
        if given is not None and not (isinstance(given, Real) and 0 < float(given) <= 1):
            raise BadParameter("MCD", "core", "a float in the range (0, 1], or None", given)
        self._shift = np.median(X, axis=0)
        spread = X.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        scaled = (X - self._shift) / self._scale
        if given is None:
            self._gaussian, self.support_ = reweighted_gaussian(scaled)
        else:
            self._gaussian, self.support_ = core_gaussian(scaled, float(given))
        return self._gaussian.distances(scaled)

    def _score(self, X: Matrix) -> Scores:
        return self._gaussian.distances((X - self._shift) / self._scale)


def _enough_rows(params: dict[str, Any], n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
    # the half of the rows that counts has to span the columns
    if n_rows < 2 * n_columns + 2:
        needed = 2 * n_columns + 2
        return f"{n_columns} columns need at least {needed} rows, the table has {n_rows}"
    # a hundred covariances and their decompositions take minutes beyond
    if n_columns > 300:
        return f"takes at most 300 columns, the table has {n_columns}"
    return None


add_builtin(
    Family(
        "MCD",
        MCD,
        {"core": (0.75,)},
        rule=_enough_rows,
        extended=(Settings({}, ("robust", "signedlog")), Settings({"core": (0.75,)}, ("robust",))),
    )
)
