"""Any table that can be prepared as a frame: text for names, its source, and how text was read."""

import re
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.tables._column_types import Written
from metaod.tables._table import Table
from metaod.tables._text_values import MISSING_WORDS

_ROW = re.compile(r"row ([0-9]+) \(counted from 0\)")


def as_frame(table: object, fitted_names: Sequence[str] | None = None) -> tuple[pd.DataFrame, str]:
    """Return a table as a frame with text for names, which shares its values, and its source."""
    source = "table"
    if isinstance(table, Table):
        source, table = table.source, table.frame
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
    return frame, source


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


def written_in(table: object) -> dict[str, Written]:
    """Return the columns of a read table that were read in some notation."""
    return dict(table.written) if isinstance(table, Table) else {}


def missing_words(table: object) -> frozenset[str]:
    """Return the words that are missing values; none in a table whose types are decided."""
    return frozenset() if isinstance(table, Table) and table.typed else MISSING_WORDS


@contextmanager
def naming_file(table: object) -> Iterator[None]:
    """Add the file to errors about its columns; its rows are counted from 1, as on the screen."""
    try:
        yield
    except BadColumn as error:
        if not isinstance(table, Table) or table.original is None:
            raise
        what = _ROW.sub(lambda found: f"row {int(found[1]) + 1}", str(error.what))
        raise BadColumn(error.column, what, remedy=error.remedy, path=table.source) from error
