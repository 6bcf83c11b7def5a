"""``metaod serve`` as a process: its address, its end, and what a killed server leaves."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer

from metaod.cli.servers import serve
from metaod.errors import UserError

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

TOKEN = "a-token-of-the-tests"
OWN = {"Authorization": f"Bearer {TOKEN}"}
UPLOAD = {**OWN, "Content-Type": "application/octet-stream"}


@contextmanager
def started(tmp_path, *arguments):
    """Run the command; yield the process and the link that it prints."""
    command = [sys.executable, "-m", "metaod", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "METAOD_TOKEN": TOKEN},
        preexec_fn=_hear_a_closed_terminal,  # noqa: PLW1509 - the tests have one thread
    )
    try:
        link = re.fullmatch(r"MetaOD is at (\S+)\n", process.stderr.readline())[1]
        yield process, link.partition("#")[0]
    finally:
        process.kill()
        process.communicate()


def _hear_a_closed_terminal():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it


def stored(tmp_path):
    return sorted(path.name for path in tmp_path.glob("metaod-serve-*/*/*"))


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ([signal.SIGINT], 0),
        ([signal.SIGINT] * 2, 0),
        ([signal.SIGTERM], 143),
        ([signal.SIGHUP], -signal.SIGHUP),  # the terminal was closed
    ],
)
def test_a_server_that_ends_deletes_the_uploads(tmp_path, sent, code):
    with started(tmp_path) as (process, link):
        [folder] = tmp_path.glob("metaod-serve-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        made = httpx.post(f"{link}api/tables?name=a.csv", content=b"a,b\n1,2\n", headers=UPLOAD)
        table = f"{link.rstrip('/')}{made.headers['Location']}"
        httpx.post(f"{table}/inspection", json={}, headers=OWN)  # a process runs
        assert stored(tmp_path)
        for one in sent:
            process.send_signal(one)
            time.sleep(0.05)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_server_leaves_is_removed_at_the_next_start(tmp_path):
    with started(tmp_path) as (killed, link):
        httpx.post(f"{link}api/tables?name=a.csv", content=b"a,b\n1,2\n", headers=UPLOAD)
        killed.kill()
        killed.wait()
        assert stored(tmp_path) == ["uploaded-table.csv"]
        with started(tmp_path) as (_, second), started(tmp_path) as (_, third):
            assert stored(tmp_path) == []
            for living in (second, third):  # a folder in use is not removed
                assert httpx.get(f"{living}api", headers=OWN).status_code == 200
            assert len(list(tmp_path.iterdir())) == 2


def test_the_processes_of_a_killed_server_end(tmp_path):
    with started(tmp_path) as (killed, link):
        made = httpx.post(f"{link}api/example", headers=OWN)
        table = f"{link.rstrip('/')}{made.headers['Location']}"
        httpx.post(f"{table}/detection", json={}, headers=OWN)
        deadline = time.monotonic() + 30
        while not (children := child_processes(killed.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert children
        killed.kill()
        killed.wait()
        while any(map(is_running, children)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not any(map(is_running, children))


def child_processes(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("this system does not list the children of a process")
    return listed.read_text().split()


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.fixture
def call_serve():
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(serve)
    return lambda *arguments: app(args=list(arguments), standalone_mode=False)


@pytest.mark.parametrize(
    "token", ["short", "a token with blanks", "ünsafe-ünsafe-ünsafe", "x" * 201]
)
def test_tokens_that_can_be_guessed_or_not_sent_are_refused(call_serve, token):
    with pytest.raises(UserError, match=r"16.*200") as caught:
        call_serve("--token", token)
    assert token not in str(caught.value)


def test_a_port_that_is_taken_is_named(tmp_path, call_serve):
    with started(tmp_path) as (_, link):
        port = link.rstrip("/").rpartition(":")[2]
        with pytest.raises(UserError, match=f"port {port}.*--port"):
            call_serve("--port", port)


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("--tls-cert", "absent.pem"), "metaod serve"),
        (("--tls-cert", "absent.pem", "--tls-key", "absent.pem"), "--tls-cert"),
        (("--audit", "absent/folder/log"), "--audit"),
    ],
)
def test_files_that_cannot_be_used_are_named(call_serve, words, where):
    with pytest.raises(UserError) as caught:
        call_serve("--port", "0", *words)
    assert caught.value.where == where


def test_an_address_of_another_machine_is_refused(call_serve):
    with pytest.raises(UserError, match="192"):
        call_serve("--host", "192.0.2.1", "--port", "0")
    with pytest.raises(UserError, match="there is no address 'no such host'"):
        call_serve("--host", "no such host")
