"""Whatever is sent, the API accepts what its types allow and refuses the rest with a problem."""

import re

import pytest
from hypothesis import HealthCheck, Phase, settings
from made_server import made_csv

from metaod.options import Columns, Fitting, Options, Reading
from metaod.web import _routes as routes

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


def job(kind):
    """What a job takes, beside its own options."""
    schema = kind.json_schema()
    parts = {"reading": Reading.json_schema(), "roles": Columns.json_schema()}
    return {**schema, "properties": {**schema["properties"], **parts}}


BODIES = {
    ("POST", "inspection"): job(Options),
    ("POST", "detection"): job(Fitting),
    ("PUT", "flags"): routes.Flags.json_schema(),
    ("POST", "answers"): routes.Answer.json_schema(),
}
QUERIES = {"tables": routes.Upload.json_schema(), "scored": routes.Scored.json_schema()}
PROBLEM = {
    "type": "object",
    "required": ["title", "status", "code", "detail"],
    "properties": {"status": {"type": "integer"}, "detail": {"type": "string"}},
}
ID = re.compile("[A-Za-z0-9_-]{22}")
TABLE_ID = {"name": "table", "in": "path", "required": True,
            "schema": {"type": "string", "pattern": f"^{ID.pattern}$"}}  # fmt: skip
FUZZ = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def operation(method, path):
    last = path.rpartition("/")[2]
    problem = {"application/problem+json": {"schema": PROBLEM}}
    done = {str(status): {"description": "done"} for status in (200, 201, 202, 204)}
    found = {
        "parameters": [TABLE_ID] if "{table}" in path else [],
        "responses": {**done, "4XX": {"description": "refused", "content": problem}},
    }
    if (method, last) in BODIES:
        content = {"application/json": {"schema": BODIES[method, last]}}
        found["requestBody"] = {"required": True, "content": content}
    if last in QUERIES:
        found["parameters"] += [
            {
                "name": name,
                "in": "query",
                "required": name in QUERIES[last]["required"],
                "schema": of,
            }
            for name, of in QUERIES[last]["properties"].items()
        ]
    if last == "tables":
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    return found


PATHS = {
    path: {method.lower(): operation(method, path) for method in methods}
    for path, methods in routes.ROUTES.items()
}
API = schemathesis.openapi.from_dict(
    {
        "openapi": "3.1.0",
        "info": {"title": "MetaOD", "version": "0"},
        "paths": PATHS,
    }
)
# options of reading are checked by more than their types
LAX = [schemathesis.checks.positive_data_acceptance, schemathesis.checks.negative_data_rejection]
API.config.checks.negative_data_rejection.expected_statuses += ["413"]  # a body of megabytes


def with_whole_numbers(body):
    """JSON Schema takes 3.0 for a whole number; the API does not."""
    if isinstance(body, dict):
        return {name: with_whole_numbers(value) for name, value in body.items()}
    return int(body) if isinstance(body, float) and body.is_integer() else body


@pytest.fixture(scope="module")
def unscored(client):
    """The id of a table that jobs may run on."""
    return client.opened(made_csv()).rpartition("/")[2]


@API.parametrize()
@FUZZ
def test_every_request_is_done_or_refused(case, server, client, table, unscored):
    has_job = case.method == "POST" and case.path.endswith(("inspection", "detection"))
    given = (case.path_parameters or {}).get("table")
    is_kept = case.method == "DELETE" and case.path.endswith("{table}")
    if isinstance(given, str) and ID.fullmatch(given) and not is_kept:
        own = has_job or case.path.endswith("job")
        case.path_parameters["table"] = unscored if own else table.rpartition("/")[2]
    case.body = with_whole_numbers(case.body)
    lax = LAX if has_job else []
    answer = case.call_and_validate(base_url=server.link.rstrip("/"), excluded_checks=lax)
    if answer.status_code == 201:
        assert client.delete(answer.headers["location"][0]).status_code == 204
    assert answer.headers["x-content-type-options"] == ["nosniff"]
