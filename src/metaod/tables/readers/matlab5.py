"""MATLAB 5 to 7.2 files, taken apart by hand.

scipy's reader trusts the sizes and types that a file states, and a damaged one can crash the
interpreter. Here each is checked against the bytes that are there.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.sparse

from metaod.tables.readers.sparse import densify

__all__ = ["NUMERIC", "Matlab5File", "Matrix"]

_HEADER_BYTES = 128
_MATRIX, _COMPRESSED = 14, 15
_STORED = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CLASSES = {
    1: "cell",
    2: "struct",
    3: "object",
    4: "char",
    5: "sparse",
    6: "double",
    7: "single",
    8: "int8",
    9: "uint8",
    10: "int16",
    11: "uint16",
    12: "int32",
    13: "uint32",
    14: "int64",
    15: "uint64",
}
NUMERIC = frozenset(_CLASSES.values()) - {"cell", "struct", "object", "char"} | {"logical"}
_ENOUGH_FOR_HEADER = 4096


@dataclass(frozen=True)
class Matrix:
    """One variable of a file, as its header describes it.

    Parameters
    ----------
    name : str
        Its name.
    shape : tuple of int
        Its shape.
    kind : str
        MATLAB's class, or ``'logical'``, ``'complex'`` or ``'other'``.
    position, n_bytes : int
        Where its bytes are.
    compressed : bool
        Whether they are deflated.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    position: int
    n_bytes: int
    compressed: bool


class Matlab5File:
    """A file's variables; anything that does not add up raises ValueError.

    Parameters
    ----------
    stream : binary file
        The file, which stays the caller's.
    size : int
        Its number of bytes.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.stream = stream
        self.size = size
        stream.seek(0)
        header = stream.read(_HEADER_BYTES)
        self.order = ">" if header[126:128] == b"MI" else "<"

    def matrices(self) -> Iterator[Matrix]:
        """List the variables by their headers alone."""
        position = _HEADER_BYTES
        while position < self.size:
            self.stream.seek(position)
            kind, n_bytes = struct.unpack(f"{self.order}II", self.stream.read(8))
            start, position = position + 8, position + 8 + n_bytes
            if kind not in (_MATRIX, _COMPRESSED) or position > self.size:
                raise ValueError(f"no variable at byte {start - 8:,}, or one cut short")
            compressed = kind == _COMPRESSED
            head = self.stream.read(min(n_bytes, _ENOUGH_FOR_HEADER))
            if compressed:
                head = zlib.decompressobj().decompress(head, _ENOUGH_FOR_HEADER)[8:]
            parts = _Parts(head, self.order)
            class_name, shape, name = _describe(parts)
            if name:  # one without is MATLAB's own
                yield Matrix(name, shape, class_name, start, n_bytes, compressed)

    def load(self, matrix: Matrix, max_bytes: int, source: str) -> npt.NDArray[Any]:
        """Read one variable: numbers as they are, text and cells of text as an array of str."""
        self.stream.seek(matrix.position)
        body = self.stream.read(matrix.n_bytes)
        if matrix.compressed:
            body = zlib.decompressobj().decompress(body, max_bytes)[8:]
        return _value(_Parts(body, self.order), max_bytes, source)


class _Parts:
    """Cuts a variable's bytes into its parts: type of storage and content."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data = memoryview(data)
        self.order = order
        self.position = 0

    def take(self) -> tuple[int, memoryview]:
        tag = self.data[self.position : self.position + 8]
        if len(tag) < 8:
            raise ValueError("a variable is cut short")
        kind, n_bytes = struct.unpack(f"{self.order}II", tag)
        start, following = self.position + 8, self.position + 8 + n_bytes + -n_bytes % 8
        if kind >> 16:  # up to four bytes stand within the tag itself
            kind, n_bytes = kind & 0xFFFF, kind >> 16
            start, following = self.position + 4, self.position + 8
        if start + n_bytes > min(following, len(self.data)):
            raise ValueError("a variable is cut short")
        self.position = following
        return kind, self.data[start : start + n_bytes]

    def numbers(self) -> npt.NDArray[Any]:
        """Take a part that holds numbers."""
        kind, content = self.take()
        if kind not in _STORED:
            raise ValueError(f"numbers stored as type {kind}, which there is none")
        return np.frombuffer(content, dtype=f"{self.order}{_STORED[kind]}")

    def text(self) -> str:
        """Take a part that holds text."""
        kind, content = self.take()
        if kind not in _TEXT:
            raise ValueError(f"text stored as type {kind}, which there is none")
        endian = "" if _TEXT[kind] in ("latin-1", "utf-8") else {"<": "-le", ">": "-be"}[self.order]
        return bytes(content).decode(_TEXT[kind] + endian, errors="replace")


def _describe(parts: _Parts) -> tuple[str, tuple[int, ...], str]:
    """Take the parts that every variable begins with: flags, shape and name."""
    flags = int(parts.numbers()[0])
    if flags & 0xFF not in _CLASSES:
        return "other", (), ""
    shape = tuple(int(n) for n in parts.numbers())
    if min(shape, default=-1) < 0:
        raise ValueError(f"a shape of {shape}")
    name = parts.text()
    kind = _CLASSES[flags & 0xFF]
    if flags & 0x0800:
        kind = "complex"
    elif flags & 0x0200 and kind != "sparse":
        kind = "logical"
    return kind, shape, name


def _value(parts: _Parts, max_bytes: int, source: str) -> npt.NDArray[Any]:
    kind, shape, _ = _describe(parts)
    if kind == "char":
        return _lines(parts.text(), shape)
    if kind == "cell":
        cells = (parts.take() for _ in range(prod(shape)))
        return np.array([_cell(cell, parts.order, max_bytes, source) for cell in cells], object)
    if kind == "sparse":
        rows, columns, data = (parts.numbers() for _ in range(3))
        stored = (data.astype("f8"), rows.astype("i8"), columns.astype("i8"))
        n_rows, n_columns = shape
        matrix = scipy.sparse.csc_array(stored, shape=(n_rows, n_columns))
        return densify(matrix, max_bytes, source)
    numbers = parts.numbers()
    if len(numbers) != prod(shape):
        raise ValueError(f"{len(numbers):,} numbers where the shape is {shape}")
    dtype = {"logical": "?", "double": "f8", "single": "f4"}.get(kind, kind)
    return numbers.astype(dtype).reshape(shape, order="F")


def _cell(part: tuple[int, memoryview], order: str, max_bytes: int, source: str) -> Any:
    kind, content = part
    if kind != _MATRIX:
        raise ValueError("a cell that holds no variable")
    values = _value(_Parts(bytes(content), order), max_bytes, source).ravel()
    if len(values) > 1:
        raise ValueError("a cell that holds more than one value")
    return values[0] if len(values) else None


def _lines(text: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Read a matrix of characters, stored column by column, as one string a row."""
    if len(text) != prod(shape):
        raise ValueError(f"{len(text):,} characters where the shape is {shape}")
    n_rows = shape[0] if text else 0
    return np.array([text[row::n_rows].rstrip() for row in range(n_rows)], dtype=object)
