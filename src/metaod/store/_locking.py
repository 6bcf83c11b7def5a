"""One builder at a time: a lock on a store that a killed process cannot leave behind."""

import errno
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from metaod.errors import UserError
from metaod.store._schema import meta

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Holder", "file_lock", "give_row_back", "take_row"]

# Descriptors of the locks held. A forked child inherits them and would keep the lock alive after
# its parent was killed, so it closes them at once.
_HELD: set[int] = set()


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, since when."""

    pid: int
    host: str
    since: str

    @classmethod
    def this_process(cls) -> "Holder":
        """The process that asks, now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(os.getpid(), socket.gethostname(), now)

    def to_json(self) -> str:
        """As a JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Holder | None":
        """Read :meth:`to_json`'s text; None where it is something else."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            return None

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to have ended; only seen on its own machine."""
        # on Windows os.kill would end the process instead of asking for it
        if self.host != socket.gethostname() or sys.platform == "win32":
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


def _held_by(
    holder: Holder | None, where: str, remedy: str = "wait for it, or stop it"
) -> UserError:
    """Build the error of who comes second."""
    who = "another process"
    if holder is not None:
        who = f"process {holder.pid} on {holder.host}, since {holder.since},"
    return UserError(f"{who} is writing to this store", where=where, remedy=remedy)


@contextmanager
def file_lock(path: Path, where: str, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the operating system's lock on a file; it is released when the process ends, however.

    Parameters
    ----------
    path : Path
        The lock file: made where there is none, removed at the end. It names its holder.
    where : str
        What it locks, for messages.
    wait : float, default=0
        Seconds to wait for another holder.
    """
    deadline = time.monotonic() + wait
    while (descriptor := _acquire(path, where)) is None:
        if time.monotonic() >= deadline:
            raise _held_by(_holder(path), where)
        time.sleep(0.02)
    _HELD.add(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, Holder.this_process().to_json().encode())
        yield
    finally:
        if descriptor in _HELD:
            # before it is released: whoever waits on the removed file sees that and starts again
            _remove(path)
            _HELD.remove(descriptor)
            os.close(descriptor)


def _acquire(path: Path, where: str) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError as error:
        raise UserError("the folder does not exist", where=where, remedy="make it first") from error
    except OSError as error:
        raise UserError(
            f"the folder cannot be written ({error.strerror})",
            where=where,
            remedy="check who may write to it",
        ) from error
    try:
        _lock(descriptor)
        if _is_same_file(descriptor, path):
            return descriptor
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            os.close(descriptor)
            raise UserError(
                f"the file system refuses to lock a file ({error.strerror})",
                where=where,
                remedy="keep the store on a local disk",
            ) from error
    os.close(descriptor)
    return None


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        # far behind the text, so that others can read who holds it
        os.lseek(descriptor, 2**30, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _holder(path: Path) -> Holder | None:
    try:
        return Holder.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        # Windows does not remove what is open; the file stays, unlocked
        return


def _let_go_in_child() -> None:
    for descriptor in _HELD:
        os.close(descriptor)
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


# a lock in a database: the row "writer" of the table "meta"

_IS_ROW = meta.c.key == "writer"


def take_row(connection: Connection, where: str) -> None:
    """Take the lock of a database that is not a file, inside a transaction of its own."""
    value = connection.scalar(select(meta.c.value).where(_IS_ROW))
    holder = None if value is None else Holder.from_json(value)
    if value is not None and (holder is None or not holder.is_gone):
        raise _held_by(holder, where, "wait; if it is gone, delete the row 'writer' of 'meta'")
    connection.execute(delete(meta).where(_IS_ROW))
    try:
        connection.execute(insert(meta).values(key="writer", value=Holder.this_process().to_json()))
    except IntegrityError as error:
        # somebody else came between
        raise _held_by(None, where) from error


def give_row_back(connection: Connection) -> None:
    """Release :func:`take_row`'s lock."""
    connection.execute(delete(meta).where(_IS_ROW))
