"""Bins of equal width, as in NumPy's histogram."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True)
def edge_of(b: Any, low: Any, step: Any) -> Any:
    """Return the lower edge of bin b, as NumPy's ``linspace`` rounds it."""
    return b * step + low


@njit(cache=True)
def bin_of(value: Any, low: Any, high: Any, step: Any, n_bins: int) -> Any:
    """Return the number of the bin of a value between ``low`` and ``high``, as a float.

    This is NumPy's estimate with its two corrections for rounding. All numbers are floats and
    edges are computed rather than looked up, so that loops over many values vectorise.

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
    """Return whether a range is wide enough for so many bins that rounding leaves none empty.

    Examples
    --------
    >>> has_bins(0.0, 1.0, 20), has_bins(1.0, 1.0 + 1e-15, 20)
    (True, False)
    """
    step = (high - low) / n_bins
    lower = low
    for b in range(1, n_bins + 1):
        upper = edge_of(b, low, step) if b < n_bins else high
        # negated, so that a NaN edge has no bins either
        if not lower < upper:
            return False
        lower = upper
    return True


def no_bins(n_bins: int) -> str:
    """Return NumPy's exception where :func:`has_bins` is false; PyOD's fit stops with it."""
    return f"ValueError: Too many bins for data range. Cannot create {n_bins} finite-sized bins."
