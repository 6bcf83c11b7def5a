"""The bin of equal width that NumPy's histogram counts a value in."""

from typing import Any

import numpy as np
from numba import njit

__all__ = ["bin_of", "edge_of", "has_bins", "no_bins"]


@njit(cache=True)
def edge_of(b: Any, low: Any, step: Any) -> Any:
    """Lower edge of bin b, as NumPy's ``linspace`` rounds it."""
    return b * step + low


@njit(cache=True)
def bin_of(value: Any, low: Any, high: Any, step: Any, n_bins: int) -> Any:
    """Number of the bin that holds a value between ``low`` and ``high``, as a float.

    It is NumPy's estimate with its two corrections for rounding; floats throughout, and edges
    computed rather than looked up, let a loop over many values run in vector instructions.

    Examples
    --------
    >>> bin_of(0.5, 0.0, 1.0, 0.25, 4), bin_of(1.0, 0.0, 1.0, 0.25, 4)
    (2.0, 3.0)
    """
    last = n_bins - 1.0
    b = min(np.floor((value - low) / (high - low) * n_bins), last)
    b -= 1.0 if value < edge_of(b, low, step) else 0.0
    above = value >= edge_of(b + 1.0, low, step)
    return b + (1.0 if above and b < last else 0.0)


@njit(cache=True)
def has_bins(low: Any, high: Any, n_bins: int) -> bool:
    """Whether a range is wide enough for so many bins of which none is empty by rounding.

    Examples
    --------
    >>> has_bins(0.0, 1.0, 20), has_bins(1.0, 1.0 + 1e-15, 20)
    (True, False)
    """
    step = (high - low) / n_bins
    lower = low
    for b in range(1, n_bins + 1):
        upper = edge_of(b, low, step) if b < n_bins else high
        # worded so that an edge that is not a number has no bins either
        if not lower < upper:
            return False
        lower = upper
    return True


def no_bins(n_bins: int) -> str:
    """NumPy's exception where :func:`has_bins` says no; with it PyOD's fit stops."""
    return f"ValueError: Too many bins for data range. Cannot create {n_bins} finite-sized bins."
