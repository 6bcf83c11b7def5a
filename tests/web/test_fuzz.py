"""The API keeps the promises of its description, whatever is sent: checked by schemathesis."""

import re

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, settings
from made_server import made_csv

from metaod.web._openapi import openapi
from metaod.web._routes import ENDPOINTS

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

API = schemathesis.openapi.from_dict(openapi(ENDPOINTS))
API.config.checks.negative_data_rejection.expected_statuses += ["413"]  # a body of megabytes
ID = re.compile("[A-Za-z0-9_-]{22}")
FUZZ = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def unscored(client):
    """The id of a table that jobs may run on."""
    return client.opened(made_csv()).rpartition("/")[2]


@API.parametrize()
@FUZZ
def test_answers_are_as_described(case, server, client, table, unscored):
    given = (case.path_parameters or {}).get("table")
    is_kept = case.method == "DELETE" and case.path.endswith("{table}")
    if isinstance(given, str) and ID.fullmatch(given) and not is_kept:
        has_job = case.path.endswith(("inspection", "detection", "job")) and case.method != "GET"
        case.path_parameters["table"] = unscored if has_job else table.rpartition("/")[2]
    answer = case.call_and_validate(base_url=server.link.rstrip("/"))
    if answer.status_code == 201:
        assert client.delete(answer.headers["location"][0]).status_code == 204
    assert answer.headers["x-content-type-options"] == ["nosniff"]


def test_the_description_is_valid(client):
    described = client.get("/api/openapi.json").json()
    assert described["openapi"] == "3.1.0"
    schemathesis.openapi.from_dict(described).validate()
    names = [own["operationId"] for path in described["paths"].values() for own in path.values()]
    assert len(names) == len(set(names))


def test_every_schema_of_the_description_is_one(client):
    """The schemas of all answers are valid JSON Schema."""
    described = client.get("/api/openapi.json").json()
    for path in described["paths"].values():
        for operation in path.values():
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    jsonschema.Draft202012Validator.check_schema(content["schema"])
