"""Arrow tables become frames of float64, int64, bool, datetime64 and text columns."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from metaod.errors import BadColumn
from metaod.tables.readers.words import rounding_warning

__all__ = ["frame_from_arrow"]

_EXACT_IN_FLOAT = 2**53
_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def frame_from_arrow(table: Any, source: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Convert a ``pyarrow.Table``; tell what was changed on the way.

    Whole numbers become int64 (float64 where some are missing or beyond 64 bits), other numbers
    float64, booleans bool (pandas' nullable ``boolean`` where some are missing), dates and times
    datetime64 (those with a zone in UTC), times of day and durations seconds, the rest text.
    """
    warnings: list[str] = []
    columns = [
        _plain(name, column, source, warnings)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    names = [str(name) for name in table.column_names]
    frame: pd.DataFrame = pa.Table.from_arrays(columns, names=names).to_pandas(date_as_object=False)
    for name, column in zip(names, columns, strict=True):
        if pa.types.is_boolean(column.type) and column.null_count:
            frame[name] = frame[name].astype("boolean")
    return frame, warnings


def _plain(name: str, column: Any, source: str | None, warnings: list[str]) -> Any:
    """Cast one column to a type that pandas holds without Python objects."""
    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
        column = column.cast(kind)
    if types.is_dictionary(kind):
        column = _decoded(column)
        kind = column.type
    if types.is_integer(kind):
        return _integers(name, column, warnings)
    if types.is_time(kind) or types.is_duration(kind):
        warnings.append(f"column {name!r}: times were read as seconds")
        return _seconds(column)
    if types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.timestamp("s"))
    plain = _plain_type(kind)
    if plain is None:
        raise BadColumn(
            name,
            f"holds values of type {kind}, which are no numbers, dates or text",
            path=source,
            remedy="leave it out, or write it as several plain columns",
        )
    return column.cast(plain)


def _decoded(column: Any) -> Any:
    """Write out a column that was stored as codes of its values."""
    values = column.type.value_type
    if pa.types.is_string_view(values):  # of which Arrow cannot decode codes
        values = pa.large_string()
    chunks = [
        pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(values))
        for chunk in column.chunks
    ]
    return pa.chunked_array([chunk.dictionary_decode() for chunk in chunks], values)


def _plain_type(kind: Any) -> Any:
    """Return the type that a column of one step's cast becomes, None where there is none."""
    types = pa.types
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return pa.float64()
    if types.is_timestamp(kind):
        return pa.timestamp(kind.unit)  # without its zone: the instant in UTC
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        return kind
    return None


def _integers(name: str, column: Any, warnings: list[str]) -> Any:
    if column.null_count == 0 and column.type == pa.int64():
        return column
    extremes = pc.min_max(column).as_py()
    low, high = extremes["min"] or 0, extremes["max"] or 0
    beyond = high >= 2**63
    if beyond or (column.null_count and max(-low, high) > _EXACT_IN_FLOAT):
        why = "beyond 64 bits" if beyond else "beyond 53 bits beside missing values"
        warnings.append(rounding_warning(name, why))
        return column.cast(pa.float64(), safe=False)
    return column.cast(pa.int64())


def _seconds(column: Any) -> Any:
    whole = pa.int32() if pa.types.is_time32(column.type) else pa.int64()
    counts = column.cast(whole).cast(pa.float64(), safe=False)
    return pc.divide(counts, float(_A_SECOND[column.type.unit]))
