"""Rows of databases: SQLite and DuckDB files, and servers by the URL that SQLAlchemy takes.

Nothing is written: files are opened to be read, and a server's transaction is rolled back.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from sys import getsizeof
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from metaod.errors import HIDDEN, BadFile, Setting, UserError, hide_password, listed, required
from metaod.options import Reading
from metaod.tables.readers._names import check_unique
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import Source, check_bytes, check_width, library_errors

_ROWS = 1000  # that are fetched at a time
_POINTER = 8
_IS_NAME = re.compile(r"[\w.$-]+")  # a query in SQL has blanks
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_SQLITE_TABLES = r"""
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'"""
_DUCKDB_TABLES = """
SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"""
_DUCKDB = {"enable_external_access": "false", "lock_configuration": "true"}

_Result = tuple[list[str], Iterable[Any]]  # names of columns, and rows
_Run = Callable[[str], _Result]
_Opened = tuple[Callable[[], list[str]], _Run]  # names of tables, and what runs a query


def read(source: Source, options: Reading) -> Content:
    """Read the rows of a query, or of the only table."""
    is_duckdb = source.url is None and source.head(12)[8:] == b"DUCK"
    connect = _server if source.url else _duckdb if is_duckdb else _sqlite
    kind = "a database" if source.url else "DuckDB" if is_duckdb else "SQLite"
    with library_errors(source.name, kind), connect(source, options.memory_limit) as (tables, run):
        query = _query(tables(), source, options.query)
        try:
            names, rows = run(query)
            frame = _frame(names, rows, source.name, options.memory_limit)
        except UserError:
            raise
        except Exception as error:
            if options.query is None and source.url is None:
                raise
            what = f"the query failed ({_reason(error)})"
            raise BadFile(source.name, what, remedy="correct it; a query can only read") from error
    # read once: a second answer may have other rows, or the same in another order
    return Content(frame, declares_types=connect is not _sqlite, read_cells=lambda: frame)


def _query(tables: list[str], source: Source, query: str | None) -> str:
    if query is not None and query not in tables:
        if _IS_NAME.fullmatch(query):
            what = f"has no table {query!r}"
            raise BadFile(source.name, what, remedy=f"its tables are: {listed(tables, most=20)}")
        return query
    if query is None and len(tables) != 1:
        what = f"holds {len(tables):,} tables: {listed(tables, most=20)}" if tables else ""
        remedy = Setting("query").advice("name one, or write a query in SQL: {set}")
        raise BadFile(source.name, what or "holds no tables", remedy=remedy)
    name = (query or tables[0]).replace('"', '""')
    return f'SELECT * FROM "{name}"'  # noqa: S608 - a name of a table, in quotes


def _frame(names: list[str], rows: Iterable[Any], source: str, max_bytes: int) -> pd.DataFrame:
    check_unique(names, source)
    check_width(source, (1, len(names)))
    kept, n_bytes = [], 0
    for row in rows:
        n_bytes += sum(map(getsizeof, row)) + 2 * _POINTER * len(row)
        check_bytes(source, "needs at least", n_bytes, max_bytes)
        kept.append(tuple(row))
    columns = zip(*kept, strict=True) if kept else ([] for _ in names)
    frame = {name: list(map(_plain, own)) for name, own in zip(names, columns, strict=True)}
    return pd.DataFrame(frame, dtype=object)


def _plain(value: Any) -> Any:
    """Return a value that a cell of a table can hold."""
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


def _opened(connection: Any, names_of_tables: str) -> _Opened:
    """Return what lists the tables of a file, by a query, and what runs another query."""
    return (
        lambda: [name for (name,) in connection.execute(names_of_tables).fetchall()],
        lambda query: _result(connection.execute(query)),
    )


@contextmanager
def _sqlite(source: Source, max_bytes: int) -> Iterator[_Opened]:
    is_file = source.path is not None
    place = f"{source.path.absolute().as_uri()}?mode=ro" if source.path else ":memory:"
    with closing(sqlite3.connect(place, uri=is_file)) as connection:
        if not is_file:
            connection.deserialize(source.data)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max_bytes, 2**30))
        # no other file is opened or written, also not by VACUUM INTO
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
        )
        yield _opened(connection, _SQLITE_TABLES)


@contextmanager
def _duckdb(source: Source, max_bytes: int) -> Iterator[_Opened]:
    duckdb = required("duckdb", extra="duckdb", needed_for="reading DuckDB files")
    with TemporaryDirectory() as folder:
        path = source.path
        if path is None:
            path = Path(folder) / "table.duckdb"
            path.write_bytes(source.data)
        settings: dict[str, Any] = {**_DUCKDB, "memory_limit": f"{max(max_bytes, 2**26)}B"}
        with duckdb.connect(str(path), read_only=True, config=settings) as connection:
            yield _opened(connection, _DUCKDB_TABLES)


@contextmanager
def _server(source: Source, _: int) -> Iterator[_Opened]:
    sa = required("sqlalchemy", extra="store", needed_for="reading databases by URL")
    try:
        url = sa.make_url(source.url or "")
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername="postgresql+psycopg")
        engine = sa.create_engine(url, hide_parameters=True, poolclass=sa.NullPool)
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
        remedy = "write DIALECT://USER:PASSWORD@HOST/DATABASE; download a file from the web first"
        raise BadFile(source.name, "is no URL that SQLAlchemy knows", remedy=remedy) from error
    except ImportError as error:
        what = f"needs a driver ({error})"
        remedy = "install it; the extra postgres has that of PostgreSQL"
        raise BadFile(source.name, what, remedy=remedy) from error
    settings = {"stream_results": True, "no_parameters": True, "postgresql_readonly": True}
    try:
        connection = engine.connect().execution_options(**settings)
    except sa.exc.SQLAlchemyError as error:
        what = f"the database does not answer ({_reason(error)})"
        raise BadFile(source.name, what, remedy="check the address and the rights") from error
    with connection:

        def run(query: str) -> _Result:
            found = connection.exec_driver_sql(query)
            return (list(found.keys()), found.yield_per(_ROWS)) if found.returns_rows else ([], [])

        yield lambda: sa.inspect(connection).get_table_names(), run


def _reason(error: Exception) -> str:
    """Return the first line of an error, without what may be a part of a password."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines() or [""]
    return re.sub(r"\S+@", f"{HIDDEN}@", hide_password(lines[0]))[:200]


def _result(cursor: Any) -> _Result:
    names = [column[0] for column in cursor.description or ()]
    return names, chain.from_iterable(iter(partial(cursor.fetchmany, _ROWS), []))
