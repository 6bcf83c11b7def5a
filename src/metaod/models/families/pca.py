"""PyOD's principal components, defined where columns depend on each other."""

from typing import Any

import numpy as np
from pyod.models import pca as pyod_pca
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_array

__all__ = ["PCA"]

_NEGLIGIBLE = 1e-12
"""Share of the variance from which on down a component is a rounding error."""


class PCA(pyod_pca.PCA):  # type: ignore[misc]  # PyOD ships no annotations
    """Weighted distances to the principal components.

    It is PyOD's ``PCA`` without standardisation (the model's scaling has seen to it) and without
    components that have no variance, by which PyOD's divides.

    Parameters
    ----------
    weighted : bool, default=True
        Whether components of less variance count more.
    contamination : float, default=0.1
        Share of outliers; sets ``threshold_`` and ``labels_``.

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.1, 0.0], [0.2, 0.3], [5.0, 4.0]]
    >>> PCA(contamination=0.25).fit(X).labels_
    array([0, 0, 0, 1])
    """

    def __init__(self, weighted: bool = True, contamination: float = 0.1) -> None:
        super().__init__(
            weighted=weighted,
            contamination=contamination,
            svd_solver="full",
            standardization=False,
        )

    def fit(self, X: Any, y: object = None) -> "PCA":
        """Find the components and score the training rows; ``y`` is ignored."""
        X = check_array(X, dtype=np.float64, ensure_min_samples=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            super().fit(X, y)
        kept = self.explained_variance_ratio_ > _NEGLIGIBLE
        self.selected_components_ = self.components_[kept]
        self.selected_w_components_ = self.w_components_[kept]
        self.n_selected_components_ = int(kept.sum())
        distances = cdist(X, self.selected_components_) / self.selected_w_components_
        self.decision_scores_ = distances.sum(axis=1)
        self._process_decision_scores()
        return self
