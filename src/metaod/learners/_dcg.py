"""The smoothed DCG of a dataset's ranking of models, and its gradient.

For one dataset with predicted scores p and gains g = b^P - 1 over the models that have a value::

    beta_j = 1 + sum_k sigmoid(alpha (p_k - p_j))        the k = j term is 1/2
    loss   = - sum_j g_j ln 2 / ln beta_j

`docs/learning.md` derives the gradient and shows how the paper's printed one differs. A missing
cell of P is ignored: its model has no gain and is not counted in any beta.
"""

from collections.abc import Iterator
from math import exp, log

import numpy as np
import numpy.typing as npt

from metaod.models import Matrix, njit

_LN2 = log(2.0)
_MOMENTUM = 0.9
_DATASETS = 80.0  # number of datasets that the rate of V's steps refers to
_WIDTH = 200.0  # of a segment of predictions: exponentials across two do not overflow
_STEP = exp(_WIDTH)


def gains(P: Matrix, base: float = 2.0) -> Matrix:
    """Return the gains of models at the top of a ranking; NaN where P is NaN."""
    return np.asarray(np.power(base, P) - 1.0)


@njit(cache=True, error_model="numpy")
def row_dcg(p, g, alpha, d, work):  # type: ignore[no-untyped-def]  # compiled
    """Return the loss of one dataset, and write dL/dp to d; ``work`` has m² elements."""
    best, worst = -np.inf, np.inf
    for j in range(len(p)):
        best, worst = max(best, p[j]), min(worst, p[j])
    if alpha * (best - worst) <= _WIDTH:
        return _row_dcg_near(p, g, alpha, (best + worst) / 2, d, work)
    return _row_dcg_far(p, g, alpha, best, d)


@njit(cache=True, error_model="numpy")
def _row_dcg_near(p, g, alpha, middle, d, work):  # type: ignore[no-untyped-def]  # compiled
    """Compute :func:`row_dcg` from one exponential for each prediction.

    With e_j = exp(alpha p_j) a sigmoid is e_k / (e_k + e_j): m exponentials and one division for
    each ordered pair of models suffice for the loss and the derivative. The inner loops add to the
    elements of an array: the compiler vectorises them and keeps the order of every sum.
    """
    m = len(p)
    e, c, beta = np.empty(m), np.empty(m), np.ones(m)
    for j in range(m):
        e[j] = exp(alpha * (p[j] - middle))
    for j in range(m):
        own, shares = e[j], work[j * m : (j + 1) * m]
        for k in range(m):
            shares[k] = own / (e[k] + own)
            beta[k] += shares[k]
    loss = 0.0
    for j in range(m):
        discount = log(beta[j])
        loss -= g[j] / discount
        c[j] = _LN2 * g[j] / (beta[j] * discount * discount)
    d[:] = 0.0
    for t in range(m):
        cost, shares = c[t], work[t * m : (t + 1) * m]
        for k in range(m):
            d[k] += shares[k] * (1.0 - shares[k]) * (cost - c[k])
    for t in range(m):
        d[t] *= alpha
    return loss * _LN2


@njit(cache=True, error_model="numpy")
def _row_dcg_far(p, g, alpha, best, d):  # type: ignore[no-untyped-def]  # compiled
    """Compute :func:`row_dcg` for predictions whose exponentials would overflow.

    Predictions are cut into segments, best first, and exponentials are relative to the middle of
    each segment. Between segments that are not neighbours a sigmoid is 0 or 1.
    """
    m = len(p)
    order = np.argsort(-p)
    segment, e, gain = np.empty(m), np.empty(m), np.empty(m)
    for i in range(m):
        depth = alpha * (best - p[order[i]])
        segment[i] = np.floor(depth / _WIDTH)
        e[i] = exp(_WIDTH * (segment[i] + 0.5) - depth)
        gain[i] = g[order[i]]
    # start and end of each prediction's segment
    first, last = np.zeros(m, np.int64), np.full(m, m, np.int64)
    for i in range(1, m):
        first[i] = first[i - 1] if segment[i] == segment[i - 1] else i
    for i in range(m - 2, -1, -1):
        last[i] = last[i + 1] if segment[i] == segment[i + 1] else i + 1
    c = np.empty(m)
    loss = 0.0
    for i in range(m):
        begin, a, b, end = _reach(segment, first, last, i)
        own = e[i]
        beta = 1.0 + begin + _sigmoids(e[a:b], 1.0, own)
        if begin < a:
            beta += _sigmoids(e[begin:a], _STEP, own)
        if b < end:
            beta += _sigmoids(e[b:end], 1.0 / _STEP, own)
        discount = log(beta)
        loss -= gain[i] / discount
        c[i] = _LN2 * gain[i] / (beta * discount * discount)
    for i in range(m):
        begin, a, b, end = _reach(segment, first, last, i)
        total = _slopes(e[a:b], c[a:b], 1.0, e[i], c[i])
        if begin < a:
            total += _slopes(e[begin:a], c[begin:a], _STEP, e[i], c[i])
        if b < end:
            total += _slopes(e[b:end], c[b:end], 1.0 / _STEP, e[i], c[i])
        d[order[i]] = alpha * total
    return loss * _LN2


@njit(cache=True)
def _reach(segment, first, last, i):  # type: ignore[no-untyped-def]  # compiled
    """Return the bounds of the segment above, the own one and the one below."""
    a, b = first[i], last[i]
    begin = first[a - 1] if a > 0 and segment[a - 1] == segment[i] - 1 else a
    end = last[b] if b < len(segment) and segment[b] == segment[i] + 1 else b
    return begin, a, b, end


@njit(cache=True, error_model="numpy")
def _sigmoids(e, factor, own):  # type: ignore[no-untyped-def]  # compiled
    total = 0.0
    for k in range(len(e)):
        other = e[k] * factor
        total += other / (other + own)
    return total


@njit(cache=True, error_model="numpy")
def _slopes(e, c, factor, own, cost):  # type: ignore[no-untyped-def]  # compiled
    """Return the sum over k of sigmoid (1 - sigmoid) (c_k - c_t)."""
    total = 0.0
    for k in range(len(e)):
        other = e[k] * factor
        share = 1.0 / (other + own)
        total += (other * share) * (own * share) * (c[k] - cost)
    return total


def descend(
    targets: Matrix, U: Matrix, V: Matrix, alpha: float, epochs: int, rate: float
) -> Iterator[float]:
    """Move U and V in place by steps over all datasets; yield the mean loss before each step.

    U and V move together, with momentum, by a rate that falls linearly to 0, so that they
    converge. The slope of the smoothed DCG grows a hundredfold while a ranking sharpens, so its
    derivatives with respect to the predictions are divided by the sum of their absolute values.
    """
    cells, known, counts = known_cells(targets)
    moves = np.zeros_like(U), np.zeros_like(V)
    for epoch in range(epochs):
        now = rate * max(0.0, 1.0 - epoch / epochs)
        total = step_over_all(cells, known, counts, U, V, *moves, now, float(alpha), False, True)
        yield total / len(cells)


def known_cells(targets: Matrix) -> tuple[Matrix, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the targets, and of each dataset the models with a value first, and their number."""
    cells = np.ascontiguousarray(targets, dtype=np.float64)
    known = np.argsort(np.isnan(cells), axis=1, kind="stable")
    return cells, known, (~np.isnan(cells)).sum(axis=1)


@njit(cache=True)
def step_over_all(cells, known, counts, U, V, moved_U, moved_V, rate, alpha, fixed_U, unit_steps):  # type: ignore[no-untyped-def]  # compiled
    """Move U and V by one step over all datasets, in place; return the sum of the losses before it.

    ``moved_U`` and ``moved_V`` are the previous steps, and become this one.
    """
    n, n_latent = U.shape
    work = np.empty(len(V) * len(V))
    for model in range(len(V)):
        for a in range(n_latent):
            moved_V[model, a] *= _MOMENTUM
    total = 0.0
    for row in range(n):
        models = known[row, : counts[row]]
        m = len(models)
        goal, p, d = np.empty(m), np.zeros(m), np.empty(m)
        for j in range(m):
            goal[j] = cells[row, models[j]]
            for a in range(n_latent):
                p[j] += U[row, a] * V[models[j], a]
        total += row_dcg(p, goal, alpha, d, work)
        if unit_steps:
            divide(d, np.abs(d).sum())
        for a in range(n_latent):
            moved_U[row, a] *= _MOMENTUM
        for j in range(m):
            for a in range(n_latent):
                moved_U[row, a] -= rate * d[j] * V[models[j], a]
                moved_V[models[j], a] -= rate * _DATASETS / n * d[j] * U[row, a]
    if not fixed_U:
        U += moved_U
    V += moved_V
    return total


@njit(cache=True)
def divide(d, size):  # type: ignore[no-untyped-def]  # compiled
    for j in range(len(d)):
        d[j] = d[j] / size if size > 0.0 else 0.0
