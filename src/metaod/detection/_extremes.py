"""Extreme cells: a value far beyond all others of its column lifts its row, whatever was picked.

Models rank rows as a whole. Some cannot see distance (histograms, isolation trees), those that can
may have learned from a sample without the value, and scalings bound what a cell can do. So a row's
score is at least what its most extreme cell demands; for ordinary rows that is nothing.
docs/selection.md has the measurements.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt

from metaod._state import Shape
from metaod.models import Matrix, Scores

BEGIN = 32.0
"""Standard deviations of a column that a gap must exceed to demand anything."""

_ROUNDING = 16 * np.finfo(np.float64).eps  # a spread below this share of the values is rounding
_LARGEST = 1e300  # of gaps: differences of huge values overflow


@dataclass(frozen=True, eq=False)
class Extremes:
    """The outermost values of each column of a table, and the scores of its other rows.

    An extreme value is one of a few that a gap separates from the rest of its column: at most a
    third of the square root of the rows, on either side. The gap is measured in standard deviations
    of the column whose few outermost values were pulled in; if all others are equal, in a third of
    the whole column's deviation. Columns in fixed units have no extremes. Rows with extreme cells
    are as few: if there were more, larger gaps are needed.

    Parameters
    ----------
    tails : ndarray of float, shape (2, columns, few + 1)
        The outermost values in rising order, those of the lower side negated; the first is the
        last one that is not among the few.
    spread : ndarray of float, shape (columns,)
        The unit of gaps; 0 for a column without extremes.
    begin : float
        The gap beyond which a cell is extreme.
    middle, height : float
        The median score of the table, and how far the highest score of a row without extreme cells
        lies above it.
    """

    tails: Annotated[npt.NDArray[np.float64], Shape(2, "d", "k")]
    spread: Annotated[npt.NDArray[np.float64], Shape("d")]
    begin: float = BEGIN
    middle: float = 0.0
    height: float = 1.0

    @classmethod
    def of(cls, X: Matrix, fixed: npt.NDArray[np.bool_] | None = None) -> Self:
        """Find the outermost values of a finite matrix."""
        n_rows, n_columns = X.shape
        few = _few(n_rows)
        tails = np.empty((2, n_columns, few + 1))
        spread = np.zeros(n_columns)
        for column in range(n_columns):
            values = np.partition(X[:, column], (few, n_rows - 1 - few))
            low, high = np.sort(values[: few + 1]), np.sort(values[n_rows - 1 - few :])
            tails[:, column] = -low[::-1], high
            if fixed is None or not fixed[column]:
                pulled_in = np.clip(values, low[-1], high[0])
                spread[column] = _deviation(pulled_in) or _deviation(values) / 3
        return cls(tails, spread)

    def beside(self, scores: Scores, gaps: Scores) -> Self:
        """Learn from the scores of the table and the gaps of its rows what extreme cells demand."""
        begin = max(BEGIN, float(np.partition(gaps, -1 - _few(len(gaps)))[-1 - _few(len(gaps))]))
        middle = float(np.median(scores))
        height = float(scores[gaps <= begin].max(initial=middle)) - middle
        return replace(self, begin=begin, middle=middle, height=height or 1.0)

    def gaps(self, X: Matrix) -> Scores:
        """Return the largest gap below a cell of each row; 0 if it does not exceed `BEGIN`.

        Examples
        --------
        >>> X = np.append(np.arange(1000.0), 64_000.0)[:, np.newaxis]
        >>> Extremes.of(X).gaps(np.array([[500.0], [-2000.0], [64_000.0], [200_000.0]])).round()
        array([  0.,   0., 218., 471.])
        """
        low, high = self._limits
        rows, columns = np.nonzero((low > X) | (high < X))
        gaps = np.zeros(len(X))
        for column in np.unique(columns).tolist():
            own = rows[columns == column]
            values = X[own, column]
            found = [self._gaps_below(v, side, column) for side, v in enumerate((-values, values))]
            gaps[own] = np.maximum(gaps[own], np.maximum(*found))
        return gaps

    def lifted(self, scores: Scores, gaps: Scores) -> Scores:
        """Return scores that are at least what extreme cells demand.

        A gap of twice `begin` raises a score to the highest ordinary one; each doubling adds the
        same height again.
        """
        doublings = np.log2(np.maximum(gaps / self.begin, 1.0))
        demanded = np.where(doublings > 0, self.middle + self.height * doublings, -np.inf)
        return np.maximum(scores, demanded)

    def _gaps_below(self, values: Scores, side: int, column: int) -> Scores:
        """Return the largest gap of a tail below each value, in spreads."""
        tail = self.tails[side, column]
        places = np.maximum(np.searchsorted(tail, values, side="right") - 1, 0)
        with np.errstate(over="ignore"):
            own = np.minimum((values - tail[places]) / self.spread[column], _LARGEST)
        return np.asarray(np.maximum(own, self._gaps[side, column, places]))

    @cached_property
    def _gaps(self) -> Matrix:
        """The largest gap of a tail below each of its values, in spreads."""
        spread = self.spread[:, np.newaxis]
        with np.errstate(all="ignore"):
            gaps = np.where(spread > 0, np.minimum(np.diff(self.tails) / spread, _LARGEST), 0.0)
        return np.maximum.accumulate(np.pad(gaps, ((0, 0), (0, 0), (1, 0))), axis=2)

    @cached_property
    def _limits(self) -> tuple[Scores, Scores]:
        """The values of each column beyond which a gap exceeds `BEGIN`."""
        n_before = (self._gaps <= BEGIN).sum(axis=2, keepdims=True)
        last = np.take_along_axis(self.tails, n_before - 1, axis=2)[..., 0]
        with np.errstate(over="ignore"):
            limits = np.where(self.spread > 0, last + BEGIN * self.spread, np.inf)
        return -limits[0], limits[1]


def _few(n_rows: int) -> int:
    return min(max(1, round(math.sqrt(n_rows) / 3)), (n_rows - 1) // 2)


def _deviation(values: Scores) -> float:
    """Return the standard deviation; 0 if the values differ by rounding alone."""
    largest = float(np.abs(values).max())
    if largest == 0:
        return 0.0
    spread = float((values / largest).std())  # squares of huge values overflow
    return spread * largest if spread > _ROUNDING else 0.0
