"""The OpenAPI description of the API, made from the table of its routes."""

import re
from collections.abc import Sequence
from typing import Any

from metaod._version import __version__
from metaod.web._answers import PROBLEM
from metaod.web._problems import MEDIA_TYPE
from metaod.web._routes import Endpoint

_ALWAYS = {  # problems that every endpoint can answer with
    400: "The request cannot be understood.",
    401: "There is no valid token.",
    403: "A page of another site sent the request.",
    421: "The header Host names another server.",
    500: "A defect, or a process that ended unexpectedly.",
    503: "The server is busy.",
}
_PROBLEMS = {
    **_ALWAYS,
    404: "There is no such table.",
    408: "The client stopped sending.",
    409: "The table is not in a state for this.",
    413: "The body is too large.",
    415: "The body has another type.",
    422: "A value is not allowed.",
    501: "A library is not installed.",
    504: "It took too long.",
}
_TABLE_ID = {
    "name": "table",
    "in": "path",
    "required": True,
    "description": "The id that the upload returned.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Describe endpoints in a document of OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "MetaOD",
            "version": __version__,
            "description": "Find the outliers of a table without labels, and review them.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    summary = (endpoint.handler.__doc__ or "").strip()
    parameters = [_TABLE_ID] if "{table}" in endpoint.path else []
    for name, schema in endpoint.query.items():
        required = "default" not in schema
        parameters.append({"name": name, "in": "query", "required": required, "schema": schema})
    operation: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": summary,
        "parameters": parameters,
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": endpoint.body}}
        operation["requestBody"] = {"required": True, "content": content}
    elif endpoint.takes is not None:
        operation["requestBody"] = {"required": True, "content": {endpoint.takes: {}}}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall("[a-z]+", endpoint.path.replace("{table}", ""))
    return "_".join([endpoint.method.lower(), *words])


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    own: dict[str, Any] = {"description": "Done."}
    if isinstance(endpoint.answer, str):
        own["content"] = {endpoint.answer: {"schema": {"type": "string"}}}
    elif endpoint.answer is not None:
        own["content"] = {"application/json": {"schema": endpoint.answer}}
    if endpoint.status == 201:
        own["headers"] = {"Location": {"required": True, "schema": {"type": "string"}}}
    statuses = {*_ALWAYS, *endpoint.problems}
    if "{table}" in endpoint.path:
        statuses |= {404, 409, 501, 504}
    if endpoint.body is not None:
        statuses |= {408, 413, 415, 422}
    problem = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refused = {
        str(status): {"description": _PROBLEMS[status], "content": problem}
        for status in sorted(statuses)
    }
    return {str(endpoint.status): own, **refused}
