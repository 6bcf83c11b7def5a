"""Making a new store, and recognising one that is there."""

import os
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select

from metaod._version import __version__
from metaod.errors import BadFile, UserError
from metaod.store import _schema as schema
from metaod.store import _sqlite as sqlite
from metaod.store._locking import file_lock
from metaod.store._place import Place

__all__ = [
    "check_file",
    "check_tables",
    "create_file",
    "is_there",
    "make_tables",
    "not_a_store",
    "read_version",
]


def is_there(path: Path) -> bool:
    """Whether there is a file of this name; it is an error not to be allowed to know."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UserError(
            f"cannot be looked at ({error.strerror})", where=str(path), remedy="check the path"
        ) from error
    return True


def create_file(path: Path, timeout: float) -> None:
    """Make a new file under another name and then give it its own: it is there whole or not."""
    with file_lock(path.with_name(path.name + ".lock"), str(path), wait=timeout):
        if is_there(path):
            return
        new = path.with_name(path.name + ".new")
        for leftover in (new, new.with_name(new.name + "-journal")):
            leftover.unlink(missing_ok=True)
        engine = sqlite.file_engine(new, read_only=False, timeout=timeout, create=True)
        with Place.locate(path).plain_words(), engine.begin() as connection:
            sqlite.mark(connection)
            make_tables(connection)
        new.replace(path)


def check_file(path: Path, *, read_only: bool) -> None:
    """Refuse a file that is no store, or that cannot be written where it is to be."""
    if not is_there(path):
        raise UserError(
            "there is no such store", where=str(path), remedy="make it with: metaod db init"
        )
    sqlite.recognise(path)
    # said now, and not after an hour's work; a journal is written beside the file
    for place in (path, path.parent):
        if not read_only and not os.access(place, os.W_OK):
            raise UserError(
                "cannot be written", where=str(place), remedy="allow writing, or work on a copy"
            )


def make_tables(connection: Connection) -> None:
    """Make the tables of an empty store."""
    schema.metadata.create_all(connection)
    known = {
        "application": schema.APPLICATION,
        "schema_version": str(schema.SCHEMA_VERSION),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "package_version": __version__,
    }
    connection.execute(
        insert(schema.meta), [{"key": key, "value": value} for key, value in known.items()]
    )


def read_version(connection: Connection, where: str) -> int | None:
    """Read the version of a store's layout; None where there is no store."""
    if not inspect(connection).has_table(schema.meta.name):
        return None
    rows = connection.execute(select(schema.meta.c.key, schema.meta.c.value)).all()
    known = {str(row.key): str(row.value) for row in rows}
    version = known.get("schema_version", "")
    if known.get("application") != schema.APPLICATION or not version.isdecimal():
        raise not_a_store(where, "its table 'meta' is another program's")
    return int(version)


def check_tables(connection: Connection, where: str) -> None:
    """Refuse a database that lacks a table or a column."""
    columns = inspect(connection).get_multi_columns()
    found = {name: {item["name"] for item in items} for (_, name), items in columns.items()}
    for name, table in schema.metadata.tables.items():
        lacking = set(table.columns.keys()) - found.get(name, set())
        if lacking:
            raise not_a_store(where, f"its table {name!r} lacks {', '.join(sorted(lacking))}")


def not_a_store(where: str, why: str) -> BadFile:
    """Build the error for what holds no store."""
    return BadFile(where, f"is not a store: {why}", remedy="name another, or create one")
