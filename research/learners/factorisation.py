"""Factorisation P ≈ U Vᵀ by gradient descent: over all datasets with momentum, or one by one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from metaod.learners._dcg import divide, known_cells, row_dcg, step_over_all
from metaod.models import Matrix, njit

SCHEDULES = ("decaying", "cyclical", "constant")


@dataclass(frozen=True)
class Schedule:
    """The learning rate of every step: decaying, cyclical or constant.

    A decaying rate falls linearly from ``high`` to 0 in ``cycle`` epochs. A cyclical rate rises
    from ``low`` to ``high`` and falls back linearly, once in ``cycle`` epochs (L. N. Smith,
    Cyclical Learning Rates for Training Neural Networks, WACV 2017; ``cycle`` is twice Smith's step
    size). A constant rate is ``high``.
    """

    kind: str = "cyclical"
    high: float = 1.0
    low: float = 0.1
    cycle: float = 10.0

    def rates(self, epoch: int, n_steps: int) -> Matrix:
        """Return the rates of all steps of an epoch, counted from 0."""
        if self.kind == "decaying":
            return np.full(n_steps, self.high * max(0.0, 1.0 - epoch / self.cycle))
        if self.kind == "constant":
            return np.full(n_steps, self.high)
        turn = (epoch + np.arange(n_steps) / n_steps) / self.cycle
        height = 1.0 - np.abs(2.0 * (turn % 1.0) - 1.0)
        rates: Matrix = self.low + (self.high - self.low) * height
        return rates


@dataclass
class Factorisation:
    """The dataset matrix U (n, k), the model matrix V (m, k) and the losses."""

    U: Matrix
    V: Matrix
    train: list[float] = field(default_factory=list)  # mean loss in each epoch, before each step
    held_out: list[float] = field(default_factory=list)  # mean loss after each epoch, if monitored

    @property
    def n_epochs(self) -> int:
        return len(self.train)

    @property
    def best_epoch(self) -> int:
        """The epoch with the smallest held-out loss; the last one without a monitor."""
        return int(np.argmin(self.held_out)) + 1 if self.held_out else self.n_epochs


def factorise(
    targets: Matrix,
    U: Matrix,
    V: Matrix,
    *,
    loss: str = "dcg",
    alpha: float = 1.0,
    epochs: int = 50,
    schedule: Schedule | None = None,
    fixed_U: bool = False,
    unit_steps: bool = True,
    tolerance: float = 0.0,
    monitor: Callable[[Matrix, Matrix], float] | None = None,
    patience: int = 20,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Factorisation:
    """Factorise by gradient descent.

    With a decaying rate all datasets are taken at once: U and V move together, with a momentum of
    0.9, and come to rest. With another schedule a step takes one dataset, in shuffled order: its
    row of U moves against the gradient, then V moves against the gradient at the new row.

    The slope of the smoothed DCG grows a hundredfold while a ranking sharpens: with ``unit_steps``
    its derivatives with respect to the predictions are divided by the sum of their absolute values,
    and the learning rate alone is the length of a step. Steps on the squared error, one dataset at
    a time only, are divided by its curvature (for V, by that of an average dataset).

    ``targets`` (n, m) are gains for the loss "dcg" and performance for "squared", NaN where
    missing. The run stops when the best training loss of the last cycle is lower than the best
    before it by at most the share ``tolerance``, or after ``patience`` epochs without a new
    smallest value of ``monitor(U, V)``, the loss on held-out datasets.
    """
    schedule = schedule or Schedule()
    rng = rng or np.random.default_rng(0)
    found = Factorisation(np.array(U, dtype=np.float64), np.array(V, dtype=np.float64))
    cells, known, counts = known_cells(targets)
    window = max(1, round(schedule.cycle)) if schedule.kind == "cyclical" else patience
    together = schedule.kind == "decaying"
    moves = np.zeros_like(found.U), np.zeros_like(found.V)
    for epoch in range(epochs):
        data = cells, known, counts, found.U, found.V
        rates = schedule.rates(epoch, len(cells))
        if together:
            total = step_over_all(*data, *moves, rates[0], float(alpha), fixed_U, unit_steps)
        else:
            options = float(alpha), loss == "squared", fixed_U, unit_steps
            total = _epoch(*data, rng.permutation(len(cells)), rates, *options)
        found.train.append(total / len(cells))
        if progress is not None:
            progress(epoch + 1, epochs)
        if monitor is not None:
            found.held_out.append(monitor(found.U, found.V))
            if found.n_epochs - found.best_epoch >= patience:
                break
        if _converged(found.train, window, tolerance):
            break
    return found


def _converged(losses: list[float], window: int, tolerance: float) -> bool:
    if tolerance <= 0 or len(losses) < 2 * window:
        return False
    before, now = min(losses[:-window]), min(losses[-window:])
    return before - now <= tolerance * abs(before)


@njit(cache=True)
def _epoch(cells, known, counts, U, V, order, rates, alpha, squared, fixed_U, unit_steps):  # type: ignore[no-untyped-def]  # compiled
    """Run one pass in place; return the sum of the losses before each step."""
    n_latent = U.shape[1]
    work = np.empty(len(V) * len(V))
    # the mean over rows of U: the size of a single short row would give V a long step
    mean_size = _size(U) / len(U)
    total = 0.0
    for step in range(len(order)):
        row, rate = order[step], rates[step]
        models = known[row, : counts[row]]
        m = len(models)
        goal, p, d = np.empty(m), np.empty(m), np.empty(m)
        for j in range(m):
            goal[j] = cells[row, models[j]]
        for is_U in range(2):
            if is_U == 0 and fixed_U:
                continue
            for j in range(m):
                p[j] = 0.0
                for a in range(n_latent):
                    p[j] += U[row, a] * V[models[j], a]
            if squared:
                value = _row_squared(p, goal, d)
                divide(d, 2.0 * (_size(V) if is_U == 0 else mean_size))
            else:
                value = row_dcg(p, goal, alpha, d, work)
                if unit_steps:
                    divide(d, np.abs(d).sum())
            if is_U == 0:
                total += value
                for j in range(m):
                    for a in range(n_latent):
                        U[row, a] -= rate * d[j] * V[models[j], a]
                continue
            if fixed_U:
                total += value
            for j in range(m):
                for a in range(n_latent):
                    V[models[j], a] -= rate * d[j] * U[row, a]
    return total


@njit(cache=True)
def _size(A):  # type: ignore[no-untyped-def]  # compiled
    total = 0.0
    for row in range(A.shape[0]):
        for a in range(A.shape[1]):
            total += A[row, a] * A[row, a]
    return total


@njit(cache=True)
def _row_squared(p, goal, d):  # type: ignore[no-untyped-def]  # compiled
    """Return the sum of squared errors; write its derivative with respect to p to d."""
    loss = 0.0
    for j in range(len(p)):
        error = p[j] - goal[j]
        loss += error * error
        d[j] = 2.0 * error
    return loss


def dcg_loss(G: Matrix, U: Matrix, V: Matrix, alpha: float = 1.0) -> Matrix:
    """Return the negative smoothed DCG (n,) of scores U Vᵀ, for gains G (n, m)."""
    G, U, V = (np.ascontiguousarray(values, dtype=np.float64) for values in (G, U, V))
    losses: Matrix = _losses(G, U, V, float(alpha))
    return losses


@njit(cache=True)
def _losses(G, U, V, alpha):  # type: ignore[no-untyped-def]  # compiled
    losses, work = np.empty(len(G)), np.empty(len(V) * len(V))
    for row in range(len(G)):
        known = np.flatnonzero(~np.isnan(G[row]))
        p = V[known] @ U[row]
        losses[row] = row_dcg(p, G[row][known], alpha, np.empty(len(p)), work)
    return losses
