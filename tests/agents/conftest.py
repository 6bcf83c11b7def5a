"""Fixtures for the tests of the server: tables that may be read, and a client over stdio."""

import os
import sys
from pathlib import Path

import anyio.from_thread
import pytest
from made_agents import HOSTILE, frame
from mcp import Client
from mcp.client.stdio import StdioServerParameters


class SyncClient:
    """A client whose calls wait for their results."""

    def __init__(self, portal, client):
        self.portal, self.client = portal, client

    def call(self, name, **arguments):
        return self.portal.call(self.client.call_tool, name, arguments)

    def good(self, name, **arguments):
        result = self.call(name, **arguments)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    def bad(self, name, **arguments):
        """The code of the error, and its line."""
        result = self.call(name, **arguments)
        assert result.is_error, result.structured_content
        [content] = result.content
        assert "\n" not in content.text
        assert len(content.text) <= 1000
        return result.structured_content["code"], content.text


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    """A folder that may be read, one that may be written, and one that may not."""
    base = tmp_path_factory.mktemp("agents")
    for name in ("tables", "tables/inner", "written", "secret"):
        (base / name).mkdir()
    frame().to_csv(base / "tables" / "orders.csv", index=False)
    frame(seed=1).to_csv(base / "tables" / "inner" / "more.csv", index=False)
    frame().to_csv(base / "secret" / "salaries.csv", index=False)
    hostile = frame().assign(note="usual").rename(columns={"d": HOSTILE})
    hostile.loc[3, "note"] = HOSTILE
    hostile.to_csv(base / "tables" / "hostile.csv", index=False)
    (base / "tables" / "outside.csv").symlink_to(base / "secret" / "salaries.csv")
    (base / "tables" / "folder-outside").symlink_to(base / "secret")
    (base / "tables" / "inside.csv").symlink_to(base / "tables" / "orders.csv")
    (base / "tables" / "circle.csv").symlink_to(base / "tables" / "circle.csv")
    return base


@pytest.fixture(scope="session")
def start(places):
    """Start a server as a client does, in a process of its own."""

    def started(*options):
        arguments = ["-m", "metaod", "mcp", "--allow", str(places / "tables"), *map(str, options)]
        source = str(Path(__file__).parents[2] / "src")
        return StdioServerParameters(
            command=sys.executable,
            args=arguments,
            # variables of OpenBLAS change the last digits of scores
            env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
            cwd=places,
        )

    return started


@pytest.fixture(scope="session")
def client(start, places):
    """A client of a server that may write."""
    options = ("--allow-write", places / "written", "--max-bytes", 1_000_000)
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(start(*options))) as opened,
    ):
        yield SyncClient(portal, opened)


@pytest.fixture
def session(client):
    """A session over one table; closed at the end."""
    found = client.good("detect_outliers", path="orders.csv", show=3)
    yield found["session"]
    client.call("close_session", session=found["session"])
