"""What can be prepared, taken in as a frame with a text for every column's name."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaod.errors import BadColumn, BadParameter, UserError
from metaod.tables._table import Table

__all__ = ["take_in"]


def take_in(table: object, fitted_names: Sequence[str] | None = None) -> tuple[pd.DataFrame, str]:
    """Take in a table, a frame or an array.

    Parameters
    ----------
    table : Table, pandas.DataFrame or numpy.ndarray
        What to prepare. Integer and other column names become text; levels of names are joined
        with a slash.
    fitted_names : sequence of str, optional
        The names for an array's columns, which has none; x1, x2, ... otherwise.

    Returns
    -------
    frame : pandas.DataFrame
        It shares its values with what was given, and is not to be written to.
    source : str
        Where it came from.
    """
    source = "table"
    if isinstance(table, Table):
        source = table.source
        table = table.frame
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
        frame.columns = pd.Index(_names(table.columns))
    elif isinstance(table, np.ndarray):
        frame = _frame_of(table, fitted_names)
    else:
        raise BadParameter(
            "Preparation",
            "table",
            "a Table, a pandas DataFrame or a numpy array",
            type(table),
            remedy="Read other things with metaod.read_table first",
        )
    if frame.shape[1] == 0:
        raise UserError("the table has no columns", where=source, remedy="give at least one")
    if frame.shape[0] == 0:
        raise UserError("the table has no rows", where=source, remedy="give at least one")
    return frame, source


def _frame_of(array: "np.ndarray[Any, Any]", fitted_names: Sequence[str] | None) -> pd.DataFrame:
    if array.dtype.names is not None:
        raise BadParameter(
            "Preparation",
            "table",
            "an array without named fields",
            f"a structured array of {', '.join(array.dtype.names)}",
            remedy="Read it with metaod.read_table first",
        )
    if array.ndim != 2:
        raise BadParameter(
            "Preparation",
            "table",
            "an array of rows × columns",
            f"an array of shape {array.shape} and type {array.dtype}",
            remedy="Reshape it",
        )
    names = fitted_names or [f"x{place}" for place in range(1, array.shape[1] + 1)]
    if len(names) != array.shape[1]:
        raise UserError(
            f"the array has {array.shape[1]} columns, and the preparation was fitted with "
            f"{len(names)}",
            remedy="give the same columns in the same order, or a frame with their names",
        )
    # shared, not copied: nothing is written to it
    return pd.DataFrame(array, columns=list(names), copy=False)


def _names(columns: "pd.Index[Any]") -> list[str]:
    names = [_name(column) for column in columns]
    seen: dict[str, Hashable] = {}
    for name, column in zip(names, columns, strict=True):
        if name in seen:
            what = "is the name of two columns"
            if seen[name] != column:
                what += f", written {seen[name]!r} and {column!r}"
            raise BadColumn(name, what, remedy="rename one of them")
        seen[name] = column
    return names


def _name(column: Hashable) -> str:
    if isinstance(column, tuple):
        return "/".join(str(level) for level in column)
    return str(column)
