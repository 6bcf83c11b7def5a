"""Tables from arrays and from lists of Python objects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadFile, Message, Setting
from metaod.options import Reading
from metaod.tables.readers._names import default_names, unreadable_type
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import (
    CELL_BYTES,
    check_bytes,
    check_width,
    damaged,
    library_errors,
)


@dataclass(frozen=True)
class ArrayInfo:
    """Description of an array in a file, known before the array is read."""

    shape: tuple[int, ...]
    kind: str  # its type as the file names it
    numeric: bool  # it may be the table without being named
    readable: bool = True  # it can be converted to a table

    def __str__(self) -> str:
        return f"{format_shape(self.shape) or 'scalar'} {self.kind}"


def format_shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{n:,}" for n in shape)


def read_chosen(
    arrays: Mapping[str, ArrayInfo],
    load: Callable[[str], npt.NDArray[Any]],
    source: str,
    options: Reading,
) -> Content:
    """Read the table, and the label if it is another array, from a file of arrays."""
    chosen = _choose(arrays, source, options)
    check_size(arrays[chosen].shape, source, options.memory_limit, what=f"array {chosen!r}")
    check_width(source, arrays[chosen].shape)
    array = load(chosen)
    if array.shape != arrays[chosen].shape:
        what = f"array {chosen!r} is not the {arrays[chosen]} that its header promises"
        raise damaged(source, what)
    with library_errors(source, "a table"):
        content = content_from_array(array, source)
    label, n_rows, n_columns = options.label, *content.frame.shape
    if label is None or label in content.frame.columns:
        return content
    if label not in arrays:
        what = f"is neither a column of {chosen!r} (x1 to x{n_columns}) nor another array"
        raise BadColumn(label, what, path=source, remedy=f"the file holds {_list(arrays)}")
    shape = arrays[label].shape
    if prod(shape) != n_rows or max(shape, default=0) != n_rows:
        what = f"the label {label!r} is {arrays[label]}, but {chosen!r} has {n_rows:,} rows"
        raise BadFile(source, what, remedy="name a label with one value a row")
    return replace(content, label_values=load(label).ravel())


def _choose(arrays: Mapping[str, ArrayInfo], source: str, options: Reading) -> str:
    """Choose the array that is the table: the one named, 'X', or the only matrix of numbers."""
    if not arrays:
        raise BadFile(source, "holds no arrays", remedy="check how it was written")
    named = options.variable
    remedy: str | Message = f"it holds {_list(arrays)}"
    if named is not None:
        if named not in arrays:
            raise BadFile(source, f"holds no array {named!r}", remedy=remedy)
        if not arrays[named].readable:
            what = f"array {named!r} is {arrays[named]}: no table of numbers"
            raise BadFile(source, what, remedy=remedy)
        return named
    if "X" in arrays and arrays["X"].readable:
        return "X"
    others = {name: info for name, info in arrays.items() if name != options.label}
    matrices = [name for name, info in others.items() if info.numeric and len(info.shape) == 2]
    tables = [name for name in matrices if min(arrays[name].shape) > 1] or matrices
    if not tables and len(others) == 1:
        tables = [name for name, info in others.items() if info.numeric]
    if len(tables) == 1:
        return tables[0]
    remedy = Message(
        "which-array",
        "set {setting}; it holds {arrays}",
        setting=Setting("variable"),
        arrays=_list(arrays),
    )
    raise BadFile(source, "it is unclear which array is the table", remedy=remedy)


def _list(arrays: Mapping[str, ArrayInfo]) -> str:
    shown = [f"{name}: {info}" for name, info in list(arrays.items())[:20]]
    return "; ".join(shown) + ("; ..." if len(arrays) > 20 else "")


def check_size(
    shape: tuple[int, ...], source: str, max_bytes: int, *, what: str = "the array"
) -> None:
    """Refuse, before memory is allocated, an array that is empty, too large or no matrix."""
    shown = format_shape(shape)
    if len(shape) not in (1, 2):
        what = f"{what} has {len(shape)} axes ({shown}) where a table has 2"
        raise BadFile(source, what, remedy="reshape it to rows × columns")
    if prod(shape) == 0:
        raise BadFile(source, f"{what} is empty ({shown})", remedy="check how it was written")
    check_bytes(source, f"{what} ({shown}) needs", CELL_BYTES * prod(shape), max_bytes)


def densify(matrix: Any, max_bytes: int, source: str) -> npt.NDArray[Any]:
    """Make a scipy sparse matrix dense after checking its size and indices."""
    check_size(matrix.shape, source, max_bytes, what="the sparse matrix")
    if matrix.format in ("csr", "csc"):
        _check_indices(matrix)
    dense: npt.NDArray[Any] = matrix.toarray()
    return dense


def _check_indices(matrix: Any) -> None:
    """Raise ValueError for indices outside the matrix, at which scipy would write to memory."""
    starts, indices = matrix.indptr, matrix.indices
    n_starts, n_indices = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    rising = len(starts) == n_starts + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
    used = indices[: starts[-1]]
    inside = len(used) == 0 or (used.min() >= 0 and used.max() < n_indices)
    if not rising or not inside or starts[-1] > min(len(indices), len(matrix.data)):
        raise ValueError("indices of a sparse matrix lie outside it")


def content_from_array(array: npt.NDArray[Any], source: str | None = None) -> Content:
    """Convert an array of 1 or 2 axes, or a structured array of 1 axis."""
    warnings: list[Message] = []
    if array.dtype.names is None:
        matrix = array.reshape(-1, 1) if array.ndim == 1 else array
        names = default_names(matrix.shape[1])
        return Content(_frame(matrix, names, source, warnings), tuple(warnings))
    columns = {}
    for name in array.dtype.names:
        field = array[name].reshape(len(array), -1)
        if field.shape[1] != 1:
            raise BadColumn(name, f"has {field.shape[1]} values a row", path=source)
        columns[name] = _frame(field, (name,), source, warnings)[name]
    return Content(pd.DataFrame(columns), tuple(warnings))


def _frame(
    matrix: npt.NDArray[Any], names: tuple[str, ...], source: str | None, warnings: list[Message]
) -> pd.DataFrame:
    kind = matrix.dtype.kind
    if kind == "u" and matrix.dtype.itemsize == 8 and (matrix >= 2**63).any():
        what = "whole numbers beyond 64 bits were rounded to floats"
        warnings.append(Message("rounded-numbers", what))
        kind = "f"
    if kind in "USTO":
        columns = [pd.Series(column.tolist(), dtype=object) for column in matrix.T]
        return pd.DataFrame(dict(zip(names, columns, strict=True)))
    if kind in "iu":
        matrix = matrix.astype(np.int64)
    elif kind == "f":
        matrix = matrix.astype(np.float64)
    elif kind == "M":
        unit, _ = np.datetime_data(matrix.dtype)
        unit = unit if unit in ("s", "ms", "us", "ns") else "s"
        matrix = matrix.astype(f"datetime64[{unit}]")
    elif kind == "m" and np.datetime_data(matrix.dtype)[0] not in ("Y", "M"):  # no fixed length
        warnings.append(Message("seconds", "durations were read as seconds"))
        matrix = matrix / np.timedelta64(1, "s")
    elif kind != "b":
        raise unreadable_type(names[0], matrix.dtype, source)
    return pd.DataFrame(matrix, columns=names)
