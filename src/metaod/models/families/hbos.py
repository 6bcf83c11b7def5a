"""HBOS: scores from a histogram of each column.

One binning of the table serves every HBOS of that number of bins. PyOD counts a value on an edge
in the bin that starts there but takes its score from the bin that ends there; so do we.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from metaod._legal import Number, Whole, parameters
from metaod.models._arrays import Matrix, Scores, njit
from metaod.models._estimator import Estimator, grouped
from metaod.models._family import MANY_ROWS, Family, Settings

Bins = npt.NDArray[np.uint16]

_BEYOND = 0.5  # widths of a bin by which a new value may lie beyond the last one: PyOD's tol


class HBOS(Estimator):
    """Sum over the columns of minus the logarithm of a value's density, as PyOD's ``HBOS``.

    Attributes
    ----------
    density_ : ndarray of float, shape (n_bins, n_columns)
        The histograms; densities times widths of bins add up to 1 in each column.

    Examples
    --------
    >>> HBOS().fit([[0.0], [0.1], [10.0]]).density_[0].round(3)
    array([0.667])
    """

    legal = parameters(n_bins=Whole(2, 2**16 - 1), alpha=Number(0, 1))

    def __init__(self, n_bins: int = 10, alpha: float = 0.1) -> None:
        self.n_bins = n_bins
        self.alpha = alpha

    @classmethod
    def fit_many(
        cls, X: Matrix, models: Sequence[Self]
    ) -> Iterator[tuple[Self, Scores | Exception]]:
        """Yield the training scores of models, one number of bins after the other."""
        for n_bins, own in grouped(models, lambda model: model.n_bins).items():
            try:
                bins, density, _ = _histograms(X, n_bins)
            except ValueError as error:
                yield from ((model, error) for model in own)
                continue
            for model in own:
                yield model, _sum_columns(bins, _table(density, model.alpha))

    def _fit(self, X: Matrix) -> Scores:
        bins, self.density_, self._edges = _histograms(X, self.n_bins)
        return np.asarray(_sum_columns(bins, _table(self.density_, self.alpha)))

    def _score(self, X: Matrix) -> Scores:
        total = np.zeros(len(X))
        table = _table(self.density_, self.alpha)
        for values, edges, column in zip(X.T, self._edges.T, table.T, strict=True):
            bins = np.searchsorted(edges, values, side="left")
            scores = column[np.clip(bins - 1, 0, self.n_bins - 1)]
            width = edges[1] - edges[0]
            far = (values < edges[0] - _BEYOND * width) | (values > edges[-1] + _BEYOND * width)
            # as rare as the emptiest bin
            total += np.where(far, column.max(), scores)
        return total


def _table(density: Matrix, alpha: float) -> Matrix:
    """Return the score of each bin."""
    return np.asarray(-np.log2(density + alpha))


def _histograms(X: Matrix, n_bins: int) -> tuple[Bins, Matrix, Matrix]:
    """Return each value's bin, and the bins' densities and edges in each column."""
    low, high = X.min(axis=0), X.max(axis=0)
    edges = np.linspace(low, high, n_bins + 1)
    widths = np.diff(edges, axis=0)
    if not (widths > 0).all():
        raise ValueError(f"the range of a column is too narrow for {n_bins} bins")
    bins = np.zeros(X.shape, dtype=np.uint16)
    counts = np.zeros((n_bins, X.shape[1]))
    _count(X, low, high, bins, counts)
    with np.errstate(over="ignore"):
        density = counts / widths / X.shape[0]
        whole = (density * widths).sum(axis=0)
    if not np.isclose(1, whole, atol=0.1).all():
        raise ValueError("the densities of a column exceed the range of floating-point numbers")
    return bins, density, edges


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
def _sum_columns(bins: Any, table: Any) -> Any:
    n_rows, n_columns = bins.shape
    sums = np.zeros(n_rows)
    for i in range(n_rows):
        total = 0.0
        for j in range(n_columns):
            total += table[bins[i, j], j]
        sums[i] = total
    return sums


# bins of equal width, as in NumPy's histogram


@njit(cache=True)
def edge_of(b: Any, low: Any, step: Any) -> Any:
    """Return the lower edge of bin b, as NumPy's ``linspace`` rounds it."""
    return b * step + low


@njit(cache=True)
def bin_of(value: Any, low: Any, high: Any, step: Any, n_bins: int) -> Any:
    """Return the number of a value's bin: NumPy's estimate with its two corrections for rounding.

    All numbers are floats and edges are computed, not looked up, so loops over values vectorise.
    """
    last = n_bins - 1.0
    b = min(np.floor((value - low) / (high - low) * n_bins), last)
    b -= 1.0 if value < edge_of(b, low, step) else 0.0
    above = value >= edge_of(b + 1.0, low, step)
    return b + (1.0 if above and b < last else 0.0)


FAMILY = Family(
    "HBOS",
    HBOS,
    {"n_bins": (5, 10, 20, 30, 40, 50, 75, 100), "alpha": (0.1, 0.2, 0.3, 0.4, 0.5)},
    extended=(Settings({"n_bins": (10,), "alpha": (0.1,)}),),
    learned_rows=MANY_ROWS,
    landmarker=lambda Z, seed: HBOS().fit(Z),  # noqa: ARG005 - a landmarker's signature
)
