"""Random draws with SplitMix64, which are the same on every machine and library version.

The state is an array of one unsigned 64-bit integer, which every draw changes.
"""

import math
from typing import Any

import numpy as np

from metaod.models._compiled import njit

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
_TO_53_BITS = np.uint64(11)


@njit(cache=True, nogil=True)
def _mixed(bits: Any) -> Any:
    bits = (bits ^ (bits >> _SHIFT_1)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_2)) * _MIX_2
    return bits ^ (bits >> _SHIFT_3)


@njit(cache=True, nogil=True)
def seed_tree(state: Any, seed: int, kind: int, tree: int) -> None:
    """Start the independent stream of one tree of one kind of forest."""
    state[0] = _mixed(
        _mixed(_mixed(np.uint64(seed) + _GAMMA) ^ np.uint64(kind)) + np.uint64(tree) * _GAMMA
    )


@njit(cache=True, nogil=True)
def uniform(state: Any, low: float, high: float) -> float:
    """Draw a number in [low, high)."""
    state[0] += _GAMMA
    return float(low + (_mixed(state[0]) >> _TO_53_BITS) * 2.0**-53 * (high - low))


@njit(cache=True, nogil=True)
def below(state: Any, bound: int) -> int:
    """Draw an integer in [0, bound)."""
    return int(uniform(state, 0.0, 1.0) * bound)


@njit(cache=True, nogil=True)
def normal(state: Any) -> float:
    """Draw from the standard normal distribution, by Box and Muller's method."""
    # 1 - u is in (0, 1], so its logarithm is finite
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state, 0.0, 1.0)))
    return radius * math.cos(2.0 * math.pi * uniform(state, 0.0, 1.0))


@njit(cache=True, nogil=True)
def draw_first(state: Any, items: Any, count: int, swapped: Any) -> None:
    """Swap random items to the first ``count`` positions; write the positions to ``swapped``."""
    n = items.shape[0]
    for i in range(count):
        j = i + below(state, n - i)
        swapped[i] = j
        items[i], items[j] = items[j], items[i]


@njit(cache=True, nogil=True)
def put_back(items: Any, count: int, swapped: Any) -> None:
    """Undo :func:`draw_first`."""
    for i in range(count - 1, -1, -1):
        j = swapped[i]
        items[i], items[j] = items[j], items[i]
