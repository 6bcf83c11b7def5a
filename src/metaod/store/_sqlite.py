"""Everything that is particular to SQLite: one file, who made it, and what its errors mean.

The journal is SQLite's own rollback journal, not a write-ahead log. Killing a writer at any moment
is safe with both; but with this one a store at rest is a single file, which can be copied, sent
and read from a medium that cannot be written. After a kill, a journal stays beside the file, and
whoever opens it next puts the file back to its last finished transaction without noticing.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, NullPool, StaticPool, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from metaod.errors import BadFile, UserError

__all__ = [
    "APPLICATION_ID",
    "explain",
    "file_engine",
    "find_damage",
    "mark",
    "memory_engine",
    "recognise",
]

APPLICATION_ID = 0x4D654F44
"""The number in a SQLite file's header that says whose file it is: ``MeOD``."""

_ANOTHER_FILE = "name a store made with: metaod db init"
_ANOTHER_COPY = "go back to a copy, or build it anew"


def recognise(path: Path) -> None:
    """Refuse a file that is no store, without altering it."""
    if path.is_dir():
        raise BadFile(path, "is a folder, not a store", remedy=_ANOTHER_FILE)
    if path.stat().st_size == 0:
        raise BadFile(
            path, "is an empty file, not a store", remedy=f"delete it, or {_ANOTHER_FILE}"
        )
    # Through SQLite, because closing a file of our own would drop the locks that another
    # connection of this process holds on it; immutable, so that not even a journal is looked at.
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA application_id").fetchone()
            (page,) = connection.execute("PRAGMA page_size").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:
            raise BadFile(path, "cannot be opened", remedy="check who may read it") from error
        raise BadFile(path, f"is not a store: {error.args[0]}", remedy=_ANOTHER_FILE) from error
    if found != APPLICATION_ID:
        raise BadFile(
            path, "is not a store but another program's SQLite database", remedy=_ANOTHER_FILE
        )
    # SQLite itself sees that pages are missing, but not that a part of the last one is
    size = path.stat().st_size
    if size % page and not path.with_name(path.name + "-journal").exists():
        raise BadFile(path, "is damaged: its end is cut off", remedy=_ANOTHER_COPY)


def file_engine(path: Path, *, read_only: bool, timeout: float, create: bool = False) -> Engine:
    """Engine on a file; it opens the file anew for every transaction and holds nothing between."""
    mode = "rwc" if create else "rw"
    if read_only and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        mode = "ro"
    url = URL.create("sqlite", database=path.as_uri(), query={"uri": "true", "mode": mode})
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": timeout})
    _configure(engine, read_only=read_only)
    return engine


def memory_engine() -> Engine:
    """Engine on a database in memory, which lives as long as the engine."""
    engine = create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    _configure(engine, read_only=False)
    return engine


def mark(connection: Connection) -> None:
    """Write into a new database's header whose it is."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")


def _configure(engine: Engine, *, read_only: bool) -> None:
    @event.listens_for(engine, "connect")
    def _settings(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        # Python's driver would open transactions at moments of its own choosing
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        if read_only:
            # not the mode "ro", which could not undo what a killed writer left unfinished
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # a writer asks for the lock at once: two that had both read first could never both write
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


_PLAIN_WORDS = {
    sqlite3.SQLITE_READONLY_ROLLBACK: (
        "its writer was killed, and what it left unfinished cannot be undone in a read-only place",
        "copy it, with the -journal file beside it, to where it can be written",
    ),
    sqlite3.SQLITE_FULL: (
        "the disk is full; nothing that was finished is lost",
        "free some space and run the same command again",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process is writing to the store",
        "wait for it to end and run the same command again",
    ),
    sqlite3.SQLITE_READONLY: ("the store is read-only", "allow writing, or work on a copy"),
    sqlite3.SQLITE_IOERR: (
        "the disk did not serve a read or a write; nothing that was finished is lost",
        "check the disk and run the same command again",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the file, or the journal beside it, cannot be opened",
        "check that the file and its folder may be read and written",
    ),
}


def explain(error: DBAPIError, where: str) -> UserError | None:
    """Say in plain words what the user can mend; None where it is a defect of ours."""
    code = getattr(error.orig, "sqlite_errorcode", 0)
    # the last eight bits say what it is, the others which kind of it
    kind = code & 0xFF
    if kind in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return BadFile(where, f"is damaged: {error.orig}", remedy=_ANOTHER_COPY)
    what, remedy = _PLAIN_WORDS.get(code) or _PLAIN_WORDS.get(kind) or (None, None)
    return None if what is None else UserError(what, where=where, remedy=remedy)


def find_damage(connection: Connection) -> list[str]:
    """Read the whole file and say what is wrong with it."""
    found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return [text for text in found if text != "ok"] + [
        f"a row of {row[0]} refers to a row of {row[2]} that is not there" for row in orphans
    ]
