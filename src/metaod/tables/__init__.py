"""Read a file or frame, decide what each column is, and turn the table into a finite matrix."""

from typing import TYPE_CHECKING

from metaod._lazy import exports

if TYPE_CHECKING:
    from metaod.tables._columns import SURPRISAL_UNIT
    from metaod.tables._context import Given
    from metaod.tables._file_patterns import pattern_files
    from metaod.tables._objects import nanoseconds, plain_values
    from metaod.tables._order import canonical_order, hash_of_name, row_hashes
    from metaod.tables._preparation import NothingToScore, Preparation, prepare
    from metaod.tables._read_rows import ReadRows
    from metaod.tables._reading import is_file, read_table
    from metaod.tables._record import (
        ColumnRecord,
        Drift,
        PreparationRecord,
        PreparedTable,
        cell_text,
    )
    from metaod.tables._roles import Roles, check_whole
    from metaod.tables._saved_table import save_table, saved_table
    from metaod.tables._stream import TableStream, is_large, stream_table
    from metaod.tables._styles import Style
    from metaod.tables._table import Table
    from metaod.tables.examples import load_example
    from metaod.tables.readers import READ_ENDINGS
    from metaod.tables.readers.memory import unmasked

__all__ = [
    "READ_ENDINGS",
    "SURPRISAL_UNIT",
    "ColumnRecord",
    "Drift",
    "Given",
    "NothingToScore",
    "Preparation",
    "PreparationRecord",
    "PreparedTable",
    "ReadRows",
    "Roles",
    "Style",
    "Table",
    "TableStream",
    "canonical_order",
    "cell_text",
    "check_whole",
    "hash_of_name",
    "is_file",
    "is_large",
    "load_example",
    "nanoseconds",
    "pattern_files",
    "plain_values",
    "prepare",
    "read_table",
    "row_hashes",
    "save_table",
    "saved_table",
    "stream_table",
    "unmasked",
]

__getattr__ = exports(__name__)
