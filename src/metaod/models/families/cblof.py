"""CBLOF: cluster-based local outlier factors that are defined on every table."""

from typing import Any

import numpy as np
import scipy

from metaod._legal import OneOf, Whole, parameters
from metaod.models._arrays import Matrix, Scores
from metaod.models._estimator import Estimator
from metaod.models._family import MANY_ROWS, Family, Settings, more_rows_than

_SHARE_OF_LARGE = 0.9  # alpha in PyOD: the large clusters have at least this share of the rows
_DROP = 5  # beta in PyOD: ratio of sizes at which small clusters begin


class CBLOF(Estimator):
    """Distance to the nearest large cluster's centre, times the cluster's size if ``use_weights``.

    Scores are those of PyOD's ``CBLOF``, which fails if no cluster is small; here all are then
    large.
    """

    legal = parameters(n_clusters=Whole(1), use_weights=OneOf((False, True)))

    def __init__(
        self, n_clusters: int = 8, use_weights: bool = False, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.use_weights = use_weights
        self.random_state = random_state

    def _fit(self, X: Matrix) -> Scores:
        from sklearn.cluster import KMeans  # noqa: PLC0415 - slow to import

        self.clusters_ = KMeans(self.n_clusters, random_state=self.random_state).fit(X)
        sizes = np.bincount(self.clusters_.labels_)
        by_size = np.argsort(-sizes)
        # a table of few distinct rows has empty clusters, into which new rows may fall
        self.sizes_ = np.pad(sizes, (0, self.n_clusters - len(sizes)))
        self.is_large_ = np.zeros(self.n_clusters, dtype=bool)
        self.is_large_[by_size[: self._n_large(sizes[by_size], len(X))]] = True
        return self._scores(X, self.clusters_.labels_)

    def _score(self, X: Matrix) -> Scores:
        return self._scores(X, self.clusters_.predict(X))

    @staticmethod
    def _n_large(sizes: Any, n_rows: int) -> int:
        """Return the number of large clusters, of sizes in descending order."""
        enough = np.cumsum(sizes)[:-1] >= n_rows * _SHARE_OF_LARGE
        drops = sizes[:-1] / sizes[1:] >= _DROP
        for condition in (enough & drops, enough, drops):
            if condition.any():
                return int(condition.argmax()) + 1
        return len(sizes)

    def _scores(self, X: Matrix, labels: Any) -> Scores:
        centres = self.clusters_.cluster_centers_
        large = self.is_large_[labels]
        scores = np.empty(len(X))
        scores[large] = np.sqrt(np.sum(np.square(centres[labels[large]] - X[large]), axis=1))
        if not large.all():
            large_centres = centres[self.is_large_]
            scores[~large] = scipy.spatial.distance.cdist(X[~large], large_centres).min(axis=1)
        return scores * self.sizes_[labels] if self.use_weights else scores


FAMILY = Family(
    "CBLOF",
    CBLOF,
    {"n_clusters": (8,)},
    random=True,
    rule=more_rows_than("n_clusters", 8),
    extended=(Settings({"n_clusters": (8,)}),),
    learned_rows=MANY_ROWS,
)
