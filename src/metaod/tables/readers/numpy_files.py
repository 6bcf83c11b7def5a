"""NPY and NPZ files. Nothing in them is ever unpickled."""

import zipfile
from math import prod
from typing import IO, Any

import numpy as np
import numpy.lib.format as npy_format
import numpy.typing as npt

from metaod.errors import BadFile
from metaod.options import Reading
from metaod.tables.readers._arrays import (
    ArrayInfo,
    check_size,
    content_from_array,
    format_shape,
    read_chosen,
)
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import (
    Source,
    check_width,
    check_zip,
    damaged,
    format_bytes,
    library_errors,
    zip_members,
)

_LONGEST_HEADER = 2**16


def read(source: Source, options: Reading) -> Content:
    """Read an array of an NPY or NPZ file."""
    return (_read_npy if zip_members(source) is None else _read_npz)(source, options)


def _read_npy(source: Source, options: Reading) -> Content:
    with library_errors(source.name, "NPY"), source.open() as stream:
        shape, dtype = _read_header(stream)
        _check_stored(source.name, "the array", shape, dtype, source.size - stream.tell())
        check_size(shape, source.name, options.memory_limit)
        check_width(source.name, shape)
        stream.seek(0)
        array = _read_array(stream, source.name, "the array")
        return content_from_array(array, source.name)


def _read_npz(source: Source, options: Reading) -> Content:
    arrays: dict[str, ArrayInfo] = {}
    with (
        library_errors(source.name, "NPZ"),
        source.open() as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        check_zip(archive, source, options.memory_limit)
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as packed:
                shape, dtype = _read_header(packed)
                n_left = member.file_size - packed.tell()
                _check_stored(source.name, f"array {name!r}", shape, dtype, n_left)
            arrays[name] = ArrayInfo(shape, str(dtype), numeric=dtype.kind in "biuf")

        def load(name: str) -> npt.NDArray[Any]:
            with archive.open(f"{name}.npy") as packed:
                return _read_array(packed, source.name, f"array {name!r}")

        return read_chosen(arrays, load, source.name, options)


def _read_array(stream: IO[bytes], source: str, what: str) -> npt.NDArray[Any]:
    start = stream.tell()
    _, dtype = _read_header(stream)
    if dtype.hasobject:
        what = f"{what} holds Python objects, which only pickle can read, and that may run any code"
        remedy = "save it as numbers, X.astype(float), or the table as CSV or Parquet"
        raise BadFile(source, what, remedy=remedy)
    stream.seek(start)
    array: npt.NDArray[Any] = npy_format.read_array(
        stream, allow_pickle=False, max_header_size=_LONGEST_HEADER
    )
    return array


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and type without allocating the array."""
    is_first = npy_format.read_magic(stream) == (1, 0)
    read = npy_format.read_array_header_1_0 if is_first else npy_format.read_array_header_2_0
    shape, _, dtype = read(stream, max_header_size=_LONGEST_HEADER)
    if min(shape, default=0) < 0:
        raise ValueError(f"a shape of {shape}")
    return shape, dtype


def _check_stored(
    source: str, what: str, shape: tuple[int, ...], dtype: np.dtype[Any], n_left: int
) -> None:
    promised = prod(shape) * dtype.itemsize
    if dtype.hasobject or (promised <= n_left and dtype.itemsize):
        return
    size, stored = format_bytes(promised), format_bytes(n_left)
    raise damaged(
        source, f"{what} promises {size} ({format_shape(shape)} of {dtype}), but {stored} follow"
    )
