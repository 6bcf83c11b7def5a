"""Sequential minimal optimisation of the one-class SVM's dual problem.

Minimise ``alpha' K alpha / 2`` where every alpha is in [0, 1] and their sum is nu times the number
of rows. The first steps are LIBSVM's (Chang and Lin 2011): its start, its choice of pairs by
second-order information (Fan, Chen and Lin 2005), its shrinking, and its kernel values in single
precision. A problem that LIBSVM solves in a few passes therefore ends at LIBSVM's solution. Any
other is badly conditioned and its path depends on rounding. It is finished by alternating between
working sets (all variables but a few fixed) and steps on all variables, to the same tolerance in a
fraction of the time.

scikit-learn's OneClassSVM on the same precomputed kernels is not used: for the paper's 36 models it
takes 3.7 times (1,800 x 21) and 5.3 times (5,800 x 36) as long (benchmarks/one_class_svm.py), and 8
instead of 4 bytes for each pair of rows.
"""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._compiled import njit

TOLERANCE = 1e-3
"""Largest violation of the optimality conditions at the end; LIBSVM's default."""

Kernel = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float64]
Moves = npt.NDArray[np.int8]
Order = npt.NDArray[np.int64]

# steps per variable on LIBSVM's path; many if they cost little
_PATIENCE = 2
_PATIENCE_WITH_FEW = 1000
_FEW = 512

# then, alternating: rounds with a working set of at most _INNER_STEPS steps each, and steps per
# variable on all variables, whose number doubles every time
_ROUNDS = 200
_WORKING_SET = 128
_INNER_STEPS = 20_000
_STEPS = 10

# steps times variables: about ten seconds. LIBSVM takes many minutes for a problem that is not
# solved by then, or never ends
_MOST_WORK = 5e9
_WORK_BETWEEN_CLOCK_CHECKS = 2e8

# how a variable may move, as bits
_NOTHING = np.int8(0)
_GROW = np.int8(1)
_SHRINK = np.int8(2)

# the bits of floats, flipped if negative, have the order of the floats; unlike a maximum of floats,
# a maximum of integers vectorises
_FLIP = np.int64(2**63 - 1)
_NONE = np.int64(-(2**63))
_SMALLEST_CURVATURE = 1e-12


def starts(K: Kernel, nus: Sequence[float]) -> Iterator[tuple[float, Vector, Vector]]:
    """Yield each nu, in ascending order, with LIBSVM's first alpha and the gradient there."""
    n_rows = len(K)
    summed, so_far = 0, np.zeros(n_rows)
    for nu in sorted(nus):
        # added one by one, with LIBSVM's rounding
        total = float(np.cumsum(np.full(n_rows, nu))[-1])
        whole = int(total)
        # the first rows have alpha 1, so each gradient continues the previous sum
        _add_rows(K, np.arange(summed, whole), np.ones(whole - summed), so_far)
        summed = whole
        alpha, gradient = np.zeros(n_rows), so_far.copy()
        alpha[:whole] = 1.0
        if total > whole:
            alpha[whole] = total - whole
            _add_rows(K, np.array([whole]), alpha[whole : whole + 1], gradient)
        yield nu, alpha, gradient


def minimise(K: Kernel, diagonal: Vector, alpha: Vector, gradient: Vector, *, until: float) -> bool:
    """Move alpha to the optimum and update its gradient ``K @ alpha``, both in place.

    Returns False if it gives up: at the time ``until`` of ``perf_counter``, or after too much work.
    """
    n_rows = len(alpha)
    steps = n_rows * (_PATIENCE_WITH_FEW if n_rows <= _FEW else _PATIENCE)
    if _in_steps(K, diagonal, alpha, gradient, steps, until):
        return True
    # LIBSVM's diagonal has double precision but its rows have single: equal rows then seem to
    # differ, and steps on pairs of them can repeat forever
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
    """Return the decision function's offset: the mean gradient of the free variables."""
    free = (alpha > 0) & (alpha < 1)
    if free.any():
        return float(gradient[free].mean())
    return float(gradient[alpha <= 0].min() + gradient[alpha >= 1].max()) / 2


def _in_steps(
    K: Kernel, diagonal: Vector, alpha: Vector, gradient: Vector, steps: int, until: float
) -> bool:
    """Make steps with LIBSVM's choice of pairs; return whether the optimum is reached."""
    moves, order = _moves(alpha), _order(len(alpha))
    state = np.array([min(len(alpha), 1000), 0, 0, len(alpha)])
    at_once = int(_WORK_BETWEEN_CLOCK_CHECKS / len(alpha)) + 1
    while state[2] < steps and perf_counter() < until:
        left = min(at_once, steps - int(state[2]))
        if _advance(K, diagonal, alpha, gradient, moves, order, state, TOLERANCE, left):
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
        # half of the set stays for the next round, or rounds would undo each other
        new = min(_WORKING_SET // (4 if kept.size else 2), len(alpha) - 1)
        chosen = np.union1d(np.argpartition(-grow, new)[:new], np.argpartition(-shrink, new)[:new])
        kept = np.setdiff1d(kept, chosen, assume_unique=True)[: _WORKING_SET - chosen.size]
        chosen = np.concatenate([chosen, kept])
        inner, part = alpha[chosen], gradient[chosen]
        tolerance = max(TOLERANCE / 2, gap / 10)
        state = np.array([np.iinfo(np.int64).max, 1, 0, chosen.size])
        among = np.ascontiguousarray(K[np.ix_(chosen, chosen)])
        moves, order = _moves(inner), _order(chosen.size)
        _advance(among, diagonal[chosen], inner, part, moves, order, state, tolerance, _INNER_STEPS)
        change = inner - alpha[chosen]
        moved = np.flatnonzero(change)
        _add_rows(K, chosen[moved], change[moved], gradient)
        alpha[chosen] = inner
        free = (inner > 0) & (inner < 1)
        kept = np.concatenate([chosen[free], chosen[~free]])
    return False


def _order(size: int) -> Order:
    return np.tile(np.arange(size), (2, 1))


def _moves(alpha: Vector) -> Moves:
    moves = np.empty(alpha.size, dtype=np.int8)
    _set_moves(alpha, moves)
    return moves


@njit(cache=True)
def _add_rows(K: Kernel, rows: npt.NDArray[np.intp], weights: Vector, gradient: Vector) -> None:
    for r in range(rows.size):
        row, weight = K[rows[r]], weights[r]
        for t in range(gradient.size):
            gradient[t] += weight * row[t]


@njit(cache=True)
def _advance(
    K: Kernel, diagonal: Vector, alpha: Vector, gradient: Vector, moves: Moves, order: Order,
    state: Any, tolerance: float, steps: int,
) -> bool:  # fmt: skip
    """Make steps on pairs of variables; return whether the optimum is reached.

    ``order`` holds the variables in LIBSVM's order, which breaks ties, and the position of each.
    ``state`` holds the steps until the next shrinking, whether shrinking was undone near the end,
    the steps made, and the number of active variables.
    """
    gains = np.empty(alpha.size)
    grow, shrink = _extremes(gradient, moves)
    for _ in range(steps):
        i, j = _choose_pair(K, diagonal, gradient, moves, order, gains, grow, shrink, tolerance)
        if j < 0:
            # confirm the optimum with all variables active
            _set_moves(alpha, moves)
            grow, shrink = _extremes(gradient, moves)
            state[0], state[3] = 1, alpha.size
            i, j = _choose_pair(K, diagonal, gradient, moves, order, gains, grow, shrink, tolerance)
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
        moves[i] = _moves_of(new)
        moves[j] = _moves_of(other)
        grow, shrink = _update_gradient(K[i], K[j], by_i, by_j, gradient, moves)
        state[2] += 1
        state[0] -= 1
        if state[0] == 0:
            state[0] = min(alpha.size, 1000)
            grow, shrink = _shrink_active(
                alpha, gradient, moves, order, state, grow, shrink, tolerance
            )
    return False


@njit(cache=True)
def _choose_pair(
    K: Kernel, diagonal: Vector, gradient: Vector, moves: Moves, order: Order, gains: Vector,
    grow: np.int64, shrink: np.int64, tolerance: float,
) -> tuple[int, int]:  # fmt: skip
    """Return the variable that violates optimality most, and the best one to pair it with."""
    if min(grow, shrink) == _NONE or not _float(grow) + _float(shrink) >= tolerance:
        return -1, -1
    steepest = _float(grow)
    position = order[1]
    last = np.int64(-1)
    for t in range(gradient.size):
        equal = (gradient[t] == -steepest) & (moves[t] & _GROW != 0)
        last = max(last, position[t] if equal else np.int64(-1))
    i = order[0, last]
    row, own = K[i], diagonal[i]
    most = _NONE
    for t in range(gradient.size):
        slope = steepest + gradient[t]
        curvature = own + diagonal[t] - 2.0 * np.float64(row[t])
        curvature = curvature if curvature > 0 else _SMALLEST_CURVATURE
        gain = slope * slope / curvature
        gain = gain if (slope > 0) & (moves[t] >= _SHRINK) else -1.0
        gains[t] = gain
        most = max(most, _bits(gain))
    best = _float(most)
    if best < 0:
        return i, -1
    last = np.int64(-1)
    for t in range(gains.size):
        last = max(last, position[t] if gains[t] == best else np.int64(-1))
    return i, order[0, last]


@njit(cache=True)
def _update_gradient(
    row_i: Any, row_j: Any, by_i: float, by_j: float, gradient: Vector, moves: Moves
) -> tuple[np.int64, np.int64]:
    """Update the gradient after a step and return its extremes."""
    grow = shrink = _NONE
    for t in range(gradient.size):
        value = gradient[t] + (np.float64(row_i[t]) * by_i + np.float64(row_j[t]) * by_j)
        gradient[t] = value
        grow = max(grow, _bits(-value) if moves[t] & _GROW else _NONE)
        shrink = max(shrink, _bits(value) if moves[t] & _SHRINK else _NONE)
    return grow, shrink


@njit(cache=True)
def _extremes(gradient: Vector, moves: Moves) -> tuple[np.int64, np.int64]:
    """Return, as bits, the largest -gradient that may grow and gradient that may shrink."""
    grow = shrink = _NONE
    for t in range(gradient.size):
        grow = max(grow, _bits(-gradient[t]) if moves[t] & _GROW else _NONE)
        shrink = max(shrink, _bits(gradient[t]) if moves[t] & _SHRINK else _NONE)
    return grow, shrink


@njit(cache=True)
def _shrink_active(
    alpha: Vector, gradient: Vector, moves: Moves, order: Order, state: Any, grow: np.int64,
    shrink: np.int64, tolerance: float,
) -> Any:  # fmt: skip
    """Deactivate variables that will stay at a bound; near the end, activate all once more."""
    if min(grow, shrink) == _NONE:
        return grow, shrink
    steepest, other = _float(grow), _float(shrink)
    if state[1] == 0 and steepest + other <= 10 * tolerance:
        state[1], state[3] = 1, alpha.size
        _set_moves(alpha, moves)
    for t in range(alpha.size):
        if (alpha[t] >= 1 and -gradient[t] > steepest) or (alpha[t] <= 0 and gradient[t] > other):
            moves[t] = _NOTHING
    # swap inactive variables behind the active ones
    here, size = 0, state[3]
    while here < size:
        if moves[order[0, here]] == _NOTHING:
            size -= 1
            while size > here and moves[order[0, size]] == _NOTHING:
                size -= 1
            a, b = order[0, here], order[0, size]
            order[0, here], order[0, size] = b, a
            order[1, a], order[1, b] = size, here
        here += 1
    state[3] = size
    return _extremes(gradient, moves)


@njit(cache=True)
def _set_moves(alpha: Vector, moves: Moves) -> None:
    for t in range(alpha.size):
        moves[t] = _moves_of(alpha[t])


@njit(cache=True)
def _moves_of(value: float) -> np.int8:
    return (_GROW if value < 1 else _NOTHING) | (_SHRINK if value > 0 else _NOTHING)


@njit(cache=True)
def _bits(value: float) -> Any:
    bits = np.float64(value).view(np.int64)
    return bits ^ ((bits >> 63) & _FLIP)


@njit(cache=True)
def _float(bits: np.int64) -> Any:
    return np.int64(bits ^ ((bits >> 63) & _FLIP)).view(np.float64)
