"""Where to cut a row of numbers in two, so that both parts are as narrow as can be."""

from typing import Any

import numpy as np
from numba import njit

__all__ = ["MARGIN", "best_split", "order"]

MARGIN = 1e-7
"""A gain that is larger by less is not: rounding must not decide between ties, the first wins."""

# from so many values in one place of the range on, insertion would be slower than a quicksort
_CROWD = 100


@njit(cache=True)
def order(values: Any, ordered: Any, places: Any) -> None:
    """Sort a few hundred values: by their place in the range first, then by insertion.

    Four times faster than a quicksort where values are spread over the range; where many crowd in
    one place it is left to that. ``places`` is room for one number more than there are values.
    """
    count = len(values)
    low = high = values[0]
    for value in values:
        low = min(low, value)
        high = max(high, value)
    ordered[:] = values
    if not high > low:
        return
    factor = (count - 1) / (high - low)
    places[: count + 1] = 0
    for value in values:
        places[int((value - low) * factor) + 1] += 1
    crowd = 0
    for i in range(1, count + 1):
        crowd = max(crowd, places[i])
        places[i] += places[i - 1]
    if crowd > _CROWD:
        ordered.sort()
        return
    for value in values:
        place = int((value - low) * factor)
        ordered[places[place]] = value
        places[place] += 1
    for i in range(1, count):
        value = ordered[i]
        j = i - 1
        while j >= 0 and ordered[j] > value:
            ordered[j + 1] = ordered[j]
            j -= 1
        ordered[j + 1] = value


@njit(cache=True)
def best_split(ordered: Any, shares: Any, sums: Any) -> Any:
    """The largest gain in standard deviation, and the place where the right side starts.

    Parameters
    ----------
    ordered : ndarray of float
        The values in order.
    shares : ndarray of float
        1 / n for every n up to the number of values.
    sums : ndarray of float, shape (3, at least the number of values)
        Room to work in.

    Returns
    -------
    gain : float
        ``(sd - (sd of the left + sd of the right) / 2) / sd``; -inf where all values are the same.
    place : int
        Index of the first value on the right.
    """
    count = len(ordered)
    mean = ordered.mean()
    total = squares = 0.0
    for i in range(count):
        value = ordered[i] - mean
        total += value
        squares += value * value
        sums[0, i] = total
        sums[1, i] = squares
    # in loops of their own, without branches, so that several places are worked out at once
    for i in range(count - 1):
        left, right = shares[i + 1], shares[count - i - 1]
        # the sums of the right side complete those of the left: to 0, and to all squares
        of_left = sums[1, i] * left - (sums[0, i] * left) ** 2
        of_right = (squares - sums[1, i]) * right - (sums[0, i] * right) ** 2
        # what is below 0 is a rounding error
        sums[2, i] = np.sqrt(abs(of_left)) + np.sqrt(abs(of_right))
    spread = np.sqrt(squares * shares[count])
    margin = 2.0 * MARGIN * spread
    least, place = np.inf, 0
    for i in range(count - 1):
        if sums[2, i] < least - margin and ordered[i + 1] > ordered[i]:
            least, place = sums[2, i], i + 1
    return (1.0 - 0.5 * least / spread if place > 0 else -np.inf), place
