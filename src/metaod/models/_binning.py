"""Bins of equal width, as in NumPy's histogram."""

from typing import Any

import numpy as np

from metaod.models._compiled import njit


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


@njit(cache=True)
def has_bins(low: Any, high: Any, n_bins: int) -> bool:
    """Return whether a range is wide enough for the bins to have a width after rounding."""
    step = (high - low) / n_bins
    lower = low
    for b in range(1, n_bins + 1):
        upper = edge_of(b, low, step) if b < n_bins else high
        # negated, to be true for a NaN edge
        if not lower < upper:
            return False
        lower = upper
    return True


def no_bins(n_bins: int) -> str:
    """Return the exception of PyOD's fit, raised by NumPy, if :func:`has_bins` is false."""
    return f"ValueError: Too many bins for data range. Cannot create {n_bins} finite-sized bins."
