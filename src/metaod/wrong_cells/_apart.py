"""Numbers and dates that a gap separates from all others of their column: far values and codes.

How far the tail of a column reaches by chance is counted in the column itself: the logarithms of
its outermost distances from the middle are as far apart as exponential draws.
"""

import numpy as np

from metaod.wrong_cells._columns import Codes, Column, Values
from metaod.wrong_cells._numbers import are_codes

_MOST_FAR = 3  # values beyond a gap
_LEAST_RATIO = 2.0  # of the distances on both sides of a gap
_FEWEST_BESIDE, _MOST_BESIDE = 10, 20  # distinct values that tell how far the tail reaches
_HALF = 600  # times as many columns without so far a value, by chance: half of such are wrong
_FAR = 0.7  # the most that a value is wrong because it is far
_CODE = 0.45  # that a code for missing apart from all other values is wrong
_MOST_OF_CODE = 0.02  # of the rows
_FEWEST_OF_CODE = 3  # rows
_TIMES_APART = 10  # as far as the next ten values are from each other
_INNER = 10


def apart(column: Column) -> Values:
    """Return the least probability that each cell is wrong, as it lies apart from all others."""
    if column.kind not in ("number", "date") or len(column.distinct) < 2 * _FEWEST_BESIDE:
        return np.zeros(len(column.codes))
    values, counts = column.distinct.astype(np.float64), column.counts
    found = np.maximum(_far(values, counts), _codes_apart(column, values, counts))
    return np.asarray(column.spread(found, 0.0))


def _far(values: Values, counts: Codes) -> Values:
    """Return the probability that values are wrong, as so large a gap is unlikely by chance."""
    middle = np.searchsorted(np.cumsum(counts), counts.sum() / 2)
    distances = np.abs(values - values[middle])
    outermost = np.argsort(-distances, kind="stable")[: _MOST_FAR + _MOST_BESIDE + 1]
    tail = distances[outermost]
    found = np.zeros(len(values))
    for n_far in range(1, _MOST_FAR + 1):
        own, others = outermost[:n_far], tail[n_far:][: _MOST_BESIDE + 1]
        others = others[others > 0]
        if len(others) <= _FEWEST_BESIDE or counts[own].sum() > _MOST_FAR:
            break
        ratio = tail[n_far - 1] / others[0]
        usual = np.log(others[:-1] / others[-1]).mean()
        if ratio >= _LEAST_RATIO and usual > 0:
            n = len(others) - 1
            times = np.exp(min(n * np.log1p(n_far * np.log(ratio) / usual / n), 99.0))
            found[own] = np.maximum(found[own], min(times / (times + _HALF), _FAR))
    return found


def _codes_apart(column: Column, values: Values, counts: Codes) -> Values:
    """Return the probability that codes for missing at an end of a column are wrong.

    The end of the other values must be sharp: incomes may be 0, distances of flights are not.
    """
    found, are_known = np.zeros(len(values)), are_codes(column)
    for sign in (1, -1):
        ends, n_first = (sign * values)[::sign][: _INNER + 1], counts[::sign][0]
        is_rare = _FEWEST_OF_CODE <= n_first <= _MOST_OF_CODE * counts.sum()
        gap, reach = ends[1] - ends[0], ends[-1] - ends[1]
        if are_known[::sign][0] and is_rare and gap > _TIMES_APART * reach:
            found[::sign][0] = _CODE
    return found
