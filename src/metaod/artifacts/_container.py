"""The file format of everything that is saved: plain data and arrays, read without pickle.

A file is a mark, then a gzip stream of one line of JSON and the bytes of the arrays. Reading
executes nothing and allocates no more than the limits allow. safetensors would replace the 13
lines of ``_insert_arrays``, and its files are not packed (16 MB of learners would become 25 MB).
"""

import hmac
import json
import math
import os
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod._files import check_plain_file, expanded, replace_file, writable_path
from metaod.errors import BadFile, UserError

KINDS = {
    "learner": ("a learner", "'metaod train' writes one"),
    "pick": (
        "a saved pick",
        "'metaod detect --save' writes one, and 'metaod detect --apply' or metaod.load reads it",
    ),
    "cells": ("a score of cells", "'python -m research' writes one"),
    "review": ("a ranker of reviews", "'python -m research' writes one"),
}
"""What a file may hold, and what writes and reads it."""

VERIFY_KEY = "METAOD_VERIFY_KEY"
"""The environment variable with the file of a key; what was not signed with it is refused."""

_MARK = b"metaod\x00\n"
_SIGNED, _SIGNATURE_BYTES = b"\nmetaod signed\n", 32  # then HMAC-SHA256 of all before this mark
_LEAST_KEY_BYTES = 16
_PACKAGE = Path(__file__).resolve().parents[1]  # what it ships needs no signature
_VERSION = 1
_GZIP = 31  # the window of zlib, with the header and checksum of gzip
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_MAX_BYTES = 2**30  # of a file, packed and unpacked
_MAX_JSON_BYTES = 2**25
_Arrays = list[tuple[tuple[str | int, ...], npt.NDArray[Any]]]  # with their places in the content


class BadArtifact(BadFile):
    """The file cannot be used: damaged, of another kind, or for another version of metaod.

    Its ``code`` is "damaged", "other-kind", "newer-format", "not-installed", "not-signed" or
    "costly".
    """

    code = "damaged"


def check_target(path: "str | PathLike[str]") -> Path:
    """Return the path of a file to write; refuse an existing file that metaod has not saved."""
    target = writable_path(path)
    try:
        with target.open("rb") as file:
            is_own = file.read(len(_MARK)) == _MARK
    except FileNotFoundError:
        return target
    except OSError as error:
        what = f"cannot be written ({error})"
        raise UserError(what, where=str(target), remedy="check the path") from error
    if not is_own:
        what = "exists and is not a file that metaod saved"
        raise UserError(what, where=str(target), remedy="name another file")
    return target


def signature(data: bytes, key: "str | PathLike[str]") -> bytes:
    """Return the HMAC-SHA256 of some bytes by the key in a file."""
    where = expanded(key)
    check_plain_file(where)
    try:
        secret = where.read_bytes().strip()
    except OSError as error:
        raise BadFile(where, f"cannot be read ({error.strerror})", remedy="name a key") from error
    if len(secret) < _LEAST_KEY_BYTES:
        what = f"is no key: it holds fewer than {_LEAST_KEY_BYTES} bytes"
        raise BadFile(where, what, remedy="make one: openssl rand -hex 32 > FILE")
    return hmac.digest(secret, data, "sha256")


def check_signature(path: Path, data: bytes, signed: bytes | None) -> None:
    """Refuse a file without the signature that is demanded; the package's own need none."""
    key = os.environ.get(VERIFY_KEY)
    if not key or path.resolve().is_relative_to(_PACKAGE):
        return
    remedy = "get a file that was signed with this key"
    if signed is None:
        what = f"is not signed, and signatures are demanded ({key})"
        raise BadArtifact(path, what, remedy=remedy, code="not-signed")
    if not hmac.compare_digest(signature(data, key), signed):
        what = f"was changed after it was signed, or signed with another key than that in {key}"
        raise BadArtifact(path, what, remedy=remedy, code="not-signed")


def write_container(
    path: "str | PathLike[str]",
    kind: str,
    content: Mapping[str, Any],
    sign: "str | PathLike[str] | None" = None,
) -> None:
    """Write nested plain data and arrays to a file, which is complete or absent.

    ``kind`` is one of ``KINDS``; ``sign`` is the file of a key.
    """
    target = check_target(path)
    arrays: _Arrays = []
    plain = _plain(content, (), arrays)
    declared = [(place, array.dtype.str, array.shape) for place, array in arrays]
    document = {"version": _VERSION, "kind": kind, "arrays": declared, "content": plain}
    line = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    packer = zlib.compressobj(wbits=_GZIP)
    packed = [_MARK, packer.compress(line + b"\n")]
    packed += (packer.compress(array.tobytes()) for _, array in arrays)
    packed.append(packer.flush())
    if sign is not None:
        packed += [_SIGNED, signature(b"".join(packed), sign)]
    replace_file(target, lambda stream: stream.writelines(packed))


def _plain(value: Any, place: tuple[str | int, ...], arrays: _Arrays) -> Any:
    """Return what JSON can hold; arrays go to a list with their places, and None replaces them."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, (*place, key), arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, (*place, i), arrays) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray) and value.dtype.newbyteorder("<").str in _DTYPES:
        arrays.append((place, _narrow(value)))
        return None
    what = f"{type(value).__name__} {value!r:.60} cannot be written to a file"
    remedy = "use numbers, texts, arrays, lists and dictionaries with text keys"
    raise UserError(what, where=".".join(map(str, place)), remedy=remedy)


def _narrow(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array in the smallest type that holds its values."""
    for dtype in {"f": ("<f4",), "i": ("|i1", "<i2", "<i4"), "u": ()}.get(array.dtype.kind, ()):
        with np.errstate(over="ignore", invalid="ignore"):
            smaller = array.astype(dtype)
        if np.array_equal(smaller, array, equal_nan=array.dtype.kind == "f"):
            return smaller
    return array.astype(array.dtype.newbyteorder("<"))


def read_container(path: "str | PathLike[str]", kind: str) -> dict[str, Any]:
    """Read what :func:`write_container` wrote; BadArtifact if the file is damaged or of other kind.

    Arrays may have smaller types than before: the reader restores the type.
    """
    where = expanded(path)
    data = _unpacked(where, kind)
    end = data.find(b"\n", 0, _MAX_JSON_BYTES)
    try:
        document = json.loads(data[:end], parse_constant=_finite, parse_float=_finite)
        version, (found, use) = document["version"], KINDS[document["kind"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(where, "its content is not valid") from error
    if type(version) is not int or version != _VERSION:
        what = f"has format {version!r:.20}, but this metaod reads format {_VERSION}"
        raise BadArtifact(where, what, remedy="update metaod", code="newer-format")
    if document["kind"] != kind:
        what = f"is {found}, not {KINDS[kind][0]}"
        raise BadArtifact(where, what, remedy=use, code="other-kind")
    try:
        content = dict(document["content"])
        _insert_arrays(content, document["arrays"], data, end + 1)
    except (ValueError, LookupError, TypeError, OverflowError) as error:
        raise _damaged(where, f"its arrays are not valid ({error!s:.100})") from error
    return content


def _insert_arrays(content: dict[str, Any], declared: Any, data: bytes, start: int) -> None:
    for place, dtype, shape in declared:
        if dtype not in _DTYPES or not all(type(n) is int and 0 <= n < _MAX_BYTES for n in shape):
            raise ValueError(f"an array of {dtype!r:.20} and {shape!r:.60}")
        # a writable copy, which compiled code expects
        array = np.frombuffer(data, dtype, math.prod(shape), start).reshape(shape).copy()
        start += array.nbytes
        owner: Any = content
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = array
    if start != len(data):
        raise ValueError(f"{len(data) - start} bytes belong to no array")


def _unpacked(path: Path, kind: str) -> bytes:
    check_plain_file(path)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise _damaged(path, "is larger than any file that metaod saves")
        packed = path.read_bytes()
    except FileNotFoundError:
        raise BadFile(path, "there is no such file", remedy="check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadFile(path, f"cannot be read ({reason})", remedy="check the path") from error
    if not packed.startswith(_MARK):
        raise BadArtifact(path, f"is not {KINDS[kind][0]}", remedy=KINDS[kind][1])
    body, mark, signed = packed[:-_SIGNATURE_BYTES].rpartition(_SIGNED)
    if mark and not signed:
        check_signature(path, body, packed[-_SIGNATURE_BYTES:])
        packed = body
    else:
        check_signature(path, packed, None)
    unpacker = zlib.decompressobj(wbits=_GZIP)
    try:
        data = unpacker.decompress(memoryview(packed)[len(_MARK) :], _MAX_BYTES)
    except zlib.error as error:
        raise _damaged(path, "cannot be unpacked") from error
    if len(data) == _MAX_BYTES:
        raise _damaged(path, "would unpack to more than any file that metaod saves")
    if not unpacker.eof or unpacker.unused_data:
        raise _damaged(path, "was cut short, or has bytes after its end")
    return data


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _damaged(path: Path, what: str) -> BadArtifact:
    return BadArtifact(path, what, remedy="make the file again, or fetch it again")
