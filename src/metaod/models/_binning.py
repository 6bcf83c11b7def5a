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
