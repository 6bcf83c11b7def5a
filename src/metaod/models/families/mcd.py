"""MCD: robust Mahalanobis distances by a deterministic search."""

from typing import Any

import numpy as np

from metaod._legal import Number, parameters
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator
from metaod.models._family import MANY_ROWS, Family, Settings


class MCD(Estimator):
    """Mahalanobis distance by the mean and covariance of the more concentrated half of the rows.

    The half with the smallest covariance determinant is found from a few robust estimates as in
    DetMCD (Hubert, Rousseeuw and Verdonck, 2012), much faster than PyOD's random FastMCD. Location
    and covariance are then computed again from all rows near that half, or from the share ``core``
    of the nearest rows; a smaller core excludes more outliers. ``support_`` marks the rows used.
    A direction in which the half has no extent gets a millionth of the table's variance.

    The last ``n_fixed`` columns are in fixed units of length ``fixed_unit``. They are not part of
    the covariance, in which most of them have no extent: their squares are added to the distance.
    """

    legal = parameters(core=Number(0, 1, ends="(]", optional=True))

    def __init__(self, core: float | None = None) -> None:
        self.core = core

    def _fit(self, X: Matrix) -> Scores:
        from metaod.models import _robust_covariance as robust  # noqa: PLC0415 - scipy.stats is slow to import

        # a table without measured columns has only the others to go by
        self._n_added = self.n_fixed if self.n_fixed < X.shape[1] else 0
        everything, X = X, self._measured(X)
        self._shift = np.median(X, axis=0)
        spread = X.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        scaled = (X - self._shift) / self._scale
        if self.core is None:
            self._gaussian, self.support_ = robust.reweighted_gaussian(scaled)
        else:
            self._gaussian, self.support_ = robust.core_gaussian(scaled, float(self.core))
        return self._gaussian.distances(scaled) + self._added(everything)

    def _score(self, X: Matrix) -> Scores:
        scaled = (self._measured(X) - self._shift) / self._scale
        return self._gaussian.distances(scaled) + self._added(X)

    def _measured(self, X: Matrix) -> Matrix:
        return X[:, : X.shape[1] - self._n_added]

    def _added(self, X: Matrix) -> Scores:
        return np.asarray(((X[:, X.shape[1] - self._n_added :] / self.fixed_unit) ** 2).sum(axis=1))


def _enough_rows(params: dict[str, Any], n_rows: int, n_columns: int) -> str | None:  # noqa: ARG001 - a rule's signature
    # the half of the rows that counts has to span the columns
    needed = 2 * n_columns + 2
    if n_rows < needed:
        return f"{n_columns} columns need at least {needed} rows, the table has {n_rows}"
    # a hundred covariances and their decompositions would take minutes
    if n_columns > 300:
        return f"takes at most 300 columns, the table has {n_columns}"
    return None


FAMILY = Family(
    "MCD",
    MCD,
    {"core": (0.75,)},
    rule=_enough_rows,
    extended=(Settings({}, ("robust", "signedlog")), Settings({"core": (0.75,)}, ("robust",))),
    learned_rows=MANY_ROWS,
)
