"""Limits by client, the audit log, HTTPS, and how long tables are kept."""

import json
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack

import httpx
import pytest
from made_server import address_of, client_of, made_csv, serving

from metaod.web import Limits

CELL = "item 7"


def connected(server, client="127.0.0.1"):
    address = "127.0.0.1", int(address_of(server).rpartition(":")[2])
    return socket.create_connection(address, timeout=10, source_address=(client, 0))


def begin_upload(server, opened):
    opened.sendall(
        b"POST /api/tables?name=a.csv HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
        b"Content-Type: application/octet-stream\r\n"
        b"Authorization: Bearer " + server.token.encode() + b"\r\n\r\na,b\n"
    )


def test_requests_that_are_begun_and_not_finished_take_no_place_from_others(server):
    with ExitStack() as held, client_of(server) as client:
        for _ in range(130):
            held.enter_context(connected(server)).sendall(b"GET / HTTP/1.1\r\nHost: loc")
        assert [client.get("/api").status_code for _ in range(3)] == [200] * 3
        other = httpx.HTTPTransport(local_address="127.0.0.2")
        with client_of(server, transport=other) as neighbour:
            assert neighbour.get("/api").status_code == 200


def test_uploads_that_stall_are_limited_by_client_and_cut_off(tmp_path):
    limits = Limits(pause_seconds=2.0, max_tables=2, max_uploads=2)
    with serving(tmp_path, limits) as server, ExitStack() as held:
        stalled = [held.enter_context(connected(server)) for _ in range(2)]
        for opened in stalled:
            begin_upload(server, opened)
        time.sleep(0.3)
        with client_of(server) as client:
            assert client.upload(made_csv()).json()["code"] == "busy"
        other = httpx.HTTPTransport(local_address="127.0.0.2")
        with client_of(server, transport=other) as neighbour:
            assert neighbour.upload(made_csv()).status_code == 201
        assert all(b" 408 " in opened.recv(1000).split(b"\r\n")[0] for opened in stalled)
        with client_of(server) as client:
            assert client.upload(made_csv()).status_code == 201


def test_an_upload_that_trickles_is_cut_off(tmp_path):
    with serving(tmp_path, Limits(pause_seconds=0.5)) as server, connected(server) as opened:
        begin_upload(server, opened)
        opened.settimeout(0.1)
        answer, deadline = b"", time.monotonic() + 10
        while not answer and time.monotonic() < deadline:
            try:
                opened.sendall(b"1")
                answer = opened.recv(1000)
            except TimeoutError:
                continue
        assert b" 408 " in answer.split(b"\r\n")[0]


def test_the_audit_log_says_who_did_what_and_holds_no_cell(tmp_path):
    log = tmp_path / "audit.jsonl"
    with serving(tmp_path, audit=log) as server, client_of(server) as client:
        table = client.scored(made_csv(), "my items.csv")
        row = client.get(f"{table}/review").json()["row"]
        client.post(f"{table}/review/answers", json={"row": row, "answer": "yes"})
        client.delete(f"{table}/review/answers/last")
        client.get(f"{table}/scored?why=true")
        client.post("/api/session", json={"token": "wrong"})
        client.delete(table)
        client.upload(b"", headers={"Authorization": "Bearer wrong"})
        client.post("/api/example")
    assert log.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    # a line is written when its answer was sent: the next request may be faster
    assert sorted((line["action"], line.get("status", 0)) for line in lines) == [
        ("answer", 200), ("delete", 204), ("deleted", 0), ("deleted", 0), ("download", 200),
        ("sign in", 401), ("take back", 200), ("upload", 201), ("upload", 201), ("upload", 401),
    ]  # fmt: skip
    by_action = {line["action"]: line for line in reversed(lines)}
    assert by_action["upload"]["n_received"] == len(made_csv())
    assert by_action["download"]["n_sent"] > len(made_csv())
    assert {line["client"] for line in lines if "client" in line} == {"127.0.0.1"}
    assert by_action["answer"]["table"] == table.rpartition("/")[2]
    assert CELL in made_csv().decode()
    assert not any(word in log.read_text() for word in (CELL, "weight", server.token))


def test_tables_are_deleted_after_a_time_although_they_are_used(tmp_path):
    limits = Limits(delete_minutes=0.01)
    with serving(tmp_path, limits) as server, client_of(server) as client:
        table = client.opened(made_csv())
        deadline = time.monotonic() + 10
        while client.get(table).status_code == 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert client.get(table).json()["code"] == "no-table"


def test_the_page_is_served_by_https(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    command = ["openssl", *new, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    with serving(tmp_path, tls=(str(cert), str(key))) as server:
        assert server.link.startswith("https://127.0.0.1:")
        with client_of(server, verify=False) as client:
            assert client.get("/api").status_code == 200
            signed_in = client.post("/api/session", json={"token": server.token})
            assert "Secure" in signed_in.headers["set-cookie"]
