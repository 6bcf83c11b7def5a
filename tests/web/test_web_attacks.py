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
from made_server import client_of, made_csv, serving

from metaod.tables import READ_ENDINGS
from metaod.web import Limits
from metaod.web import _server as server_module
from metaod.web._guard import host_name
from metaod.web._uploads import disposition, shown_name, stored_ending

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def refused(answer, status):
    assert answer.status_code == status, answer.text
    found = answer.json()
    assert found["detail"]
    assert "Traceback" not in answer.text
    return found


# sites and names


@pytest.mark.parametrize("site", ["cross-site", "same-site", "strange"])
def test_pages_of_other_sites_are_refused(client, table, site):
    headers = {"Sec-Fetch-Site": site}
    refused(client.post("/api/example", headers=headers), 403)
    refused(client.get(f"{table}/result", headers=headers), 403)
    refused(client.get("/page.js", headers=headers), 403)
    assert client.get("/", headers=headers).status_code == 200  # a link to the page is fine


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "", "x" * 5000]
)
def test_other_origins_are_refused(client, table, origin):
    refused(client.post("/api/example", headers={"Origin": origin}), 403)
    refused(client.delete(table, headers={"Origin": origin}), 403)
    assert client.get(table).status_code == 200


def test_the_own_origin_is_accepted(client, server):
    origin = server.link.rstrip("/")
    headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
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
        refused(client.get(path, headers={"Host": host}), 421)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9", "127.0.0.1:1", "[::1]:80", "localhost."]
)
def test_local_names_are_accepted(client, host):
    assert client.get("/api", headers={"Host": host}).status_code == 200


@PATIENT
@given(st.text(st.characters(exclude_characters=":[]"), max_size=60))
def test_the_port_is_no_part_of_a_name(name):
    assert host_name(f"{name}:80") == host_name(name)
    assert host_name(f"[{name}]:80") == name.lower()


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
    with serving(folder, Limits(jobs=1, tables=2), token="a-token-of-the-tests") as found:
        yield found


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic a-token-of-the-tests"},
        {"Authorization": "Bearer a-token-of-the-test\u00e9".encode("latin-1")},
        {"Cookie": "metaod_token_PORT=wrong"},
        {"Cookie": "metaod_token_PORT"},
        {"Cookie": 'metaod_token_PORT="'},
        {"Cookie": "metaod_token_1=a-token-of-the-tests"},  # of another server
    ],
)
def test_requests_without_the_token_are_refused(guarded, headers):
    if "PORT" in headers.get("Cookie", ""):
        port = guarded.link.partition("/?")[0].rpartition(":")[2]
        headers = {"Cookie": headers["Cookie"].replace("PORT", port)}
    with client_of(guarded) as client:
        answer = client.get("/api", headers=headers)
        refused(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
        page = client.get("/", headers=headers)
        assert page.status_code == 401
        assert "metaod serve" in page.text


def test_the_token_is_taken_from_the_header(guarded):
    with client_of(guarded, headers={"Authorization": "Bearer a-token-of-the-tests"}) as client:
        assert client.get("/api").status_code == 200


def test_the_link_sets_a_cookie(guarded):
    assert guarded.link.endswith("/?token=a-token-of-the-tests")
    with client_of(guarded) as client:
        assert client.get("/?token=wrong").status_code == 401
        assert client.get("/?" + "token=wrong&" * 50).status_code == 401
        page = client.get("/?token=a-token-of-the-tests")
        assert page.status_code == 200
        cookie = page.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get("/api").status_code == 200
        assert client.get("/api?token=a-token-of-the-tests").status_code == 200


def test_other_addresses_get_a_token(tmp_path):
    with serving(tmp_path, host="0.0.0.0") as server:
        link, _, token = server.link.partition("?token=")
        assert len(token) > 40
        port = link.rstrip("/").rpartition(":")[2]
        with client_of(server) as client:
            client.base_url = f"http://127.0.0.1:{port}"
            assert client.get("/api").status_code == 401
            own = {"Authorization": f"Bearer {token}"}
            assert client.get("/api", headers=own).status_code == 200
            assert client.get("/api", headers={**own, "Host": "10.1.2.3"}).status_code == 200
            refused(client.get("/api", headers={**own, "Host": "evil.example"}), 421)


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


@pytest.mark.parametrize(
    "table", ["../../etc/passwd", "..%2f..%2fetc", "x", "%00", "A" * 22, "a/b", "in-use"]
)
def test_ids_are_looked_up_and_never_paths(client, table):
    for path in ("", "/result", "/scored"):
        refused(client.get(f"/api/tables/{table}{path}"), 404)


def test_there_is_no_list_of_tables(client, table):
    refused(client.get("/api/tables"), 405)


def test_other_methods_and_paths_are_refused(client, table):
    answer = client.put(table)
    refused(answer, 405)
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "DELETE"}
    refused(client.options(table), 405)
    refused(client.get("/page/../page.html"), 404)
    refused(client.get("/%2e%2e/%2e%2e/etc/passwd"), 404)
    refused(client.get("/api/"), 404)


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
        ({"reading": []}, "bad-request"),
        ({"roles": {"path": "a"}}, "unknown-option"),
        ({"learner": "/etc/passwd"}, "unknown-option"),
    ):
        answer = client.post(f"{table}/inspection", json=body)
        assert refused(answer, 422)["code"] == code
    assert client.run(table, "inspection", reading={"skip_rows": 3})["state"] == "done"
    client.delete(table)


def test_files_that_unpack_to_too_much_are_refused(client):
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6) as stream:
        for _ in range(160):
            stream.write(b"0,0\n" * 2**18)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/worksheets/sheet1.xml", b" " * (150 * 2**20))
    for data, name in ((packed, "bomb.csv.gz"), (book, "bomb.xlsx")):
        assert len(data.getvalue()) < 2**20
        table = client.opened(data.getvalue(), name)
        job = client.run(table, "inspection")
        assert "unpacks to" in job["problem"]["detail"]
        client.delete(table)


def test_an_upload_that_says_it_is_too_large_is_refused_at_once(client):
    refused(client.upload(b"x" * (2**20 + 1)), 413)


def raw(server, head, body=b"", *, seconds=10.0):
    """Send bytes as they are; return what comes back before the connection ends."""
    port = int(server.link.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as opened:
        opened.sendall(head.encode() + body)
        found = b""
        try:
            while chunk := opened.recv(65536):
                found += chunk
        except (TimeoutError, ConnectionError):
            pass
    return found


UPLOAD = (
    "POST /api/tables?name=a.csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    "Content-Type: application/octet-stream\r\n"
)


def n_stored(uploads):
    # os.walk passes over folders that the server deletes meanwhile; glob would raise
    files = (name for _, _, names in os.walk(uploads) for name in names)
    return sum(name.startswith("uploaded-table") for name in files)


def test_an_upload_without_a_length_is_stopped_when_it_is_too_large(server, uploads):
    before = n_stored(uploads)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    found = raw(server, UPLOAD + "Transfer-Encoding: chunked\r\n\r\n", chunk * 20)
    assert b" 413 " in found.split(b"\r\n")[0]
    assert n_stored(uploads) == before


def test_an_upload_that_stops_is_ended_and_removed(server, uploads):
    before = n_stored(uploads)
    found = raw(server, UPLOAD + "Content-Length: 1000\r\n\r\n", b"a,b\n")
    assert b" 408 " in found.split(b"\r\n")[0]
    assert n_stored(uploads) == before


def test_a_client_that_goes_away_leaves_nothing(server, uploads, client):
    before = n_stored(uploads)
    port = int(server.link.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as opened:
        opened.sendall((UPLOAD + "Content-Length: 1000\r\n\r\n").encode() + b"a,b\n")
        time.sleep(0.1)
    deadline = time.monotonic() + 10
    while n_stored(uploads) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert n_stored(uploads) == before
    assert client.get("/api").status_code == 200


def test_what_follows_the_promised_body_is_no_second_request(server):
    head = UPLOAD + "Content-Length: 4\r\n\r\n"
    found = raw(server, head, b"a,b\n" + b"GET / HTTP/1.1\r\nHost: evil\r\n\r\n")
    assert found.count(b"HTTP/1.1") == 1


def test_clients_that_do_not_finish_their_headers_are_cut_off(server, monkeypatch):
    monkeypatch.setattr(server_module, "SECONDS_TO_REQUEST", 0.3)
    port = int(server.link.rstrip("/").rpartition(":")[2])
    for start in (b"GET / HTTP/1.1\r\nHost: loc", b""):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as opened:
            opened.sendall(start)
            assert opened.recv(1) == b""  # closed, or TimeoutError


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "NONSENSE\r\n\r\n",
        "GET /" + "a" * 70_000 + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "POST /api/example HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_broken_requests_get_no_answer_but_an_error(server, head):
    found = raw(server, head)
    assert found.split(b"\r\n")[0].split(b" ")[1][:1] == b"4"


# bodies


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400), (b"{", 400), (b"\xff", 400), (b"[" * 100_000, 400), (b"NaN", 400),
        (b"[]", 422), (b"null", 422), (b'{"row": 1}', 422), (b'{"answer": "yes"}', 422),
        (b'{"row": true, "answer": "yes"}', 422),
        (b'{"row": 1, "answer": "maybe"}', 422), (b'{"row": 0, "answer": "yes"}', 422),
        (b'{"row": 1e99, "answer": "yes"}', 422), (b'{"row": 1, "answer": "yes", "x": 1}', 422),
        (b'{"row": 61, "answer": "yes"}', 409), (b" " * (2**20 + 1), 413),
    ],
)  # fmt: skip
def test_bad_bodies_are_refused(client, table, content, status):
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"{table}/review/answers", content=content, headers=headers)
    refused(answer, status)


def test_bodies_of_other_types_are_refused(client, table):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"Content-Type": kind}
        answer = client.post(f"{table}/review/answers", content=b"{}", headers=headers)
        refused(answer, 415)
        refused(client.upload(b"a,b\n", headers=headers), 415)


@pytest.mark.parametrize("query", ["format=x", "why=maybe", "format=", "other=1"])
def test_bad_parameters_are_refused(client, table, query):
    refused(client.get(f"{table}/scored?{query}"), 422)


# many at once


def test_jobs_and_tables_are_limited(guarded):
    own = {"Authorization": "Bearer a-token-of-the-tests"}
    with client_of(guarded, headers=own) as client:
        first, second = client.opened(made_csv()), client.opened(made_csv())
        busy = client.upload(made_csv())
        refused(busy, 503)
        assert busy.headers["retry-after"]
        client.post(f"{first}/inspection", json={})
        refused(client.post(f"{second}/inspection", json={}), 503)
        for table in (first, second):
            assert client.delete(table).status_code == 204


def test_a_job_that_takes_too_long_is_ended(tmp_path):
    with serving(tmp_path, Limits(seconds=0.05)) as server, client_of(server) as client:
        job = client.run(client.opened(made_csv()), "inspection")
        assert job["state"] == "failed"
        assert job["problem"]["code"] == "slow-job"


def test_a_table_that_nobody_uses_is_deleted(tmp_path):
    with serving(tmp_path, Limits(idle_seconds=0.2)) as server, client_of(server) as client:
        table = client.opened(made_csv())
        deadline = time.monotonic() + 10
        while n_stored(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        refused(client.get(table), 404)
    assert not list(tmp_path.iterdir())


def test_two_tabs_at_once_get_whole_answers(server, table):
    """Requests of several clients about one table do not mix."""
    found, threads = [], []

    def ask():
        with client_of(server) as own:
            for _ in range(5):
                answer = own.get(f"{table}/review")
                found.append((answer.status_code, answer.json()["row"]))

    for _ in range(4):
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 20
    assert len(set(found)) == 1
    assert found[0][0] == 200
