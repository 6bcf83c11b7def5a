"""A server for all tests of the page and its API."""

import shutil

import pytest
from made_browser import browser  # noqa: F401 - a fixture

for _name in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")

from made_server import client_of, made_csv, serving  # noqa: E402 - after the skips

from metaod.web import Limits  # noqa: E402 - after the skips


@pytest.fixture(scope="session")
def uploads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uploads")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(uploads):
    limits = Limits(
        max_tables=50, max_jobs=4, max_mb=1, max_rows=2_000, max_columns=120, pause_seconds=1.0
    )
    with serving(uploads, limits) as found:
        yield found


@pytest.fixture(scope="session")
def client(server):
    with client_of(server) as found:
        yield found


@pytest.fixture(scope="session")
def table(client):
    """The path of a table that is inspected and scored; tests do not change it."""
    path = client.opened(made_csv(), "items.csv")
    assert client.run(path, "inspection")["state"] == "done"
    assert client.run(path, "detection")["state"] == "done"
    return path
