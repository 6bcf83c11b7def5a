"""MATLAB files of versions 4 to 7.2; those of 7.3 are HDF5."""

from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import scipy.io

from metaod.tables.readers.arrays import ArrayInfo, read_chosen
from metaod.tables.readers.content import Content, foreign_errors
from metaod.tables.readers.matlab4 import HEADER_BYTES, parse_header, walk_headers
from metaod.tables.readers.matlab5 import NUMERIC, Matlab5File
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source
from metaod.tables.readers.sparse import densify

__all__ = ["read"]


def read(source: Source, options: ReadOptions) -> Content:
    """Read one matrix, and the label if it is another array of the file."""
    if parse_header(source.head(HEADER_BYTES)) is not None:
        return _read4(source, options)
    with foreign_errors(source.name, "MATLAB"), source.open() as stream:
        matrices = {matrix.name: matrix for matrix in Matlab5File(stream, source.size).matrices()}
    arrays = {
        # a matrix of characters is one text a row
        name: ArrayInfo(matrix.shape[:1], "text", numeric=False, readable=False)
        if matrix.kind == "char"
        else ArrayInfo(matrix.shape, matrix.kind, matrix.kind in NUMERIC, matrix.kind in NUMERIC)
        for name, matrix in matrices.items()
    }

    def load(name: str) -> npt.NDArray[Any]:
        with foreign_errors(source.name, "MATLAB"), source.open() as stream:
            file = Matlab5File(stream, source.size)
            return file.load(matrices[name], options.max_bytes, source.name)

    return read_chosen(arrays, load, source.name, options)


def _read4(source: Source, options: ReadOptions) -> Content:
    with foreign_errors(source.name, "MATLAB"), source.open() as stream:
        walk_headers(stream, source.size)
        stream.seek(0)
        arrays = {
            name: ArrayInfo(tuple(int(n) for n in shape), kind, kind in NUMERIC, kind in NUMERIC)
            for name, shape, kind in scipy.io.whosmat(_named(stream))
        }

    def load(name: str) -> npt.NDArray[Any]:
        with foreign_errors(source.name, "MATLAB"), source.open() as stream:
            loaded = scipy.io.loadmat(_named(stream), variable_names=[name])[name]
            if arrays[name].kind == "sparse":
                return densify(loaded, options.max_bytes, source.name)
            return np.asarray(loaded)

    return read_chosen(arrays, load, source.name, options)


def _named(stream: BinaryIO) -> str:
    """Pass a stream where scipy's annotations, other than scipy, want a name."""
    return cast("str", stream)
