"""Errors that counting shows: repeated keys and rows, and dates in the wrong order.

History has too few of them to teach how certain they are. What chance would give is counted in the
table itself: numbers drawn at random would repeat, rows would hardly, and dates that have nothing
to do with each other would often be in the other order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.wrong_cells._columns import Codes, Column, Values
from metaod.wrong_cells._dependencies import is_key, repeats

Which = npt.NDArray[np.bool_]

_ROW = 0.8  # the probability that a row that repeats, and not by chance, is an error
_NEAR_ROW = 0.6  # the same but for a column that should name each row
_KEY = 0.6  # that the later one of two equal keys is wrong
_DATE = 0.45  # for each of two dates of which one must be wrong
_TIMES = 20  # chance would give so many times as many
_FEWEST_BY_CHANCE = 5
_FEWEST_ROWS = 50
_MOST_BROKEN = 0.01  # of the rows break a rule
_MOST_REPEATED = 0.05  # of the rows; more are usual in the table
_MOST_RELATED = 0.2  # of the variance of columns that count as independent
_MOST_INDEPENDENT = 12
_SAMPLED = 20_000  # keys whose numbers are read


@dataclass(frozen=True, eq=False)
class BrokenOrder:
    """Rows in which a date is later than the one that it precedes in nearly all rows."""

    first: int  # places of the columns
    second: int
    rows: Codes


@dataclass(frozen=True, eq=False)
class Counted:
    """What counting shows of a table.

    Parameters
    ----------
    least : mapping of int to ndarray of float
        The least probability that each cell is wrong, by the places of columns with any.
    orders : sequence of BrokenOrder
        Rows with a date that is wrong, which may be one of two.
    """

    least: Mapping[int, Values]
    orders: Sequence[BrokenOrder]

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        weights: Values,
        positions: Codes,
        reference: Codes,
        alike: Mapping[str, Which],
        naming: int,
    ) -> Self:
        """Count in a table; rows that repeat are shown at the column that names rows."""
        keys = [is_key(column) for column in columns]
        least = {naming: _of_rows(columns, weights, keys, *alike.values())}
        for place in np.flatnonzero(keys).tolist():
            is_later, _ = repeats(columns[place].hashes, positions)
            is_later &= columns[place].present & (positions >= 0)
            of_keys = _of_keys(columns[place], is_later)
            least[place] = np.maximum(least.get(place, 0.0), of_keys)
        least = {place: own for place, own in least.items() if own.any()}
        return cls(least, _broken_dates(columns, reference))

    def cells(self, place: int) -> Codes:
        """Return the rows of a column of which counting shows anything."""
        shown = [own.rows for own in self.orders if place in (own.first, own.second)]
        return np.unique(np.concatenate([np.flatnonzero(self.least.get(place, [])), *shown]))

    def raised(
        self, scores: Sequence[Values], rows: Sequence[Codes], enough: float
    ) -> list[Values]:
        """Return scores of cells that are at least what counting shows.

        Both dates in the wrong order are raised, unless one has a score that is enough.
        """
        raised = list(scores)
        for place, least in self.least.items():
            raised[place] = np.maximum(scores[place], least[rows[place]])
        for order in self.orders:
            places = order.first, order.second
            cells = [np.searchsorted(rows[place], order.rows) for place in places]
            largest = np.max([raised[p][at] for p, at in zip(places, cells, strict=True)], axis=0)
            for place, at in zip(places, cells, strict=True):
                least = np.where(largest < enough, _DATE, 0.0)
                raised[place][at] = np.maximum(raised[place][at], least)
        return raised


def _of_keys(column: Column, is_later: Which) -> Values:
    """Return the probability that a key is wrong, of the later rows with an earlier one's value.

    Keys are unique by design if numbers drawn from their range would have repeated far more often.
    """
    n_repeated = int(np.count_nonzero(is_later))
    expected = _repeats_by_chance(column) if n_repeated else 0.0
    if expected < max(_FEWEST_BY_CHANCE, _TIMES * n_repeated):
        return np.zeros(len(is_later))
    if column.is_number:  # ranks with ties leave out the next number
        numbers = column.distinct.astype(np.float64)
        is_later = is_later & column.spread(np.isin(numbers + 1, numbers), False)
    return np.asarray(_KEY * is_later)


def _repeats_by_chance(column: Column) -> float:
    """Return how many pairs would be equal if the numbers in keys were drawn from their ranges."""
    drawn = np.argsort(pd.util.hash_array(column.distinct), kind="stable")[:_SAMPLED]
    keys = pd.Series(column.distinct[drawn])
    if column.is_number:
        parts = pd.DataFrame({"number": keys.astype(np.float64), "around": ""})
    else:
        found = keys.astype(str).str.extract(r"^(.*?)(\d{1,15})(\D*)$", expand=True)
        number = pd.to_numeric(found[1], errors="coerce")
        parts = pd.DataFrame({"number": number, "around": found[0] + "\0" + found[2]})
    scale = len(column.distinct) / len(drawn)
    expected = 0.0
    for _, numbers in parts.dropna().groupby("around")["number"]:
        if len(numbers) >= _FEWEST_ROWS // 2:
            low, high = np.quantile(numbers, [0.01, 0.99])
            expected += (len(numbers) * scale) ** 2 / (2 * ((high - low) / 0.98 + 1))
    return expected


def _of_rows(
    columns: Sequence[Column], weights: Values, keys: Sequence[bool], exact: Which, near: Which
) -> Values:
    """Return the probability that rows that repeat others are errors."""
    everything = range(len(columns))
    rest = [place for place in everything if not keys[place]]
    return np.maximum(
        _ROW * _certainty(columns, weights, everything, exact),
        _NEAR_ROW * _certainty(columns, weights, rest, near),
    )


def _certainty(
    columns: Sequence[Column], weights: Values, places: Sequence[int], which: Which
) -> Values:
    n_found, n_rows = np.count_nonzero(which), len(which)
    if not n_found or n_rows < _FEWEST_ROWS or n_found > _MOST_REPEATED * n_rows:
        return np.zeros(n_rows)
    equal = {place: _share_of_equal_pairs(columns[place]) for place in places}
    chosen: list[int] = []
    for place in sorted(places, key=lambda place: (equal[place], columns[place].name)):
        tied = np.maximum(weights[place, chosen], weights[chosen, place])
        if len(chosen) < _MOST_INDEPENDENT and np.all(tied <= _MOST_RELATED):
            chosen.append(place)
    by_chance = n_rows**2 / 2 * float(np.prod([equal[place] for place in chosen]))
    few = min(1.0, 2 * (1 - n_found / (_MOST_REPEATED * n_rows)))
    return n_found / (n_found + by_chance) * few * which


def _share_of_equal_pairs(column: Column) -> float:
    counts = np.append(column.counts, np.count_nonzero(~column.present)).astype(np.float64)
    n_rows = len(column.codes)
    return float(counts @ (counts - 1)) / (n_rows * (n_rows - 1))


def _broken_dates(columns: Sequence[Column], reference: Codes) -> list[BrokenOrder]:
    """Find the rows that break an order of two dates, which nearly all rows keep."""
    found = []
    dates = [place for place, column in enumerate(columns) if column.kind == "date"]
    for first, second in permutations(dates, 2):
        one, other = columns[first].values, columns[second].values
        a, b = one[reference], other[reference]
        known = ~np.isnan(a) & ~np.isnan(b)
        a, b = a[known], b[known]
        if len(a) < _FEWEST_ROWS:
            continue
        broken = np.mean(a > b)
        by_chance = np.searchsorted(np.sort(b), a, side="left").mean() / len(b)
        if broken <= _MOST_BROKEN and by_chance >= max(0.05, _TIMES * broken):
            rows = np.flatnonzero(one > other)
            if len(rows):
                found.append(BrokenOrder(first, second, rows))
    return found
