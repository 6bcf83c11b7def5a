"""ISAC: historical datasets in clusters, and the best model of the cluster that is nearest."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from metaod.errors import BadParameter
from metaod.learners._base import Learner, Matrix, Progress
from metaod.learners._cleaning import Cleaning
from metaod.learners._completion import below_known, completed
from metaod.learners._state import State, StateReader
from metaod.learners._training import Training

__all__ = ["ISAC", "anderson_darling", "g_means"]

Labels = npt.NDArray[np.intp]

_FEWEST = 8
"""Below so many values the test of normality says nothing."""


def anderson_darling(values: Matrix) -> float:
    """Anderson and Darling's statistic of normality, mean and variance estimated.

    With the factor ``1 + 4 / n - 25 / n^2`` with which Hamerly and Elkan's critical values go.
    scipy's own test stops at a significance of 1 %, far from theirs.

    Examples
    --------
    >>> bool(anderson_darling(np.repeat([0.0, 1.0], 20)) > 1.8692)
    True
    """
    n = len(values)
    ordered = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = 2 * np.arange(1, n + 1) - 1
    square = -n - float((odd * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))).sum()) / n
    return square * (1 + 4 / n - 25 / n**2)


def g_means(X: Matrix, *, critical: float, min_size: int, random_state: int) -> Labels:
    """Clusters of rows, their number found by tests of normality.

    Beginning with one cluster, each is split by 2-means; where its rows, projected on the line
    through the two centres, do not look normal, the halves take its place. At last clusters of
    fewer than ``min_size`` rows are dissolved, the smallest first: each row goes to the nearest
    of the centres that are left.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.
    critical : float
        A cluster is split where the statistic is larger.
    min_size : int
        Fewest rows in a cluster.
    random_state : int
        Seed of 2-means.

    Returns
    -------
    array of shape (n,)
        Numbers of the clusters, from 0.
    """
    waiting, found = [np.arange(len(X))], []
    while waiting:
        rows = waiting.pop()
        halves = _split(X[rows], critical, random_state)
        if halves is None:
            found.append(rows)
        else:
            waiting += [rows[halves], rows[~halves]]
    return _without_small(X, found, min_size)


def _split(X: Matrix, critical: float, random_state: int) -> npt.NDArray[np.bool_] | None:
    """Which rows belong to the first half; None where the rows look normal."""
    if len(X) < _FEWEST or not np.ptp(X, axis=0).any():
        return None
    # late: prediction does without scikit-learn, which is slow to import
    from sklearn.cluster import KMeans  # noqa: PLC0415

    labels = KMeans(2, n_init=10, random_state=random_state).fit(X).labels_
    first: npt.NDArray[np.bool_] = labels == labels[0]
    if first.all():
        return None
    axis = X[first].mean(axis=0) - X[~first].mean(axis=0)
    projected = X @ (axis / np.linalg.norm(axis))
    return first if anderson_darling(projected) > critical else None


def _without_small(X: Matrix, clusters: list[Labels], min_size: int) -> Labels:
    clusters = sorted(clusters, key=lambda rows: int(rows[0]))
    while len(clusters) > 1:
        sizes = [len(rows) for rows in clusters]
        smallest = int(np.argmin(sizes))
        if sizes[smallest] >= min_size:
            break
        scattered = clusters.pop(smallest)
        nearest = _nearest(X[scattered], _centres(X, clusters))
        clusters = [
            np.concatenate([rows, scattered[nearest == place]])
            for place, rows in enumerate(clusters)
        ]
    labels = np.empty(len(X), dtype=np.intp)
    for place, rows in enumerate(clusters):
        labels[rows] = place
    return labels


def _centres(X: Matrix, clusters: list[Labels]) -> Matrix:
    return np.array([X[rows].mean(axis=0) for rows in clusters])


def _nearest(X: Matrix, centres: Matrix) -> Labels:
    # a row at a time: the same bits alone and in a batch
    return np.array([((centres - row) ** 2).sum(axis=1).argmin() for row in X], dtype=np.intp)


@dataclass
class ISAC(Learner):
    """Scores models by their mean performance on the datasets of the nearest cluster.

    Clusters are found by g-means in cleaned meta-features, each normalised to [-1, 1] on the
    training datasets. A cell that is missing counts as its estimate (see
    :func:`~metaod.learners._completion.completed`); a model that has no value on a cluster is
    always below the best that has one.

    Parameters
    ----------
    critical : float, default=1.8692
        Anderson and Darling's statistic above which a cluster is split; the default is g-means'
        own, a significance of 0.0001.
    min_cluster_size : int, default=10
        Fewest datasets in a cluster.
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

    def _fit(self, training: Training, progress: Progress) -> None:  # noqa: ARG002 - the protocol's
        _check_positive("critical", self.critical)
        _check_positive("min_cluster_size", self.min_cluster_size)
        self.cleaning_ = Cleaning.fit(training.M)
        clean = self.cleaning_.transform(training.M)
        self.low_, self.high_ = clean.min(axis=0), clean.max(axis=0)
        normal = self._normalise(clean)
        labels = g_means(
            normal,
            critical=self.critical,
            min_size=self.min_cluster_size,
            random_state=self.random_state,
        )
        clusters = [np.flatnonzero(labels == place) for place in range(labels.max() + 1)]
        self.centres_ = _centres(normal, clusters)
        whole, known = completed(training.P), ~np.isnan(training.P)
        means = np.array([whole[rows].mean(axis=0) for rows in clusters])
        self.performance_ = below_known(
            means, np.array([known[rows].any(axis=0) for rows in clusters])
        )

    def _normalise(self, clean: Matrix) -> Matrix:
        width = np.where(self.high_ > self.low_, self.high_ - self.low_, 1.0)
        normal: Matrix = 2 * (clean - self.low_) / width - 1
        return normal

    def _predict(self, M: Matrix) -> Matrix:
        clean = self.cleaning_.transform(M)
        means: Matrix = self.performance_[_nearest(self._normalise(clean), self.centres_)]
        return means

    def _state(self) -> State:
        return {
            "cleaning": self.cleaning_.state(),
            "low": self.low_,
            "high": self.high_,
            "centres": self.centres_,
            "performance": self.performance_,
        }

    def _restore(self, reader: StateReader) -> None:
        self.cleaning_ = Cleaning.restore(reader.part("cleaning"))
        width = self.cleaning_.n_features
        self.low_ = reader.array("low", (width,))
        self.high_ = reader.array("high", (width,))
        self.centres_ = reader.array("centres", ("clusters", width))
        self.performance_ = reader.array("performance", ("clusters", "m"))
        if reader.size("clusters") == 0:
            raise reader.damaged("centres is empty")


def _check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise BadParameter("ISAC", name, "a positive number", value)
