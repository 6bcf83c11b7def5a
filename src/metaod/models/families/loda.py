"""LODA: histograms of random projections of the rows.

One projection of the table for each random cut serves every number of bins, and the first cuts of
a seed are those of every number of cuts. PyOD reads a row's share from the bin after the one that
the row is counted in, except for the last; so do we.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from metaod._legal import Whole, parameters
from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._estimator import Estimator, grouped, seed_of
from metaod.models._family import MANY_ROWS, Family
from metaod.models.families.hbos import bin_of, edge_of


class Cut(NamedTuple):
    """A random projection: a weighted sum of some columns."""

    columns: npt.NDArray[np.intp]
    weights: Scores

    def project(self, X: Matrix) -> Scores:
        """Project rows one by one: the last bits of a row do not depend on the others."""
        projected = np.zeros(len(X))
        for column, weight in zip(self.columns, self.weights, strict=True):
            projected += weight * X[:, column]
        return projected


def _cuts(n_columns: int, seed: int) -> Iterator[Cut]:
    """Yield cuts without end; a cut depends only on the seed and its number."""
    random = np.random.RandomState(seed % 2**32)
    while True:
        weights = random.randn(n_columns)
        kept = np.sort(random.permutation(n_columns)[n_columns - math.isqrt(n_columns) :])
        yield Cut(kept, weights[kept])


class LODA(Estimator):
    """Mean negative logarithm of the share of a row's bin, as PyOD's ``LODA`` with other cuts.

    Like PyOD's, the mean is divided by the number of cuts once more.

    Attributes
    ----------
    shares_ : ndarray of float, shape (n_cuts, n_bins)
        The histograms: share of the rows in each bin.
    largest_ : ndarray of float, shape (n_cuts,)
        Largest value of each projection.

    Examples
    --------
    >>> LODA(random_state=0).fit([[0.0], [0.1], [9.0]]).shares_.sum(axis=1)[:2].round(9)
    array([1., 1.])
    """

    legal = parameters(n_bins=Whole(1), n_random_cuts=Whole(1))

    def __init__(
        self, n_bins: int = 10, n_random_cuts: int = 100, random_state: Any = None
    ) -> None:
        self.n_bins = n_bins
        self.n_random_cuts = n_random_cuts
        self.random_state = random_state

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models when their last cut is added."""
        X = np.asfortranarray(X)
        for seed, own in grouped(models, lambda model: seed_of(model.random_state)).items():
            by_bins = grouped(own, lambda model: model.n_bins)
            last = {n: max(model.n_random_cuts for model in of) for n, of in by_bins.items()}
            sums = {n_bins: np.zeros(len(X)) for n_bins in by_bins}
            cuts = islice(_cuts(X.shape[1], seed), max(last.values()))
            for count, cut in enumerate(cuts, start=1):
                projected = cut.project(X)
                for n_bins in (n for n in by_bins if count <= last[n]):
                    _add_cut(projected, *_limits(projected, n_bins), np.empty(n_bins), sums[n_bins])
                for model in own:
                    if model.n_random_cuts == count:
                        yield model, sums[model.n_bins] / count**2

    def _fit(self, X: Matrix) -> Scores:
        X = np.asfortranarray(X)
        sums = np.zeros(len(X))
        self.shares_ = np.empty((self.n_random_cuts, self.n_bins))
        self.largest_ = np.empty(self.n_random_cuts)
        self._edges = np.empty((self.n_random_cuts, self.n_bins))
        self._cuts = list(islice(_cuts(X.shape[1], seed_of(self.random_state)), self.n_random_cuts))
        for i, cut in enumerate(self._cuts):
            projected = cut.project(X)
            self.largest_[i] = projected.max()
            low, high = _limits(projected, self.n_bins)
            self._edges[i] = np.linspace(low, high, self.n_bins, endpoint=False)
            _add_cut(projected, low, high, self.shares_[i], sums)
        return sums / self.n_random_cuts**2

    def _score(self, X: Matrix) -> Scores:
        total = np.zeros(len(X))
        last = self.n_bins - 1
        for cut, edges, shares in zip(self._cuts, self._edges, self.shares_, strict=True):
            bins = np.searchsorted(edges[:last], cut.project(X), side="left")
            total -= np.log(shares[bins])
        return total / self.n_random_cuts**2


def _limits(projected: Scores, n_bins: int) -> tuple[float, float]:
    """Return the range of the histogram; as in NumPy, its width is 1 if all rows are equal."""
    low, high = float(projected.min()), float(projected.max())
    # rows may be equal up to rounding
    has_width = (np.diff(np.linspace(low, high, n_bins + 1)) > 0).all()
    return (low, high) if has_width else (low - 0.5, high + 0.5)


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


FAMILY = Family(
    "LODA",
    LODA,
    {
        "n_bins": (5, 10, 15, 20, 25, 30),
        "n_random_cuts": (10, 20, 30, 40, 50, 75, 100, 150, 200),
    },
    random=True,
    learned_rows=MANY_ROWS,
    landmarker=lambda Z, seed: LODA(random_state=seed).fit(Z),
)
