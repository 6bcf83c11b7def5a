"""The database of a store: its address, its transactions, and the lock of its only writer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, Self, TypeVar

from sqlalchemy import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from metaod._files import expanded
from metaod.errors import BadFile, BadParameter, UserError, hide_password
from metaod.store import _schema as schema
from metaod.store import _server as server
from metaod.store import _sqlite as sqlite

Result = TypeVar("Result")


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
            raise _bad_address(legal, text)
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            # the error that is not shown contains the address
            raise _bad_address("a path or a database's URL", text) from None
        if url.drivername in server.NAMES:
            return cls(url.set(drivername=server.DRIVER))
        if url.query or url.drivername not in {"sqlite", "sqlite+pysqlite"}:
            legal = "a path, sqlite:///PATH, or postgresql://USER@HOST/DATABASE"
            raise _bad_address(legal, text)
        if url.database in {None, "", ":memory:"}:
            return cls(make_url("sqlite://"))
        return cls._of_file(str(url.database))

    @classmethod
    def _of_file(cls, text: str) -> "StoreLocation":
        # resolved, because a link and its target must have one lock and one journal
        path = expanded(text).resolve()
        return cls(URL.create("sqlite", database=str(path)), path)

    def __str__(self) -> str:
        if self.path is not None:
            return str(self.path)
        return server.shown_url(self.url) if self.is_postgresql else "sqlite://"

    def __repr__(self) -> str:
        return f"StoreLocation({self})"

    @property
    def is_postgresql(self) -> bool:
        """Whether it is on a PostgreSQL server, where several builders may work at once."""
        return self.url.get_backend_name() == "postgresql"

    def engine(self, *, read_only: bool, timeout: float) -> Engine:
        """Return SQLAlchemy's engine for an existing database."""
        if self.path is not None:
            return sqlite.file_engine(self.path, read_only=read_only, timeout=timeout)
        return server.server_engine(self.url) if self.is_postgresql else sqlite.memory_engine()

    @contextmanager
    def user_errors(self) -> Iterator[None]:
        """Turn database errors that the user can correct into a :class:`UserError`."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise BadFile(str(self), f"is damaged: {error}", remedy=sqlite.RESTORE) from error
        except DBAPIError as error:
            if self.is_postgresql:
                explained = server.explain(error, self.url)
            else:
                explained = sqlite.explain(error.orig, str(self))
            if explained is None:
                raise
            raise explained from error


def _bad_address(legal: str, address: str) -> BadParameter:
    return BadParameter("Store", "url_or_path", legal, hide_password(address))


class Database:
    """Transactions on a store's tables; see :class:`Store` for the parameters."""

    def __init__(
        self,
        url_or_path: str | PathLike[str],
        *,
        create: bool = False,
        read_only: bool = False,
        timeout: float = 30.0,
    ) -> None:
        if create and read_only:
            raise BadParameter("Store", "create", "False where read_only is True", create)
        self.location = StoreLocation.parse(url_or_path)
        self.read_only = read_only
        self._timeout = timeout
        path = self.location.path
        if path is not None:
            if create and not sqlite.file_exists(path):
                with self.location.user_errors():
                    sqlite.create_file(path, timeout, schema.make_tables)
            sqlite.check_file(path, read_only=read_only)
        self.engine = self.location.engine(read_only=read_only, timeout=timeout)
        try:
            self._open(create=create)
        except BaseException:
            self.close()
            raise

    def _open(self, *, create: bool) -> None:
        with self.reading() as connection:
            if schema.has_tables(connection, str(self)):
                return
        # a file is created with its tables
        if not create or self.location.path is not None:
            raise schema.not_a_store(str(self), "it lacks the table 'meta'")
        with self.writing() as connection:
            # looked for again under the lock: another process may have made them meanwhile
            if not schema.has_tables(connection, str(self)):
                if self.location.is_postgresql:
                    server.check_encoding(connection, str(self))
                schema.make_tables(connection)

    def close(self) -> None:
        """Close the database."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self.location)

    def __repr__(self) -> str:
        return f"Store({str(self)!r})"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads one consistent state of the store."""
        engine = self.engine
        if self.location.is_postgresql:
            engine = engine.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        with self.location.user_errors(), engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(
        self, *, lock: Literal["alone", "shared", "none"] = "alone"
    ) -> Iterator[Connection]:
        """Open a transaction that is written as a whole, or not at all after an error.

        Parameters
        ----------
        lock : {"alone", "shared", "none"}, default="alone"
            On PostgreSQL: whether other writing transactions wait for this one, all of them or
            only those that must be alone. Elsewhere each is alone.
        """
        if self.read_only:
            remedy = "open it without read_only"
            raise UserError("the store is opened for reading only", where=str(self), remedy=remedy)
        engine = self.engine.execution_options(writes=True)
        with self.location.user_errors(), engine.begin() as connection:
            if self.location.is_postgresql and lock != "none":
                server.lock_transaction(connection, self._timeout, shared=lock == "shared")
            yield connection

    def repeat(self, operation: Callable[[], Result]) -> Result:
        """Call an operation, again if the connection to the server is lost meanwhile.

        Parameters
        ----------
        operation : callable
            It reads or writes in transactions, and gives the same result if it is done twice.
        """
        return server.repeated(operation) if self.location.is_postgresql else operation()

    @contextmanager
    def writer_lock(self) -> Iterator[None]:
        """Hold the lock of the only writer of a file; another one gets an error.

        It is the operating system's lock on ``FILE.lock``, which ends with the process. A store on
        a server may have several writers, whose transactions wait for each other.
        """
        path = self.location.path
        if path is None:
            yield
        else:
            with sqlite.file_lock(path):
                yield
