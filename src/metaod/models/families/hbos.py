"""One binning of the table for each number of bins serves every HBOS with that number.

PyOD counts a row in the bin that starts at its value and looks its score up in the bin that ends
there, which differ for values on an edge; so do we. Memory beyond the table: two bytes a value.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._binning import bin_of, edge_of, has_bins, no_bins
from metaod.models._budget import why_over_budget
from metaod.models._spec import ModelSpec

__all__ = ["HBOSKernel", "histograms", "summed"]

Bins = npt.NDArray[np.uint16]

_MOST_BINS = 2**16 - 1


class HBOSKernel:
    """Histogram-based scores: every ``n_bins`` and ``alpha``."""

    families = frozenset({"HBOS"})

    def serves(self, spec: ModelSpec) -> bool:
        """Whether only a number of bins and the regulariser are set."""
        params: dict[str, Any] = dict(spec.params)
        n_bins = params.pop("n_bins", 10)
        alpha = params.pop("alpha", 0.1)
        if params or type(n_bins) is not int or not isinstance(alpha, float):
            return False
        return 2 <= n_bins <= _MOST_BINS and 0 < alpha < 1

    def score(
        self,
        X: Matrix,
        specs: Sequence[ModelSpec],
        *,
        trials: int,  # noqa: ARG002 - HBOS is not random
        mode: Mode,  # noqa: ARG002 - the one way is exact
        budget: Budget,
    ) -> Iterator[Scored]:
        """Score the specs, one number of bins after the other."""
        wanted: dict[int, list[ModelSpec]] = defaultdict(list)
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            wanted[params.get("n_bins", 10)].append(spec)
        over = why_over_budget(budget, seconds=X.size * 1e-8, n_bytes=X.size * 2)
        for n_bins, alike in wanted.items():
            if over is not None:
                for spec in alike:
                    yield Scored(spec, 0, CellState.OVER_BUDGET, reason=over)
                continue
            start = perf_counter()
            bins, density, reason = histograms(X, n_bins)
            if reason is not None:
                for spec in alike:
                    yield Scored(spec, 0, CellState.FAILED, reason=reason)
                continue
            shared = perf_counter() - start
            for spec in alike:
                start = perf_counter()
                params = dict(spec.params)
                scores = summed(bins, -np.log2(density + params.get("alpha", 0.1)))
                yield Scored(spec, 0, CellState.OK, scores, shared + perf_counter() - start)


def histograms(X: Matrix, n_bins: int) -> tuple[Bins, Scores, str | None]:
    """The bin in which each value is looked up, and the density of each bin, by column.

    Where PyOD's own fit would stop, its exception comes as a third item.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    bins = np.zeros(X.shape, dtype=np.uint16)
    counts = np.zeros((n_bins, X.shape[1]))
    reason = None
    if not all(has_bins(*ends, n_bins) for ends in zip(low, high, strict=True)):
        return bins, counts, no_bins(n_bins)
    _count(X, low, high, bins, counts)
    widths = np.diff(np.linspace(low, high, n_bins + 1), axis=0)
    with np.errstate(over="ignore"):
        density = counts / widths / X.shape[0]
        whole = (density * widths).sum(axis=0)
    if not np.isclose(1, whole, atol=0.1).all():
        reason = "AssertionError: the histogram of a column does not sum up to 1"
    return bins, density, reason


@njit(cache=True)
def _count(X: Any, low: Any, high: Any, bins: Any, counts: Any) -> None:
    n_bins = counts.shape[0]
    steps = (high - low) / n_bins
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            b = bin_of(X[i, j], low[j], high[j], steps[j], n_bins)
            counts[int(b), j] += 1.0
            on_edge = b > 0.0 and X[i, j] == edge_of(b, low[j], steps[j])
            bins[i, j] = np.uint16(b - 1.0 if on_edge else b)


@njit(cache=True)
def summed(bins: Bins, table: Scores) -> Scores:
    """Sum over the columns of what a table has for each row's bin."""
    n_rows, n_columns = bins.shape
    sums = np.zeros(n_rows)
    for i in range(n_rows):
        total = 0.0
        for j in range(n_columns):
            total += table[bins[i, j], j]
        sums[i] = total
    return sums
