"""HBOS: scores from a histogram of each column.

One binning of the table serves every HBOS of that number of bins. PyOD counts a value on an edge
in the bin that starts there but takes its score from the bin that ends there; so do we.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.models._arrays import Matrix, Scores
from metaod.models._binning import bin_of, edge_of, has_bins, no_bins
from metaod.models._compiled import njit
from metaod.models._family import MANY_ROWS, Family, Settings, add_builtin
from metaod.models._scoring import Budget, CellState, Mode, Scored, why_over_budget, without_scores
from metaod.models._spec import ModelSpec

Bins = npt.NDArray[np.uint16]

_MOST_BINS = 2**16 - 1
_N_BINS = 10  # PyOD's default
_ALPHA = 0.1  # PyOD's default, added to a density before the logarithm


class HBOSScorer:
    """Scores HBOS models of every ``n_bins`` and ``alpha``."""

    def serves(self, spec: ModelSpec) -> bool:
        """Return whether only a number of bins and the regulariser are set."""
        params: dict[str, Any] = dict(spec.params)
        n_bins = params.pop("n_bins", _N_BINS)
        alpha = params.pop("alpha", _ALPHA)
        if params or type(n_bins) is not int or not isinstance(alpha, float):
            return False
        return 2 <= n_bins <= _MOST_BINS and 0 < alpha < 1

    def score(
        self, X: Matrix, specs: Sequence[ModelSpec], *, trials: int, mode: Mode, budget: Budget
    ) -> Iterator[Scored]:
        """Score the specs, one number of bins after the other."""
        del trials, mode  # not random, always exact
        over = why_over_budget(budget, seconds=X.size * 1e-8, n_bytes=X.size * 2)
        if over is not None:
            yield from without_scores(specs, 1, CellState.OVER_BUDGET, over)
            return
        by_bins: dict[int, list[ModelSpec]] = defaultdict(list)
        for spec in specs:
            params: dict[str, Any] = dict(spec.params)
            by_bins[params.get("n_bins", _N_BINS)].append(spec)
        for n_bins, own in by_bins.items():
            start = perf_counter()
            bins, density, reason = _histograms(X, n_bins)
            if reason is not None:
                yield from without_scores(own, 1, CellState.FAILED, reason)
                continue
            shared = perf_counter() - start
            for spec in own:
                start = perf_counter()
                params = dict(spec.params)
                scores = _sum_columns(bins, -np.log2(density + params.get("alpha", _ALPHA)))
                yield Scored(spec, 0, CellState.OK, scores, shared + perf_counter() - start)


def _histograms(X: Matrix, n_bins: int) -> tuple[Bins, Scores, str | None]:
    """Return each value's bin, the bins' densities, and the exception of PyOD's fit or None."""
    low, high = X.min(axis=0), X.max(axis=0)
    bins = np.zeros(X.shape, dtype=np.uint16)
    counts = np.zeros((n_bins, X.shape[1]))
    if not all(has_bins(*ends, n_bins) for ends in zip(low, high, strict=True)):
        return bins, counts, no_bins(n_bins)
    _count(X, low, high, bins, counts)
    widths = np.diff(np.linspace(low, high, n_bins + 1), axis=0)
    with np.errstate(over="ignore"):
        density = counts / widths / X.shape[0]
        whole = (density * widths).sum(axis=0)
    failed = not np.isclose(1, whole, atol=0.1).all()
    reason = "AssertionError: the histogram of a column does not sum up to 1"
    return bins, density, reason if failed else None


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
def _sum_columns(bins: Bins, table: Scores) -> Scores:
    n_rows, n_columns = bins.shape
    sums = np.zeros(n_rows)
    for i in range(n_rows):
        total = 0.0
        for j in range(n_columns):
            total += table[bins[i, j], j]
        sums[i] = total
    return sums


add_builtin(
    Family(
        "HBOS",
        "pyod.models.hbos:HBOS",
        {"n_bins": (5, 10, 20, 30, 40, 50, 75, 100), "alpha": (0.1, 0.2, 0.3, 0.4, 0.5)},
        extended=(Settings({"n_bins": (10,), "alpha": (0.1,)}),),
        shared_scorer=HBOSScorer(),
        learned_rows=MANY_ROWS,
    )
)


@dataclass(frozen=True)
class HBOSRun:
    """A run of HBOS.

    Parameters
    ----------
    scores : ndarray of float
        PyOD's scores.
    density : ndarray of float, shape (n_bins, n_columns)
        The histograms; densities times widths of bins add up to 1 in each column.
    """

    scores: Scores
    density: Matrix


def run_hbos(Z: Matrix) -> HBOSRun:
    """Run HBOS with 10 bins.

    Examples
    --------
    >>> run_hbos(np.array([[0.0], [0.1], [10.0]])).density[0].round(3)
    array([0.667])
    """
    bins, density, _ = _histograms(Z, _N_BINS)
    return HBOSRun(_sum_columns(bins, -np.log2(density + _ALPHA)), density)
