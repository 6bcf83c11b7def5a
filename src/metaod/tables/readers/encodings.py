"""Text of any encoding becomes UTF-8; what cannot be text is refused with its line."""

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace

from metaod.errors import BadFile
from metaod.tables.readers.source import Source

__all__ = ["Utf8", "as_utf8"]

_CHUNK = 2**22
_MARKS = (  # the longer marks first: UTF-32's begins as UTF-16's does
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\x1a\x1b"))


@dataclass(frozen=True)
class Utf8:
    """Text in UTF-8, without a byte-order mark's meaning and without NUL bytes.

    Parameters
    ----------
    source : Source
        The text; it may still begin with UTF-8's mark, which readers skip.
    n_quotes : int
        How many double quotes it holds.
    warnings : tuple of str
        What was guessed.
    """

    source: Source
    n_quotes: int
    warnings: tuple[str, ...] = ()


def as_utf8(source: Source, encoding: str | None) -> Utf8:
    """Bring a source to UTF-8.

    Unless an encoding is given, a byte-order mark tells it; else it is UTF-8 where that fits all
    bytes, else Windows' Western code page (cp1252, or latin-1 where cp1252 has holes), with a
    warning.
    """
    head = source.head(2**16)
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if encoding is not None and codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        return _scan(_transcode(source, encoding))
    try:
        return _scan(source)
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise _undecodable(source, encoding, *_locate(source, "utf-8")) from error
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > len(head) / 100:
        raise BadFile(
            source.name,
            "holds binary data and no text",
            remedy="check what kind of file it is, or write or download it again",
        )
    line, _ = _locate(source, "utf-8")
    for western in ("cp1252", "latin-1"):  # the second fits all bytes
        try:
            text = _scan(_decode_all(source, western))
        except UnicodeDecodeError:
            continue
        warning = (
            f"line {line} is not UTF-8: the file was read as {western} "
            "(say encoding=..., --encoding, if letters look wrong)"
        )
        return replace(text, warnings=(warning,))
    raise AssertionError("latin-1 decodes every byte")


def _scan(source: Source) -> Utf8:
    """Pass once over UTF-8: raise UnicodeDecodeError or, for NUL bytes, BadFile."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    n_quotes = n_lines = 0
    pending = False  # an unfinished character at the end of the last chunk
    for chunk in _chunks(source):
        if b"\0" in chunk:
            line = n_lines + _line_ends(chunk[: chunk.index(b"\0")]) + 1
            raise BadFile(
                source.name,
                "a NUL byte: this is binary data, or text of 16 bits a character",
                line=line,
                remedy="in the latter case say encoding='utf-16-le' (--encoding utf-16-le)",
            )
        if pending or not chunk.isascii():
            decode(chunk)
            pending = chunk[-1] >= 0x80
        n_quotes += chunk.count(b'"')
        n_lines += _line_ends(chunk)
    decode(b"", final=True)
    return Utf8(source, n_quotes)


def _transcode(source: Source, encoding: str) -> Source:
    try:
        return _decode_all(source, encoding)
    except UnicodeError as error:
        raise _undecodable(source, encoding, *_locate(source, encoding)) from error


def _decode_all(source: Source, encoding: str) -> Source:
    buffer = io.BytesIO()
    decode = codecs.getincrementaldecoder(encoding)().decode
    for chunk in _chunks(source):
        buffer.write(decode(chunk).encode())
    buffer.write(decode(b"", final=True).encode())
    return replace(source, path=None, data=buffer.getvalue())


def _locate(source: Source, encoding: str) -> tuple[int, str]:
    """Return the line that cannot be decoded, and what is wrong with it."""
    decode = codecs.getincrementaldecoder(encoding)().decode
    n_lines = 0
    try:
        for chunk in _chunks(source):
            text = decode(chunk)
            n_lines += _line_ends(text.encode())
        decode(b"", final=True)
    except UnicodeDecodeError as error:
        before = bytes(error.object)[: error.start].decode(encoding, errors="ignore")
        found = bytes(error.object)[error.start : error.start + 1].hex()
        return n_lines + _line_ends(before.encode()) + 1, f"byte 0x{found} ({error.reason})"
    except UnicodeError as error:
        return n_lines + 1, str(error)
    raise AssertionError("only called for what cannot be decoded")


def _undecodable(source: Source, encoding: str, line: int, what: str) -> BadFile:
    return BadFile(
        source.name,
        f"cannot be decoded as {encoding}: {what}",
        line=line,
        remedy="say another encoding, or none to have it guessed",
    )


def _line_ends(utf8: bytes) -> int:
    return utf8.count(b"\n") or utf8.count(b"\r")  # the latter alone ended lines on old Macs


def _chunks(source: Source) -> Iterator[bytes]:
    with source.open() as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
