"""Cluster-based local outlier factors that are defined on every table, with PyOD's interface."""

from typing import Any

from pyod.models import cblof as pyod_cblof

__all__ = ["CBLOF"]


class CBLOF(pyod_cblof.CBLOF):  # type: ignore[misc]  # PyOD ships no annotations
    """Distance to the nearest large cluster's centre.

    It is PyOD's ``CBLOF``, which fails where no cluster is small: where even the smallest holds
    more than a tenth of the rows. All clusters are large then.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    use_weights : bool, default=False
        Whether distances are multiplied by the size of the row's cluster.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.
    random_state : int, RandomState or None, default=None
        Seed.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [7.0]]
    >>> CBLOF(n_clusters=2, contamination=0.2, random_state=0).fit(X).labels_
    array([0, 0, 0, 0, 1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        use_weights: bool = False,
        contamination: float = 0.1,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters=n_clusters,
            use_weights=use_weights,
            contamination=contamination,
            random_state=random_state,
        )

    def _set_small_large_clusters(self, n_samples: int) -> None:
        try:
            super()._set_small_large_clusters(n_samples)
        except ValueError:
            self.small_cluster_labels_: list[int] = []
            self.large_cluster_labels_ = list(range(self.n_clusters_))
            self._large_cluster_centers = self.cluster_centers_
