"""One projection of the table for each random cut serves LODA with every number of bins.

PyOD draws all cuts before it drops columns from them, so that its draws for 20 cuts are no part of
those for 200: ``exact`` mode repeats them size by size. ``fast`` mode draws cut after cut from one
stream, so that the first cuts of 200 are the 20, which has the same distribution.

PyOD looks a row up in the bin after the one that it is counted in, save for the last; users get
PyOD's LODA, so the scores here are PyOD's.

Memory beyond the table: a copy of it, and one sum a row for each number of bins.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numba import njit

from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._binning import bin_of, edge_of, has_bins, no_bins
from metaod.models._budget import why_over_budget
from metaod.models._spec import ModelSpec

__all__ = ["LODAKernel", "nested_cuts"]


class LODAKernel:
    """LODA: every ``n_bins`` and ``n_random_cuts``."""

    families = frozenset({"LODA"})

    def serves(self, spec: ModelSpec) -> bool:
        """Whether only a number of bins and the number of cuts are set."""
        params: dict[str, Any] = dict(spec.params)
        n_bins = params.pop("n_bins", 10)
        n_cuts = params.pop("n_random_cuts", 100)
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
            n_bins, n_cuts = params.get("n_bins", 10), params.get("n_random_cuts", 100)
            over = why_over_budget(
                budget,
                seconds=n_cuts * (n_rows * (1e-8 + n_columns * 1e-9) + 2e-5),
                n_bytes=8 * X.size + 48 * n_rows + 32 * n_bins,
            )
            if over is None:
                wanted[n_cuts][n_bins].append(spec)
                continue
            for seed in range(trials):
                yield Scored(spec, seed, CellState.OVER_BUDGET, reason=over)
        for seed in range(trials):
            if mode == Mode.EXACT:
                for n_cuts, by_bins in wanted.items():
                    yield from _summed(_pyod_cuts(X, seed, n_cuts), seed, {n_cuts: by_bins})
            else:
                yield from _summed(nested_cuts(X, seed), seed, wanted)


def _pyod_cuts(X: Matrix, seed: int, n_cuts: int) -> Iterator[Scores]:
    """The projections that PyOD makes for that number of cuts, to the last bit."""
    random = np.random.RandomState(seed)
    n_columns = X.shape[1]
    n_dropped = n_columns - math.isqrt(n_columns)
    weights = random.randn(n_cuts, n_columns)
    for cut in range(n_cuts):
        weights[cut, random.permutation(n_columns)[:n_dropped]] = 0.0
        yield weights[cut].dot(X.T)


def nested_cuts(X: Matrix, seed: int) -> Iterator[Scores]:
    """Projections without end; a cut depends on the seed and its number alone."""
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


def _summed(
    cuts: Iterator[Scores], seed: int, wanted: dict[int, dict[int, list[ModelSpec]]]
) -> Iterator[Scored]:
    """Add up the cuts, and give out the models of each size when it is reached."""
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
            _add_cut(projected, low, high, n_bins, total)
            seconds[n_bins] += perf_counter() - start
        for n_bins, specs in wanted.get(count, {}).items():
            if n_bins in failed:
                for spec in specs:
                    yield Scored(spec, seed, CellState.FAILED, reason=no_bins(n_bins))
                continue
            # PyOD weighs each cut by 1 / count and divides the sum by count once more
            scores = sums[n_bins] / count**2
            for spec in specs:
                took = projecting + seconds[n_bins]
                yield Scored(spec, seed, CellState.OK, scores, took)


@njit(cache=True)
def _add_cut(projected: Any, low: Any, high: Any, n_bins: int, sums: Any) -> None:
    """Add the negative log share of each row's bin to ``sums``."""
    n_rows = projected.shape[0]
    step = (high - low) / n_bins
    last = n_bins - 1.0
    counted_in = np.empty(n_rows, np.uint32)
    looked_up = np.empty(n_rows, np.uint32)
    for i in range(n_rows):
        value = projected[i]
        b = bin_of(value, low, high, step, n_bins)
        counted_in[i] = np.uint32(b)
        after = 1.0 if value > edge_of(b, low, step) else 0.0
        looked_up[i] = np.uint32(min(b + after, last))
    # four sets of counts: one would wait for itself whenever a bin comes twice in a row
    counts = np.zeros((4, n_bins))
    for i in range(n_rows):
        counts[i & 3, counted_in[i]] += 1.0
    shares = counts.sum(axis=0) + 1e-12
    table = -np.log(shares / shares.sum())
    for i in range(n_rows):
        sums[i] += table[looked_up[i]]
