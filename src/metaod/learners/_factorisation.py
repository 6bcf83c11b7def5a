"""P ≈ U Vᵀ by alternating gradient steps, dataset by dataset."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.learners._dcg import row_dcg
from metaod.learners._schedule import Schedule

__all__ = ["Factorisation", "factorise"]

Matrix = npt.NDArray[np.float64]


@dataclass
class Factorisation:
    """A dataset matrix, a model matrix and how the loss went.

    Parameters
    ----------
    U, V : array of shape (n, k) and (m, k)
        Dataset matrix and model matrix.
    train : list of float
        Mean loss a dataset, epoch by epoch, as the pass met the datasets.
    held_out : list of float
        Mean loss a held-out dataset after each epoch; empty without a monitor.
    """

    U: Matrix
    V: Matrix
    train: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)

    @property
    def n_epochs(self) -> int:
        """Epochs run."""
        return len(self.train)

    @property
    def best_epoch(self) -> int:
        """Epochs after which the held-out loss was the smallest; all of them without a monitor."""
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
    tolerance: float = 0.0,
    monitor: Callable[[Matrix, Matrix], float] | None = None,
    patience: int = 20,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Factorisation:
    """Factorise by stochastic gradient descent over datasets in shuffled order.

    A step takes one dataset: its row of U moves against the gradient, then all of V does, by the
    gradient at the row's new place. The slope of the smoothed DCG grows a hundredfold while a
    ranking sharpens, so that no learning rate serves both its beginning and its end: its
    derivatives with respect to the predictions are divided by the sum of their sizes. The direction
    is the gradient's; the learning rate alone is the step's length. Steps on the squared error are
    divided by its curvature, along V by that of an average dataset, so that a small rate is small
    for every P and k.

    Parameters
    ----------
    targets : array of shape (n, m)
        What the loss is taken on: gains for "dcg", performance for "squared"; NaN where missing.
    U, V : array of shape (n, k) and (m, k)
        Where to start; neither is changed.
    loss : {"dcg", "squared"}, default="dcg"
        Negative smoothed DCG, or the sum of squared errors over the cells that have a value.
    alpha : float, default=1.0
        Sharpness of the sigmoid in the smoothed DCG.
    epochs : int, default=50
        Passes at most.
    schedule : Schedule, optional
        Learning rates; the schedule's defaults without it.
    fixed_U : bool, default=False
        Whether only V moves.
    tolerance : float, default=0.0
        Converged when the best training loss of the last cycle is not lower than the best before
        it by more than this share of it; 0 runs all epochs.
    monitor : callable, optional
        Takes U and V after an epoch and gives the loss on held-out datasets.
    patience : int, default=20
        Epochs without a new smallest held-out loss after which to stop.
    rng : Generator, optional
        Shuffles the datasets; seeded with 0 without it.
    progress : callable, optional
        Told how many epochs are done and how many there are.
    """
    schedule = schedule or Schedule()
    rng = rng or np.random.default_rng(0)
    found = Factorisation(np.array(U, dtype=np.float64), np.array(V, dtype=np.float64))
    cells = np.ascontiguousarray(targets, dtype=np.float64)
    known = np.argsort(np.isnan(cells), axis=1, kind="stable")
    counts = (~np.isnan(cells)).sum(axis=1)
    window = max(1, round(schedule.cycle)) if schedule.kind == "cyclical" else patience
    for epoch in range(epochs):
        order = rng.permutation(len(cells))
        rates = schedule.rates(epoch, len(cells))
        total = _epoch(
            cells,
            known,
            counts,
            found.U,
            found.V,
            order,
            rates,
            float(alpha),
            loss == "squared",
            fixed_U,
        )
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
def _epoch(cells, known, counts, U, V, order, rates, alpha, squared, fixed_U):  # type: ignore[no-untyped-def]  # compiled
    """One pass in place; the sum of the datasets' losses as the pass met them."""
    n_latent = U.shape[1]
    work = np.empty(len(V) * (len(V) - 1) // 2)
    # of a row of U: a short row of its own would send V far
    mean_size = _size(U) / len(U)
    total = 0.0
    for step in range(len(order)):
        row, rate = order[step], rates[step]
        models = known[row, : counts[row]]
        m = len(models)
        goal, p, d = np.empty(m), np.empty(m), np.empty(m)
        for place in range(m):
            goal[place] = cells[row, models[place]]
        for is_U in range(2):
            if is_U == 0 and fixed_U:
                continue
            for place in range(m):
                p[place] = 0.0
                for a in range(n_latent):
                    p[place] += U[row, a] * V[models[place], a]
            if squared:
                value = _row_squared(p, goal, d)
                _divide(d, 2.0 * (_size(V) if is_U == 0 else mean_size))
            else:
                value = row_dcg(p, goal, alpha, d, work)
                _divide(d, np.abs(d).sum())
            if is_U == 0:
                total += value
                for place in range(m):
                    for a in range(n_latent):
                        U[row, a] -= rate * d[place] * V[models[place], a]
                continue
            if fixed_U:
                total += value
            for place in range(m):
                for a in range(n_latent):
                    V[models[place], a] -= rate * d[place] * U[row, a]
    return total


@njit(cache=True)
def _divide(d, size):  # type: ignore[no-untyped-def]  # compiled
    """Divide; what is zero stays."""
    for j in range(len(d)):
        d[j] = d[j] / size if size > 0.0 else 0.0


@njit(cache=True)
def _size(A):  # type: ignore[no-untyped-def]  # compiled
    """Sum of squares."""
    total = 0.0
    for row in range(A.shape[0]):
        for a in range(A.shape[1]):
            total += A[row, a] * A[row, a]
    return total


@njit(cache=True)
def _row_squared(p, goal, d):  # type: ignore[no-untyped-def]  # compiled
    """Sum of squared errors; d becomes its derivative with respect to p."""
    loss = 0.0
    for j in range(len(p)):
        error = p[j] - goal[j]
        loss += error * error
        d[j] = 2.0 * error
    return loss
