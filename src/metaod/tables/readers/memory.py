"""Tables in memory: arrays, frames, sparse matrices, lists and dicts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from metaod.errors import BadColumn, BadParameter
from metaod.options import Reading
from metaod.tables.readers._arrays import content_from_array, densify
from metaod.tables.readers._arrow import frame_from_arrow
from metaod.tables.readers._names import check_unique, default_names
from metaod.tables.readers._reader import Content

_ROW = (list, tuple, np.ndarray)
_COLUMN = (list, tuple, np.ndarray, pd.Series)

_LEGAL = (
    "a path, '-' or a file object, a numpy array, a frame of pandas or polars, a table of pyarrow "
    "or DuckDB, a scipy sparse matrix, a list of rows or a dict of columns"
)


def is_in_memory(source: object) -> bool:
    """Whether an object is a table and no file, judged by its type.

    Attributes of the object itself say nothing: a frame may have a column named ``read``.
    """
    if isinstance(source, pd.DataFrame | pd.Series | Mapping | list | tuple | np.ndarray):
        return True
    protocols = ("__arrow_c_stream__", "__dataframe__", "__array__", "tocsr")
    return any(hasattr(type(source), name) for name in protocols)


def read_memory(source: object, options: Reading) -> Content:
    """Convert an object to a table; the index and row order of a frame are kept."""
    import scipy.sparse  # noqa: PLC0415 - slow to import

    if isinstance(source, pd.Series):
        source = source.to_frame("x1" if source.name is None else source.name)
    if isinstance(source, pd.DataFrame):
        return _from_pandas(source)
    if scipy.sparse.issparse(source):
        dense = densify(source, options.memory_limit, f"the {type(source).__name__}")
        return _from_array(dense)
    if hasattr(type(source), "__arrow_c_stream__"):
        return _from_arrow(source)
    if isinstance(source, Mapping):
        return _from_columns({str(name): column for name, column in source.items()})
    if isinstance(source, list | tuple):
        return _from_rows(source)
    if hasattr(type(source), "__array__"):
        return _from_array(np.asanyarray(source))
    raise _not_a_table(source)


def _not_a_table(source: object) -> BadParameter:
    """Return the error; a lazy frame or a column of polars has a method that gives a frame."""
    found = [own for own in ("collect", "compute", "to_frame") if hasattr(type(source), own)]
    remedy = f"Give what its {found[0]}() returns" if found else None
    return BadParameter("read_table", "source", _LEGAL, source, remedy=remedy)


def _from_array(array: npt.NDArray[Any]) -> Content:
    if array.ndim not in (1, 2) or (array.dtype.names is not None and array.ndim != 1):
        shape = f"one of shape {array.shape}"
        raise BadParameter("read_table", "source", "an array of 1 or 2 axes", shape)
    if array.size == 0:
        return Content(pd.DataFrame(index=range(len(array))))
    return content_from_array(np.asarray(unmasked(array)))


def unmasked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in which masked values are missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype.kind in "mM":
        return array.filled(array.dtype.type("NaT"))
    kind = np.float64 if array.dtype.kind in "biuf" else object
    return np.ma.filled(array.astype(kind), np.nan)


def _from_arrow(source: object) -> Content:
    try:
        table = pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _not_a_table(source) from error
    check_unique(table.column_names)
    frame, warnings = frame_from_arrow(table, None)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_dictionary(column.type) and pd.api.types.is_string_dtype(frame[name]):
            frame[name] = frame[name].astype("category")  # declared: its words are values
    return Content(frame, tuple(warnings))


def _from_pandas(source: pd.DataFrame) -> Content:
    frame = source.set_axis([str(name) for name in source.columns], axis="columns")
    check_unique(list(frame.columns))
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if isinstance(dtype, pd.SparseDtype):
            frame[name] = frame[name].astype(dtype.subtype)
        elif dtype.kind == "c":
            raise BadColumn(name, "holds complex numbers", remedy="leave it out")
    return Content(frame)


def _from_rows(rows: Sequence[Any]) -> Content:
    """Convert a list of rows, each a sequence, a dict or a single value."""
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = dict.fromkeys(name for row in rows for name in row)
        by_name = {str(name): [row.get(name) for row in rows] for name in names}
        return _from_columns(by_name)
    if not any(isinstance(row, _ROW) for row in rows):
        rows = [(value,) for value in rows]
    width = len(rows[0]) if rows and isinstance(rows[0], _ROW) else 0
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, _ROW) or len(row) != width:
            legal = f"a list of rows of one length (the first has {width})"
            raise BadParameter("read_table", "source", legal, row, remedy=f"Fix row {number}")
    columns = [list(column) for column in zip(*rows, strict=True)]
    return _from_columns(dict(zip(default_names(width), columns, strict=True)))


def _from_columns(columns: Mapping[str, Any]) -> Content:
    for name, column in columns.items():
        if not isinstance(column, _COLUMN):
            raise BadParameter("read_table", f"source[{name!r}]", "a list of values", column)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise BadParameter("read_table", "source", "a dict of columns of one length", lengths)
    objects = {name: pd.Series(list(column), dtype=object) for name, column in columns.items()}
    return Content(pd.DataFrame(objects))
