"""Location and covariance of most of a table's rows, robust against outliers.

A deterministic search starts from a few robust estimates and finds the half of the rows with the
smallest covariance determinant, as in DetMCD (Hubert, Rousseeuw and Verdonck, 2012).
"""

from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import chi2, rankdata

from metaod.models._arrays import Matrix, product

Rows = npt.NDArray[np.bool_]

_FLOOR = 1e-6  # least variance in any direction, where columns have about unit spread
_MAX_STEPS = 100


class Gaussian(NamedTuple):
    """The centre and spread of rows."""

    centre: Matrix
    whitening: Matrix
    log_volume: float

    @classmethod
    def of(cls, X: Matrix) -> "Gaussian":
        """Return the Gaussian of rows whose columns have about unit spread in the table."""
        covariance = np.cov(X.T, bias=True).reshape(2 * X.shape[1:])
        variances, axes = np.linalg.eigh(covariance)
        # rows in a plane have no variance across it, but no row is infinitely far from it
        variances = np.maximum(variances, _FLOOR)
        return cls(X.mean(axis=0), axes / np.sqrt(variances), float(np.log(variances).sum()))

    def distances(self, X: Matrix) -> Matrix:
        """Return squared Mahalanobis distances of rows."""
        return np.asarray((product(X - self.centre, self.whitening) ** 2).sum(axis=1))


def reweighted_gaussian(X: Matrix) -> tuple[Gaussian, Rows]:
    """Return the Gaussian of all rows not far from the most concentrated half, and these rows."""
    n_rows, n_columns = X.shape
    half = min(n_rows, (n_rows + n_columns + 1) // 2)
    # scaled to the spread of all rows if these were normally distributed
    distances = _most_concentrated(X, half).distances(X)
    unit = float(np.median(distances)) / chi2.median(n_columns)
    support: Rows = distances <= unit * chi2.ppf(0.975, n_columns)
    return Gaussian.of(X[support]), support


def core_gaussian(X: Matrix, share: float) -> tuple[Gaussian, Rows]:
    """Return the Gaussian of the share of rows nearest to the centre of most rows, and these rows.

    Rows at equal distance to the last one are included. The columns have about unit spread.
    """
    distances = reweighted_gaussian(X)[0].distances(X)
    core: Rows = distances <= np.quantile(distances, share)
    return Gaussian.of(X[core]), core


def _most_concentrated(X: Matrix, half: int) -> Gaussian:
    """Return the Gaussian of the best half that the search finds."""
    # only the two starts that are best after a few steps continue
    found = [_concentrated(X, half, start, 3) for start in _starts(X)]
    best = sorted(found, key=attrgetter("log_volume"))[:2]
    ended = [_concentrated(X, half, start, _MAX_STEPS) for start in best]
    return min(ended, key=attrgetter("log_volume"))


def _concentrated(X: Matrix, half: int, gaussian: Gaussian, n_steps: int) -> Gaussian:
    """Alternate between the nearest half and its Gaussian; the determinant never increases."""
    for _ in range(n_steps):
        nearest = np.argpartition(gaussian.distances(X), half - 1)[:half]
        # in the table's order, so sums do not depend on how the half was found
        following = Gaussian.of(X[np.sort(nearest)])
        ended = following.log_volume >= gaussian.log_volume - 1e-10
        gaussian = following
        if ended:
            break
    return gaussian


def _starts(X: Matrix) -> list[Gaussian]:
    """Return rough estimates that a minority of outliers cannot distort."""
    n_rows, n_columns = X.shape
    deviations = np.abs(X).mean(axis=0)
    Z = X / np.where(deviations > 0, deviations, 1.0)
    ranks = rankdata(Z, axis=0)
    lengths = np.sqrt((Z**2).sum(axis=1))
    signs = Z / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
    inner = Z[np.argsort(lengths, kind="stable")[: -(-n_rows // 2)]]
    shapes = [np.tanh(Z), ranks, ndtri((ranks - 1 / 3) / (n_rows + 1 / 3)), signs, inner]
    starts = []
    for shape in shapes:
        # directions from the shape; centre and spread along them from medians of the table
        _, axes = np.linalg.eigh(np.cov(shape.T, bias=True).reshape(n_columns, n_columns))
        along = X @ axes
        centre = np.median(along, axis=0)
        spread = 1.4826 * np.median(np.abs(along - centre), axis=0)
        spread = np.maximum(spread, np.sqrt(_FLOOR))
        # the volume is not known before the first step
        starts.append(Gaussian(axes @ centre, axes / spread, np.inf))
    return starts
