"""The file of an artifact: a zip with one JSON document and one ``.npy`` member an array.

Nothing in such a file is ever executed, nor parsed by anything but :mod:`zipfile` and :mod:`json`:
the document declares kind and shape of every array, from which the bytes of its header follow.
The same content gives the same bytes wherever zlib packs alike.
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
from typing import Any, NoReturn

import numpy as np

from metaod.errors import BadFile, UserError
from metaod.learners import Arrays

__all__ = [
    "FORMAT_VERSION",
    "BadArtifact",
    "NewerArtifact",
    "UnfitArtifact",
    "check_target",
    "read_container",
    "read_document",
    "write_container",
]

FORMAT = "metaod artifact"
FORMAT_VERSION = 1

_DOCUMENT = "manifest.json"
_SIGNATURE = b"PK\x03\x04", _DOCUMENT.encode()
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_LARGEST = 2**30
"""Bytes that a file may hold, packed or unpacked."""
_LARGEST_DOCUMENT = 2**25
_MOST_MEMBERS = 10_000
_AGAIN = "train the learner again, or fetch the file again"

# what zipfile and zlib raise at bytes that are not what they should be
_DAMAGES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError, OverflowError, IndexError, KeyError,
)  # fmt: skip


class BadArtifact(BadFile):
    """The file is no artifact, or it is damaged."""


class NewerArtifact(BadArtifact):
    """The artifact is written in a format that this version of metaod does not know yet."""


class UnfitArtifact(BadArtifact):
    """The artifact is sound, but does not fit what is installed or what it is asked for."""


# writing


def check_target(path: "str | PathLike[str]") -> Path:
    """Where an artifact is to be written; refuses what could not be, before anything is learned.

    An artifact that is there already is replaced; no other file ever is.
    """
    target = Path(path).expanduser()
    try:
        if target.is_dir():
            raise UserError("is a folder", where=str(target), remedy="name a file")
        if not target.parent.is_dir():
            raise UserError(
                f"there is no folder {target.parent}", where=str(target), remedy="make it first"
            )
        if _is_there(target) and not _is_artifact(target):
            raise UserError(
                "is there already and is no artifact", where=str(target), remedy="name another file"
            )
        writable = os.access(target.parent, os.W_OK)
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be written ({error})", where=str(target), remedy="check the path"
        ) from error
    if not writable:
        raise UserError(
            "its folder cannot be written", where=str(target), remedy="name another folder"
        )
    return target


def write_container(path: "str | PathLike[str]", document: dict[str, Any], arrays: Arrays) -> None:
    """Write a document and arrays; the file is there whole or not at all.

    ``format``, ``format_version``, ``arrays`` and ``checksum`` are added to the document.
    """
    target = check_target(path)
    members = {name: _member(array, name) for name, array in arrays.items()}
    document = {
        **document,
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "arrays": {
            name: {
                "dtype": _dtype(arrays[name]),
                "shape": list(arrays[name].shape),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for name, data in members.items()
        },
    }
    document["checksum"] = _checksum(document)
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False)
    fresh = target.with_name(f"{target.name}.{secrets.token_hex(4)}.new")
    try:
        with zipfile.ZipFile(fresh, "x", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, _DOCUMENT, text.encode())
            for name in sorted(members):
                _add(archive, _file_of(name), members[name])
        fresh.replace(target)
    except OSError as error:
        raise UserError(
            f"cannot be written ({error.strerror})", where=str(target), remedy="check the path"
        ) from error
    finally:
        fresh.unlink(missing_ok=True)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # the same time and the same system for all, so that the same content gives the same bytes
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _member(array: "np.ndarray[Any, Any]", name: str) -> bytes:
    kind = _dtype(array)
    if kind not in _DTYPES:
        raise UserError(f"an array of {array.dtype} cannot be written", where=name)
    return _header(kind, array.shape) + array.astype(kind, order="C").tobytes()


def _dtype(array: "np.ndarray[Any, Any]") -> str:
    return str(array.dtype.newbyteorder("<").str)


def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """The header of a ``.npy`` file, format 1.0; spelled out here so that it is always the same."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    length = -(-(10 + len(text) + 1) // 64) * 64
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", length - 10)
        + (text.ljust(length - 11) + "\n").encode("latin1")
    )


# reading


def read_document(path: "str | PathLike[str]") -> dict[str, Any]:
    """The document, checked against its checksum; no array is read."""
    with _opened(path) as archive:
        return _document(archive, Path(path))


def read_container(path: "str | PathLike[str]") -> tuple[dict[str, Any], Arrays]:
    """The document and all arrays, checked against sizes, shapes and checksums."""
    where = Path(path)
    with _opened(path) as archive:
        document = _document(archive, where)
        declared = _declared_arrays(document, where)
        members = {_DOCUMENT, *map(_file_of, declared)}
        for name in archive.namelist():
            if name not in members:
                raise _damaged(where, f"holds {name!r}, which does not belong there")
        arrays = {
            name: _read_array(archive, where, name, **facts) for name, facts in declared.items()
        }
    return document, arrays


@contextmanager
def _opened(path: "str | PathLike[str]") -> Iterator[zipfile.ZipFile]:
    where = Path(path)
    try:
        if where.stat().st_size > _LARGEST:
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
        except _DAMAGES as error:
            raise _damaged(where, "is no artifact, or was cut short") from error
        with archive:
            _check_members(archive.infolist(), where)
            yield archive


def _check_members(members: list[zipfile.ZipInfo], path: Path) -> None:
    names = [member.filename for member in members]
    if _DOCUMENT not in names:
        raise _damaged(path, "is a zip file, but no artifact")
    if len(set(names)) != len(names):
        raise _damaged(path, "holds a member twice")
    if len(names) > _MOST_MEMBERS or sum(member.file_size for member in members) > _LARGEST:
        raise _damaged(path, "would unpack to more than any artifact holds")
    if any(member.compress_type != zipfile.ZIP_DEFLATED for member in members):
        # others may unpack to more than they declare
        raise _damaged(path, "is packed by another method than an artifact")


def _read(archive: zipfile.ZipFile, path: Path, name: str) -> bytes:
    try:
        # zipfile unpacks no more than the declared size
        return archive.read(name)
    except KeyError:
        raise _damaged(path, f"{name} is missing") from None
    except _DAMAGES as error:
        raise _damaged(path, f"{name} cannot be unpacked") from error


def _document(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    if archive.getinfo(_DOCUMENT).file_size > _LARGEST_DOCUMENT:
        raise _damaged(path, f"{_DOCUMENT} is larger than that of any artifact")
    try:
        document = json.loads(
            _read(archive, path, _DOCUMENT).decode(),
            parse_constant=_not_finite,
            parse_float=_finite,
            object_pairs_hook=_without_repetition,
        )
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"{_DOCUMENT} is not valid") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _damaged(path, "is a zip file, but no artifact")
    version = document.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _damaged(path, f"{_DOCUMENT} has no format version")
    if version > FORMAT_VERSION:
        raise NewerArtifact(
            path,
            f"is of format {version}, newer than {FORMAT_VERSION}, the newest known here",
            remedy="update metaod",
        )
    if document.pop("checksum", None) != _checksum(document):
        raise _damaged(path, f"{_DOCUMENT} does not have its checksum")
    return document


def _declared_arrays(document: dict[str, Any], path: Path) -> dict[str, dict[str, Any]]:
    declared = document.get("arrays")
    if not isinstance(declared, dict):
        raise _damaged(path, f"{_DOCUMENT} declares no arrays")
    for name, facts in declared.items():
        sound = (
            isinstance(facts, dict)
            and facts.keys() == {"dtype", "shape", "sha256"}
            and facts["dtype"] in _DTYPES
            and isinstance(facts["shape"], list)
            and len(facts["shape"]) <= 8
            and all(type(size) is int and 0 <= size <= _LARGEST for size in facts["shape"])
        )
        if not sound:
            raise _damaged(path, f"the array {name} is of a kind that no artifact holds")
    return declared


def _read_array(
    archive: zipfile.ZipFile, path: Path, name: str, dtype: str, shape: list[int], sha256: Any
) -> "np.ndarray[Any, Any]":
    header = _header(dtype, tuple(shape))
    data = _read(archive, path, _file_of(name))
    if len(data) != len(header) + math.prod(shape) * np.dtype(dtype).itemsize:
        raise _damaged(path, f"the array {name} has another size than its shape {tuple(shape)}")
    if not data.startswith(header):
        raise _damaged(path, f"the array {name} has another header than its kind and shape give")
    if hashlib.sha256(data).hexdigest() != sha256:
        raise _damaged(path, f"the array {name} does not have its checksum")
    # a copy can be written to, as compiled code expects of arrays
    return np.frombuffer(data, dtype=dtype, offset=len(header)).reshape(shape).copy()


def _is_there(path: Path) -> bool:
    # unlike Path.exists, this raises at names that no file can have
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _is_artifact(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(43)
    return start[:4] == _SIGNATURE[0] and start[30:] == _SIGNATURE[1]


def _file_of(array: str) -> str:
    return f"arrays/{array}.npy"


def _checksum(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _not_finite(text: str) -> NoReturn:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _damaged(path: Path, what: str) -> BadArtifact:
    return BadArtifact(path, what, remedy=_AGAIN)
