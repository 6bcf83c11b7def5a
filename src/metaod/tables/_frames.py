"""The rows of any table that can be prepared, as columns with text for names."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.tables._column_types import Written
from metaod.tables._column_values import Cells, Place
from metaod.tables._table import Table
from metaod.tables._text_values import MISSING_WORDS


@dataclass(frozen=True)
class Rows:
    """Rows to prepare: a frame, which shares the values of the table, and how its text was read.

    `missing` are the words that are missing values: none if the types of columns are decided.
    """

    frame: pd.DataFrame
    source: str
    missing: frozenset[str]
    written: Mapping[str, Written]
    place: Place

    @classmethod
    def of(cls, table: object, fitted_names: Sequence[str] | None = None) -> "Rows":
        """Take the rows of a table, a frame or an array; refuse anything else."""
        if not isinstance(table, Table):
            frame = _as_frame(table, "table", fitted_names)
            return cls(frame, "table", MISSING_WORDS, {}, Place(frame.index))
        frame = _as_frame(table.frame, table.source, fitted_names)
        missing: frozenset[str] = frozenset() if table.typed else MISSING_WORDS
        path = None if table.original is None else table.source
        return cls(frame, table.source, missing, table.written, Place(frame.index, path))

    def cells(self, name: str) -> Cells:
        """Return a column."""
        return Cells(self.frame[name], self.missing, self.place, self.written.get(name))

    def take(self, rows: npt.NDArray[np.intp]) -> "Rows":
        """Return some of the rows."""
        written = {name: own.take(rows) for name, own in self.written.items()}
        return replace(self, frame=self.frame.iloc[rows], written=written)

    def __len__(self) -> int:
        return len(self.frame)


def _as_frame(table: object, source: str, fitted_names: Sequence[str] | None) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
        frame.columns = pd.Index(_column_names(table.columns))
    elif isinstance(table, np.ndarray):
        frame = _frame_of_array(table, fitted_names)
    else:
        legal, remedy = (
            "a Table, a pandas DataFrame or a numpy array",
            "Use metaod.read_table first",
        )
        raise BadParameter("Preparation", "table", legal, type(table), remedy=remedy)
    for axis, name in ((1, "columns"), (0, "rows")):
        if frame.shape[axis] == 0:
            raise UserError(f"the table has no {name}", where=source, remedy="give at least one")
    return frame


def _frame_of_array(
    array: "np.ndarray[Any, Any]", fitted_names: Sequence[str] | None
) -> pd.DataFrame:
    legal, remedy = "", ""
    if array.dtype.names is not None:
        legal, remedy = "an array without named fields", "Read it with metaod.read_table first"
    elif array.ndim != 2:
        legal, remedy = "an array of rows × columns", "Reshape it"
    if legal:
        given = f"an array of shape {array.shape} and type {array.dtype}"
        raise BadParameter("Preparation", "table", legal, given, remedy=remedy)
    names = fitted_names or [f"x{number}" for number in range(1, array.shape[1] + 1)]
    if len(names) != array.shape[1]:
        what = (
            f"the array has {array.shape[1]} columns, but Preparation was fitted with {len(names)}"
        )
        remedy = "give the same columns in the same order, or a frame with their names"
        raise UserError(what, remedy=remedy)
    return pd.DataFrame(array, columns=list(names), copy=False)


def _column_names(columns: "pd.Index[Any]") -> list[str]:
    seen: dict[str, Hashable] = {}
    for column in columns:
        name = "/".join(map(str, column)) if isinstance(column, tuple) else str(column)
        if name in seen:
            what = "is the name of two columns"
            if seen[name] != column:
                what += f", written {seen[name]!r} and {column!r}"
            raise BadColumn(name, what, remedy="rename one of them")
        seen[name] = column
    return list(seen)
