"""Read a file or frame, decide what each column is, and turn the table into a finite matrix."""

from metaod.tables._reading import read_table
from metaod.tables._table import Table
from metaod.tables.examples import load_example
from metaod.tables.preparation.preparation import Preparation, prepare
from metaod.tables.preparation.prepared import PreparedTable
from metaod.tables.preparation.record import ColumnRecord, PreparationRecord, listed

__all__ = [
    "ColumnRecord",
    "Preparation",
    "PreparationRecord",
    "PreparedTable",
    "Table",
    "listed",
    "load_example",
    "prepare",
    "read_table",
]
