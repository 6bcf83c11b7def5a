"""Usual values in place of the cells of a row: what similar rows have, and what its category has.

A column's median can be a value that no row has, or one that contradicts the row's other cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.detection._fitted import Fitted
from metaod.models import Matrix
from metaod.tables import SURPRISAL_UNIT, Preparation, ReadRows

_MOST_REFERENCES = 2000  # rows among which similar ones are looked for
_NEIGHBOURS = 15
_CENTRAL = 1.645  # standard deviations that hold the central 90 %
_FEW_COLUMNS = 20  # a table with no more is replaced column by column
_MOST_COLUMNS = 12  # of a row of a wider table: those that differ most from similar rows

_Rows = npt.NDArray[np.intp]
_Values = npt.NDArray[np.float64]
_Cell = tuple[int, int]  # a row and a column of the table


@dataclass(frozen=True, eq=False)
class ChangedRows:
    """Rows, in each of which one cell is replaced.

    Parameters
    ----------
    X : ndarray of float
        The prepared changed rows.
    rows, places : ndarray of int
        The row and the column of the table of each replaced cell.
    values : list of float, str or None
        Its new value.
    nearby : dict of (int, int) to ndarray
        The numbers that similar rows have, by row and column of the table.
    oddest : dict of int to (int, int)
        The category and the number of a row that are unusual in combination.
    """

    X: Matrix
    rows: _Rows
    places: _Rows
    values: list[Any]
    nearby: dict[_Cell, _Values]
    oddest: dict[int, tuple[int, int]]

    def is_odd_in_context(self, read: ReadRows, row: int, place: int) -> bool:
        """Whether similar rows have other values, or the cell is in an unusual combination."""
        if place in self.oddest.get(row, ()):
            return True
        if (row, place) not in self.nearby or read.gaps[row, place]:
            return False
        low, high = np.quantile(self.nearby[row, place], (0.05, 0.95))
        return not low <= read.X[row, read.starts[place]] <= high

    def side(self, read: ReadRows, row: int, place: int) -> str:
        """Say whether a number is high or low beside similar rows, or missing; else nothing."""
        if read.gaps[row, place]:
            return "missing"
        if (row, place) not in self.nearby:
            return ""
        middle = np.median(self.nearby[row, place])
        return "high" if read.X[row, read.starts[place]] > middle else "low"


class UsualCells:
    """Finds usual values for cells of rows.

    Parameters
    ----------
    preparation : Preparation
        The fitted preparation.
    fitted : Fitted
        The pick; rows that it does not flag are usual.
    """

    def __init__(self, preparation: Preparation, fitted: Fitted) -> None:
        self._preparation = preparation
        self._names = {plan.record.name: i for i, plan in enumerate(preparation.columns_)}
        X = fitted.X
        n_own = X.shape[1] - len(preparation.record_.evidence)
        usual = np.flatnonzero(fitted.scores <= fitted.threshold)
        if len(usual) == 0:
            usual = np.arange(len(X))
        if len(usual) > _MOST_REFERENCES:
            drawn = np.random.default_rng(0).choice(len(usual), _MOST_REFERENCES, replace=False)
            usual = usual[np.sort(drawn)]
        self._X = X[usual, :n_own]
        low, self._centre, high = np.percentile(self._X, (25, 50, 75), axis=0)
        with np.errstate(over="ignore"):
            spread = np.where(high > low, (high - low) / 1.35, self._X.std(axis=0))
        self._unit = np.where(spread > 0, spread, 1.0)
        self._Z = self._scaled(self._X)
        self._low, self._high = self._X.min(axis=0), self._X.max(axis=0)

    def _scaled(self, X: Matrix) -> Matrix:
        """Return columns in a common unit, in which far values are not much farther."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.nan_to_num((X - self._centre) / self._unit)
        return np.asarray(np.copysign(np.log1p(np.abs(scaled)), scaled))

    def distances(self, X: Matrix, changed: Matrix) -> _Values:
        """Return how far rows are from others, in their farthest column and a common unit."""
        n_own = self._X.shape[1]
        apart = np.abs(self._scaled(X[:, :n_own]) - self._scaled(changed[:, :n_own]))
        return np.asarray(apart.max(axis=1, initial=0.0))

    def within(self, column: int, values: Matrix) -> Matrix:
        """Clip a usual range of a column of the matrix to the values that usual rows have."""
        middle = np.median(values)
        low, high = min(self._low[column], middle), max(self._high[column], middle)
        return np.clip(values, low, high)

    def fill_in(
        self,
        read: ReadRows,
        among: npt.NDArray[np.bool_] | None = None,
        *,
        together: bool = False,
    ) -> ChangedRows:
        """Replace the cells of the rows, one at a time, by usual values.

        ``among`` tells which cells to replace, by row and column of the table; by default all, or
        the oddest of a wide table. With ``together``, rows are similar that are so in the columns
        that are not replaced.
        """
        rows: list[int] = []
        places: list[int] = []
        values: list[Any] = []
        nearby = {}
        fitting, oddest, in_category = self._fitting_pairs(read)
        Z = self._scaled(read.X[:, : self._X.shape[1]])
        for row in range(len(Z)):
            parts = np.square(Z[row] - self._Z)
            distances = parts.sum(axis=1)
            if among is None:
                chosen = self._chosen(read, row, Z[row], distances, oddest.get(row, ()))
            else:
                chosen = np.flatnonzero(among[row]).tolist()
            if together:
                own = [read.starts[place] for place in chosen]
                parts[:, own] = parts[:, own].sum(axis=1, keepdims=True)
            for place in chosen:
                plan = self._preparation.columns_[place]
                found: list[Any] = [fitting[row, place]] if (row, place) in fitting else []
                if not plan.record.is_used:
                    found = [None]
                elif place in read.labels:
                    found = found or [_most_frequent(plan)]
                else:
                    column = read.starts[place]
                    similar = self._X[_nearest(distances - parts[:, column]), column]
                    found.append(float(np.median(similar)))
                    nearby[row, place] = in_category.get((row, place), similar)
                rows += [row] * len(found)
                places += [place] * len(found)
                values += found
        at = np.array(rows, dtype=np.intp), np.array(places, dtype=np.intp)
        return ChangedRows(read.replaced(*at, values), *at, values, nearby, oddest)

    def _chosen(
        self, read: ReadRows, row: int, z: _Values, distances: _Values, oddest: Sequence[int]
    ) -> list[int]:
        """Return the columns to replace: all that are used, or those of a wide table that differ.

        Of a column that is not used only gaps are replaced.
        """
        plans = self._preparation.columns_
        used = [place for place, plan in enumerate(plans) if plan.record.is_used]
        gaps = np.flatnonzero(read.gap_surprisals[row]).tolist()
        if len(used) > _FEW_COLUMNS:
            unlike = np.abs(z - np.median(self._Z[_nearest(distances)], axis=0))
            odd = np.maximum(np.abs(z), unlike)[[read.starts[place] for place in used]]
            odd += read.gap_surprisals[row, used] / SURPRISAL_UNIT
            odd[np.isin(used, oddest)] = np.inf
            used = [used[i] for i in np.argsort(-odd, kind="stable")[:_MOST_COLUMNS]]
        return used + [place for place in gaps if not plans[place].record.is_used][:_MOST_COLUMNS]

    def _fitting_pairs(
        self, read: ReadRows
    ) -> tuple[dict[_Cell, Any], dict[int, _Cell], dict[_Cell, _Values]]:
        """Return values that fit the other column of a pair, and the oddest pair of each row.

        Also return the ends of the range that the number of such a pair has in the row's category.

        A number's value is the middle of the row's category, in the pair where it is farthest from
        it; a category's is the most frequent of those that fit all numbers best.
        """
        fitting: dict[_Cell, Any] = {}
        farthest: dict[_Cell, float] = {}
        excesses: dict[int, list[Matrix]] = {}
        oddest: dict[int, _Cell] = {}
        in_category: dict[_Cell, _Values] = {}
        largest = np.zeros(len(read.X))
        for pair in self._preparation.pairs_:
            category, number = self._names[pair.category], self._names[pair.number]
            values = np.where(read.gaps[:, number], np.nan, read.X[:, read.starts[number]])
            levels = np.arange(len(pair.levels))
            by_level = pair.excess(np.tile(levels, (len(values), 1)), values[:, None])
            excesses.setdefault(category, []).append(by_level)
            own = pair.places(read.labels[category])
            for i in np.flatnonzero(own >= 0).tolist():
                level = own[i]
                far = abs(values[i] - pair.middles[level]) / pair.spreads[level]
                key = i, number
                if not far < farthest.get(key, -1.0):  # a gap is NaN
                    farthest[key], fitting[key] = far, pair.middles[level]
                if by_level[i, level] > largest[i]:
                    largest[i], oddest[i] = by_level[i, level], (category, number)
                    # each end twice: then they are the quantiles of .05 and .95
                    ends = np.repeat([-_CENTRAL, _CENTRAL], 2) * pair.spreads[level]
                    in_category[key] = pair.middles[level] + ends
        for category, found in excesses.items():
            texts = self._levels_by_count(category)
            for i, excess in enumerate(np.max(found, axis=0).tolist()):
                best = min(range(len(texts)), key=lambda j: excess[texts[j][0]])
                fitting[i, category] = texts[best][1]
        return fitting, oddest, in_category

    def _levels_by_count(self, place: int) -> list[tuple[int, str]]:
        """Return place and text of the levels of a paired category, most frequent first."""
        plan: Any = self._preparation.columns_[place]
        pair = next(pair for pair in self._preparation.pairs_ if pair.category == plan.record.name)
        counts = dict(zip(plan.categories, plan.counts, strict=True))
        return sorted(enumerate(pair.levels), key=lambda level: -counts[level[1]])


def _nearest(distances: _Values) -> _Rows:
    count = min(_NEIGHBOURS, len(distances))
    return np.argpartition(distances, count - 1)[:count]


def _most_frequent(plan: Any) -> str:
    return str(plan.categories[int(np.argmax(plan.counts))])
