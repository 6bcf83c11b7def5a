"""Rows as a fitted preparation reads them, in which single cells can be replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.tables._column_values import Cells, Place
from metaod.tables._columns import CategoryColumn
from metaod.tables._context import Given
from metaod.tables._objects import Labels
from metaod.tables._relations import combinations, gap_surprisal

if TYPE_CHECKING:
    from metaod.tables._preparation import Preparable, Preparation

_Rows = npt.NDArray[np.intp]
_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReadRows:
    """A few rows: the matrix, and the values that it was made of.

    Parameters
    ----------
    preparation : Preparation
        The fitted preparation.
    X : ndarray of float
        The prepared rows.
    gaps : ndarray of bool, shape (rows, columns of the table)
        Which cells are missing or infinite.
    labels : dict of int to Labels
        The texts of the columns that became surprisal, by their places in the table.
    given : Given or None
        What is usual in the rows' context: their numbers are distances from it.
    """

    preparation: "Preparation"
    X: _Matrix
    gaps: npt.NDArray[np.bool_]
    labels: dict[int, Labels]
    given: Given | None = None

    @classmethod
    def of(cls, preparation: "Preparation", table: "Preparable") -> "ReadRows":
        """Read rows; the columns are those that the preparation needs."""
        X = preparation.transform(table).X
        rows, own, _ = preparation.rows_of(table)
        given = preparation.given(rows)
        rows = rows if given is None else given.applied(rows)
        gaps = np.zeros((len(rows), len(preparation.columns_)), dtype=np.bool_)
        labels = {}
        for place, (column, _, found) in enumerate(preparation.encode(rows, own)):
            if found is not None:
                gaps[:, place] = found.gaps
            if found is not None and found.labels is not None and column.record.is_used:
                labels[place] = found.labels
        return cls(preparation, X, gaps, labels, given)

    def value(self, row: int, place: int) -> float | str | None:
        """Return a cell of a column that is used: a number, a text, or None for a gap."""
        if self.gaps[row, place]:
            return None
        if place in self.labels:
            column = self.labels[place]
            return str(column.texts[column.codes[row]])
        return float(self.X[row, self.starts[place]])

    @cached_property
    def starts(self) -> list[int]:
        """The matrix's first column of each column of the table."""
        sizes = [len(column.record.outputs) for column in self.preparation.columns_]
        return [0, *np.cumsum(sizes).tolist()][:-1]

    @cached_property
    def gap_surprisals(self) -> _Matrix:
        """What each cell adds to the row's evidence of gaps; 0 for a cell that is no gap."""
        if self.preparation.evidence_places()[0] is None:
            return np.zeros(self.gaps.shape)
        n_rows = self.preparation.record_.n_rows
        return self.gaps * [gap_surprisal(own, n_rows) for own in self.preparation.columns_]

    def take(self, rows: _Rows) -> "ReadRows":
        """Return some of the rows."""
        labels = {
            place: Labels(known.codes[rows], known.texts) for place, known in self.labels.items()
        }
        given = self.given and self.given.take(rows)
        return ReadRows(self.preparation, self.X[rows], self.gaps[rows], labels, given)

    def changed(self, places: _Rows, values: Sequence[Any]) -> "ReadRows":
        """Return the rows with another value in one cell of each, in the column of that place."""
        rows = np.arange(len(self.X))
        gaps, labels = self.gaps.copy(), dict(self.labels)
        gaps[rows, places] = False
        for place in labels.keys() & set(places.tolist()):
            own = np.flatnonzero(places == place)
            labels[place] = _relabelled(labels[place], own, [values[i] for i in own.tolist()])
        X = self.replaced(rows, places, values)
        return ReadRows(self.preparation, X, gaps, labels, self.given)

    def replaced(self, rows: _Rows, places: _Rows, values: Sequence[Any]) -> _Matrix:
        """Return the matrix of rows in each of which one cell has another value.

        Parameters
        ----------
        rows, places : ndarray of int
            The row and the column of the table of each cell.
        values : sequence of float or str
            The new values; of a column that is not used, anything: only its gaps count.
        """
        columns, starts = self.preparation.columns_, self.starts
        X = self.X[rows]
        gaps_at, combinations_at = self.preparation.evidence_places()
        numbers, labels = self._paired(rows)
        for place in np.unique(places).tolist():
            column, own = columns[place], np.flatnonzero(places == place)
            if gaps_at is not None:
                X[own, gaps_at] -= self.gap_surprisals[rows[own], place]
            new = [values[i] for i in own.tolist()]
            if isinstance(column, CategoryColumn):
                X[own, starts[place]] = _surprisal(column, new)
                if column.name in labels:
                    labels[column.name] = _relabelled(labels[column.name], own, new)
            elif column.record.outputs:
                X[own, starts[place]] = new
                if column.name in numbers:
                    numbers[column.name][own] = new
        if combinations_at is not None and len(rows):
            X[:, combinations_at] = combinations(self.preparation.pairs_, labels, numbers)
        if gaps_at is not None:
            # sums of surprisals in another order: a row without gaps has exactly 0
            X[np.abs(X[:, gaps_at]) < 1e-9, gaps_at] = 0.0
        return X

    def _paired(self, rows: _Rows) -> tuple[dict[str, _Matrix], dict[str, Labels]]:
        """Return the numbers and labels of the columns that are in pairs."""
        pairs = self.preparation.pairs_
        wanted = {name for pair in pairs for name in (pair.category, pair.number)}
        numbers, labels = {}, {}
        for place, column in enumerate(self.preparation.columns_):
            name = column.name
            if name in wanted and place in self.labels:
                labels[name] = Labels(self.labels[place].codes[rows], self.labels[place].texts)
            elif name in wanted:
                values = self.X[rows, self.starts[place]]
                numbers[name] = np.where(self.gaps[rows, place], np.nan, values)
        return numbers, labels


def _surprisal(column: CategoryColumn, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    out = np.empty((len(texts), 1))
    series = pd.Series(list(texts), dtype=object)
    column.encode(Cells(series, frozenset(), Place(series.index)), out)
    return out[:, 0]


def _relabelled(labels: Labels, rows: _Rows, texts: Sequence[str]) -> Labels:
    known = list(dict.fromkeys([*labels.texts, *texts]))
    places = {text: place for place, text in enumerate(known)}
    codes = labels.codes.copy()
    codes[rows] = [places[text] for text in texts]
    return Labels(codes, known)
