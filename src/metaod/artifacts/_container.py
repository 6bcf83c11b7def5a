"""The file format of learners and saved picks: a zip of one JSON document and ``.npy`` arrays.

Reading executes nothing. The ``.npy`` header is compared with the one that follows from the
declared type and shape and is never parsed: numpy.lib.format allocates what a header claims
(MemoryError at 100 GB for a member of 190 bytes) or raises tokenize.TokenError. safetensors would
be a new dependency beside this reader, which existing files need.
"""

import hashlib
import json
import math
import os
import secrets
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod.errors import BadFile, UserError
from metaod.tables import check_plain_file

Arrays = dict[str, npt.NDArray[Any]]

_FORMAT = "metaod artifact"
_FORMAT_VERSION = 1
_DOCUMENT = "manifest.json"
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_MAX_BYTES = 2**30  # of a file, packed and unpacked
_MAX_DOCUMENT_BYTES = 2**25
_MAX_MEMBERS = 10_000

# what zipfile and zlib raise for invalid bytes
_ZIP_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError, OverflowError, IndexError, KeyError,
)  # fmt: skip


class BadArtifact(BadFile):
    """The file is not an artifact, or it is damaged."""


class NewerArtifact(BadArtifact):
    """The artifact has a format that only later versions of metaod know."""


class UnfitArtifact(BadArtifact):
    """The artifact is intact, but needs something that is not installed."""


def check_target(path: "str | PathLike[str]") -> Path:
    """Return the path of a file to write; refuse an existing file that is not an artifact."""
    target = Path(path).expanduser()
    where = str(target)
    check_plain_file(target)
    try:
        if not target.parent.is_dir():
            what = f"there is no folder {target.parent}"
            raise UserError(what, where=where, remedy="make it first")
        if _is_other_file(target):
            raise UserError(
                "exists and is not an artifact", where=where, remedy="name another file"
            )
        writable = os.access(target.parent, os.W_OK)
    except (OSError, ValueError) as error:
        what = f"cannot be written ({error})"
        raise UserError(what, where=where, remedy="check the path") from error
    if not writable:
        raise UserError("its folder cannot be written", where=where, remedy="name another folder")
    return target


def _is_other_file(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(30 + len(_DOCUMENT))
    except FileNotFoundError:
        return False
    return start[:4] != b"PK\x03\x04" or start[30:] != _DOCUMENT.encode()


def write_container(path: "str | PathLike[str]", document: dict[str, Any], arrays: Arrays) -> None:
    """Write a document and arrays to a file, which is complete or absent.

    Adds ``format``, ``format_version``, ``arrays`` and ``checksum`` to the document.
    """
    target = check_target(path)
    members, declared = {}, {}
    for name, array in arrays.items():
        dtype, shape = str(array.dtype.newbyteorder("<").str), array.shape
        if dtype not in _DTYPES:
            raise UserError(f"an array of {array.dtype} cannot be written", where=name)
        data = _npy_header(dtype, shape) + array.astype(dtype, order="C").tobytes()
        members[name] = data
        declared[name] = {"dtype": dtype, "shape": list(shape), "sha256": _sha256(data)}
    added = {"format": _FORMAT, "format_version": _FORMAT_VERSION, "arrays": declared}
    document = {**document, **added}
    document["checksum"] = _checksum(document)
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False)
    unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}.new")
    try:
        with zipfile.ZipFile(unfinished, "x", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, _DOCUMENT, text.encode())
            for name in sorted(members):
                _add(archive, _member_name(name), members[name])
        unfinished.replace(target)
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise UserError(what, where=str(target), remedy="check the path") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # with a constant time and system the same content gives the same bytes
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    # format 1.0, written out because versions of numpy pad it differently
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    length = -(-(10 + len(text) + 1) // 64) * 64
    padded = text.ljust(length - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length - 10) + padded.encode("latin1")


def _member_name(array: str) -> str:
    return f"arrays/{array}.npy"


def _checksum(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _sha256(text.encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_document(path: "str | PathLike[str]") -> dict[str, Any]:
    """Read the document and verify its checksum; the arrays are not read."""
    with _opened(path) as archive:
        return _read_document(archive, Path(path))


def read_container(path: "str | PathLike[str]") -> tuple[dict[str, Any], Arrays]:
    """Read the document and all arrays, and verify sizes, shapes and checksums."""
    where = Path(path)
    with _opened(path) as archive:
        document = _read_document(archive, where)
        declared = _declared_arrays(document, where)
        expected = {_DOCUMENT, *map(_member_name, declared)}
        for name in archive.namelist():
            if name not in expected:
                raise _damaged(where, f"holds {name!r}, which does not belong there")
        arrays = {name: _read_array(archive, where, name, **d) for name, d in declared.items()}
    return document, arrays


@contextmanager
def _opened(path: "str | PathLike[str]") -> Iterator[zipfile.ZipFile]:
    where = Path(path).expanduser()
    check_plain_file(where)
    try:
        if where.stat().st_size > _MAX_BYTES:
            raise _damaged(where, "is larger than any artifact")
        file = where.open("rb")
    except FileNotFoundError:
        raise BadFile(path, "there is no such file", remedy="check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadFile(path, f"cannot be read ({reason})", remedy="check the path") from error
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except _ZIP_ERRORS as error:
            raise _damaged(where, "is not an artifact, or was cut short") from error
        with archive:
            _check_members(archive.infolist(), where)
            yield archive


def _check_members(members: list[zipfile.ZipInfo], path: Path) -> None:
    names = [member.filename for member in members]
    if _DOCUMENT not in names:
        raise _damaged(path, "is a zip file, but not an artifact")
    if len(set(names)) != len(names):
        raise _damaged(path, "holds a member twice")
    if len(names) > _MAX_MEMBERS or sum(member.file_size for member in members) > _MAX_BYTES:
        raise _damaged(path, "would unpack to more than any artifact holds")
    if any(member.compress_type != zipfile.ZIP_DEFLATED for member in members):
        # other methods may unpack to more than the declared size
        raise _damaged(path, "is packed by another method than an artifact")


def _read_member(archive: zipfile.ZipFile, path: Path, name: str) -> bytes:
    try:
        # zipfile unpacks no more than the declared size
        return archive.read(name)
    except KeyError:
        raise _damaged(path, f"{name} is missing") from None
    except _ZIP_ERRORS as error:
        raise _damaged(path, f"{name} cannot be unpacked") from error


def _read_document(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if archive.getinfo(_DOCUMENT).file_size > _MAX_DOCUMENT_BYTES:
        raise _damaged(path, f"{_DOCUMENT} is larger than that of any artifact")
    try:
        text = _read_member(archive, path, _DOCUMENT).decode()
        # a constant is NaN or an infinity, which _finite refuses
        document = json.loads(
            text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_without_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"{_DOCUMENT} is not valid") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _damaged(path, "is a zip file, but not an artifact")
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise _damaged(path, f"{_DOCUMENT} has no format version")
    if version > _FORMAT_VERSION:
        what = f"has format {version}, but this metaod reads formats up to {_FORMAT_VERSION}"
        raise NewerArtifact(path, what, remedy="update metaod")
    if document.pop("checksum", None) != _checksum(document):
        raise _damaged(path, f"{_DOCUMENT} does not match its checksum")
    return document


def _declared_arrays(document: dict[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    declared = document.get("arrays")
    if not isinstance(declared, dict):
        raise _damaged(path, f"{_DOCUMENT} declares no arrays")
    for name, declaration in declared.items():
        valid = (
            isinstance(declaration, dict)
            and declaration.keys() == {"dtype", "shape", "sha256"}
            and declaration["dtype"] in _DTYPES
            and isinstance(declaration["shape"], list)
            and len(declaration["shape"]) <= 8
            and all(type(size) is int and 0 <= size <= _MAX_BYTES for size in declaration["shape"])
        )
        if not valid:
            raise _damaged(path, f"the array {name} is of a kind that no artifact holds")
    return declared


def _read_array(
    archive: zipfile.ZipFile, path: Path, name: str, dtype: str, shape: list[int], sha256: Any
) -> npt.NDArray[Any]:
    header = _npy_header(dtype, tuple(shape))
    data = _read_member(archive, path, _member_name(name))
    if len(data) != len(header) + math.prod(shape) * np.dtype(dtype).itemsize:
        raise _damaged(path, f"the array {name} has another size than its shape {tuple(shape)}")
    if not data.startswith(header):
        raise _damaged(path, f"the array {name} has another header than its type and shape")
    if _sha256(data) != sha256:
        raise _damaged(path, f"the array {name} does not match its checksum")
    # a writable copy, which compiled code expects
    return np.frombuffer(data, dtype=dtype, offset=len(header)).reshape(shape).copy()


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _damaged(path: Path, what: str) -> BadArtifact:
    return BadArtifact(path, what, remedy="train the learner again, or fetch the file again")
