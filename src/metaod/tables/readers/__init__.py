"""Readers of tables, one file a format. To add a format, add its file and its line here."""

from metaod.tables.readers import arff, delimited, excel, hdf5, matlab, numpy_files, parquet
from metaod.tables.readers._reader import Reader

__all__ = ["READERS"]

# The first that recognises a file reads it. Delimited text is last because it accepts any text.
READERS: list[Reader] = [
    parquet.READER,
    matlab.READER,
    hdf5.READER,
    numpy_files.NPY,
    numpy_files.NPZ,
    excel.READER,
    arff.READER,
    delimited.READER,
]
