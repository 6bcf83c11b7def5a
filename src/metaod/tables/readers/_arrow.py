"""Frames of Arrow tables: of Parquet and delimited text, and of tables in memory."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from metaod.errors import Message
from metaod.tables._column_types import rounding_warning
from metaod.tables._objects import rounding_of
from metaod.tables.readers._names import unreadable_type
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import CELL_BYTES, Source, check_bytes, check_expansion

MOST_EXPANSION = 1000  # rare values, as of one-hot columns, take less than a tenth of a bit
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def frame_from_arrow(table: Any, source: str | None) -> tuple[pd.DataFrame, list[Message]]:
    """Convert a ``pyarrow.Table`` to a frame; also return warnings of what was changed."""
    warnings: list[Message] = []
    names = [str(name) for name in table.column_names]
    columns = [
        _convert(name, column, source, warnings)
        for name, column in zip(names, table.columns, strict=True)
    ]
    frame: pd.DataFrame = pa.Table.from_arrays(columns, names=names).to_pandas(date_as_object=False)
    for name, column in zip(names, columns, strict=True):
        if pa.types.is_boolean(column.type) and column.null_count:
            frame[name] = frame[name].astype("boolean")
    return frame, warnings


def _convert(name: str, column: Any, source: str | None, warnings: list[Message]) -> Any:
    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
        column = column.cast(kind)
    if types.is_dictionary(kind):
        column = _decode_dictionary(column)
        kind = column.type
    if types.is_integer(kind):
        return _convert_integers(name, column, warnings)
    if types.is_time(kind) or types.is_duration(kind):
        what = "column {column!r}: times were read as seconds"
        warnings.append(Message("seconds", what, column=name))
        return _convert_to_seconds(column)
    if types.is_date(kind):
        column, kind = column.cast(pa.date32()), pa.timestamp("s")
    elif types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        kind = pa.float64()
    elif types.is_timestamp(kind):
        kind = pa.timestamp(kind.unit)  # without its zone: the instant in UTC
    elif types.is_string_view(kind):
        kind = pa.large_string()
    elif not (types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise unreadable_type(name, kind, source)
    return column.cast(kind)


def _decode_dictionary(column: Any) -> Any:
    values = column.type.value_type
    if pa.types.is_string_view(values):  # Arrow cannot decode dictionaries of this type
        values = pa.large_string()
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(values))
        for chunk in column.chunks
    ]
    return pa.chunked_array([chunk.dictionary_decode() for chunk in chunks], values)


def _convert_integers(name: str, column: Any, warnings: list[Message]) -> Any:
    if column.null_count == 0 and column.type == pa.int64():
        return column
    extremes = pc.min_max(column).as_py()
    low, high = extremes["min"] or 0, extremes["max"] or 0
    if why := rounding_of(low, high, has_gaps=column.null_count > 0):
        warnings.append(rounding_warning(name, why))
        return column.cast(pa.float64(), safe=False)
    return column.cast(pa.int64())


def _convert_to_seconds(column: Any) -> Any:
    whole = pa.int32() if pa.types.is_time32(column.type) else pa.int64()
    counts = column.cast(whole).cast(pa.float64(), safe=False)
    return pc.divide(counts, float(_UNITS_PER_SECOND[column.type.unit]))


def content_of_arrow(table: Any, source: str) -> Content:
    """Return all or some rows of an Arrow table as a content."""
    frame, warnings = frame_from_arrow(table, source)
    index_columns = (table.schema.pandas_metadata or {}).get("index_columns", [])
    frame = _restore_index(frame, index_columns)
    return Content(frame, tuple(warnings), declares_types=True)


def check_texts(table: Any, source: Source, max_bytes: int) -> None:
    """Refuse texts that need more memory than allowed once each row has its own."""
    n_rows, n_columns, n_text = table.num_rows, table.num_columns, text_bytes(table)
    what = f"{n_rows:,} rows × {n_columns:,} columns need"
    check_bytes(source.name, what, CELL_BYTES * n_rows * n_columns + n_text, max_bytes)
    part = "read a part of it"
    check_expansion(source.name, source.size, n_text, part, most=MOST_EXPANSION)


def text_bytes(table: Any) -> int:
    """Return the memory that texts which are stored once each need once each row has its own."""
    sums = (
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices).cast(pa.int64())).as_py()
        for column in table.columns
        if pa.types.is_dictionary(column.type) and _is_text_type(column.type.value_type)
        for chunk in column.chunks
    )
    return sum(n_bytes or 0 for n_bytes in sums)


def _is_text_type(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _restore_index(frame: pd.DataFrame, index_columns: list[Any]) -> pd.DataFrame:
    """Restore the index that pandas stored as columns or as the description of a range."""
    names = [name for name in index_columns if isinstance(name, str) and name in frame]
    if names:
        frame = frame.set_index(names)
        frame.index.names = [None if name.startswith("__index_level_") else name for name in names]
        return frame
    for described in index_columns:
        if isinstance(described, dict) and described.get("kind") == "range":
            index = pd.RangeIndex(described["start"], described["stop"], described["step"])
            if len(index) == len(frame):
                frame.index = index
    return frame
