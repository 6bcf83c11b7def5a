"""Whatever is sent, a request is done or refused with a problem document."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_server import made_csv

from metaod.options import Columns, Fitting, Reading
from metaod.web._routes import ROUTES, Answer, Flags, Scored

NAMES = st.sampled_from(
    [*Reading.declared(), *Columns.declared(), *Fitting.declared(), *Answer.declared(),
     *Flags.declared(), *Scored.declared(), "reading", "roles", "name", "__class__"]
)  # fmt: skip
WORDS = st.sampled_from(["yes", "csv", ",", ".", "utf-8", "missing", "size", "auto", "true", "\0"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | WORDS
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)
JSON = st.dictionaries(NAMES, VALUES, max_size=4).map(lambda body: json.dumps(body).encode())
BODIES = JSON | VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40)
TYPES = st.sampled_from(["application/json", "application/octet-stream", "text/plain"])
QUERIES = st.dictionaries(NAMES, WORDS | st.text(st.characters(codec="utf-8"), max_size=5))
FUZZ = settings(
    max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
REFUSED = {400, 404, 405, 408, 409, 413, 415, 422, 503}


@pytest.fixture(scope="module")
def tables(client, table):
    """A scored table, and one that jobs may run on."""
    return table, client.opened(made_csv())


@pytest.mark.parametrize(
    ("method", "path"), [(method, path) for path, methods in ROUTES.items() for method in methods]
)
@FUZZ
@given(body=BODIES, kind=TYPES, query=QUERIES)
def test_every_request_is_done_or_refused(client, tables, method, path, body, kind, query):
    scored, unscored = tables
    has_job = method == "POST" and re.search("inspection|detection", path)
    if (method, path) == ("DELETE", "/api/tables/{table}"):
        scored = "/api/tables/" + "x" * 22
    path = path.replace("/api/tables/{table}", unscored if has_job else scored)
    headers = {"Content-Type": kind}
    answer = client.request(method, path, content=body, params=query, headers=headers)
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.is_success:
        if answer.status_code == 201:
            assert client.delete(answer.headers["location"]).status_code == 204
        return
    signs_in = {401} if path == "/api/session" else set()
    assert answer.status_code in REFUSED | signs_in, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"title", "status", "code", "detail"} <= set(answer.json())
