"""NPY and NPZ files; nothing in them is ever unpickled."""

import ast
import re
import struct
import zipfile
from math import prod
from typing import IO, Any

import numpy as np
import numpy.lib.format as npy_format
import numpy.typing as npt

from metaod.errors import BadFile
from metaod.tables.readers.archives import check_archive
from metaod.tables.readers.arrays import ArrayInfo, check_size, frame_from_array, read_chosen
from metaod.tables.readers.content import Content, foreign_errors, gibibytes
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source

__all__ = ["read_npy", "read_npz"]

_LONGEST_HEADER = 2**16
_PYTHON2_LONG = re.compile(r"(?<=[0-9])L")


def read_npy(source: Source, options: ReadOptions) -> Content:
    """Read one array."""
    with foreign_errors(source.name, "NPY"), source.open() as stream:
        shape, dtype = _read_header(stream)
        _check_promise(source.name, "the array", shape, dtype, source.size - stream.tell())
        check_size(shape, source.name, options.max_bytes)
        stream.seek(0)
        array = _read_array(stream, source.name, "the array")
        frame, warnings = frame_from_array(array, options, source.name)
    return Content(frame, tuple(warnings))


def read_npz(source: Source, options: ReadOptions) -> Content:
    """Read one array of several, and the label if it is another of them."""
    arrays: dict[str, ArrayInfo] = {}
    with (
        foreign_errors(source.name, "NPZ"),
        source.open() as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        check_archive(archive, source, options.max_bytes)
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as packed:
                shape, dtype = _read_header(packed)
                left = member.file_size - packed.tell()
                _check_promise(source.name, f"array {name!r}", shape, dtype, left)
            arrays[name] = ArrayInfo(shape, str(dtype), numeric=dtype.kind in "biuf")

    def load(name: str) -> npt.NDArray[Any]:
        with (
            foreign_errors(source.name, "NPZ"),
            source.open() as stream,
            zipfile.ZipFile(stream) as archive,
            archive.open(f"{name}.npy") as packed,
        ):
            return _read_array(packed, source.name, f"array {name!r}")

    return read_chosen(arrays, load, source.name, options)


def _read_array(stream: IO[bytes], source: str, what: str) -> npt.NDArray[Any]:
    start = stream.tell()
    _, dtype = _read_header(stream)
    if dtype.hasobject:
        raise BadFile(
            source,
            f"{what} holds Python objects, which only pickle can read, and that may run any code",
            remedy="save it as numbers, X.astype(float), or the table as CSV or Parquet",
        )
    stream.seek(start)
    array: npt.NDArray[Any] = npy_format.read_array(
        stream, allow_pickle=False, max_header_size=_LONGEST_HEADER
    )
    return array


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and type without taking memory for the array."""
    version = npy_format.read_magic(stream)
    length_format = "<H" if version == (1, 0) else "<I"
    [length] = struct.unpack(length_format, stream.read(struct.calcsize(length_format)))
    if length > _LONGEST_HEADER:
        raise ValueError(f"a header of {length:,} bytes")
    text = stream.read(length).decode("utf-8" if version >= (3, 0) else "latin-1")
    described = ast.literal_eval(_PYTHON2_LONG.sub("", text).strip())
    shape = tuple(described["shape"])
    if not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"a shape of {shape}")
    return shape, npy_format.descr_to_dtype(described["descr"])


def _check_promise(
    source: str, what: str, shape: tuple[int, ...], dtype: np.dtype[Any], left: int
) -> None:
    promised = prod(shape) * dtype.itemsize
    if dtype.hasobject or (promised <= left and dtype.itemsize):
        return
    raise BadFile(
        source,
        f"{what} promises {gibibytes(promised)} ({' × '.join(f'{n:,}' for n in shape)} of "
        f"{dtype}), but {gibibytes(left)} follow",
        remedy="it is damaged or cut short: write or download it again",
    )
