"""ISAC: clusters of historical datasets, and the best model of the nearest cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from metaod._legal import Number, parameters
from metaod.learners import Learner, OnStep, Shape
from metaod.learners._cleaning import Cleaning
from metaod.learners._training import Training
from metaod.models import Matrix
from research.learners.performance import below_known, completed

Labels = npt.NDArray[np.intp]

_MIN_VALUES = 8  # for the test of normality


def anderson_darling(values: Matrix) -> float:
    """Return Anderson and Darling's statistic of normality, with estimated mean and variance.

    It has the factor ``1 + 4 / n - 25 / n^2`` of Hamerly and Elkan's critical values; scipy's test
    has no critical values below a significance of 1 %.
    """
    n = len(values)
    ordered = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = 2 * np.arange(1, n + 1) - 1
    square = -n - float((odd * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))).sum()) / n
    return square * (1 + 4 / n - 25 / n**2)


def g_means(X: Matrix, *, critical: float, min_size: int, random_state: int) -> Labels:
    """Return the cluster numbers (n,) of rows (n, d), from 0.

    2-means splits a cluster if its rows, projected on the line through the two centres, have a
    statistic of normality above ``critical``. Then clusters of fewer than ``min_size`` rows are
    dissolved, the smallest first: each row goes to the nearest remaining centre.
    """
    pending, found = [np.arange(len(X))], []
    while pending:
        rows = pending.pop()
        first_half = _split(X[rows], critical, random_state)
        if first_half is None:
            found.append(rows)
        else:
            pending += [rows[first_half], rows[~first_half]]
    return _dissolve_small(X, found, min_size)


def _split(X: Matrix, critical: float, random_state: int) -> npt.NDArray[np.bool_] | None:
    """Return the mask of the first half, or None if the rows look normal."""
    if len(X) < _MIN_VALUES or not np.ptp(X, axis=0).any():
        return None
    from sklearn.cluster import KMeans  # noqa: PLC0415 - slow to import; only for fitting

    labels = KMeans(2, n_init=10, random_state=random_state).fit(X).labels_
    first: npt.NDArray[np.bool_] = labels == labels[0]
    if first.all():
        return None
    axis = X[first].mean(axis=0) - X[~first].mean(axis=0)
    projected = X @ (axis / np.linalg.norm(axis))
    return first if anderson_darling(projected) > critical else None


def _dissolve_small(X: Matrix, clusters: list[Labels], min_size: int) -> Labels:
    clusters = sorted(clusters, key=lambda rows: int(rows[0]))
    while len(clusters) > 1:
        sizes = [len(rows) for rows in clusters]
        smallest = int(np.argmin(sizes))
        if sizes[smallest] >= min_size:
            break
        dissolved = clusters.pop(smallest)
        nearest = _nearest(X[dissolved], _centres(X, clusters))
        clusters = [
            np.concatenate([rows, dissolved[nearest == number]])
            for number, rows in enumerate(clusters)
        ]
    labels = np.empty(len(X), dtype=np.intp)
    for number, rows in enumerate(clusters):
        labels[rows] = number
    return labels


def _centres(X: Matrix, clusters: list[Labels]) -> Matrix:
    return np.array([X[rows].mean(axis=0) for rows in clusters])


def _nearest(X: Matrix, centres: Matrix) -> Labels:
    # one row at a time: batches give the same bits
    return np.array([((centres - row) ** 2).sum(axis=1).argmin() for row in X], dtype=np.intp)


@dataclass
class ISAC(Learner):
    """Scores models by their mean performance on the datasets of the nearest cluster.

    g-means finds the clusters in cleaned meta-features, normalised to [-1, 1] on the training
    datasets. A missing cell is replaced by its estimate
    (:func:`~research.learners.performance.completed`); a model without a value in a cluster is
    always below the best known model.

    Parameters
    ----------
    critical : float, default=1.8692
        Anderson and Darling's statistic above which a cluster is split; the default is that of
        g-means, a significance of 0.0001.
    min_cluster_size : int, default=10
        Minimal number of datasets in a cluster.
    random_state : int, default=0
        Seed of 2-means.

    References
    ----------
    S. Kadioglu, Y. Malitsky, M. Sellmann, K. Tierney: ISAC, instance-specific algorithm
    configuration. ECAI 2010.
    G. Hamerly, C. Elkan: Learning the k in k-means. NIPS 2003.

    Examples
    --------
    >>> P = np.array([[0.1, 0.5], [0.7, 0.3]] * 20)
    >>> M = np.array([[0.0], [1.0]] * 20)
    >>> ISAC().fit(P, M).choose([0.9])
    'model 0'
    """

    critical: float = 1.8692
    min_cluster_size: int = 10
    random_state: int = 0

    name: ClassVar[str] = "isac"
    title: ClassVar[str] = "ISAC"
    summary: ClassVar[str] = "the best model on average over the nearest cluster of datasets"
    is_random: ClassVar[bool] = True
    legal = parameters(critical=Number(0, ends="(]"), min_cluster_size=Number(0, ends="(]"))
    learned: ClassVar[Mapping[str, Any]] = {
        "cleaning": Cleaning,
        "low": Shape("kept"),
        "high": Shape("kept"),
        "centres": Shape("clusters", "kept"),
        "performance": Shape("clusters", "m"),
    }

    def _fit(self, training: Training, progress: OnStep) -> None:  # noqa: ARG002 - protocol
        self.cleaning_ = Cleaning.fit(training.M)
        clean = self.cleaning_.transform(training.M)
        self.low_, self.high_ = clean.min(axis=0), clean.max(axis=0)
        normal = self._normalise(clean)
        options = {"min_size": self.min_cluster_size, "random_state": self.random_state}
        labels = g_means(normal, critical=self.critical, **options)
        clusters = [np.flatnonzero(labels == number) for number in range(labels.max() + 1)]
        self.centres_ = _centres(normal, clusters)
        whole = completed(training.P)
        means = np.array([whole[rows].mean(axis=0) for rows in clusters])
        known = np.array([(~np.isnan(training.P[rows])).any(axis=0) for rows in clusters])
        self.performance_ = below_known(means, known)

    def _normalise(self, clean: Matrix) -> Matrix:
        width = np.where(self.high_ > self.low_, self.high_ - self.low_, 1.0)
        normal: Matrix = 2 * (clean - self.low_) / width - 1
        return normal

    def _predict(self, M: Matrix) -> Matrix:
        normal = self._normalise(self.cleaning_.transform(M))
        return self.performance_[_nearest(normal, self.centres_)]

    def _check_learned(self) -> None:
        if not len(self.centres_):
            raise ValueError("there are no clusters")
