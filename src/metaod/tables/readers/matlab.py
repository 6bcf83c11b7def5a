"""MATLAB files of versions 4 to 7.2; those of 7.3 are HDF5.

MATLAB 5 is parsed here. scipy's reader crashed or hung on 582 of 40,000 random mutations. It did so
on none after a check of all headers, but the check and the call took 131 lines; this parser takes
115.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse

from metaod.options import Reading
from metaod.tables.readers._arrays import ArrayInfo, densify, read_chosen
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import DEFLATE_RATIO, Source, check_expansion, library_errors

_OTHER_CLASSES = ("cell", "struct", "object", "char")
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_NUMERIC = ("sparse", "double", "single", *_INTEGERS, "logical")
_CLASSES = dict(enumerate((*_OTHER_CLASSES, *_NUMERIC[:-1]), start=1))


def read(source: Source, options: Reading) -> Content:
    """Read a variable of a MATLAB file."""
    reads = _read5 if parse_header4(source.head(_HEADER4_BYTES)) is None else _read4
    with library_errors(source.name, "MATLAB"), source.open() as stream:
        return reads(stream, source, options)


def _describe(shape: tuple[int, ...], kind: str) -> ArrayInfo:
    return ArrayInfo(shape, kind, numeric=kind in _NUMERIC, readable=kind in _NUMERIC)


# MATLAB 5

_HEADER_BYTES = 128
_MATRIX, _COMPRESSED = 14, 15
_STORED = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8")
_NUMBER_TYPES = dict(zip((1, 2, 3, 4, 5, 6, 7, 9, 12, 13), _STORED, strict=True))
_TEXT_TYPES = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_ENOUGH_FOR_HEADER = 4096
_LESS = "save it with less compression"


def _read5(stream: BinaryIO, source: Source, options: Reading) -> Content:
    variables = {variable.name: variable for variable in _variables(stream, source.size)}
    arrays = {
        # a matrix of characters is one text a row
        name: ArrayInfo(variable.shape[:1], "text", numeric=False, readable=False)
        if variable.kind == "char"
        else _describe(variable.shape, variable.kind)
        for name, variable in variables.items()
    }

    def load(name: str) -> npt.NDArray[Any]:
        variable = variables[name]
        stream.seek(variable.position)
        body = memoryview(stream.read(variable.n_bytes))
        if variable.compressed:
            # no more than its shape needs: what follows the values is never read
            most = min(options.memory_limit, _most_bytes(variable))
            check_expansion(source.name, len(body), min(most, DEFLATE_RATIO * len(body)), _LESS)
            body = memoryview(zlib.decompressobj().decompress(body, most))[8:]
        return _value(_Elements(body, variable.order), options.memory_limit, source.name)

    return read_chosen(arrays, load, source.name, options)


@dataclass(frozen=True)
class _Variable:
    name: str
    shape: tuple[int, ...]
    kind: str
    position: int
    n_bytes: int
    compressed: bool
    order: str


def _most_bytes(variable: _Variable) -> int:
    """Return the most bytes that a variable of this shape and kind can take."""
    per_value = {"char": 4, "cell": _ENOUGH_FOR_HEADER, "sparse": 16}.get(variable.kind, 8)
    starts = 8 * max(variable.shape, default=0)  # of the columns of a sparse matrix
    return per_value * prod(variable.shape) + starts + _ENOUGH_FOR_HEADER


def _variables(stream: BinaryIO, size: int) -> Iterator[_Variable]:
    """List the variables of a file from their headers; raise ValueError for damaged ones."""
    order = ">" if stream.read(_HEADER_BYTES)[126:128] == b"MI" else "<"
    position = _HEADER_BYTES
    while position < size:
        stream.seek(position)
        element_type, n_bytes = struct.unpack(f"{order}II", stream.read(8))
        start, position = position + 8, position + 8 + n_bytes
        if element_type not in (_MATRIX, _COMPRESSED) or position > size:
            raise ValueError(f"no variable at byte {start - 8:,}, or one cut short")
        head = stream.read(min(n_bytes, _ENOUGH_FOR_HEADER))
        compressed = element_type == _COMPRESSED
        if compressed:
            head = zlib.decompressobj().decompress(head, _ENOUGH_FOR_HEADER)[8:]
        kind, shape, name = _variable_header(_Elements(head, order))
        if name:  # those without a name are MATLAB's own
            yield _Variable(name, shape, kind, start, n_bytes, compressed, order)


class _Elements:
    """Splits the bytes of a variable into its elements: type of storage and content."""

    def __init__(self, data: "bytes | memoryview", order: str) -> None:
        self.data = memoryview(data)
        self.order = order
        self.position = 0

    def take(self) -> tuple[int, memoryview]:
        tag = self.data[self.position : self.position + 8]
        if len(tag) < 8:
            raise ValueError("a variable is cut short")
        element_type, n_bytes = struct.unpack(f"{self.order}II", tag)
        start, following = self.position + 8, self.position + 8 + n_bytes + -n_bytes % 8
        if element_type >> 16:  # up to four bytes are stored in the tag itself
            element_type, n_bytes = element_type & 0xFFFF, element_type >> 16
            start, following = self.position + 4, self.position + 8
        if start + n_bytes > min(following, len(self.data)):
            raise ValueError("a variable is cut short")
        self.position = following
        return element_type, self.data[start : start + n_bytes]

    def numbers(self) -> npt.NDArray[Any]:
        element_type, content = self.take()
        if element_type not in _NUMBER_TYPES:
            raise ValueError(f"numbers stored as unknown type {element_type}")
        return np.frombuffer(content, dtype=f"{self.order}{_NUMBER_TYPES[element_type]}")

    def text(self) -> str:
        element_type, content = self.take()
        if element_type not in _TEXT_TYPES:
            raise ValueError(f"text stored as unknown type {element_type}")
        encoding = _TEXT_TYPES[element_type]
        if encoding not in ("latin-1", "utf-8"):
            encoding += "-le" if self.order == "<" else "-be"
        return bytes(content).decode(encoding, errors="replace")


def _variable_header(elements: _Elements) -> tuple[str, tuple[int, ...], str]:
    """Take the elements that every variable begins with: class, shape and name."""
    flags = int(elements.numbers()[0])
    if flags & 0xFF not in _CLASSES:
        return "other", (), ""
    shape = tuple(int(n) for n in elements.numbers())
    if min(shape, default=-1) < 0:
        raise ValueError(f"a shape of {shape}")
    name = elements.text()
    kind = _CLASSES[flags & 0xFF]
    if flags & 0x0800:
        kind = "complex"
    elif flags & 0x0200 and kind != "sparse":
        kind = "logical"
    return kind, shape, name


def _value(elements: _Elements, max_bytes: int, source: str) -> npt.NDArray[Any]:
    kind, shape, _ = _variable_header(elements)
    if kind == "char":
        return _text_rows(elements.text(), shape)
    if kind == "cell":
        cells = [_cell(elements, max_bytes, source) for _ in range(prod(shape))]
        return np.array(cells, dtype=object)
    if kind == "sparse":
        rows, columns, data = (elements.numbers() for _ in range(3))
        stored = (data.astype("f8"), rows.astype("i8"), columns.astype("i8"))
        n_rows, n_columns = shape
        matrix = scipy.sparse.csc_array(stored, shape=(n_rows, n_columns))
        return densify(matrix, max_bytes, source)
    numbers = elements.numbers()
    if len(numbers) != prod(shape):
        raise ValueError(f"{len(numbers):,} numbers where the shape is {shape}")
    dtype = {"logical": "?", "double": "f8", "single": "f4"}.get(kind, kind)
    return numbers.astype(dtype).reshape(shape, order="F")


def _cell(elements: _Elements, max_bytes: int, source: str) -> Any:
    element_type, content = elements.take()
    if element_type != _MATRIX:
        raise ValueError("a cell that holds no variable")
    values = _value(_Elements(content, elements.order), max_bytes, source).ravel()
    if len(values) > 1:
        raise ValueError("a cell that holds more than one value")
    return values[0] if len(values) else None


def _text_rows(text: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Split a matrix of characters, stored column by column, into one string a row."""
    if len(text) != prod(shape):
        raise ValueError(f"{len(text):,} characters where the shape is {shape}")
    n_rows = shape[0] if text else 0
    return np.array([text[row::n_rows].rstrip() for row in range(n_rows)], dtype=object)


# MATLAB 4: scipy reads it, but never ends on some damaged headers, which are checked before

_HEADER4_BYTES = 20
_ITEM4_BYTES = (8, 4, 4, 2, 2, 1)


def parse_header4(head: bytes) -> tuple[int, int, int] | None:
    """Return rows, columns and the bytes of header and matrix; None if it is no header."""
    if len(head) < _HEADER4_BYTES:
        return None
    for order, machine in (("<", 0), (">", 1)):
        mopt, rows, columns, imaginary, name_bytes = struct.unpack_from(f"{order}5i", head)
        precision, matrix_type = mopt // 10 % 10, mopt % 10
        if (
            mopt // 1000 == machine
            and mopt // 100 % 10 == 0
            and precision < len(_ITEM4_BYTES)
            and matrix_type <= 2
            and min(rows, columns) >= 0
            and imaginary in (0, 1)
            and 1 < name_bytes <= 4096
        ):
            n_bytes = rows * columns * _ITEM4_BYTES[precision] * (1 + imaginary)
            return rows, columns, _HEADER4_BYTES + name_bytes + n_bytes
    return None


def _check_headers4(stream: BinaryIO, size: int) -> None:
    position = 0
    while position < size:
        stream.seek(position)
        header = parse_header4(stream.read(_HEADER4_BYTES))
        if header is None:
            raise ValueError(f"no matrix header at byte {position:,}")
        rows, columns, n_bytes = header
        position += n_bytes
        if position > size:
            raise ValueError(f"a matrix of {rows:,} × {columns:,} is promised, but the file ends")


def _read4(stream: BinaryIO, source: Source, options: Reading) -> Content:
    _check_headers4(stream, source.size)
    stream.seek(0)
    file = cast("str", stream)  # scipy takes streams, but its annotations do not say so
    variables = scipy.io.whosmat(file)
    arrays = {name: _describe(tuple(map(int, shape)), kind) for name, shape, kind in variables}

    def load(name: str) -> npt.NDArray[Any]:
        stream.seek(0)
        loaded = scipy.io.loadmat(file, variable_names=[name])[name]
        is_sparse = arrays[name].kind == "sparse"
        return densify(loaded, options.memory_limit, source.name) if is_sparse else loaded

    return read_chosen(arrays, load, source.name, options)
