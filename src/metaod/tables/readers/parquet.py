"""Parquet files."""

from typing import Any

import pandas as pd
import pyarrow.parquet

from metaod.tables.readers.arrow import frame_from_arrow
from metaod.tables.readers.content import Content, foreign_errors, gibibytes
from metaod.tables.readers.headers import check_columns
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source, too_large

__all__ = ["read"]


def read(source: Source, options: ReadOptions) -> Content:
    """Read a Parquet file, what it claims checked first; pandas' index is kept."""
    with foreign_errors(source.name, "Parquet"), source.open() as stream:
        file = pyarrow.parquet.ParquetFile(stream)
        _check_size(file.metadata, source.name, options.max_bytes)
        table = file.read()
        table.validate(full=True)
        check_columns(table.column_names, source.name)
        frame, warnings = frame_from_arrow(table, source.name)
        index_columns = (table.schema.pandas_metadata or {}).get("index_columns", [])
        frame = _with_index(frame, index_columns)
    return Content(frame, tuple(warnings))


def _check_size(metadata: Any, source: str, max_bytes: int) -> None:
    rows, columns = metadata.num_rows, metadata.num_columns
    declared = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    claimed = max(8 * rows * columns, declared)
    if claimed > max_bytes:
        shown = f"promises {rows:,} rows × {columns:,} columns, {gibibytes(claimed)}"
        raise too_large(source, shown, max_bytes)


def _with_index(frame: pd.DataFrame, index_columns: list[Any]) -> pd.DataFrame:
    """Restore the index that pandas wrote, as columns or as a range described in words."""
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
