"""Sequential minimal optimisation of the one-class SVM's dual problem.

Minimise ``alpha' K alpha / 2`` where every alpha is in [0, 1] and their sum is nu times the number
of rows. The first steps are those of LIBSVM (Chang and Lin 2011): its start, its choice of pairs by
second-order information (Fan, Chen and Lin 2005), its rule for leaving variables out of the
choice for a while, and its kernel values in single precision. A problem that LIBSVM solves in a few
passes therefore ends at LIBSVM's own solution. One that is not solved by then is badly conditioned,
and its path a matter of rounding; it is finished by turns with working sets (all variables but a
few fixed) and with steps on all variables, to the same tolerance in a fraction of the time.
"""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["TOLERANCE", "minimise", "offset", "starts"]

TOLERANCE = 1e-3
"""Largest violation of the optimality conditions at the end; LIBSVM's default."""

Kernel = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]

# steps a variable on LIBSVM's path; many where they cost little
_PATIENCE = 2
_PATIENCE_WITH_FEW = 1000
_FEW = 512

# then, by turns: so many rounds with a working set of so many variables, each of so many steps at
# most; and at first so many steps a variable on all of them, twice as many at each further turn
_ROUNDS = 200
_WORKING_SET = 128
_INNER_STEPS = 20_000
_STEPS = 10

# variables looked at, in steps together: some ten seconds. LIBSVM takes many minutes for a problem
# that is not solved by then, or goes round in circles
_MOST_WORK = 5e9
_BETWEEN_LOOKS = 2e8  # the same between two looks at the clock

# what may be done to a variable, as bits
_NOTHING = np.int8(0)
_GROW = np.int8(1)
_SHRINK = np.int8(2)

# a float's bits, those of a negative one flipped, order like the floats; and unlike the largest
# float, the largest integer is found several at a time
_FLIP = np.int64(2**63 - 1)
_NONE = np.int64(-(2**63))
_SMALLEST_CURVATURE = 1e-12


def starts(K: Kernel, nus: Sequence[float]) -> Iterator[tuple[float, Vector, Vector]]:
    """For each nu, in ascending order: it, LIBSVM's first alpha, and the gradient there.

    The first rows have alpha 1, so that each gradient continues the sum of the one before.
    """
    n_rows = len(K)
    summed, so_far = 0, np.zeros(n_rows)
    for nu in sorted(nus):
        # added up one by one, with LIBSVM's rounding
        total = float(np.cumsum(np.full(n_rows, nu))[-1])
        whole = int(total)
        _add_rows(K, np.arange(summed, whole), np.ones(whole - summed), so_far)
        summed = whole
        alpha, gradient = np.zeros(n_rows), so_far.copy()
        alpha[:whole] = 1.0
        if total > whole:
            alpha[whole] = total - whole
            _add_rows(K, np.array([whole]), alpha[whole : whole + 1], gradient)
        yield nu, alpha, gradient


def minimise(K: Kernel, diagonal: Vector, alpha: Vector, gradient: Vector, *, until: float) -> bool:
    """Bring alpha to the optimum, and its gradient with it, in place.

    Parameters
    ----------
    K : ndarray of float32, shape (n_rows, n_rows)
        Kernel matrix.
    diagonal : ndarray of float64, shape (n_rows,)
        Its diagonal in double precision.
    alpha, gradient : ndarray of float64, shape (n_rows,)
        Where to start, and ``K @ alpha`` there.
    until : float
        When to give up, on the clock of ``time.perf_counter``.

    Returns
    -------
    bool
        False when time ran out, or no end was in sight, before the optimum.
    """
    n_rows = len(alpha)
    steps = n_rows * (_PATIENCE_WITH_FEW if n_rows <= _FEW else _PATIENCE)
    if _in_steps(K, diagonal, alpha, gradient, steps, until):
        return True
    # LIBSVM's diagonal in double precision does not fit rows in single: equal rows then seem to
    # differ, and pairs of them can go round in circles for ever
    diagonal = K.diagonal().astype(np.float64)
    steps = n_rows * _STEPS
    work = 0
    while work < _MOST_WORK and perf_counter() < until:
        if _in_sets(K, diagonal, alpha, gradient):
            return True
        if _in_steps(K, diagonal, alpha, gradient, steps, until):
            return True
        work += steps * n_rows
        steps *= 2
    return False


def offset(alpha: Vector, gradient: Vector) -> float:
    """The decision function's offset: the gradient's mean over the free variables.

    Examples
    --------
    >>> offset(np.array([0.0, 0.5, 1.0]), np.array([3.0, 2.0, 1.0]))
    2.0
    """
    free = (alpha > 0) & (alpha < 1)
    if free.any():
        return float(gradient[free].mean())
    return float(gradient[alpha <= 0].min() + gradient[alpha >= 1].max()) / 2


def _in_steps(
    K: Kernel, diagonal: Vector, alpha: Vector, gradient: Vector, steps: int, until: float
) -> bool:
    """Make so many steps with LIBSVM's choice of pairs; whether the optimum is reached."""
    may, order = _bounds(alpha), _order(len(alpha))
    state = np.array([min(len(alpha), 1000), 0, 0, len(alpha)])
    at_once = int(_BETWEEN_LOOKS / len(alpha)) + 1
    while state[2] < steps and perf_counter() < until:
        left = min(at_once, steps - int(state[2]))
        if _advance(K, diagonal, alpha, gradient, may, order, state, TOLERANCE, left):
            return True
    return False


def _in_sets(K: Kernel, diagonal: Vector, alpha: Vector, gradient: Vector) -> bool:
    """Solve for the variables that violate optimality most, all others fixed, round by round."""
    kept = np.empty(0, dtype=np.intp)
    for _ in range(_ROUNDS):
        grow = np.where(alpha < 1, -gradient, -np.inf)
        shrink = np.where(alpha > 0, gradient, -np.inf)
        gap = grow.max() + shrink.max()
        if gap < TOLERANCE:
            return True
        # half of the set stays from round to round, or rounds would undo each other
        new = min(_WORKING_SET // (4 if kept.size else 2), len(alpha) - 1)
        chosen = np.union1d(np.argpartition(-grow, new)[:new], np.argpartition(-shrink, new)[:new])
        kept = np.setdiff1d(kept, chosen, assume_unique=True)[: _WORKING_SET - chosen.size]
        chosen = np.concatenate([chosen, kept])
        inner, part = alpha[chosen], gradient[chosen]
        tolerance = max(TOLERANCE / 2, gap / 10)
        state = np.array([np.iinfo(np.int64).max, 1, 0, chosen.size])
        _advance(
            np.ascontiguousarray(K[np.ix_(chosen, chosen)]),
            diagonal[chosen],
            inner,
            part,
            _bounds(inner),
            _order(chosen.size),
            state,
            tolerance,
            _INNER_STEPS,
        )
        change = inner - alpha[chosen]
        moved = np.flatnonzero(change)
        _add_rows(K, chosen[moved], change[moved], gradient)
        alpha[chosen] = inner
        free = (inner > 0) & (inner < 1)
        kept = np.concatenate([chosen[free], chosen[~free]])
    return False


def _order(size: int) -> Order:
    return np.tile(np.arange(size), (2, 1))


def _bounds(alpha: Vector) -> npt.NDArray[np.int8]:
    may = np.empty(alpha.size, dtype=np.int8)
    _set_bounds(alpha, may)
    return may


@njit(cache=True)
def _add_rows(K: Kernel, rows: npt.NDArray[np.intp], weights: Vector, gradient: Vector) -> None:
    for r in range(rows.size):
        row, weight = K[rows[r]], weights[r]
        for t in range(gradient.size):
            gradient[t] += weight * row[t]


@njit(cache=True)
def _advance(
    K: Kernel,
    diagonal: Vector,
    alpha: Vector,
    gradient: Vector,
    may: npt.NDArray[np.int8],
    order: Order,
    state: Any,
    tolerance: float,
    steps: int,
) -> bool:
    """Make so many steps, each on a pair of variables; whether the optimum is reached.

    ``order`` holds the variables in LIBSVM's order, which decides between equal ones, and the place
    of each. ``state`` holds the steps to go until variables are next left out of the choice,
    whether all were taken back near the end, the steps made, and how many are in the choice.
    """
    gains = np.empty(alpha.size)
    grow, shrink = _extremes(gradient, may)
    for _ in range(steps):
        i, j = _choose_pair(K, diagonal, gradient, may, order, gains, grow, shrink, tolerance)
        if j < 0:
            # take all variables back before saying that it is done
            _set_bounds(alpha, may)
            grow, shrink = _extremes(gradient, may)
            state[0], state[3] = 1, alpha.size
            i, j = _choose_pair(K, diagonal, gradient, may, order, gains, grow, shrink, tolerance)
            if j < 0:
                return True
        curvature = diagonal[i] + diagonal[j] - 2.0 * K[i, j]
        if curvature <= 0:
            curvature = _SMALLEST_CURVATURE
        # the best step on the pair, then cut to the box
        total = alpha[i] + alpha[j]
        step = (gradient[i] - gradient[j]) / curvature
        new, other = alpha[i] - step, alpha[j] + step
        if total > 1:
            if new > 1:
                new, other = 1.0, total - 1.0
            elif other > 1:
                new, other = total - 1.0, 1.0
        elif other < 0:
            new, other = total, 0.0
        elif new < 0:
            new, other = 0.0, total
        by_i, by_j = new - alpha[i], other - alpha[j]
        alpha[i], alpha[j] = new, other
        may[i] = _bound(new)
        may[j] = _bound(other)
        grow, shrink = _move(K[i], K[j], by_i, by_j, gradient, may)
        state[2] += 1
        state[0] -= 1
        if state[0] == 0:
            state[0] = min(alpha.size, 1000)
            grow, shrink = _leave_out(alpha, gradient, may, order, state, grow, shrink, tolerance)
    return False


@njit(cache=True)
def _choose_pair(
    K: Kernel,
    diagonal: Vector,
    gradient: Vector,
    may: npt.NDArray[np.int8],
    order: Order,
    gains: Vector,
    grow: np.int64,
    shrink: np.int64,
    tolerance: float,
) -> tuple[int, int]:
    """The variable that violates optimality most and the one with which a step gains most."""
    if min(grow, shrink) == _NONE or not _float(grow) + _float(shrink) >= tolerance:
        return -1, -1
    steepest = _float(grow)
    place = order[1]
    last = np.int64(-1)
    for t in range(gradient.size):
        equal = (gradient[t] == -steepest) & (may[t] & _GROW != 0)
        last = max(last, place[t] if equal else np.int64(-1))
    i = order[0, last]
    row, own = K[i], diagonal[i]
    most = _NONE
    for t in range(gradient.size):
        slope = steepest + gradient[t]
        curvature = own + diagonal[t] - 2.0 * np.float64(row[t])
        curvature = curvature if curvature > 0 else _SMALLEST_CURVATURE
        gain = slope * slope / curvature
        gain = gain if (slope > 0) & (may[t] >= _SHRINK) else -1.0
        gains[t] = gain
        most = max(most, _bits(gain))
    best = _float(most)
    if best < 0:
        return i, -1
    last = np.int64(-1)
    for t in range(gains.size):
        last = max(last, place[t] if gains[t] == best else np.int64(-1))
    return i, order[0, last]


@njit(cache=True)
def _move(
    row_i: Any,
    row_j: Any,
    by_i: float,
    by_j: float,
    gradient: Vector,
    may: npt.NDArray[np.int8],
) -> tuple[np.int64, np.int64]:
    """Follow a step with the gradient; its extremes come with it."""
    grow = shrink = _NONE
    for t in range(gradient.size):
        value = gradient[t] + (np.float64(row_i[t]) * by_i + np.float64(row_j[t]) * by_j)
        gradient[t] = value
        grow = max(grow, _bits(-value) if may[t] & _GROW else _NONE)
        shrink = max(shrink, _bits(value) if may[t] & _SHRINK else _NONE)
    return grow, shrink


@njit(cache=True)
def _extremes(gradient: Vector, may: npt.NDArray[np.int8]) -> tuple[np.int64, np.int64]:
    """Largest -gradient of those that may grow and gradient of those that may shrink, as bits."""
    grow = shrink = _NONE
    for t in range(gradient.size):
        grow = max(grow, _bits(-gradient[t]) if may[t] & _GROW else _NONE)
        shrink = max(shrink, _bits(gradient[t]) if may[t] & _SHRINK else _NONE)
    return grow, shrink


@njit(cache=True)
def _leave_out(
    alpha: Vector,
    gradient: Vector,
    may: npt.NDArray[np.int8],
    order: Order,
    state: Any,
    grow: np.int64,
    shrink: np.int64,
    tolerance: float,
) -> tuple[np.int64, np.int64]:
    """Leave variables that sit firmly at a bound out of the choice; near the end, all come back."""
    if min(grow, shrink) == _NONE:
        return grow, shrink
    steepest, other = _float(grow), _float(shrink)
    if state[1] == 0 and steepest + other <= 10 * tolerance:
        state[1], state[3] = 1, alpha.size
        _set_bounds(alpha, may)
    for t in range(alpha.size):
        if (alpha[t] >= 1 and -gradient[t] > steepest) or (alpha[t] <= 0 and gradient[t] > other):
            may[t] = _NOTHING
    # those left out change places with the last that stay
    here, size = 0, state[3]
    while here < size:
        if may[order[0, here]] == _NOTHING:
            size -= 1
            while size > here and may[order[0, size]] == _NOTHING:
                size -= 1
            a, b = order[0, here], order[0, size]
            order[0, here], order[0, size] = b, a
            order[1, a], order[1, b] = size, here
        here += 1
    state[3] = size
    return _extremes(gradient, may)


@njit(cache=True)
def _set_bounds(alpha: Vector, may: npt.NDArray[np.int8]) -> None:
    for t in range(alpha.size):
        may[t] = _bound(alpha[t])


@njit(cache=True)
def _bound(value: float) -> np.int8:
    return (_GROW if value < 1 else _NOTHING) | (_SHRINK if value > 0 else _NOTHING)


@njit(cache=True)
def _bits(value: float) -> Any:
    bits = np.float64(value).view(np.int64)
    return bits ^ ((bits >> 63) & _FLIP)


@njit(cache=True)
def _float(bits: np.int64) -> Any:
    return np.int64(bits ^ ((bits >> 63) & _FLIP)).view(np.float64)
