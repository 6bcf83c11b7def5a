"""Open, decompress and decode the bytes of a table."""

import codecs
import gzip
import io
import os
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from os import PathLike, fsdecode
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from metaod._files import expanded, refuse_special
from metaod.errors import BadFile, Message, Setting, UserError, hide_password

DEFLATE_RATIO = 1032  # deflate cannot shrink data to less than one part in this many

CELL_BYTES = 32
"""Memory that a number of a table needs: as read, in a frame, prepared, and scaled by a model."""

# what is packed more densely than real tables is refused, unless it is small once unpacked
_MOST_EXPANSION, _SMALL_BYTES = 250, 2**27

# an address of a database; a file of the web has to be downloaded, and SQLite's are files
_DATABASE = re.compile(r"(?!https?:|ftps?:|s3:|gs:|file:)[a-z]\w*(\+\w+)?://")
_FILE_URL = re.compile(r"\A(sqlite|duckdb):///")

_MOST_COLUMNS = 50_000
_STDIN = "<stdin>"
_CHUNK = 2**22
_SMALL_CHUNK = 2**20
_BYTE_ORDER_MARKS = {  # UTF-32 first: its little-endian mark begins with that of UTF-16
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\f\r\x1a\x1b"))


@dataclass(frozen=True)
class Source:
    """Bytes that can be read from their start repeatedly, from a file or from memory."""

    name: str
    suffix: str = ""  # the ending of the name, lower case, without .gz
    path: Path | None = None
    data: bytes = b""  # if path is None: from a pipe, or decompressed
    encoding: str | None = None  # of data from a text stream
    packed: Path | None = None  # the gzip file that data was, or is to be, decompressed from
    url: str | None = field(default=None, repr=False)  # of a database; its name has no password
    recoded: str | None = None  # the encoding of the file, if opening it converts it to UTF-8

    def open(self) -> BinaryIO:
        stream = self._open()
        if self.recoded is None:
            return stream
        return io.BufferedReader(_Utf8Stream(_recode(stream, self.name, self.recoded)))

    def _open(self) -> BinaryIO:
        if self.path is None and (self.packed is None or self.data):
            return io.BytesIO(self.data)
        try:
            if self.path is None:
                return gzip.GzipFile(self.packed)  # type: ignore[return-value]  # is one in all but name
            return self.path.open("rb")
        except OSError as error:
            raise _unreadable(self.name, error) from error

    @property
    def size(self) -> int:
        return len(self.data) if self.path is None else self.path.stat().st_size

    @property
    def stamp(self) -> tuple[int, int] | None:
        """Size and time of the file, which tell whether it was changed; None without a file."""
        path = self.path or self.packed
        if path is None:
            return None
        try:
            status = path.stat()
        except OSError as error:
            raise _unreadable(self.name, error) from error
        return status.st_size, status.st_mtime_ns

    def check_unchanged(self, stamp: tuple[int, int] | None) -> None:
        """Refuse a file that was changed since it had this stamp: its rows are no longer those."""
        if self.stamp != stamp:
            raise BadFile(self.name, "was changed after it was read", remedy="start again")

    def head(self, n_bytes: int) -> bytes:
        with library_errors(self.name, "gzip"), self.open() as stream:
            return stream.read(n_bytes)


def open_path(path: "str | PathLike[Any]", max_bytes: int, shown_as: str | None = None) -> Source:
    """Open a file, or standard input if the path is ``'-'``; messages call it `shown_as`."""
    place = _FILE_URL.sub("", fsdecode(path), count=1) if isinstance(path, str) else fsdecode(path)
    if place == "-":
        return open_stream(_standard_input(), max_bytes, name=_STDIN)
    if isinstance(path, str) and _DATABASE.match(place):
        return Source(hide_password(shown_as or place), url=place)
    if not place:
        raise BadFile("''", "the path is empty", remedy="name a file, or '-' for a pipe")
    place = str(expanded(place)) if place.startswith("~") else place
    name = shown_as or place
    try:
        status = Path(place).stat()
        if stat.S_ISFIFO(status.st_mode):
            with Path(place).open("rb") as stream:
                return open_stream(stream, max_bytes, name=name)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    refuse_special(name, status.st_mode, remedy="name a file, or '-' for a pipe")
    check_bytes(name, "holds", status.st_size, max_bytes)
    return _decompressed(Source(name, PurePath(place).suffix.lower(), Path(place)), max_bytes)


def open_unread(path: "str | PathLike[Any]") -> Source | None:
    """Open a file to read it part by part, also a gzipped one; None for what is no plain file."""
    place = expanded(fsdecode(path))
    if not place.is_file():
        return None
    source = Source(str(place), place.suffix.lower(), place)
    if source.size == 0:
        return None
    if source.head(2) != b"\x1f\x8b":
        return source if source.suffix != ".gz" else None
    if source.suffix not in ("", ".gz"):
        return None
    suffix = place.with_suffix("").suffix.lower() if source.suffix else ""
    return Source(str(place), suffix, packed=place)


def check_exists(path: "str | PathLike[Any]") -> None:
    """Refuse a path at which there is no file, or an empty one."""
    name = fsdecode(path)
    try:
        status = expanded(name).stat()
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        raise BadFile(name, "is empty", remedy="check how it was written")


def _standard_input() -> BinaryIO:
    """Return standard input; refuse one that is closed, or a device that never ends."""
    remedy = "name a file, or pipe the table into the command"
    if sys.stdin is None or sys.stdin.closed:
        raise BadFile(_STDIN, "standard input is closed", remedy=remedy)
    stream = sys.stdin.buffer
    with suppress(OSError, ValueError):  # a stream without a file, as in tests
        mode = os.fstat(stream.fileno()).st_mode
        if stat.S_ISCHR(mode) and not stream.isatty() and stream.read(1):
            raise BadFile(_STDIN, "standard input is a device", remedy=remedy)
    return stream


def open_stream(stream: Any, max_bytes: int, *, name: str | None = None) -> Source:
    """Read a pipe or a file object, binary or text, to its end."""
    if name is None:
        own_name = getattr(stream, "name", None)
        name = own_name if isinstance(own_name, str) else f"<{type(stream).__name__}>"
    encoding: str | None = None

    def read(size: int) -> bytes:
        nonlocal encoding
        chunk = stream.read(size)
        if isinstance(chunk, str):
            encoding = "utf-8"
            return chunk.encode()
        return chunk or b""

    with library_errors(name, "a stream of bytes or text"):
        data = _read_limited(read, name, max_bytes)
    return _decompressed(Source(name, data=data, encoding=encoding), max_bytes)


def _decompressed(source: Source, max_bytes: int) -> Source:
    if source.size == 0:
        raise BadFile(source.name, "is empty", remedy="check how it was written")
    gzipped = source.head(2) == b"\x1f\x8b"
    path = PurePath(source.name)
    if source.suffix == ".gz" and not gzipped:
        remedy = f"rename it to {path.with_suffix('').name}"
        raise BadFile(source.name, "is named .gz but is not gzip-compressed", remedy=remedy)
    if not gzipped:
        return source
    if source.suffix not in ("", ".gz"):
        what = f"is named {source.suffix} but is gzip-compressed"
        raise BadFile(source.name, what, remedy=f"rename it to {path.name}.gz")
    with (
        library_errors(source.name, "gzip"),
        source.open() as packed,
        gzip.GzipFile(fileobj=packed) as stream,
    ):
        packed.seek(-4, io.SEEK_END)  # where the size once unpacked is written
        promised = int.from_bytes(packed.read(4), "little")  # or anything, if it was cut short
        packed.seek(0)
        is_kept = promised <= max(_SMALL_BYTES, _MOST_EXPANSION * source.size)
        data = _read_limited(stream.read, source.name, max_bytes, source.size, is_kept=is_kept)
    if not data:
        raise BadFile(source.name, "is empty once decompressed", remedy="check how it was written")
    suffix = path.with_suffix("").suffix.lower() if source.suffix else ""
    return replace(source, suffix=suffix, path=None, data=data, packed=source.path)


def _read_limited(
    read: Callable[[int], bytes],
    name: str,
    max_bytes: int,
    n_packed: int | None = None,
    *,
    is_kept: bool = True,
) -> bytes:
    """Read to the end, or to an error; without `is_kept` nothing but errors is expected."""
    buffer, n_bytes = io.BytesIO(), 0
    while chunk := read(_CHUNK):
        n_bytes += len(chunk)
        check_bytes(name, "holds at least", n_bytes, max_bytes)
        if n_packed is not None:
            check_expansion(name, n_packed, n_bytes, "unpack it first")
        if is_kept:
            buffer.write(chunk)
    return buffer.getvalue()


# errors


@contextmanager
def library_errors(name: str, kind: str) -> Iterator[None]:
    """Turn any exception of a library over a damaged file into a :class:`BadFile`."""
    try:
        yield
    except UserError:
        raise
    except MemoryError as error:
        remedy = "read a part of it, or use a larger machine"
        raise BadFile(name, "does not fit in memory", remedy=remedy) from error
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise damaged(name, f"cannot be read as {kind} ({reason})") from error


def damaged(name: str, what: str) -> BadFile:
    """Return the error for a file whose content contradicts itself."""
    return BadFile(name, what, remedy="it may be damaged or cut short: write or download it again")


def check_bytes(name: str, what: str, n_bytes: int, max_bytes: int) -> None:
    """Refuse a file that takes more memory than allowed; the message is `what` and the size."""
    if n_bytes > max_bytes:
        what = f"{what} {format_bytes(n_bytes)}, more than the {format_bytes(max_bytes)} allowed"
        advice = "read a part of it, or raise {set} if there is enough memory"
        raise BadFile(name, what, remedy=Setting("max_bytes").advice(advice))


def check_width(name: str, shape: tuple[int, ...]) -> None:
    """Refuse a table with more columns than can be prepared in reasonable time."""
    n_columns = shape[1] if len(shape) > 1 else 1
    if n_columns > _MOST_COLUMNS:
        what = f"holds {n_columns:,} columns, more than the {_MOST_COLUMNS:,} that can be read"
        remedy = "transpose it if its rows are columns, or give fewer columns"
        raise BadFile(name, what, remedy=remedy)


def check_expansion(
    name: str, n_packed: int, n_unpacked: int, remedy: str, *, most: int = _MOST_EXPANSION
) -> None:
    """Refuse a file that would unpack to much more than a real table of its size."""
    if n_unpacked > max(_SMALL_BYTES, most * n_packed):
        size, times = format_bytes(n_unpacked), round(n_unpacked / max(1, n_packed))
        what = f"unpacks to {size} or more, {times:,} times its size"
        raise BadFile(name, what, remedy=f"if this is right, {remedy}")


def format_bytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**28 else f"{n_bytes:,} bytes"


def _unreadable(name: str, error: OSError | ValueError) -> BadFile:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if "://" in name:
            remedy = "download the file and name it"
            return BadFile(name, "is an address, which is not read", remedy=remedy)
        return BadFile(name, "does not exist", remedy="check its name and folder")
    if isinstance(error, PermissionError):
        return BadFile(name, "may not be read", remedy="check its permissions")
    reason = getattr(error, "strerror", None) or str(error)
    return BadFile(name, f"cannot be opened ({reason})", remedy="check its name and folder")


# zip archives


def zip_members(source: Source) -> list[str] | None:
    """Return the names of a zip archive's members; None if it is no archive or a damaged one."""
    if source.head(4) != b"PK\x03\x04":
        return None
    try:
        with source.open() as stream, zipfile.ZipFile(stream) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None


def check_zip(archive: zipfile.ZipFile, source: Source, max_bytes: int) -> None:
    """Refuse, before unpacking, an archive that is locked, too large or impossible."""
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    check_bytes(source.name, "unpacks to", total, max_bytes)
    for member in members:
        if member.flag_bits & 1:
            raise BadFile(source.name, "is protected by a password", remedy="save it without one")
        if member.file_size > DEFLATE_RATIO * member.compress_size + 1024:
            promised, stored = format_bytes(member.file_size), format_bytes(member.compress_size)
            what = f"promises {promised} in {member.filename!r}, which holds {stored}"
            raise damaged(source.name, what)
    check_expansion(source.name, source.size, total, "save it with less compression")


# text


@dataclass(frozen=True)
class Utf8Text:
    """Text in UTF-8 without NUL bytes; it may begin with UTF-8's byte-order mark."""

    source: Source
    n_quotes: int
    n_lines: int
    warnings: tuple[Message, ...] = ()
    encoding: str = "utf-8"  # of the text before it was converted


def head_text(head: bytes) -> str | None:
    """Decode the beginning of a file to recognise its kind; None if it is binary."""
    marked = head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))
    if b"\0" in head and not marked:
        return None
    text = head.decode("utf-16" if marked else "utf-8", errors="replace")
    return text.removeprefix("\ufeff")


def as_utf8(source: Source, encoding: str | None, *, keep: bool = True) -> Utf8Text:
    """Convert text to UTF-8, in memory or, without `keep`, whenever it is read.

    The encoding is that of a text stream, the given one, that of a byte-order mark, or UTF-8 if all
    bytes are valid; else, with a warning, cp1252, or latin-1 if cp1252 lacks a byte.
    """
    head, encoding = source.head(2**16), source.encoding or encoding
    if encoding is None:
        marked = (name for name, marks in _BYTE_ORDER_MARKS.items() if head.startswith(marks))
        encoding = next(marked, None)
    if encoding is not None and codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        return _converted(source, encoding, keep)
    with suppress(UnicodeDecodeError):
        return _scan_utf8(source)
    try:
        for _ in _recode(source.open(), source.name, encoding or "utf-8"):
            pass
    except BadFile as error:
        if encoding is not None:
            raise
        line = error.line
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    if controls > len(head) / 100:
        remedy = "check what kind of file it is, or write or download it again"
        raise BadFile(source.name, "holds binary data, not text", remedy=remedy)
    try:
        found = _converted(source, "cp1252", keep)
    except BadFile:
        found = _converted(source, "latin-1", keep)  # decodes every byte
    warning = Message(
        "guessed-encoding",
        "line {line} is not UTF-8: the file was read as {encoding} (set {setting} if letters look "
        "wrong)",
        line=line,
        encoding=found.encoding,
        setting=Setting("encoding"),
    )
    return replace(found, warnings=(warning,))


def _converted(source: Source, encoding: str, keep: bool) -> Utf8Text:
    converted = replace(source, recoded=encoding)
    if keep:
        with converted.open() as stream:
            converted = replace(source, path=None, data=stream.read())
    return replace(_scan_utf8(converted), encoding=encoding)


def _scan_utf8(source: Source) -> Utf8Text:
    """Read UTF-8 once; raise UnicodeDecodeError, or BadFile at a NUL byte."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    n_quotes = n_lines = 0
    pending = False  # an unfinished character at the end of the last chunk
    for chunk in _chunks(source):
        if b"\0" in chunk:
            line = n_lines + _count_lines(chunk[: chunk.index(b"\0")]) + 1
            what = "a NUL byte: this is binary data, or text of 16 bits a character"
            setting = Setting("encoding", "utf-16-le")
            remedy = setting.advice("in the latter case set {set}")
            raise BadFile(source.name, what, line=line, remedy=remedy)
        if pending or not chunk.isascii():
            decode(chunk)
            pending = chunk[-1] >= 0x80
        n_quotes += chunk.count(b'"')
        n_lines += _count_lines(chunk)
    decode(b"", final=True)
    return Utf8Text(source, n_quotes, n_lines)


class _Utf8Stream(io.RawIOBase):
    """Chunks of bytes as a binary file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _recode(stream: BinaryIO, name: str, encoding: str) -> Iterator[bytes]:
    """Convert a text to UTF-8, chunk by chunk; BadFile at bytes that the encoding lacks."""
    decode = codecs.getincrementaldecoder(encoding)().decode
    n_feeds = n_returns = 0  # the latter alone ended lines on old Macs
    with library_errors(name, "gzip"), stream:
        try:
            for chunk in chain(iter(lambda: stream.read(_SMALL_CHUNK), b""), [b""]):
                part = decode(chunk, final=not chunk).encode()
                n_feeds, n_returns = n_feeds + part.count(b"\n"), n_returns + part.count(b"\r")
                yield part
        except UnicodeError as error:
            line, what = (n_feeds or n_returns) + 1, str(error)
            if isinstance(error, UnicodeDecodeError):
                decoded, wrong = error.object[: error.start], error.object[error.start :][:1]
                line += _count_lines(decoded.decode(encoding, errors="ignore").encode())
                what = f"byte 0x{wrong.hex()} ({error.reason})"
            what = f"cannot be decoded as {encoding}: {what}"
            remedy = "give another encoding, or none to have it guessed"
            raise BadFile(name, what, line=line, remedy=remedy) from error


def _count_lines(utf8: bytes) -> int:
    return utf8.count(b"\n") or utf8.count(b"\r")  # the latter alone ended lines on old Macs


def _chunks(source: Source) -> Iterator[bytes]:
    with library_errors(source.name, "gzip"), source.open() as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
