"""A store in a SQLite file or in memory: its engine, its lock, checks of the file, and errors.

A file uses the rollback journal, not a write-ahead log: without a writer the store is then a single
file, which can be copied and read from a read-only medium. SQLite undoes the unfinished transaction
of a killed writer when the file is opened next.

Files are locked with filelock 4: of the versions measured (3.20, 3.25, 3.29, 4.0, 4.2), those
before 4 empty the lock file, which names its holder, and let a forked child keep the lock of its
killed parent.
"""

import errno
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import URL, Connection, Engine, NullPool, StaticPool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from metaod._files import check_plain_file
from metaod.errors import BadFile, UserError

APPLICATION_ID = 0x4D654F44
"""The number in a file's header that marks a store: ``MeOD``."""

_OTHER_FILE = "name a store made with: metaod db init"
RESTORE = "restore a copy, or build it again"


def memory_engine() -> Engine:
    arguments = {"check_same_thread": False}
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=arguments)
    return _configured(engine, read_only=False)


def file_engine(path: Path, *, read_only: bool, timeout: float, create: bool = False) -> Engine:
    # NullPool: the file is opened again for every transaction
    mode = "rwc" if create else "rw"
    if read_only and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        mode = "ro"
    url = URL.create("sqlite", database=path.as_uri(), query={"uri": "true", "mode": mode})
    options = {"where": str(path)}  # for messages
    engine = create_engine(
        url, poolclass=NullPool, connect_args={"timeout": timeout}, execution_options=options
    )
    return _configured(engine, read_only=read_only)


def _configured(engine: Engine, *, read_only: bool) -> Engine:
    @event.listens_for(engine, "connect")
    def _settings(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        # Python's driver would open transactions by itself
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        if read_only:
            # not the mode "ro", which cannot undo the unfinished transaction of a killed writer
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # a writer takes the lock at once: two that have both read first could never both write
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def file_lock(store: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the operating system's lock on ``STORE.lock``, which a killed process does not keep.

    The file names its holder and is removed at the end; `wait` is in seconds.
    """
    # filelock would create the folder
    if not store.parent.is_dir():
        raise UserError("the folder does not exist", where=str(store), remedy="make it first")
    path = store.with_name(store.name + ".lock")
    umask = os.umask(0o077)
    os.umask(umask)
    mode = 0o666 & ~umask  # filelock sets the mode whatever the umask is
    lock = FileLock(path, mode=mode, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=max(wait, 0.0), poll_interval=0.02)
    except Timeout:
        what = f"{_holder(path)} is writing to this store"
        remedy = "wait for it, or stop it"
        raise UserError(what, where=str(store), remedy=remedy, code="store-locked") from None
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            what, remedy = "the file system cannot lock a file", "keep the store on a local disk"
        else:
            what, remedy = "the folder cannot be written", "check that you may write to it"
        raise UserError(f"{what} ({error.strerror})", where=str(store), remedy=remedy) from error
    try:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        holder = f"process {os.getpid()} on {socket.gethostname()}, since {now},"
        with path.open("r+b", buffering=0) as file:
            file.truncate(0)
            # Windows locks the first byte of the file for reading, too
            file.seek(1)
            file.write(holder.encode())
        yield
    finally:
        # a forked child does not hold the lock
        if lock.is_locked:
            # removed before it is released: filelock notices this in a process that waits, and
            # tries again; Windows does not remove a file that is open
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
            lock.release()


def _holder(path: Path) -> str:
    try:
        text = path.read_bytes().lstrip(b"\0").decode()
    except (OSError, UnicodeDecodeError):
        text = ""
    return text if text.startswith("process ") else "another process"


def file_exists(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        what = f"cannot be examined ({error.strerror})"
        raise UserError(what, where=str(path), remedy="check the path") from error
    return True


def create_file(path: Path, timeout: float, make_tables: Callable[[Connection], None]) -> None:
    """Create an empty store under a temporary name, then rename it: it exists whole or not."""
    with file_lock(path, wait=timeout):
        if file_exists(path):
            return
        new = path.with_name(path.name + ".new")
        for leftover in (new, new.with_name(new.name + "-journal")):
            leftover.unlink(missing_ok=True)
        engine = file_engine(new, read_only=False, timeout=timeout, create=True)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            make_tables(connection)
        new.replace(path)


def check_file(path: Path, *, read_only: bool) -> None:
    """Refuse a file that is not a store, or that cannot be written although it must be."""
    if not file_exists(path):
        remedy = "make it with: metaod db init"
        raise UserError("there is no such store", where=str(path), remedy=remedy)
    _check_header(path)
    # checked now, not after an hour's work; the journal is written into the folder
    for target in (path, path.parent):
        if not read_only and not os.access(target, os.W_OK):
            remedy = "allow writing, or work on a copy"
            raise UserError("cannot be written", where=str(target), remedy=remedy)


def _read_header(path: Path) -> tuple[int, int]:
    """Return the application's number and the size of a page.

    SQLite reads them: opening and closing the file here would release the locks of another
    connection of this process.
    """

    def read(parameter: str) -> tuple[int, int]:
        with closing(sqlite3.connect(f"{path.as_uri()}?{parameter}", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA application_id").fetchone()
            (page,) = connection.execute("PRAGMA page_size").fetchone()
        return found, page

    try:
        # leaves the journal unread: a file that is no store is not altered
        return read("immutable=1")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        # A writer that is at work or was killed may have counted pages in the header that it has
        # not written yet. Wait for it, or undo its transaction.
        return read("mode=rw")


def _check_header(path: Path) -> None:
    check_plain_file(path, remedy=_OTHER_FILE)
    if path.stat().st_size == 0:
        raise BadFile(path, "is an empty file, not a store", remedy=f"delete it, or {_OTHER_FILE}")
    try:
        found, page = _read_header(path)
    except sqlite3.DatabaseError as error:
        primary = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if primary == sqlite3.SQLITE_CANTOPEN:
            remedy = "check that you may read it"
            raise BadFile(path, "cannot be opened", remedy=remedy) from error
        if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise BadFile(path, f"is not a store: {error.args[0]}", remedy=_OTHER_FILE) from error
        explained = explain(error, str(path))
        if explained is None:
            raise
        raise explained from error
    if found != APPLICATION_ID:
        what = "is not a store but another program's SQLite database"
        raise BadFile(path, what, remedy=_OTHER_FILE)
    # SQLite itself notices missing pages, but not a last page that is cut off
    if path.stat().st_size % page and not path.with_name(path.name + "-journal").exists():
        raise BadFile(path, "is damaged: its end is cut off", remedy=RESTORE)


_MESSAGES = {
    sqlite3.SQLITE_READONLY_ROLLBACK: (
        "its writer was killed, and this cannot be undone in a read-only folder",
        "copy it, with the -journal file beside it, to where it can be written",
    ),
    sqlite3.SQLITE_FULL: (
        "the disk is full; no finished work is lost",
        "free some space and run the same command again",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process is writing to the store",
        "wait for it to end and run the same command again",
    ),
    sqlite3.SQLITE_READONLY: ("the store is read-only", "allow writing, or work on a copy"),
    sqlite3.SQLITE_IOERR: (
        "the disk failed to read or write; no finished work is lost",
        "check the disk and run the same command again",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file, or the journal beside it, cannot be opened",
        "check that the file and its folder may be read and written",
    ),
}


def explain(error: BaseException | None, where: str) -> UserError | None:
    """Return an error that the user can correct; None where it is a defect of this package."""
    code = getattr(error, "sqlite_errorcode", 0)
    # the last eight bits are the primary code, the others its variant
    primary = code & 0xFF
    is_no_text = code == 0 and isinstance(error, sqlite3.OperationalError)
    if is_no_text or primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return BadFile(where, f"is damaged: {error}", remedy=RESTORE)
    what, remedy = _MESSAGES.get(code) or _MESSAGES.get(primary) or (None, None)
    return None if what is None else UserError(what, where=where, remedy=remedy)
