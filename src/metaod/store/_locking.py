"""One builder at a time: a lock on a store that a killed process cannot leave behind.

Files are locked with filelock 4: of the versions measured (3.20, 3.25, 3.29, 4.0, 4.2), those
before 4 empty the lock file, which names its holder, and let a forked child keep the lock of its
killed parent.
"""

import errno
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, delete, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from metaod.errors import UserError
from metaod.store._schema import meta
from metaod.store._server import release_writer_lock, try_writer_lock


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    pid: int
    host: str
    since: str
    system: str = ""
    started: str = ""

    @classmethod
    def this_process(cls) -> "Holder":
        now = datetime.now(UTC).isoformat(timespec="seconds")
        pid = os.getpid()
        return cls(pid, socket.gethostname(), now, _system(), _started(pid))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Holder | None":
        """Read what :meth:`to_json` wrote; None for any other text."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            return None

    @property
    def has_ended(self) -> bool:
        """Whether the process is known to have ended; False for one that cannot be seen here."""
        # containers may have one name, but each has its own processes
        is_here = (self.host, self.system) == (socket.gethostname(), _system())
        # on Windows os.kill would end the process
        if not is_here or sys.platform == "win32":
            return False
        try:
            os.kill(self.pid, 0)
        except OSError as error:
            return isinstance(error, ProcessLookupError)
        # another process may have got the number
        now = _started(self.pid)
        return bool(self.started and now) and self.started != now


def _system() -> str:
    """Return what names the set of processes that are visible here; nothing if not on Linux."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the system did; nothing if unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    # the second field is the program's name in parentheses, which may contain blanks
    fields = text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _locked_by(
    holder: Holder | None, where: str, remedy: str = "wait for it, or stop it"
) -> UserError:
    who = "another process"
    if holder is not None:
        who = f"process {holder.pid} on {holder.host}, since {holder.since},"
    return UserError(f"{who} is writing to this store", where=where, remedy=remedy)


@contextmanager
def file_lock(path: Path, where: str, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the operating system's lock on a file, which also ends when the process is killed.

    The file names its holder and is removed at the end. `where` is for messages, `wait` in seconds.
    """
    # filelock would create the folder
    if not path.parent.is_dir():
        raise UserError("the folder does not exist", where=where, remedy="make it first")
    umask = os.umask(0o077)
    os.umask(umask)
    mode = 0o666 & ~umask  # filelock sets the mode whatever the umask is
    lock = FileLock(path, mode=mode, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=max(wait, 0.0), poll_interval=0.02)
    except Timeout:
        raise _locked_by(_read_holder(path), where) from None
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            what, remedy = "the file system cannot lock a file", "keep the store on a local disk"
        else:
            what, remedy = "the folder cannot be written", "check that you may write to it"
        raise UserError(f"{what} ({error.strerror})", where=where, remedy=remedy) from error
    try:
        _write_holder(path)
        yield
    finally:
        # a forked child does not hold the lock
        if lock.is_locked:
            # removed before it is released: filelock notices this in a process that waits, and
            # tries again; Windows does not remove a file that is open
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
            lock.release()


def _write_holder(path: Path) -> None:
    with path.open("r+b", buffering=0) as file:
        file.truncate(0)
        # Windows locks the first byte of the file for reading, too
        file.seek(1)
        file.write(Holder.this_process().to_json().encode())


def _read_holder(path: Path) -> Holder | None:
    try:
        with path.open("rb", buffering=0) as file:
            return Holder.from_json(file.read().lstrip(b"\0").decode())
    except (OSError, UnicodeDecodeError):
        return None


# the row "writer" of the table "meta" names the holder of the lock of a database that is not a
# file; unless the database has locks that end with a connection, the row is the lock

_IS_LOCK = meta.c.key == "writer"


@contextmanager
def lock_server(engine: Engine, where: str) -> Iterator[None]:
    """Hold PostgreSQL's advisory lock, on a connection of its own."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if not try_writer_lock(connection):
            value = connection.scalar(select(meta.c.value).where(_IS_LOCK))
            raise _locked_by(None if value is None else Holder.from_json(value), where)
        value = Holder.this_process().to_json()
        try:
            unlock_row(connection)
            connection.execute(insert(meta).values(key="writer", value=value))
            yield
        finally:
            # if the connection is lost, so is the lock; the row only names its holder
            with suppress(DBAPIError):
                release_writer_lock(connection)
            with suppress(DBAPIError):
                connection.execute(delete(meta).where(_IS_LOCK, meta.c.value == value))


def lock_row(connection: Connection, where: str) -> None:
    """Take the lock of a database that is not a file, in its own transaction."""
    value = connection.scalar(select(meta.c.value).where(_IS_LOCK))
    holder = None if value is None else Holder.from_json(value)
    if value is not None and (holder is None or not holder.has_ended):
        remedy = "wait; if the process has ended, delete the row 'writer' of 'meta'"
        raise _locked_by(holder, where, remedy)
    connection.execute(delete(meta).where(_IS_LOCK))
    try:
        connection.execute(insert(meta).values(key="writer", value=Holder.this_process().to_json()))
    except IntegrityError as error:
        # another process took the lock after the query above
        raise _locked_by(None, where) from error


def unlock_row(connection: Connection) -> None:
    connection.execute(delete(meta).where(_IS_LOCK))
