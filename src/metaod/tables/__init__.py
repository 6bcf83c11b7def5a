"""Read a file or frame, decide what each column is, and turn the table into a finite matrix."""

from metaod.tables._columns import SURPRISAL_UNIT
from metaod.tables._file_kinds import READ_ENDINGS
from metaod.tables._original import Original
from metaod.tables._preparation import NothingToScore, Preparation, prepare
from metaod.tables._read_rows import ReadRows
from metaod.tables._reading import is_file, read_table, untyped_table
from metaod.tables._record import (
    ColumnRecord,
    Drift,
    PreparationRecord,
    PreparedTable,
    cell_text,
    listed,
    number_text,
)
from metaod.tables._roles import ROLE_NAMES, Roles
from metaod.tables._stream import OnRows, TableStream
from metaod.tables._streams import MOST_ROWS, is_large, stream_table
from metaod.tables._table import Table
from metaod.tables.examples import load_example
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._source import check_plain_file

__all__ = [
    "MOST_ROWS",
    "READ_ENDINGS",
    "ROLE_NAMES",
    "SURPRISAL_UNIT",
    "ColumnRecord",
    "Drift",
    "NothingToScore",
    "OnRows",
    "Original",
    "Preparation",
    "PreparationRecord",
    "PreparedTable",
    "RawText",
    "ReadRows",
    "Roles",
    "Table",
    "TableStream",
    "cell_text",
    "check_plain_file",
    "is_file",
    "is_large",
    "listed",
    "load_example",
    "number_text",
    "prepare",
    "read_table",
    "stream_table",
    "untyped_table",
]
