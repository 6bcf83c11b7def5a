"""LODA: histograms of random projections of the rows.

One projection of the table for each random cut serves every number of bins. PyOD draws all cuts
before it drops columns from them, so its first 20 of 200 cuts differ from its 20 cuts, and the
exact mode draws anew for each size. The fast mode draws cut after cut from one stream, which has
the same distribution. PyOD reads a row's share from the bin after the one that the row is counted
in, except for the last; so do we.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from metaod.models._arrays import Matrix, Scores
from metaod.models._binning import bin_of, edge_of, has_bins, no_bins
from metaod.models._compiled import njit
from metaod.models._estimator import Estimator
from metaod.models._family import MANY_ROWS, Family, add_builtin
from metaod.models._scoring import Budget, CellState, Mode, Scored, why_over_budget, without_scores
from metaod.models._spec import ModelSpec

N_BINS = 10  # of each histogram, PyOD's default
N_CUTS = 100  # random projections, PyOD's default
_ROUNDING = 1e-12  # of a projection, as a share of the largest projection


class LODA(Estimator):
    """PyOD's LODA, but new rows are projected one by one.

    PyOD multiplies matrices, whose rounding depends on the number of new rows, so the bin of a row
    on an edge depends on the other new rows.
    """

    def __init__(
        self, n_bins: int | str = N_BINS, n_random_cuts: int = N_CUTS, random_state: Any = None
    ) -> None:
        self.n_bins = n_bins
        self.n_random_cuts = n_random_cuts
        self.random_state = random_state

    def _fit(self, X: Matrix) -> Scores:
        from pyod.models import loda  # noqa: PLC0415 - PyOD is slow to import

        self.fitted_ = loda.LODA(
            n_bins=self.n_bins, n_random_cuts=self.n_random_cuts, random_state=self.random_state
        ).fit(X)
        return np.asarray(self.fitted_.decision_scores_)

    def _score(self, X: Matrix) -> Scores:
        total = np.zeros(len(X))
        cuts = (self.fitted_.projections_, self.fitted_.histograms_, self.fitted_.limits_)
        for projection, histogram, limits in zip(*cuts, strict=True):
            projected = (X * projection).sum(axis=1)
            # PyOD's first bin is only for the lowest training row, which was rounded differently
            rounding = _ROUNDING * np.abs(limits).max()
            projected[np.abs(projected - limits[0]) <= rounding] = limits[0]
            bins = np.searchsorted(limits[: len(histogram) - 1], projected, side="left")
            total -= np.log(histogram[bins])
        # PyOD takes the mean over the cuts twice
        return total / len(self.fitted_.projections_) ** 2


class LODAScorer:
    """Scores LODA models of every ``n_bins`` and ``n_random_cuts``."""

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether only a number of bins and the number of cuts are set."""
        params: dict[str, Any] = dict(spec.params)
        n_bins = params.pop("n_bins", N_BINS)
        n_cuts = params.pop("n_random_cuts", N_CUTS)
        if params or type(n_bins) is not int or type(n_cuts) is not int:
            return False
        return n_bins >= 1 and n_cuts >= 1

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score the specs, cut by cut."""
        n_rows, n_columns = X.shape
        wanted: dict[int, dict[int, list[ModelSpec]]] = defaultdict(lambda: defaultdict(list))
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            n_bins, n_cuts = params.get("n_bins", N_BINS), params.get("n_random_cuts", N_CUTS)
            over = why_over_budget(
                budget,
                seconds=n_cuts * (n_rows * (1e-8 + n_columns * 1e-9) + 2e-5),
                n_bytes=8 * X.size + 48 * n_rows + 32 * n_bins,
            )
            if over is None:
                wanted[n_cuts][n_bins].append(spec)
            else:
                yield from without_scores([spec], trials, CellState.OVER_BUDGET, over)
        for seed in range(trials):
            if mode == Mode.EXACT:
                for n_cuts, by_bins in wanted.items():
                    yield from _sum_cuts(_pyod_cuts(X, seed, n_cuts), seed, {n_cuts: by_bins})
            else:
                yield from _sum_cuts(nested_cuts(X, seed), seed, wanted)


def _pyod_cuts(X: Matrix, seed: int, n_cuts: int) -> Iterator[Scores]:
    """Yield the projections that PyOD makes for that number of cuts, to the last bit."""
    random = np.random.RandomState(seed)
    n_columns = X.shape[1]
    n_dropped = n_columns - math.isqrt(n_columns)
    weights = random.randn(n_cuts, n_columns)
    for cut in range(n_cuts):
        weights[cut, random.permutation(n_columns)[:n_dropped]] = 0.0
        yield weights[cut].dot(X.T)


def nested_cuts(X: Matrix, seed: int) -> Iterator[Scores]:
    """Yield projections without end; a cut depends only on the seed and its number."""
    random = np.random.RandomState(seed)
    n_rows, n_columns = X.shape
    by_column = np.ascontiguousarray(X.T)
    while True:
        weights = random.randn(n_columns)
        kept = np.sort(random.permutation(n_columns)[n_columns - math.isqrt(n_columns) :])
        projected = np.zeros(n_rows)
        for column in kept:
            projected += weights[column] * by_column[column]
        yield projected


def _sum_cuts(
    cuts: Iterator[Scores], seed: int, wanted: dict[int, dict[int, list[ModelSpec]]]
) -> Iterator[Scored]:
    """Add up the cuts and yield the models of each size when it is reached."""
    last_cut = {n_bins: n_cuts for n_cuts in sorted(wanted) for n_bins in wanted[n_cuts]}
    sums: dict[int, Scores] = {}
    seconds = dict.fromkeys(last_cut, 0.0)
    failed: set[int] = set()
    projecting = 0.0
    for count in range(1, max(wanted, default=0) + 1):
        start = perf_counter()
        projected = next(cuts)
        low, high = projected.min(), projected.max()
        if low == high:
            low, high = low - 0.5, high + 0.5
        projecting += perf_counter() - start
        for n_bins, last in last_cut.items():
            if count > last or n_bins in failed:
                continue
            start = perf_counter()
            if not has_bins(low, high, n_bins):
                failed.add(n_bins)
                continue
            total = sums.setdefault(n_bins, np.zeros(len(projected)))
            _add_cut(projected, low, high, np.empty(n_bins), total)
            seconds[n_bins] += perf_counter() - start
        for n_bins, specs in wanted.get(count, {}).items():
            if n_bins in failed:
                for spec in specs:
                    yield Scored(spec, seed, CellState.FAILED, reason=no_bins(n_bins))
                continue
            # PyOD takes the mean over the cuts twice
            scores = sums[n_bins] / count**2
            for spec in specs:
                yield Scored(spec, seed, CellState.OK, scores, projecting + seconds[n_bins])


@njit(cache=True)
def _add_cut(projected: Any, low: Any, high: Any, shares: Any, sums: Any) -> None:
    """Write the share of each bin, and add the negative log share of each row's bin to ``sums``."""
    n_rows = projected.shape[0]
    n_bins = shares.shape[0]
    step = (high - low) / n_bins
    last = n_bins - 1.0
    counted_in = np.empty(n_rows, np.uint32)
    looked_up = np.empty(n_rows, np.uint32)
    for i in range(n_rows):
        value = projected[i]
        own = bin_of(value, low, high, step, n_bins)
        counted_in[i] = np.uint32(own)
        after = 1.0 if value > edge_of(own, low, step) else 0.0
        looked_up[i] = np.uint32(min(own + after, last))
    # four sets of counts, so that an increment does not wait for the previous one of the same bin
    counts = np.zeros((4, n_bins))
    for i in range(n_rows):
        counts[i & 3, counted_in[i]] += 1.0
    whole = 0.0
    for b in range(n_bins):
        shares[b] = counts[0, b] + counts[1, b] + counts[2, b] + counts[3, b] + 1e-12
        whole += shares[b]
    table = np.empty(n_bins)
    for b in range(n_bins):
        shares[b] /= whole
        table[b] = -np.log(shares[b])
    for i in range(n_rows):
        sums[i] += table[looked_up[i]]


add_builtin(
    Family(
        "LODA",
        LODA,
        {
            "n_bins": (5, 10, 15, 20, 25, 30),
            "n_random_cuts": (10, 20, 30, 40, 50, 75, 100, 150, 200),
        },
        random=True,
        shared_scorer=LODAScorer(),
        learned_rows=MANY_ROWS,
    )
)


@dataclass(frozen=True)
class LODARun:
    """A run of LODA.

    Parameters
    ----------
    scores : ndarray of float
        PyOD's scores with the shared scorer's projections: mean negative log share of a row's
        bins, over the number of projections.
    projection_max : ndarray of float
        Largest value of each projection.
    shares : ndarray of float, shape (n_cuts, n_bins)
        The histograms: share of the rows in each bin.
    """

    scores: Scores
    projection_max: Scores
    shares: Matrix


def run_loda(Z: Matrix, seed: int) -> LODARun:
    """Run LODA with 100 projections of 10 bins.

    Examples
    --------
    >>> run_loda(np.array([[0.0], [0.1], [9.0]]), seed=0).shares.sum(axis=1)[:2].round(9)
    array([1., 1.])
    """
    sums = np.zeros(len(Z))
    largest = np.empty(N_CUTS)
    shares = np.empty((N_CUTS, N_BINS))
    for cut, projected in enumerate(islice(nested_cuts(Z, seed), N_CUTS)):
        low, high = projected.min(), projected.max()
        largest[cut] = high
        if not has_bins(low, high, N_BINS):
            # all rows are equal up to rounding; NumPy uses these bins
            low, high = low - 0.5, high + 0.5
        _add_cut(projected, low, high, shares[cut], sums)
    return LODARun(sums / N_CUTS**2, largest, shares)
