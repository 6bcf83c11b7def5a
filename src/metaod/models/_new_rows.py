"""Score new rows against a training table: distances in single precision, row by row.

Differences of columns are squared and added for one row at a time, so a row's score does not depend
on the rows that it is scored with, as it would with inner products of blocks. Rows are centred
before they are rounded to single precision; where that is too coarse, the row is computed again in
double precision. The compiled functions release the interpreter's lock.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores, njit

Floats32 = npt.NDArray[np.float32]

LEAST_ROWS = 2_000
"""Training rows from which these functions are used: for fewer, compiling them takes longer than
they save."""

_TILE = 1024  # training rows at a time, whose distances stay in the first cache
_FASTMATH = {"reassoc", "contract", "nsz"}  # lets the compiler add several columns at once

# a distance below this share of the row's own length is computed in double precision
_COARSE = np.float32(1e-3)
_HUGE = np.float32(1e30)  # squared distances above it might overflow
_STRIDE = 16  # every so many distances tell where the k-th smallest lies
_LARGEST, _MEAN, _MEDIAN = range(3)
METHODS = ("largest", "mean", "median")

_HALVINGS = 7  # of the exponent; exp(x) = exp(x / 128) ** 128
_FLOOR = np.float32(-80.0 / 2**_HALVINGS)  # exp(-80) adds nothing to a sum that has exp(0)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that new rows are compared with.

    Parameters
    ----------
    rows : ndarray of float, shape (n_rows, n_columns)
        As given.
    centre : ndarray of float, shape (n_columns,)
        Their mean.
    columns : ndarray of float32, shape (n_columns, n_rows)
        Centred, column by column.
    """

    rows: Matrix
    centre: Scores
    columns: Floats32

    @classmethod
    def of(cls, rows: Matrix) -> Self:
        """Prepare a table."""
        centre = rows.mean(axis=0)
        return cls(rows, centre, np.ascontiguousarray(_single(rows - centre).T))

    def kth_distances(self, X: Matrix, k: int, method: str) -> Scores:
        """Return the largest, mean or median distance of each row to the k nearest rows."""
        kind = METHODS.index(method)
        return np.asarray(
            _kth_distances(_single(X - self.centre), X, self.columns, self.rows, k, kind)
        )

    def log_sums(self, X: Matrix, gamma: float) -> Scores:
        """Return log(sum(exp(-gamma * squared distance))) of each row over the training rows."""
        return np.asarray(_log_sums(_single(X - self.centre), X, self.columns, self.rows, gamma))


def _single(X: Matrix) -> Floats32:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32)


@njit(cache=True, nogil=True, fastmath=_FASTMATH)
def _squared_distances(row: Any, columns: Any, out: Any) -> None:
    """Write the squared distances of a row to all training rows."""
    n_columns, n_rows = columns.shape
    for start in range(0, n_rows, _TILE):
        stop = min(start + _TILE, n_rows)
        total = out[start:stop]
        total[:] = 0.0
        c = 0
        # four columns at a time save loads and stores of the totals
        while c + 4 <= n_columns:
            a, b, d, e = row[c], row[c + 1], row[c + 2], row[c + 3]
            w, x = columns[c, start:stop], columns[c + 1, start:stop]
            y, z = columns[c + 2, start:stop], columns[c + 3, start:stop]
            for t in range(total.size):
                total[t] += (a - w[t]) ** 2 + (b - x[t]) ** 2 + (d - y[t]) ** 2 + (e - z[t]) ** 2
            c += 4
        while c < n_columns:
            a = row[c]
            w = columns[c, start:stop]
            for t in range(total.size):
                total[t] += (a - w[t]) ** 2
            c += 1


@njit(cache=True, nogil=True)
def _exact_distances(row: Any, rows: Any, out: Any) -> None:
    for t in range(rows.shape[0]):
        total = 0.0
        for c in range(rows.shape[1]):
            total += (row[c] - rows[t, c]) ** 2
        out[t] = total


# sums of exponentials


@njit(cache=True, nogil=True)
def _log_sums(single: Any, X: Any, columns: Any, rows: Any, gamma: float) -> Any:
    """Return -inf for a row too far from all centres for a float to hold the squared distance."""
    result = np.empty(len(X))
    distances = np.empty(columns.shape[1], np.float32)
    exact = np.empty(0)
    for i in range(len(X)):
        _squared_distances(single[i], columns, distances)
        low = _lowest(distances)
        if low < _HUGE:
            total = _sum_of_exponentials(distances, low, np.float32(gamma / 2**_HALVINGS))
            result[i] = np.log(total) - gamma * low
            continue
        if exact.size == 0:
            exact = np.empty(columns.shape[1])
        _exact_distances(X[i], rows, exact)
        least = exact.min()
        if not np.isfinite(least):
            result[i] = -np.inf
            continue
        result[i] = log_sum(exact, least, gamma)
    return result


@njit(cache=True, nogil=True)
def log_sum(distances: Any, low: float, gamma: float) -> Any:
    """Return the logarithm of the sum of exp(-gamma distance); ``low`` is the least distance."""
    total = 0.0
    for t in range(distances.size):
        total += np.exp(gamma * (low - distances[t]))
    return np.log(total) - gamma * low


@njit(cache=True, nogil=True, fastmath=_FASTMATH | {"nnan"})
def _lowest(values: Any) -> Any:
    low = values[0]
    for t in range(values.size):
        low = min(low, values[t])
    return low


@njit(cache=True, nogil=True, fastmath=_FASTMATH | {"nnan"})
def _sum_of_exponentials(distances: Any, low: Any, unit: Any) -> Any:
    """Return the sum of exp(128 * unit * (low - distance)), right to six digits.

    The compiler turns the polynomial and the squares into vector instructions; a call of exp would
    be scalar.
    """
    total = np.float32(0.0)
    one, a, b = np.float32(1.0), np.float32(1 / 2), np.float32(1 / 6)
    c, d, e = np.float32(1 / 24), np.float32(1 / 120), np.float32(1 / 720)
    for t in range(distances.size):
        r = max(unit * (low - distances[t]), _FLOOR)
        p = one + r * (one + r * (a + r * (b + r * (c + r * (d + r * e)))))
        for _ in range(_HALVINGS):
            p *= p
        total += p
    return total


# the k nearest


@njit(cache=True, nogil=True)
def _kth_distances(single: Any, X: Any, columns: Any, rows: Any, k: int, kind: int) -> Any:
    n_training = columns.shape[1]
    result = np.empty(len(X))
    distances = np.empty(n_training, np.float32)
    near = np.empty(n_training, np.float32)
    pilot = np.empty((n_training + _STRIDE - 1) // _STRIDE, np.float32)
    exact = np.empty(0)
    for i in range(len(X)):
        _squared_distances(single[i], columns, distances)
        length = np.float32(0.0)
        for c in range(single.shape[1]):
            length += single[i, c] * single[i, c]
        count = _nearest(distances, k, pilot, near)
        _select(near, count, k - 1)
        if near[k - 1] > _COARSE * _COARSE * length and near[k - 1] < _HUGE:
            result[i] = _summary(near, k, kind)
            continue
        if exact.size == 0:
            exact = np.empty(n_training)
        _exact_distances(X[i], rows, exact)
        _select(exact, n_training, k - 1)
        result[i] = _summary(exact, k, kind)
    return result


@njit(cache=True, nogil=True)
def _nearest(distances: Any, k: int, pilot: Any, near: Any) -> Any:
    """Copy at least the k smallest of the values to `near`; return how many are copied."""
    n = distances.size
    if n <= 4 * k or n < 64 * _STRIDE:
        near[:n] = distances
        return n
    for t in range(pilot.size):
        pilot[t] = distances[t * _STRIDE]
    share = k / _STRIDE
    place = min(int(share + 3.0 * np.sqrt(share) + 1.0), pilot.size - 1)
    while True:
        _select(pilot, pilot.size, place)
        limit = pilot[place]
        if count_within(distances, limit) >= k:
            break
        if place == pilot.size - 1:
            near[:n] = distances
            return n
        place = min(2 * place, pilot.size - 1)
    count = np.uint64(0)  # an index that cannot be negative needs no test
    for t in range(n):
        # always written, counted if near: a branch would be mispredicted
        near[count] = distances[t]
        count += np.uint64(distances[t] <= limit)
    return np.int64(count)


@njit(cache=True, nogil=True)
def count_within(values: Any, limit: Any) -> Any:
    """Return how many of the values do not exceed a limit."""
    count = np.int32(0)
    for t in range(values.size):
        count += np.int32(values[t] <= limit)
    return np.int64(count)


@njit(cache=True, nogil=True)
def _select(values: Any, count: int, place: int) -> None:
    """Reorder the first values so that the one at `place` has none larger before it."""
    first, last = 0, count - 1
    while first < last:
        middle = (first + last) // 2
        a, b, c = values[first], values[middle], values[last]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            last = j
        elif place >= i:
            first = i
        else:
            return


@njit(cache=True, nogil=True)
def _summary(near: Any, k: int, kind: int) -> Any:
    """Return a distance from squared ones, of which the k smallest come first and the k-th last."""
    if kind == _LARGEST:
        return np.sqrt(np.float64(near[k - 1]))
    if kind == _MEAN:
        total = 0.0
        for t in range(k):
            total += np.sqrt(np.float64(near[t]))
        return total / k
    _select(near, k, k // 2)
    upper = np.sqrt(np.float64(near[k // 2]))
    if k % 2:
        return upper
    _select(near, k // 2, k // 2 - 1)
    return (np.sqrt(np.float64(near[k // 2 - 1])) + upper) / 2
