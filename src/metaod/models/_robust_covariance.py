"""Location and covariance of the bulk of a table's rows, found by a deterministic search.

The half of the rows with the smallest covariance determinant is searched for from a few robust
estimates, as in DetMCD (Hubert, Rousseeuw and Verdonck, 2012).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import chi2, rankdata

from metaod.models._arrays import Matrix

Rows = npt.NDArray[np.bool_]

_FLOOR = 1e-6
"""Variance that every direction has at least, as a share of that of all rows together."""

_MAX_STEPS = 100


class Gaussian(NamedTuple):
    """Where rows lie and how far they spread."""

    centre: Matrix
    whitening: Matrix
    log_volume: float

    @classmethod
    def of(cls, X: Matrix) -> "Gaussian":
        """Mean and covariance of rows whose columns have about unit spread in the table."""
        covariance = np.cov(X.T, bias=True).reshape(2 * X.shape[1:])
        variances, axes = np.linalg.eigh(covariance)
        # rows that lie in a plane have no extent across it: rows beside it are far away, but not
        # infinitely so
        variances = np.maximum(variances, _FLOOR)
        return cls(X.mean(axis=0), axes / np.sqrt(variances), float(np.log(variances).sum()))

    def distances(self, X: Matrix) -> Matrix:
        """Squared Mahalanobis distances of rows."""
        squared: Matrix = (((X - self.centre) @ self.whitening) ** 2).sum(axis=1)
        return squared


def reweighted_gaussian(X: Matrix) -> tuple[Gaussian, Rows]:
    """Return the Gaussian of all rows not far from the most concentrated half, and which."""
    n_rows, n_columns = X.shape
    half = min(n_rows, (n_rows + n_columns + 1) // 2)
    # as wide as all rows would make it, were they normally distributed
    distances = _most_concentrated(X, half).distances(X)
    unit = float(np.median(distances)) / chi2.median(n_columns)
    support: Rows = distances <= unit * chi2.ppf(0.975, n_columns)
    return Gaussian.of(X[support]), support


def core_gaussian(X: Matrix, share: float) -> tuple[Gaussian, Rows]:
    """Return the Gaussian of that share of the rows that lies nearest to the bulk, and which.

    Rows as far away as the last of them count too. The columns have about unit spread.

    Examples
    --------
    >>> core_gaussian(np.array([[-1.0], [-0.5], [0.0], [0.5], [30.0]]), 0.75)[1]
    array([ True,  True,  True,  True, False])
    """
    distances = reweighted_gaussian(X)[0].distances(X)
    core: Rows = distances <= np.quantile(distances, share)
    return Gaussian.of(X[core]), core


def _most_concentrated(X: Matrix, half: int) -> Gaussian:
    """The Gaussian of the best half that the search finds."""
    # a few steps show which starts are worth going on with
    found = sorted(
        (_concentrated(X, half, start, 3) for start in _starts(X)), key=lambda g: g.log_volume
    )
    ended = [_concentrated(X, half, start, _MAX_STEPS) for start in found[:2]]
    return min(ended, key=lambda gaussian: gaussian.log_volume)


def _concentrated(X: Matrix, half: int, gaussian: Gaussian, n_steps: int) -> Gaussian:
    """Take the nearest half and its Gaussian in turn, which never increases the determinant."""
    for _ in range(n_steps):
        nearest = np.argpartition(gaussian.distances(X), half - 1)[:half]
        # in the table's order, so that sums are the same whichever way the half was found
        following = Gaussian.of(X[np.sort(nearest)])
        ended = following.log_volume >= gaussian.log_volume - 1e-10
        gaussian = following
        if ended:
            break
    return gaussian


def _starts(X: Matrix) -> list[Gaussian]:
    """Rough estimates that a minority of outliers cannot carry away."""
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
        # directions from the shape, spread and centre along them from the table's bulk
        _, axes = np.linalg.eigh(np.cov(shape.T, bias=True).reshape(n_columns, n_columns))
        along = X @ axes
        centre = np.median(along, axis=0)
        spread = 1.4826 * np.median(np.abs(along - centre), axis=0)
        spread = np.maximum(spread, np.sqrt(_FLOOR))
        starts.append(
            # of no volume yet: the first step decides
            Gaussian(axes @ centre, axes / spread, np.inf)
        )
    return starts
