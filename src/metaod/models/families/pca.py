"""PCA: distances to principal components."""

import numpy as np
import scipy

from metaod._legal import OneOf, parameters
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator
from metaod.models._family import MANY_ROWS, Family, Settings

_NEGLIGIBLE = 1e-12  # a smaller share of the variance is rounding


class PCA(Estimator):
    """Distances to the principal components; ``weighted``: those of less variance count more.

    Scores are those of PyOD's ``PCA`` without standardisation (the model's scaling does it) and
    without components that have no variance, by which PyOD's divides.
    """

    legal = parameters(weighted=OneOf((False, True)))

    def __init__(self, weighted: bool = True) -> None:
        self.weighted = weighted

    def _fit(self, X: Matrix) -> Scores:
        from sklearn import decomposition  # noqa: PLC0415 - slow to import

        with np.errstate(divide="ignore", invalid="ignore"):
            found = decomposition.PCA(svd_solver="full").fit(X)
        shares = found.explained_variance_ratio_
        kept = shares > _NEGLIGIBLE
        self.components_ = found.components_[kept]
        self.weights_ = shares[kept] if self.weighted else np.ones(kept.sum())
        return self._score(X)

    def _score(self, X: Matrix) -> Scores:
        distances = scipy.spatial.distance.cdist(X, self.components_)
        return np.asarray((distances / self.weights_).sum(axis=1))


FAMILY = Family(
    "PCA",
    PCA,
    {"weighted": (True, False)},
    extended=(
        Settings({"weighted": (True,)}),
        Settings({"weighted": (False,)}, ("signedlog",)),
    ),
    learned_rows=MANY_ROWS,
)
