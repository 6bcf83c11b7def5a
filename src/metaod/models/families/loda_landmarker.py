"""LODA as a landmarker: its random projections, their histograms, and the scores."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.models._base import Matrix, Scores
from metaod.models._binning import bin_of, edge_of, has_bins
from metaod.models.families.loda import nested_cuts

__all__ = ["N_BINS", "N_CUTS", "LODARun", "run_loda"]

N_BINS = 10
"""Bins of each histogram, PyOD's default."""
N_CUTS = 100
"""Random projections, PyOD's default."""

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LODARun:
    """A run of LODA.

    Parameters
    ----------
    scores : ndarray of float
        PyOD's scores with the scoring kernel's projections: mean negative log share of a row's
        bins, over the number of projections.
    projection_max : ndarray of float
        Largest of the rows' projections, of each projection. Their mean is 0, for that of z-scores
        is: what a sum would give is rounding.
    shares : ndarray of float, shape (n_cuts, n_bins)
        The histograms: share of the rows in each bin.
    """

    scores: Scores
    projection_max: Vector
    shares: Matrix


def run_loda(Z: Matrix, seed: int) -> LODARun:
    """Run LODA with 100 projections of 10 bins and that seed.

    Memory beyond the table: a copy of it, and a few numbers a row.

    Examples
    --------
    >>> run_loda(np.array([[0.0], [0.1], [9.0]]), seed=0).shares.sum(axis=1)[:2].round(9)
    array([1., 1.])
    """
    sums = np.zeros(len(Z))
    tops = np.empty(N_CUTS)
    shares = np.empty((N_CUTS, N_BINS))
    for cut, projected in enumerate(islice(nested_cuts(Z, seed), N_CUTS)):
        low, high = projected.min(), projected.max()
        tops[cut] = high
        if not has_bins(low, high, N_BINS):
            # all rows at one place, but for rounding; NumPy's bins for that
            low, high = low - 0.5, high + 0.5
        _add_cut(projected, low, high, shares[cut], sums)
    return LODARun(sums / N_CUTS**2, tops, shares)


@njit(cache=True)
def _add_cut(projected: Any, low: float, high: float, shares: Any, sums: Any) -> None:
    """Write the share of each bin, and add the negative log share of each row's bin to ``sums``.

    As in PyOD, a row is looked up in the bin after the one it is counted in, but for the last.
    """
    n_rows = projected.shape[0]
    n_bins = shares.shape[0]
    step = (high - low) / n_bins
    looked_up = np.empty(n_rows, np.uint8)
    counted_in = np.empty(n_rows, np.uint8)
    for i in range(n_rows):
        b = bin_of(projected[i], low, high, step, n_bins)
        counted_in[i] = np.uint8(b)
        after = 1.0 if projected[i] > edge_of(b, low, step) else 0.0
        looked_up[i] = np.uint8(min(b + after, n_bins - 1.0))
    # four sets of counts: one would wait for itself whenever a bin comes twice in a row
    counts = np.zeros((4, n_bins))
    for i in range(n_rows):
        counts[i & 3, counted_in[i]] += 1.0
    total = counts.sum(axis=0) + 1e-12
    shares[:] = total / total.sum()
    table = -np.log(shares)
    for i in range(n_rows):
        sums[i] += table[looked_up[i]]
