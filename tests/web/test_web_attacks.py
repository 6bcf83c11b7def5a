"""Requests that must be refused: other sites, other names, bad uploads, slow clients, tricks."""

import gzip
import io
import os
import socket
import threading
import time
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_server import address_of, client_of, made_csv, serving

from metaod.tables import READ_ENDINGS
from metaod.web import Limits
from metaod.web._uploads import disposition, shown_name, stored_ending

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOKEN = "a-token-of-the-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def refused(answer, code):
    assert answer.is_client_error or answer.is_server_error, answer.text
    assert answer.json()["code"] == code, answer.text
    assert "Traceback" not in answer.text


def port_of(server):
    return int(address_of(server).rpartition(":")[2])


# sites and names


@pytest.mark.parametrize("site", ["cross-site", "same-site", "strange"])
def test_pages_of_other_sites_are_refused(client, table, site):
    headers = {"Sec-Fetch-Site": site}
    refused(client.post("/api/example", headers=headers), "foreign-site")
    for path in (f"{table}/result", "/page.js"):
        refused(client.get(path, headers=headers), "foreign-site")
    assert client.get("/", headers=headers).status_code == 200  # a link to the page is fine


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "", "x" * 5000]
)
def test_other_origins_are_refused(client, table, origin):
    refused(client.post("/api/example", headers={"Origin": origin}), "foreign-site")
    refused(client.delete(table, headers={"Origin": origin}), "foreign-site")
    assert client.get(table).status_code == 200


def test_the_own_origin_is_accepted(client, server):
    headers = {"Origin": address_of(server), "Sec-Fetch-Site": "same-origin"}
    made = client.post("/api/example", headers=headers)
    assert made.status_code == 201
    assert "access-control-allow-origin" not in made.headers
    assert client.delete(made.headers["Location"], headers=headers).status_code == 204


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "", "127.0.0.1.evil", "10.0.0.1"],
)
def test_other_names_of_the_server_are_refused(client, host):
    for path in ("/", "/api"):
        refused(client.get(path, headers={"Host": host}), "wrong-host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9", "127.0.0.1:1", "[::1]:80", "localhost."]
)
def test_local_names_are_accepted(client, host):
    assert client.get("/api", headers={"Host": host}).status_code == 200


def test_every_answer_forbids_what_pages_do_not_need(client, table):
    for path in ("/", "/page.js", "/api", table, "/nothing", f"{table}/scored"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


# the token


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    with serving(folder, Limits(max_jobs=1, max_tables=2), token=TOKEN) as found:
        yield found


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}\u00e9".encode("latin-1")},
        {"Cookie": "metaod_token_PORT=wrong"},
        {"Cookie": "metaod_token_PORT"},
        {"Cookie": 'metaod_token_PORT="'},
        {"Cookie": f"metaod_token_1={TOKEN}"},  # of another server
    ],
)
def test_requests_without_the_token_are_refused(guarded, headers):
    if "Cookie" in headers:
        headers = {"Cookie": headers["Cookie"].replace("PORT", str(port_of(guarded)))}
    with client_of(guarded, headers={}) as client:
        for path in ("/api", "/api/tables/x", "/api/tables/x/scored"):
            answer = client.get(path, headers=headers)
            refused(answer, "no-token")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.get("/", headers=headers).status_code == 200  # it holds no data


def test_a_browser_signs_in_with_the_code_of_the_link_once_or_with_the_token(guarded):
    code = guarded.link.partition("/#code=")[2]
    assert len(code) > 30
    assert TOKEN not in guarded.link
    for word, is_admitted in (
        ({"code": "wrong"}, False),
        ({"token": "wrong"}, False),
        ({}, False),
        ({"code": TOKEN}, False),
        ({"token": code}, False),
        ({"code": code}, True),
        ({"code": code}, False),  # again
        ({"token": TOKEN}, True),
    ):
        with client_of(guarded, headers={}) as client:
            answer = client.post("/api/session", json=word)
            assert client.get("/api").status_code == (200 if is_admitted else 401)
        if not is_admitted:
            refused(answer, "no-token")
            continue
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert answer.status_code == 204


def test_a_server_for_other_machines_takes_any_address_but_no_other_name(tmp_path):
    with serving(tmp_path, host="0.0.0.0") as server, client_of(server) as client:
        client.base_url = f"http://127.0.0.1:{port_of(server)}"
        assert client.get("/api", headers={"Authorization": ""}).status_code == 401
        own = {"Authorization": f"Bearer {server.token}"}
        assert client.get("/api", headers=own).status_code == 200
        assert client.get("/api", headers={**own, "Host": "10.1.2.3"}).status_code == 200
        refused(client.get("/api", headers={**own, "Host": "evil.example"}), "wrong-host")


# names and ids


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd", "..\\..\\boot.ini", "/etc/passwd.csv", "a\0b.csv", "con.csv", "",
        "." * 300, "x" * 1000, "a.csv/../../b.csv", "a\r\nX-Header: 1.csv", "\u202egpj.csv",
        "%2e%2e/a",
    ],
)  # fmt: skip
def test_names_are_never_paths(client, uploads, name):
    answer = client.upload(made_csv(12), name)
    assert answer.status_code == 201
    folder = next(uploads.rglob(answer.json()["id"]))
    [stored] = folder.iterdir()
    assert stored.name in ("uploaded-table", "uploaded-table.csv")
    assert not set(answer.json()["name"]) & set("/\\\0\r\n\u202e")
    client.delete(answer.headers["Location"])


@PATIENT
@given(st.text(max_size=400))
def test_any_name_is_shown_and_stored_safely(name):
    shown = shown_name(name)
    assert shown
    assert len(shown) <= 121
    assert not set(shown) & set("/\\\0\r\n")
    assert stored_ending(shown).count("/") == 0
    header = disposition(shown)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


def test_every_file_that_can_be_read_keeps_its_ending():
    endings = {*READ_ENDINGS, *(f"{ending}.gz" for ending in READ_ENDINGS)}
    assert {stored_ending(f"t{ending}") for ending in endings} == endings


def test_ids_are_looked_up_and_never_paths(client):
    for table in ("../../etc/passwd", "..%2f..%2fetc", "x", "%00", "A" * 22, "a/b", "in-use"):
        for path in ("", "/result", "/scored"):
            assert client.get(f"/api/tables/{table}{path}").status_code == 404


def test_other_methods_and_paths_are_refused(client, table):
    answer = client.put(table)
    refused(answer, "no-method")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "DELETE"}
    refused(client.options(table), "no-method")
    refused(client.get("/api/tables"), "no-method")  # there is no list of tables
    for path in ("/page/../page.html", "/%2e%2e/%2e%2e/etc/passwd", "/api/"):
        refused(client.get(path), "no-page")


# uploads


def test_bad_files_and_options_are_problems_and_the_process_lives(client, uploads):
    table = client.opened(b"a;b\n1;2\n3;4;5\n6;7\n" + b"8;9\n" * 20, "my own.csv")
    problem = client.run(table, "inspection")["problem"]
    assert problem["where"] == "my own.csv, line 3"
    assert str(uploads) not in str(problem)
    for body, code in (
        ({"roles": {"ignore": ["no"]}, "reading": {"skip_rows": 3}}, "bad-column"),
        ({"reading": {"sheet": "a"}}, "bad-parameter"),
    ):
        problem = client.run(table, "inspection", **body)["problem"]
        assert (problem["status"], problem["code"]) == (422, code)
    for body, code in (
        ({"reading": {"encoding": "no-such"}}, "bad-parameter"),
        ({"reading": {"unused": "a"}}, "unknown-option"),
        ({"reading": []}, "not-an-object"),
        ({"roles": {"path": "a"}}, "unknown-option"),
        ({"learner": "/etc/passwd"}, "unknown-option"),
    ):
        refused(client.post(f"{table}/inspection", json=body), code)
    refused(client.post(f"{table}/detection", json={"n_jobs": 10**9}), "unknown-option")
    assert client.run(table, "inspection", reading={"skip_rows": 3})["state"] == "done"
    client.delete(table)


def test_files_that_unpack_to_too_much_are_refused(client):
    packed = gzip.compress(bytes(160 * 2**20), 6)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/worksheets/sheet1.xml", b" " * (150 * 2**20))
    for data, name in ((packed, "bomb.csv.gz"), (book.getvalue(), "bomb.xlsx")):
        assert len(data) < 2**20
        table = client.opened(data, name)
        assert "unpacks to" in client.run(table, "inspection")["problem"]["detail"]
        client.delete(table)


def test_an_upload_that_says_it_is_too_large_is_refused_at_once(client):
    refused(client.upload(b"x" * (2**20 + 1)), "large-upload")


def raw(server, head, body=b"", *, seconds=10.0):
    """Send bytes as they are; return what comes back before the connection ends."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=seconds) as opened:
        opened.sendall(with_token(server, head) + body)
        found = b""
        try:
            while chunk := opened.recv(65536):
                found += chunk
        except (TimeoutError, ConnectionError):
            pass
    return found


def with_token(server, head):
    own = f"Host: localhost\r\nAuthorization: Bearer {server.token}\r\n"
    return head.replace("Host: localhost\r\n", own).encode()


UPLOAD = (
    "POST /api/tables?name=a.csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    "Content-Type: application/octet-stream\r\n"
)
LARGE = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


def n_stored(uploads):
    # os.walk passes over folders that the server deletes meanwhile; glob would raise
    files = (name for _, _, names in os.walk(uploads) for name in names)
    return sum(name.startswith("uploaded-table") for name in files)


def wait_until(is_so):
    deadline = time.monotonic() + 10
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_so()


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        ("Transfer-Encoding: chunked", LARGE * 20, b" 413 "),
        ("Content-Length: 1000", b"a,b\n", b" 408 "),
    ],
)
def test_an_upload_that_is_too_large_or_stops_is_ended_and_removed(
    server, uploads, head, body, status
):
    before = n_stored(uploads)
    found = raw(server, f"{UPLOAD}{head}\r\n\r\n", body)
    assert status in found.split(b"\r\n")[0]
    assert n_stored(uploads) == before


def test_a_client_that_goes_away_leaves_nothing(server, uploads, client):
    before = n_stored(uploads)
    with socket.create_connection(("127.0.0.1", port_of(server))) as opened:
        opened.sendall(with_token(server, f"{UPLOAD}Content-Length: 1000\r\n\r\n") + b"a,b\n")
        time.sleep(0.1)
    wait_until(lambda: n_stored(uploads) == before)
    assert client.get("/api").status_code == 200


def test_clients_that_do_not_finish_their_headers_are_cut_off(server, monkeypatch):
    monkeypatch.setattr("metaod.web._server.SECONDS_TO_REQUEST", 0.3)
    for start in (b"GET / HTTP/1.1\r\nHost: loc", b""):
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=10) as opened:
            opened.sendall(start)
            assert opened.recv(1) == b""  # closed, or TimeoutError


# bodies


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not-json"), (b"{", "not-json"), (b"\xff", "not-json"), (b"NaN", "not-json"),
        (b"[" * 100_000, "not-json"), (rb'{"row": 1, "answer": "\ud800"}', "not-json"),
        (b"[]", "not-an-object"), (b"null", "not-an-object"),
        (b'{"row": 1}', "bad-parameter"), (b'{"answer": "yes"}', "bad-parameter"),
        (b'{"row": true, "answer": "yes"}', "bad-parameter"),
        (b'{"row": 1, "answer": "maybe"}', "bad-parameter"),
        (b'{"row": 0, "answer": "yes"}', "bad-parameter"),
        (b'{"row": 1e99, "answer": "yes"}', "bad-parameter"),
        (b'{"row": 1, "answer": "yes", "x": 1}', "unknown-option"),
        (b'{"row": 61, "answer": "yes"}', "no-row"), (b" " * (2**20 + 1), "large-body"),
    ],
)  # fmt: skip
def test_bad_bodies_are_refused(client, table, content, code):
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"{table}/review/answers", content=content, headers=headers)
    refused(answer, code)
    assert client.get(f"{table}/review").json()["n_answered"] == 0


def test_bodies_of_other_types_are_refused(client, table):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"Content-Type": kind}
        answer = client.post(f"{table}/review/answers", content=b"{}", headers=headers)
        refused(answer, "media-type")
        refused(client.upload(b"a,b\n", headers=headers), "media-type")


def test_bad_parameters_are_refused(client, table):
    for query in ("format=x", "why=maybe", "format="):
        refused(client.get(f"{table}/scored?{query}"), "bad-parameter")
    refused(client.get(f"{table}/scored?other=1"), "unknown-option")


# many at once


def test_jobs_and_tables_are_limited(guarded):
    with client_of(guarded, headers=BEARER) as client:
        first, second = client.opened(made_csv()), client.opened(made_csv())
        busy = client.upload(made_csv())
        refused(busy, "busy")
        assert busy.headers["retry-after"]
        client.post(f"{first}/inspection", json={})
        refused(client.post(f"{second}/inspection", json={}), "busy")
        for table in (first, second):
            assert client.delete(table).status_code == 204


def test_a_job_that_takes_too_long_is_ended(tmp_path):
    with serving(tmp_path, Limits(max_minutes=0.001)) as server, client_of(server) as client:
        job = client.run(client.opened(made_csv()), "inspection")
        assert job["state"] == "failed"
        assert job["problem"]["code"] == "slow-job"


def test_two_tabs_at_once_get_whole_answers(server, table):
    """Requests of several clients about one table do not mix."""
    found = []

    def ask():
        with client_of(server) as own:
            for _ in range(5):
                answer = own.get(f"{table}/review")
                found.append((answer.status_code, answer.json()["row"]))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 20
    assert len(set(found)) == 1
    assert found[0][0] == 200
