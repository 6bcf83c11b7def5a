"""Where a store is: a SQLite file, SQLite in memory, or a server that SQLAlchemy speaks to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from metaod.errors import BadParameter, UserError
from metaod.store import _sqlite as sqlite

__all__ = ["Place"]


@dataclass(frozen=True)
class Place:
    """Where a store is.

    Parameters
    ----------
    url : sqlalchemy.URL
        The database's address.
    path : Path or None
        The file, where it is a SQLite file.

    Examples
    --------
    >>> Place.locate("sqlite://")
    Place(sqlite://)
    >>> Place.locate("my.db").path.name
    'my.db'
    """

    url: URL
    path: Path | None = None

    @classmethod
    def locate(cls, url_or_path: str | PathLike[str]) -> "Place":
        """Read a file's path or a database's URL."""
        text = fspath(url_or_path)
        if "://" not in text:
            if not text:
                raise BadParameter("Store", "url_or_path", "a path or a database's URL", text)
            return cls._of_file(text)
        try:
            url = make_url(text)
        except ArgumentError as error:
            raise BadParameter(
                "Store", "url_or_path", "a path or a database's URL", text
            ) from error
        if url.get_backend_name() != "sqlite":
            return cls(url)
        if url.query or url.drivername not in {"sqlite", "sqlite+pysqlite"}:
            raise BadParameter(
                "Store", "url_or_path", "a path or a URL of the form sqlite:///PATH", text
            )
        if url.database in {None, "", ":memory:"}:
            return cls(make_url("sqlite://"))
        return cls._of_file(str(url.database))

    @classmethod
    def _of_file(cls, text: str) -> "Place":
        # resolved, so that a link and what it points to have one lock and one journal
        path = Path(text).expanduser().resolve()
        return cls(URL.create("sqlite", database=str(path)), path)

    def __str__(self) -> str:
        return (
            self.url.render_as_string(hide_password=True) if self.path is None else str(self.path)
        )

    def __repr__(self) -> str:
        return f"Place({self})"

    @property
    def is_sqlite(self) -> bool:
        """Whether SQLite serves it, from a file or from memory."""
        return self.url.get_backend_name() == "sqlite"

    def engine(self, *, read_only: bool, timeout: float) -> Engine:
        """SQLAlchemy's engine on what is there already."""
        if self.path is not None:
            return sqlite.file_engine(self.path, read_only=read_only, timeout=timeout)
        if self.is_sqlite:
            return sqlite.memory_engine()
        try:
            return create_engine(self.url, pool_pre_ping=True)
        except NoSuchModuleError as error:
            raise BadParameter(
                "Store", "url_or_path", "a database that SQLAlchemy knows", str(self)
            ) from error
        except ModuleNotFoundError as error:
            raise UserError(
                f"the database's driver {error.name!r} is not installed",
                where=str(self),
                remedy=f"install it with: pip install {error.name}",
            ) from error

    @contextmanager
    def plain_words(self) -> Iterator[None]:
        """Turn the database's errors that a user can mend into a :class:`UserError`."""
        try:
            yield
        except DBAPIError as error:
            if self.is_sqlite:
                explained = sqlite.explain(error, str(self))
            elif isinstance(error, OperationalError):
                explained = UserError(
                    f"the database server answered: {error.orig}",
                    where=str(self),
                    remedy="check that it runs and that you may write to it",
                )
            else:
                explained = None
            if explained is None:
                raise
            raise explained from error
