"""Files by their paths: what can be read or written, and files that are written whole."""

import errno
import glob
import gzip
import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, BinaryIO

from metaod.errors import BadFile, UserError

_YOUNG_SECONDS = 2.0  # in which a new file may not be locked yet


def expanded(path: "str | PathLike[str]") -> Path:
    """Return a path; ~ is the home folder of a user who exists, else a part of the name."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - that of Path raises RuntimeError


def check_plain_file(path: "str | PathLike[str]", *, remedy: str = "name a file") -> None:
    """Refuse a folder, device, named pipe or socket; a path of nothing, or of a file, is fine.

    Reading a device may never end, and opening a named pipe waits for another program.
    """
    with suppress(OSError, ValueError):  # what opens the file explains these
        refuse_special(fsdecode(path), Path(path).stat().st_mode, remedy=remedy)


def refuse_special(name: str, mode: int, *, remedy: str) -> None:
    """Refuse what is no plain file, by its mode."""
    if stat.S_ISDIR(mode):
        raise BadFile(name, "is a folder", remedy="name a file inside it")
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(mode), "a device")
        raise BadFile(name, f"is {kind}, not a file", remedy=remedy)


def writable_path(path: "str | PathLike[str]") -> Path:
    """Return the path of a file to write; refuse one that cannot be written."""
    target = expanded(path)
    where = str(target)
    if "\0" in where:
        raise UserError("is not a path", where=repr(where), remedy="name a file")
    check_plain_file(target)
    if not target.parent.is_dir():
        what = f"there is no folder {target.parent}"
        raise UserError(what, where=where, remedy="make it first")
    if not os.access(target.parent, os.W_OK):  # it is a new file in the folder first
        raise UserError("its folder cannot be written", where=where, remedy="name another folder")
    return target


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write to a new file and rename it: no half-written file is left; .gz is packed.

    What an earlier process left that was killed while it wrote this file is removed.
    """
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        with ExitStack() as stack:
            _remove_leftovers(path)
            stream: Any = stack.enter_context(fresh.open("xb"))
            _lock(stream)
            with suppress(FileNotFoundError):  # as private as the file that it replaces
                fresh.chmod(path.stat().st_mode & 0o777)
            if path.suffix.lower() == ".gz":
                packed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
                stream = stack.enter_context(packed)
            write(stream)
            os.utime(fresh)  # young until it is renamed, without a lock
        fresh.replace(path)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space, or name another disk" if is_full else "check the path"
        raise UserError(what, where=str(path), remedy=remedy) from error
    finally:
        fresh.unlink(missing_ok=True)


def _remove_leftovers(path: Path) -> None:
    """Remove new files of this target whose writers have ended: they would hold a lock."""
    for other in path.parent.glob(f"{glob.escape(path.name)}.{'[0-9a-f]' * 8}.new"):
        with suppress(OSError), other.open("r+b") as file:
            if time.time() - other.stat().st_mtime > _YOUNG_SECONDS and _lock(file):
                other.unlink()


def _lock(file: Any) -> bool:
    """Lock a file until it is closed; False if another process has, or files cannot be locked."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
