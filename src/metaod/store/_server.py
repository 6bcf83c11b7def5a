"""A store on a PostgreSQL server: address, engine, locks, errors, and repeated attempts.

Several processes may write at the same time. A transaction that adds models or datasets, or merges,
holds an advisory lock alone; transactions that record tasks share it, and each locks the row of its
dataset. Text has the collation "C": it is compared byte by byte, as in SQLite.
"""

import os
import re
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, func, select
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, ProgrammingError

from metaod.errors import HIDDEN, MissingExtra, UserError, hide_password

Result = TypeVar("Result")

DRIVER = "postgresql+psycopg"
NAMES = {"postgres", "postgresql", DRIVER}
"""Names of PostgreSQL in addresses that users have."""

_TRANSACTION = 0x4D654F44  # the class of the advisory locks of transactions: "MeOD"

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 30.0, 30.0)
"""Seconds between attempts after the connection to a server was lost."""


class Interrupted(UserError):
    """A transaction that was not finished and may be repeated: the connection or a lock failed."""


def shown_url(url: URL) -> str:
    """Return a server's address for messages: without the password and the driver."""
    return hide_password(url.set(drivername="postgresql").render_as_string(hide_password=True))


def server_engine(url: URL) -> Engine:
    """Return the engine of a PostgreSQL server; what the address does not set has a default."""
    defaults = {"fallback_application_name": "metaod", "client_encoding": "utf8"}
    # a server that does not answer for a minute is lost
    defaults |= {"keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3"}
    defaults |= {"tcp_user_timeout": "60000"}
    if "PGCONNECT_TIMEOUT" not in os.environ:
        defaults["connect_timeout"] = "10"
    chosen = {name: value for name, value in defaults.items() if name not in url.query}
    try:
        return create_engine(url, pool_pre_ping=True, connect_args=chosen, hide_parameters=True)
    except ImportError as error:
        # psycopg is missing, or is there without libpq
        package = "psycopg" if isinstance(error, ModuleNotFoundError) else "libpq"
        needed_for = "a store on PostgreSQL"
        raise MissingExtra(package, extra="postgres", needed_for=needed_for) from error


def check_encoding(connection: Connection, where: str) -> None:
    """Refuse a database that cannot store every text."""
    encoding = connection.scalar(select(func.current_setting("server_encoding")))
    if encoding != "UTF8":
        remedy = "create one with: createdb --encoding UTF8 --template template0 NAME"
        raise UserError(f"the database has the encoding {encoding}", where=where, remedy=remedy)


def lock_transaction(connection: Connection, timeout: float, *, shared: bool) -> None:
    """Wait for the advisory lock of writing transactions, which ends with the transaction."""
    lock = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
    milliseconds = str(max(1, round(1000 * timeout)))
    # stores in two schemas of one database have different locks
    namespace = func.hashtext(func.coalesce(func.current_schema(), ""))
    limit = func.set_config("lock_timeout", milliseconds, True)
    connection.execute(select(limit, lock(_TRANSACTION, namespace)))


def repeated(operation: Callable[[], Result]) -> Result:
    """Call an operation, again after waits that grow if its transaction was interrupted.

    The operation must give the same result if it is finished twice: when the connection is lost
    while a transaction ends, the server may have finished it.
    """
    for wait in WAITS:
        try:
            return operation()
        except Interrupted:
            time.sleep(wait)
    try:
        return operation()
    except Interrupted as error:
        what = f"{error.what} ({len(WAITS) + 1} attempts); no finished work is lost"
        remedy = "run the same command again when the server answers"
        raise UserError(what, where=error.where, remedy=remedy) from error


# SQLSTATE of an answer, or its class: what happened, and what to do
_ANSWERS = {
    "42501": ("you may not do this: {}", "ask the owner of the database for the right"),
    "25006": ("the server only allows reading", "name the primary server, not a copy"),
    "3F000": ("{}", "create the schema first, or name another in search_path"),
    "53100": ("the disk is full; no finished work is lost", "free some space and run it again"),
    "22021": ("a text cannot be stored: {}", "remove the character from the dataset's list"),
    "22P05": ("a text cannot be stored: {}", "use a database with the encoding UTF8"),
    "57014": ("the server ended a query: {}", "raise its statement_timeout"),
}
_LOST = {"57P01", "57P02", "57P03", "53300"}
_BUSY = {"40001", "40P01", "55P03"}
_REMEDIES = (
    ("password", "check the user's name and password (PGPASSWORD, ~/.pgpass, or the address)"),
    ("authentication", "check the user's name, and what the server's pg_hba.conf allows"),
    ("role", "check the user's name"),
    ("database", "check the name, or create the database first, with: createdb NAME"),
    ("host name", "check the host's name"),
    ("resolve host", "check the host's name"),
)


def explain(error: DBAPIError, url: URL) -> UserError | None:
    """Return an error that the user can correct; None where it is a defect of this package."""
    where = shown_url(url)
    state = getattr(error.orig, "sqlstate", None)
    text = _first_line(error, url)
    if state in _BUSY:
        what, remedy = "other processes are writing to the store", "wait for them to end"
        return Interrupted(f"{what}, and this one waited too long", where=where, remedy=remedy)
    is_about_server = isinstance(error, OperationalError | InterfaceError)
    if error.connection_invalidated or (is_about_server and state in {None, *_LOST}):
        remedies = (remedy for word, remedy in _REMEDIES if word in text)
        remedy = next(remedies, "check the host and the port, and that the server runs")
        _, refused, reason = text.partition("FATAL:")
        what = "the server refuses the connection" if refused else "the server cannot be reached"
        return Interrupted(f"{what}: {reason if refused else text}", where=where, remedy=remedy)
    if "NUL" in text:
        remedy = "remove it from the dataset's name or source"
        return UserError(
            "a text with the character NUL cannot be stored", where=where, remedy=remedy
        )
    known = _ANSWERS.get(state or "")
    if isinstance(error, ProgrammingError) and state is None and error.statement is None:
        # the driver refuses to connect
        known = ("the address is not understood: {}", "check what follows its ?")
    if known is not None:
        return UserError(known[0].format(text), where=where, remedy=known[1])
    if is_about_server:
        what, remedy = f"the database server answered: {text}", "check the server"
        return UserError(what, where=where, remedy=remedy)
    return None


def _first_line(error: DBAPIError, url: URL) -> str:
    diagnosis = getattr(error.orig, "diag", None)
    text = getattr(diagnosis, "message_primary", None) or str(error.orig).strip()
    line = text.partition("\n")[0].removeprefix("connection failed: ")
    # neither libpq nor the server shows a password; other drivers may
    secrets = [url.password, *(v for name, v in url.query.items() if "password" in name.lower())]
    for secret in filter(None, secrets):
        line = re.sub(rf"(?<!\w){re.escape(str(secret))}(?!\w)", HIDDEN, line)
    return hide_password(line)
