"""KDE: negative logarithm of a Gaussian kernel density that leaves the row itself out.

One pass over the distances between rows serves every bandwidth. Only differences of squared
distances to the smallest are exponentiated, so no density becomes 0.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from metaod._legal import Number, parameters
from metaod.models import _new_rows
from metaod.models._arrays import Matrix, Scores, njit, squared_distances
from metaod.models._estimator import Estimator
from metaod.models._family import Family, Settings
from metaod.models._new_rows import TrainingRows, log_sum

ALL_ROWS_UP_TO = 20_000  # most rows that are all centres; the time grows with their square
CENTERS = 10_000  # rows drawn as centres from a longer table

_SEED = 0  # of the draw of centres: the detector is not random
_BLOCK = 2**18  # distances in a block: 2 MiB, which fit the cache of a core


class KDE(Estimator):
    """Scores a row by the negative logarithm of the density of the other rows around it.

    The density is the mean of the Gaussians ``exp(-gamma |x - c|²)`` around the training rows c,
    normalised; ``gamma`` is ``gamma_scale / (columns * variance of all values)``. PyOD's KDE has
    the row itself among the centres, which hides outliers if the bandwidth is small, and a
    bandwidth that does not depend on the number of columns.

    A table of more than 20,000 rows has 10,000 rows as centres, always the same for the same
    number of rows. A training row that is scored as a new row is itself a centre, so its score is
    lower than in training.

    Examples
    --------
    >>> KDE().fit([[0.0], [0.1], [0.2], [5.0]]).decision_scores_.argmax()
    np.int64(3)
    """

    legal = parameters(gamma_scale=Number(0))

    def __init__(self, gamma_scale: float = 0.3) -> None:
        self.gamma_scale = gamma_scale

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models, all from one pass."""
        gamma_scales = [float(model.gamma_scale) for model in models]
        yield from zip(models, leave_one_out_scores(X, gamma_scales), strict=True)

    def _fit(self, X: Matrix) -> Scores:
        self.gamma_ = self.gamma_scale * _gamma_unit(X)
        self.centers_ = X[_centers_of(len(X))]
        many = len(self.centers_) >= _new_rows.LEAST_ROWS
        self._compared = TrainingRows.of(self.centers_) if many else None
        return np.asarray(leave_one_out_scores(X, [float(self.gamma_scale)])[0])

    def _score(self, X: Matrix) -> Scores:
        constant = _log_volume(self.gamma_, X.shape[1]) + np.log(len(self.centers_))
        if self._compared is not None:
            return np.asarray(constant - self._compared.log_sums(X, self.gamma_))
        return np.asarray(constant - _log_sums_of_few(self.centers_, self.gamma_, X))


def _gamma_unit(X: Matrix) -> float:
    """Return 1 / (columns * variance of all values), which scikit-learn's SVM calls "scale"."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(X.var())
    if not np.isfinite(variance):
        raise OverflowError("distances between rows exceed the range of floating-point numbers")
    return 1.0 / (X.shape[1] * variance) if variance > 1e-290 else 1.0


def _centers_of(n_rows: int) -> npt.NDArray[np.intp]:
    """Return the rows that are centres: all, or a random sample of a long table."""
    if n_rows <= ALL_ROWS_UP_TO:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(_SEED).choice(n_rows, CENTERS, replace=False))


def leave_one_out_scores(X: Matrix, gamma_scales: Sequence[float]) -> Matrix:
    """Return -log density at each row without the row itself, for each bandwidth.

    Distances come from inner products about the mean, whose rounding errors grow with the largest
    squared distance: scores are accurate to about 1e-15 times rows times ``gamma_scale``.
    """
    unit = _gamma_unit(X)
    n_rows, n_columns = X.shape
    centers = _centers_of(n_rows)
    own = np.full(n_rows, -1)
    own[centers] = np.arange(len(centers))
    scores = np.empty((len(gamma_scales), n_rows))
    step = max(1, _BLOCK // len(centers))
    for rows, distances in squared_distances(X, centers, step):
        nearest = _leave_out(distances, own[rows])
        for g, gamma_scale in enumerate(gamma_scales):
            scores[g, rows] = _log_sums(distances, nearest, gamma_scale * unit)
    others = len(centers) - (own >= 0)
    for g, gamma_scale in enumerate(gamma_scales):
        scores[g] = _log_volume(gamma_scale * unit, n_columns) + np.log(others) - scores[g]
    return scores


def _log_volume(gamma: float, n_columns: int) -> float:
    """Return the logarithm of the integral of exp(-gamma |x|²)."""
    return 0.5 * n_columns * float(np.log(np.pi) - np.log(gamma))


@njit(cache=True, nogil=True)
def _leave_out(distances: Matrix, own: npt.NDArray[np.int64]) -> Scores:
    """Set the rows' distances to themselves to infinity; return the smallest of each row."""
    nearest = np.empty(len(own))
    for r in range(distances.shape[0]):
        if own[r] >= 0:
            distances[r, own[r]] = np.inf
        low = np.inf
        for t in range(distances.shape[1]):
            # rounding can make the distance of equal rows negative
            distances[r, t] = max(distances[r, t], 0.0)
            low = min(low, distances[r, t])
        nearest[r] = low
    return nearest


@njit(cache=True, nogil=True)
def _log_sums(distances: Matrix, nearest: Scores, gamma: float) -> Scores:
    result = np.empty(len(nearest))
    for r in range(distances.shape[0]):
        result[r] = log_sum(distances[r], nearest[r], gamma)
    return result


def _log_sums_of_few(centers: Matrix, gamma: float, X: Matrix) -> Scores:
    """Return -inf for a row too far from all centres for a float to hold the squared distance."""
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - slow to import

    result = np.empty(len(X))
    step = max(1, _BLOCK // len(centers))
    for start in range(0, len(X), step):
        with np.errstate(over="ignore"):
            distances = cdist(X[start : start + step], centers, "sqeuclidean")
        low = distances.min(axis=1)
        with np.errstate(invalid="ignore"):
            sums = np.exp(gamma * (low[:, np.newaxis] - distances)).sum(axis=1)
        logs = np.log(sums) - gamma * low
        result[start : start + step] = np.where(np.isfinite(low), logs, -np.inf)
    return result


FAMILY = Family(
    "KDE",
    KDE,
    {"gamma_scale": (0.1, 0.3, 1.0, 3.0)},
    extended=(
        Settings({"gamma_scale": (0.3, 1.0)}, ("zscore", "robust", "signedlog", "whitened")),
    ),
)
