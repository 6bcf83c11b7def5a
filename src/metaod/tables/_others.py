"""What the other cells of a row tell of one column: a linear model, and trees on what it leaves.

The rows are dealt into parts by their content, and each part is predicted by models of the others.
So no row is predicted by itself, a row that comes again gets the same prediction, and the order of
rows and columns does not count.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod._state import Shape
from metaod.tables._columns import CategoryColumn, Column, NumberColumn
from metaod.tables._table import Rows

_MOST_ROWS = 5_000  # that are learned from
_N_PARTS = 3
_N_TREES = 64
_LEAF = 5
_MOST_LEVELS = 24  # of a category, the most frequent ones
_RIDGE = 1e-2
_CLIP = 4.0
_LEAST = 0.02

Values = npt.NDArray[np.float64]
Predict = Callable[[Values], Values]


@dataclass(frozen=True, eq=False)
class Others:
    """Predicts a column from the others.

    Parameters
    ----------
    target : str
        The column.
    numbers : tuple of str
        Other columns of numbers.
    categories, levels : tuple of str, tuple of tuple of str
        Columns of categories, and their frequent values.
    known : ndarray of float, shape (rows, predictors)
        The rows that are learned from.
    values : ndarray of float
        The target there, in spreads.
    spread : float
        How far values usually are from their prediction.
    """

    target: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    known: Annotated[npt.NDArray[np.float64], Shape("m", None)]
    values: Annotated[npt.NDArray[np.float64], Shape("m")]
    spread: float = 1.0

    @classmethod
    def fit(
        cls,
        columns: Sequence[Column],
        rows: Rows,
        residuals: Values,
        names: Sequence[str],
        target: str,
    ) -> Self:
        """Learn from rows; `residuals` are their numbers in spreads, of the columns `names`."""
        used = sorted((c for c in columns if c.name != target), key=lambda column: column.name)
        categories = [column for column in used if isinstance(column, CategoryColumn)]
        numbers = [c.name for c in used if isinstance(c, NumberColumn)]
        levels = []
        for column in categories:
            order = np.argsort(-np.array(column.counts), kind="stable")[:_MOST_LEVELS]
            levels.append(tuple(column.categories[place] for place in order.tolist()))
        texts = tuple(column.name for column in categories)
        own = cls(target, tuple(numbers), texts, tuple(levels), np.empty((0, 0)), np.empty(0))
        X, y = own._predictors(rows, residuals, names), residuals[:, list(names).index(target)]
        kept = np.flatnonzero(np.isfinite(y))
        kept = kept[np.argsort(_hashes(X[kept]), kind="stable")][:_MOST_ROWS]
        own = replace(own, known=X[kept], values=np.clip(y[kept], -_CLIP, _CLIP))
        left = np.abs(y[kept] - own.predict(X[kept]))
        spread = max(1.4826 * float(np.median(left)), 0.3 * float(np.quantile(left, 0.9)), _LEAST)
        return replace(own, spread=spread)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that rows must have."""
        return (*self.numbers, *self.categories)

    def given(self, rows: Rows, residuals: Values, names: Sequence[str]) -> Values:
        """Return what is expected of the target in rows, in spreads."""
        return self.predict(self._predictors(rows, residuals, names))

    def _predictors(self, rows: Rows, residuals: Values, names: Sequence[str]) -> Values:
        parts = []
        for name in self.numbers:
            cells = rows.cells(name)
            own = residuals[:, names.index(name)] if name in names else cells.numbers().values
            parts += [np.clip(np.nan_to_num(own), -1e6, 1e6), ~np.isfinite(own)]
        for name, levels in zip(self.categories, self.levels, strict=True):
            labels = rows.cells(name).as_text().labels(levels)
            of_texts = {text: place for place, text in enumerate(labels.texts)}
            parts += [labels.codes == of_texts.get(level, -2) for level in levels]
        return np.column_stack([np.zeros(len(rows)), *parts]).astype(np.float64)

    def predict(self, X: Values) -> Values:
        """Return what is expected of the target, given the other cells."""
        parts = _hashes(X) % _N_PARTS
        found = np.zeros(len(X))
        for part in np.unique(parts).tolist():
            own = parts == part
            found[own] = self._models[part](X[own])
        return np.asarray(found)

    @cached_property
    def _models(self) -> list[Predict]:
        parts = _hashes(self.known) % _N_PARTS
        return [
            _model(self.known[parts != part], self.values[parts != part])
            for part in range(_N_PARTS)
        ]


def _hashes(X: Values) -> npt.NDArray[np.uint64]:
    """Return a hash of each row."""
    total = np.zeros(len(X), dtype=np.uint64)
    for place, column in enumerate(X.T + 0.0):  # -0.0 becomes 0.0
        mixed = pd.util.hash_array(column) + np.uint64(place)
        total = (total ^ mixed) * np.uint64(0x9E3779B97F4A7C15)
    return total ^ (total >> np.uint64(29))


def _model(X: Values, y: Values) -> Predict:
    """Fit a linear model and trees on what it leaves; return what predicts rows."""
    from sklearn.ensemble import ExtraTreesRegressor  # noqa: PLC0415 - heavy

    if len(y) < 2 * _LEAF:
        return lambda rows: np.zeros(len(rows))
    middle, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)

    def scaled(rows: Values) -> Values:
        return np.asarray(np.clip((rows - middle) / spread, -_CLIP, _CLIP))

    Z, offset = scaled(X), float(y.mean())
    matrix = Z.T @ Z + _RIDGE * len(y) * np.eye(Z.shape[1])
    weights = np.linalg.solve(matrix, Z.T @ (y - offset))
    trees = ExtraTreesRegressor(_N_TREES, min_samples_leaf=_LEAF, max_features=0.5, random_state=0)
    trees.fit(X, y - offset - Z @ weights)

    def predict(rows: Values) -> Values:
        # not a product of matrices, whose last digits depend on the number of rows
        return np.asarray(offset + (scaled(rows) * weights).sum(axis=1) + trees.predict(rows))

    return predict
