"""Arrays become tables: a matrix's columns are x1, x2, …, a structured array's its fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadColumn, BadFile
from metaod.tables.readers.content import Content, foreign_errors, gibibytes
from metaod.tables.readers.headers import default_names
from metaod.tables.readers.objects import ObjectJudge
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import too_large
from metaod.tables.readers.words import MISSING_WORDS

__all__ = ["ArrayInfo", "check_size", "choose", "frame_from_array", "read_chosen"]


@dataclass(frozen=True)
class ArrayInfo:
    """What a file says of an array before it is read.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    kind : str
        Its type in the file's own words.
    numeric : bool
        Whether it holds numbers, and so may be the table without being named.
    readable : bool
        Whether a table can be made of it at all.
    """

    shape: tuple[int, ...]
    kind: str
    numeric: bool
    readable: bool = True

    def __str__(self) -> str:
        return f"{' × '.join(f'{n:,}' for n in self.shape) or 'scalar'} {self.kind}"


def read_chosen(
    arrays: Mapping[str, ArrayInfo],
    load: Callable[[str], npt.NDArray[Any]],
    source: str,
    options: ReadOptions,
) -> Content:
    """Read the table, and the label if it is another array, out of a file of arrays."""
    chosen = choose(arrays, source, options)
    check_size(arrays[chosen].shape, source, options.max_bytes, what=f"array {chosen!r}")
    array = load(chosen)
    if array.shape != arrays[chosen].shape:
        raise BadFile(
            source,
            f"array {chosen!r} is not the {arrays[chosen]} that its header promises",
            remedy="it is damaged: write or download it again",
        )
    with foreign_errors(source, "a table"):
        frame, warnings = frame_from_array(array, options, source)
    label = options.label
    if label is None or label in frame.columns:
        return Content(frame, tuple(warnings))
    if label not in arrays:
        raise BadColumn(
            label,
            f"is neither a column of {chosen!r} (x1 to x{frame.shape[1]}) nor another array",
            path=source,
            remedy=f"the file holds {_listed(arrays)}",
        )
    shape = arrays[label].shape
    if prod(shape) != len(frame) or max(shape, default=0) != len(frame):
        raise BadFile(
            source,
            f"the label {label!r} is {arrays[label]}, but {chosen!r} has {len(frame):,} rows",
            remedy="name a label with one value a row",
        )
    return Content(frame, tuple(warnings), label_values=load(label).ravel())


def choose(arrays: Mapping[str, ArrayInfo], source: str, options: ReadOptions) -> str:
    """Choose the array that is the table: the one named, 'X', or the only matrix of numbers."""
    if not arrays:
        raise BadFile(source, "holds no arrays", remedy="check how it was written")
    if options.variable is not None:
        if options.variable not in arrays:
            raise BadFile(
                source, f"holds no array {options.variable!r}", remedy=f"it holds {_listed(arrays)}"
            )
        if not arrays[options.variable].readable:
            raise BadFile(
                source,
                f"array {options.variable!r} is {arrays[options.variable]}: no table of numbers",
                remedy=f"it holds {_listed(arrays)}",
            )
        return options.variable
    if "X" in arrays and arrays["X"].readable:
        return "X"
    others = {name: info for name, info in arrays.items() if name != options.label}
    matrices = [name for name, info in others.items() if info.numeric and len(info.shape) == 2]
    tables = [name for name in matrices if min(arrays[name].shape) > 1] or matrices
    if not tables and len(others) == 1:
        tables = [name for name, info in others.items() if info.numeric]
    if len(tables) == 1:
        return tables[0]
    raise BadFile(
        source,
        "which array is the table cannot be told",
        remedy=f"say variable=... (--variable); it holds {_listed(arrays)}",
    )


def _listed(arrays: Mapping[str, ArrayInfo]) -> str:
    shown = [f"{name}: {info}" for name, info in list(arrays.items())[:20]]
    return "; ".join(shown) + ("; ..." if len(arrays) > 20 else "")


def check_size(
    shape: tuple[int, ...], source: str, max_bytes: int, *, what: str = "the array"
) -> None:
    """Refuse, before any memory is taken, what is empty, of other than 1 or 2 axes or too large."""
    shown = " × ".join(f"{n:,}" for n in shape)
    if len(shape) not in (1, 2):
        raise BadFile(
            source,
            f"{what} has {len(shape)} axes ({shown}) where a table has 2",
            remedy="reshape it to rows × columns",
        )
    if prod(shape) == 0:
        raise BadFile(source, f"{what} is empty ({shown})", remedy="check how it was written")
    if 8 * prod(shape) > max_bytes:
        raise too_large(source, f"{what} ({shown}) takes {gibibytes(8 * prod(shape))}", max_bytes)


def frame_from_array(
    array: npt.NDArray[Any], options: ReadOptions, source: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Make a frame of an array of 1 or 2 axes, or of a structured array of 1 axis."""
    warnings: list[str] = []
    if array.dtype.names is not None:
        fields = {name: array[name].reshape(len(array), -1) for name in array.dtype.names}
        for name, field in fields.items():
            if field.shape[1] != 1:
                raise BadColumn(name, f"has {field.shape[1]} values a row", path=source)
        columns = {
            name: _plain(field, (name,), options, source, warnings)[name]
            for name, field in fields.items()
        }
        return pd.DataFrame(columns), warnings
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    names = default_names(array.shape[1])
    return _plain(array, names, options, source, warnings), warnings


def _plain(
    matrix: npt.NDArray[Any],
    names: tuple[str, ...],
    options: ReadOptions,
    source: str | None,
    warnings: list[str],
) -> pd.DataFrame:
    kind = matrix.dtype.kind
    if kind == "u" and matrix.dtype.itemsize == 8 and (matrix >= 2**63).any():
        warnings.append("whole numbers beyond 64 bits were rounded to floats")
        kind = "f"
    if kind == "b":
        return pd.DataFrame(matrix, columns=names)
    if kind in "iu":
        return pd.DataFrame(matrix.astype(np.int64), columns=names)
    if kind == "f":
        return pd.DataFrame(matrix.astype(np.float64), columns=names)
    if kind == "M":
        unit, _ = np.datetime_data(matrix.dtype)
        precise = unit if unit in ("s", "ms", "us", "ns") else "s"
        return pd.DataFrame(matrix.astype(f"datetime64[{precise}]"), columns=names)
    if kind == "m" and np.datetime_data(matrix.dtype)[0] not in ("Y", "M"):  # of no fixed length
        warnings.append("durations were read as seconds")
        return pd.DataFrame(matrix / np.timedelta64(1, "s"), columns=names)
    if kind in "USTO":
        judge = ObjectJudge(MISSING_WORDS.union(options.na), source)
        as_text = {*options.text, options.label}
        return pd.DataFrame(
            {
                name: judge.judge(
                    name, matrix[:, j].tolist(), as_text=name in as_text, warnings=warnings
                )
                for j, name in enumerate(names)
            }
        )
    raise BadColumn(
        names[0],
        f"holds values of type {matrix.dtype}, which are no numbers, dates or text",
        path=source,
        remedy="leave it out, or write it as several plain columns",
    )
