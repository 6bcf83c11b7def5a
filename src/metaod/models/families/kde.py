"""One pass over the distances between rows serves every bandwidth of the kernel density.

A score is the negative logarithm of a Gaussian kernel density that leaves the row itself out. Only
differences of squared distances to the smallest are exponentiated, so that no density becomes 0.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._budget import why_over_budget
from metaod.models._spec import ModelSpec

__all__ = [
    "DEFAULT_GAMMA_SCALE",
    "KDEKernel",
    "centers_of",
    "gamma_unit",
    "is_gamma_scale",
    "leave_one_out_scores",
    "new_row_scores",
]

DEFAULT_GAMMA_SCALE = 0.3

ALL_ROWS_UP_TO = 20_000
"""Most rows that are all centres of the density; the time grows with their square."""
CENTERS = 10_000
"""Rows drawn as centres from a longer table."""

_SEED = 0  # of that draw: the detector is not random
_BLOCK = 2**18  # distances in a block: 2 MiB, what a core's own cache holds


def is_gamma_scale(value: object) -> bool:
    """Whether a value can be the multiple of a bandwidth: a positive, finite number."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 < value < float(np.finfo(np.float64).max)
    )


def gamma_unit(X: Matrix) -> float:
    """One over columns times the variance of all values; what scikit-learn's SVM calls "scale".

    Examples
    --------
    >>> gamma_unit(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    0.5
    """
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(X.var())
    if not np.isfinite(variance):
        raise OverflowError("distances between rows exceed the range of floating-point numbers")
    return 1.0 / (X.shape[1] * variance) if variance > 1e-290 else 1.0


def centers_of(n_rows: int) -> npt.NDArray[np.intp]:
    """Which rows are centres of the density: all, or from 20,001 rows on 10,000 drawn ones.

    Examples
    --------
    >>> centers_of(4)
    array([0, 1, 2, 3])
    >>> len(centers_of(30_000))
    10000
    """
    if n_rows <= ALL_ROWS_UP_TO:
        return np.arange(n_rows)
    drawn = np.random.default_rng(_SEED).choice(n_rows, CENTERS, replace=False)
    return np.sort(drawn)


class KDEKernel:
    """Leave-one-out Gaussian kernel densities of every bandwidth.

    Memory beyond the table: 2 MiB, a copy of the table and one of its centres, and a score a row
    and bandwidth.
    """

    families = frozenset({"KDE"})

    def serves(self, spec: ModelSpec) -> bool:
        """Whether only the bandwidth is set."""
        params: dict[str, Any] = dict(spec.params)
        return is_gamma_scale(params.pop("gamma_scale", DEFAULT_GAMMA_SCALE)) and not params

    def score(
        self,
        X: Matrix,
        specs: Sequence[ModelSpec],
        *,
        trials: int,  # noqa: ARG002 - not random
        mode: Mode,  # noqa: ARG002 - the one way is exact
        budget: Budget,
    ) -> Iterator[Scored]:
        """Score the specs, all in one pass."""
        n_rows, n_columns = X.shape
        n_centers = n_rows if n_rows <= ALL_ROWS_UP_TO else CENTERS
        wanted: dict[float, list[ModelSpec]] = defaultdict(list)
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            wanted[float(params.get("gamma_scale", DEFAULT_GAMMA_SCALE))].append(spec)
        over = why_over_budget(
            budget,
            seconds=n_rows * n_centers * (8e-9 + 2e-10 * n_columns),
            n_bytes=8 * (_BLOCK + (n_rows + n_centers) * (n_columns + 1) + n_rows * len(wanted)),
        )
        if over is not None:
            for spec in specs:
                yield Scored(spec, 0, CellState.OVER_BUDGET, reason=over)
            return
        scores, seconds = leave_one_out_scores(X, list(wanted))
        reason = ""
        if n_centers < n_rows:
            reason = f"densities around {n_centers} of the {n_rows} rows"
        for g, alike in enumerate(wanted.values()):
            for spec in alike:
                yield Scored(spec, 0, CellState.OK, scores[g], seconds[g], reason)


def leave_one_out_scores(X: Matrix, gamma_scales: Sequence[float]) -> tuple[Matrix, list[float]]:
    """Negative logarithms of the density at each row, which itself is left out of it.

    Distances come from inner products about the mean. Their rounding is of the order of the
    largest squared distance, which is at most the number of rows in units of ``1 / gamma_unit``:
    scores are right to about 1e-15 times rows times ``gamma_scale``.

    Parameters
    ----------
    X : ndarray of float, shape (n_rows, n_columns)
        The table, scaled; at least two rows.
    gamma_scales : sequence of float
        The bandwidths, each as a multiple of :func:`gamma_unit`.

    Returns
    -------
    scores : ndarray of float, shape (n_gamma_scales, n_rows)
    seconds : list of float
        What each bandwidth would have taken alone.

    Examples
    --------
    >>> scores, _ = leave_one_out_scores(np.array([[0.0], [1.0], [2.0], [9.0]]), [1.0])
    >>> scores[0].argmax()
    np.int64(3)
    """
    start = perf_counter()
    unit = gamma_unit(X)
    n_rows, n_columns = X.shape
    centers = centers_of(n_rows)
    own = np.full(n_rows, -1)
    own[centers] = np.arange(len(centers))
    # |a - b|² = |a|² + |b|² - 2ab
    centred = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    factors = np.ascontiguousarray(-2 * centred[centers].T)
    step = max(1, _BLOCK // len(centers))
    space = np.empty((min(step, n_rows), len(centers)))
    scores = np.empty((len(gamma_scales), n_rows))
    shared, each = perf_counter() - start, [0.0] * len(gamma_scales)
    for first in range(0, n_rows, step):
        start = perf_counter()
        rows = slice(first, min(first + step, n_rows))
        distances = space[: rows.stop - first]
        np.matmul(centred[rows], factors, out=distances)
        distances += squares[centers]
        distances += squares[rows, np.newaxis]
        nearest = _leave_out(distances, own[rows])
        shared += perf_counter() - start
        for g, gamma_scale in enumerate(gamma_scales):
            start = perf_counter()
            scores[g, rows] = _log_sums(distances, nearest, gamma_scale * unit)
            each[g] += perf_counter() - start
    others = len(centers) - (own >= 0)
    for g, gamma_scale in enumerate(gamma_scales):
        scores[g] = _log_volume(gamma_scale * unit, n_columns) + np.log(others) - scores[g]
    return scores, [shared + seconds for seconds in each]


def new_row_scores(centers: Matrix, gamma: float, X: Matrix) -> Scores:
    """Negative logarithms of the density around the centres, at each row by itself.

    Infinite where a row is too far from all centres for a number to hold the squared distance.

    Examples
    --------
    >>> new_row_scores(np.array([[0.0]]), np.pi, np.array([[0.0], [1.0], [1e200]]))
    array([0.   , 3.14..., inf])
    """
    constant = _log_volume(gamma, centers.shape[1]) + np.log(len(centers))
    scores: Scores = constant - _log_sums_of_new(centers, gamma, X)
    return scores


def _log_volume(gamma: float, n_columns: int) -> float:
    """Logarithm of the integral of exp(-gamma |x|²)."""
    return 0.5 * n_columns * float(np.log(np.pi) - np.log(gamma))


@njit(cache=True)
def _leave_out(distances: Matrix, own: npt.NDArray[np.int64]) -> Scores:
    """Put the rows themselves out of reach; what is then the smallest distance of each row."""
    nearest = np.empty(len(own))
    for r in range(distances.shape[0]):
        if own[r] >= 0:
            distances[r, own[r]] = np.inf
        low = np.inf
        for t in range(distances.shape[1]):
            # rounding makes the distance of equal rows negative
            distances[r, t] = max(distances[r, t], 0.0)
            low = min(low, distances[r, t])
        nearest[r] = low
    return nearest


@njit(cache=True)
def _log_sums(distances: Matrix, nearest: Scores, gamma: float) -> Scores:
    result = np.empty(len(nearest))
    for r in range(distances.shape[0]):
        result[r] = _log_sum(distances[r], nearest[r], gamma)
    return result


@njit(cache=True)
def _log_sums_of_new(centers: Matrix, gamma: float, X: Matrix) -> Scores:
    result = np.empty(len(X))
    distances = np.empty(len(centers))
    for i in range(X.shape[0]):
        for t in range(centers.shape[0]):
            total = 0.0
            for c in range(centers.shape[1]):
                total += (X[i, c] - centers[t, c]) ** 2
            distances[t] = total
        low = distances.min()
        result[i] = _log_sum(distances, low, gamma) if np.isfinite(low) else -np.inf
    return result


@njit(cache=True)
def _log_sum(distances: Scores, low: float, gamma: float) -> float:
    """Logarithm of the sum of exp(-gamma distance), of which the nearest is exp(0)."""
    total = 0.0
    for t in range(distances.size):
        total += np.exp(gamma * (low - distances[t]))
    log_sum: float = np.log(total) - gamma * low
    return log_sum
