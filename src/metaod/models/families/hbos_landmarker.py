"""HBOS as a landmarker: the histogram of each column, and the scores."""

from dataclasses import dataclass

import numpy as np

from metaod.models._base import Matrix, Scores
from metaod.models.families.hbos import histograms, summed

__all__ = ["N_BINS", "HBOSRun", "run_hbos"]

N_BINS = 10
"""Bins of each histogram, PyOD's default."""
_ALPHA = 0.1  # PyOD's default: what is added to a density before its logarithm is taken


@dataclass(frozen=True)
class HBOSRun:
    """A run of HBOS.

    Parameters
    ----------
    scores : ndarray of float
        PyOD's scores.
    density : ndarray of float, shape (n_bins, n_columns)
        The histograms; densities, so that bins times widths add up to 1 in each column.
    """

    scores: Scores
    density: Matrix


def run_hbos(Z: Matrix) -> HBOSRun:
    """Run HBOS with 10 bins.

    Memory beyond the table: two bytes a value.

    Examples
    --------
    >>> run_hbos(np.array([[0.0], [0.1], [10.0]])).density[0].round(3)
    array([0.667])
    """
    bins, density, _ = histograms(Z, N_BINS)
    return HBOSRun(summed(bins, -np.log2(density + _ALPHA)), density)
