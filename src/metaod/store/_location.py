"""Where a store is: a SQLite file, SQLite in memory, PostgreSQL, or another server.

A SQLite file uses the rollback journal, not a write-ahead log: without a writer the store is then
a single file, which can be copied and read from a read-only medium. SQLite undoes the unfinished
transaction of a killed writer when the file is opened next.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, StaticPool, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry

from metaod.errors import BadFile, BadParameter, UserError
from metaod.store._locking import file_lock
from metaod.store._schema import make_tables
from metaod.store._server import explain, hide_password, server_engine, server_url, shown_url
from metaod.tables import check_plain_file

APPLICATION_ID = 0x4D654F44
"""The number in a SQLite file's header that marks a store: ``MeOD``."""

_OTHER_FILE = "name a store made with: metaod db init"
_RESTORE = "restore a copy, or build it again"


@dataclass(frozen=True)
class StoreLocation:
    """Where a store is.

    Parameters
    ----------
    url : sqlalchemy.URL
        The database's address.
    path : Path or None
        The file of a SQLite store; None in memory and on a server.
    """

    url: URL
    path: Path | None = None

    @classmethod
    def parse(cls, url_or_path: str | PathLike[str]) -> "StoreLocation":
        """Read a file's path or a database's URL."""
        text = fspath(url_or_path)
        if text and "://" not in text:
            return cls._of_file(text)
        if text.count("@") > 1 and not text.startswith("sqlite"):
            # SQLAlchemy would take the end of the password for the host
            legal = "an address in which '@' is written as %40, except before the host"
            raise BadParameter("Store", "url_or_path", legal, hide_password(text))
        try:
            url = server_url(make_url(text))
        except (ArgumentError, ValueError):
            legal, shown = "a path or a database's URL", hide_password(text)
            # the error that is not shown contains the address
            raise BadParameter("Store", "url_or_path", legal, shown) from None
        if url.get_backend_name() != "sqlite":
            return cls(url)
        if url.query or url.drivername not in {"sqlite", "sqlite+pysqlite"}:
            legal = "a path or a URL of the form sqlite:///PATH"
            raise BadParameter("Store", "url_or_path", legal, text)
        if url.database in {None, "", ":memory:"}:
            return cls(make_url("sqlite://"))
        return cls._of_file(str(url.database))

    @classmethod
    def _of_file(cls, text: str) -> "StoreLocation":
        # resolved, because a link and its target must have one lock and one journal
        path = Path(text).expanduser().resolve()
        return cls(URL.create("sqlite", database=str(path)), path)

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return shown_url(self.url)

    def __repr__(self) -> str:
        return f"StoreLocation({self})"

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a SQLite database, in a file or in memory."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_postgresql(self) -> bool:
        """Whether it is on a PostgreSQL server, where several builders may work at once."""
        return self.url.get_backend_name() == "postgresql"

    def engine(self, *, read_only: bool, timeout: float) -> Engine:
        """Return SQLAlchemy's engine for an existing database."""
        if self.path is not None:
            return _file_engine(self.path, read_only=read_only, timeout=timeout)
        if self.is_sqlite:
            arguments = {"check_same_thread": False}
            engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=arguments)
            return _configure(engine, read_only=False)
        try:
            if self.is_postgresql:
                return server_engine(self.url)
            return create_engine(self.url, pool_pre_ping=True)
        except NoSuchModuleError as error:
            legal = "a database that SQLAlchemy knows"
            raise BadParameter("Store", "url_or_path", legal, str(self)) from error
        except ModuleNotFoundError as error:
            what = f"the database's driver {error.name!r} is not installed"
            remedy = "install the package with this module, or use PostgreSQL or a file"
            raise UserError(what, where=str(self), remedy=remedy) from error

    @contextmanager
    def user_errors(self) -> Iterator[None]:
        """Turn database errors that the user can correct into a :class:`UserError`."""
        try:
            yield
        except DBAPIError as error:
            if self.is_sqlite:
                explained = _explain(error.orig, str(self))
            else:
                explained = explain(error, self.url)
            if explained is None:
                raise
            raise explained from error


def _file_engine(path: Path, *, read_only: bool, timeout: float, create: bool = False) -> Engine:
    # NullPool: the file is opened again for every transaction
    mode = "rwc" if create else "rw"
    if read_only and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        mode = "ro"
    url = URL.create("sqlite", database=path.as_uri(), query={"uri": "true", "mode": mode})
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": timeout})
    return _configure(engine, read_only=read_only)


def _configure(engine: Engine, *, read_only: bool) -> Engine:
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


def file_exists(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        what = f"cannot be examined ({error.strerror})"
        raise UserError(what, where=str(path), remedy="check the path") from error
    return True


def create_file(path: Path, timeout: float) -> None:
    """Create an empty store under a temporary name, then rename it: it exists whole or not."""
    with file_lock(path.with_name(path.name + ".lock"), str(path), wait=timeout):
        if file_exists(path):
            return
        new = path.with_name(path.name + ".new")
        for leftover in (new, new.with_name(new.name + "-journal")):
            leftover.unlink(missing_ok=True)
        engine = _file_engine(new, read_only=False, timeout=timeout, create=True)
        with StoreLocation.parse(path).user_errors(), engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            make_tables(connection)
        new.replace(path)


def write_file(path: Path, connection: Any) -> None:
    """Write a store in memory to a new file: under another name, which is then changed."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.commit()
    content = connection.serialize()
    with file_lock(path.with_name(path.name + ".lock"), str(path)):
        if file_exists(path):
            raise UserError("exists already", where=str(path), remedy="name another file")
        new = path.with_name(path.name + ".new")
        try:
            new.write_bytes(content)
            new.replace(path)
        except OSError as error:
            what = f"cannot be written ({error.strerror})"
            remedy = "name another folder, or free some space"
            raise UserError(what, where=str(path), remedy=remedy) from error
        finally:
            new.unlink(missing_ok=True)


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
        code = getattr(error, "sqlite_errorcode", 0)
        primary = code & 0xFF
        if primary == sqlite3.SQLITE_CANTOPEN:
            remedy = "check that you may read it"
            raise BadFile(path, "cannot be opened", remedy=remedy) from error
        if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise BadFile(path, f"is not a store: {error.args[0]}", remedy=_OTHER_FILE) from error
        explained = _explain(error, str(path))
        if explained is None:
            raise
        raise explained from error
    if found != APPLICATION_ID:
        what = "is not a store but another program's SQLite database"
        raise BadFile(path, what, remedy=_OTHER_FILE)
    # SQLite itself notices missing pages, but not a last page that is cut off
    if path.stat().st_size % page and not path.with_name(path.name + "-journal").exists():
        raise BadFile(path, "is damaged: its end is cut off", remedy=_RESTORE)


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


def _explain(error: BaseException | None, where: str) -> UserError | None:
    """Return an error that the user can correct; None where it is a defect of this package."""
    code = getattr(error, "sqlite_errorcode", 0)
    # the last eight bits are the primary code, the others its variant
    primary = code & 0xFF
    if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return BadFile(where, f"is damaged: {error}", remedy=_RESTORE)
    what, remedy = _MESSAGES.get(code) or _MESSAGES.get(primary) or (None, None)
    return None if what is None else UserError(what, where=where, remedy=remedy)
