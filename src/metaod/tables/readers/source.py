"""Where the bytes of a table come from: a file, a pipe or a file object, gzipped or not."""

import gzip
import io
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike, fsdecode
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Protocol

from metaod.errors import BadFile
from metaod.tables.readers.content import foreign_errors, gibibytes

__all__ = ["Readable", "Source", "open_path", "open_stream", "too_large"]

_CHUNK = 2**22
_GZIP = b"\x1f\x8b"


class Readable(Protocol):
    """A file object, binary or text."""

    def read(self, size: int, /) -> bytes | str | None:
        """Read up to ``size`` bytes or characters."""
        ...


@dataclass(frozen=True)
class Source:
    """Bytes that can be read from their start as often as needed.

    Parameters
    ----------
    name : str
        What messages call it.
    suffix : str
        The ending of its name that says its kind, lower case; empty where there is none.
    path : pathlib.Path or None
        The file, where the bytes lie in one as they are.
    data : bytes
        The bytes themselves, where they came through a pipe or were compressed.
    encoding : str or None
        Their encoding, where they were text already.
    """

    name: str
    suffix: str = ""
    path: Path | None = None
    data: bytes = b""
    encoding: str | None = None

    def open(self) -> BinaryIO:
        """Open the bytes at their start."""
        if self.path is None:
            return io.BytesIO(self.data)
        try:
            return self.path.open("rb")
        except OSError as error:
            raise _unreadable(self.name, error) from error

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.data) if self.path is None else self.path.stat().st_size

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes."""
        with self.open() as stream:
            return stream.read(n_bytes)


def open_path(path: "str | PathLike[Any]", max_bytes: int) -> Source:
    """Open a file, or standard input where the path is ``'-'``."""
    name = fsdecode(path)
    if name == "-":
        return open_stream(sys.stdin.buffer, max_bytes, name="<stdin>")
    if not name:
        raise BadFile("''", "the path is empty", remedy="name a file, or '-' for a pipe")
    with suppress(RuntimeError):  # where it is not known whose home is meant, ~ is a name
        name = str(Path(name).expanduser()) if name.startswith("~") else name
    try:
        status = Path(name).stat()
        if stat.S_ISFIFO(status.st_mode):
            with Path(name).open("rb") as stream:
                return open_stream(stream, max_bytes, name=name)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise BadFile(name, "is a folder", remedy="name a file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise BadFile(name, "is a device and no file", remedy="name a file, or '-' for a pipe")
    if status.st_size > max_bytes:
        raise too_large(name, f"is {gibibytes(status.st_size)} large", max_bytes)
    suffix = PurePath(name).suffix.lower()
    return _unpacked(Source(name, suffix, path=Path(name)), max_bytes)


def open_stream(stream: Readable, max_bytes: int, *, name: str | None = None) -> Source:
    """Read a pipe or a file object, binary or text, to its end."""
    if name is None:
        called = getattr(stream, "name", None)
        name = called if isinstance(called, str) else f"<{type(stream).__name__}>"
    encoding: str | None = None

    def read(size: int) -> bytes:
        nonlocal encoding
        chunk = stream.read(size)
        if isinstance(chunk, str):
            encoding = "utf-8"
            return chunk.encode()
        return chunk or b""

    with foreign_errors(name, "a stream of bytes or text"):
        data = _read_within(read, name, max_bytes)
    return _unpacked(Source(name, data=data, encoding=encoding), max_bytes)


def too_large(name: str, what: str, max_bytes: int) -> BadFile:
    """Word the error for a file that claims more memory than it may."""
    return BadFile(
        name,
        f"{what}, more than the {gibibytes(max_bytes)} allowed",
        remedy="read a part of it, or raise max_bytes (--max-bytes) if the memory is there",
    )


def _unpacked(source: Source, max_bytes: int) -> Source:
    """Decompress what is gzipped, refusing what is empty or only claims to be gzipped."""
    if source.size == 0:
        raise BadFile(source.name, "is empty", remedy="check how it was written")
    gzipped = source.head(2) == _GZIP
    if source.suffix == ".gz" and not gzipped:
        plain = PurePath(source.name).with_suffix("").name
        raise BadFile(
            source.name, "is named .gz but is not gzip-compressed", remedy=f"rename it to {plain}"
        )
    if not gzipped:
        return source
    if source.suffix not in ("", ".gz"):
        raise BadFile(
            source.name,
            f"is named {source.suffix} but is gzip-compressed",
            remedy=f"rename it to {PurePath(source.name).name}.gz",
        )
    with (
        foreign_errors(source.name, "gzip"),
        source.open() as packed,
        gzip.GzipFile(fileobj=packed) as stream,
    ):
        data = _read_within(stream.read, source.name, max_bytes)
    if not data:
        raise BadFile(source.name, "is empty once decompressed", remedy="check how it was written")
    suffix = PurePath(source.name).with_suffix("").suffix.lower() if source.suffix else ""
    return replace(source, suffix=suffix, path=None, data=data)


def _read_within(read: Callable[[int], bytes], name: str, max_bytes: int) -> bytes:
    buffer = io.BytesIO()
    while chunk := read(_CHUNK):
        buffer.write(chunk)
        if buffer.tell() > max_bytes:
            raise too_large(name, "holds more bytes", max_bytes)
    return buffer.getvalue()


def _unreadable(name: str, error: OSError | ValueError) -> BadFile:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        web = "://" in name
        return BadFile(
            name,
            "does not exist",
            remedy="download it first" if web else "check its name and folder",
        )
    if isinstance(error, PermissionError):
        return BadFile(name, "may not be read", remedy="check its permissions")
    said = getattr(error, "strerror", None) or str(error)
    return BadFile(name, f"cannot be opened ({said})", remedy="check its name and folder")
