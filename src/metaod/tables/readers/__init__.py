"""Any table in: one file a kind of source, and ``read_table``, which knows whom to ask."""

from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.reading import read_table

__all__ = ["ReadOptions", "read_table"]
