"""The routes of the API: one table, from which requests are served and described."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from metaod._version import __version__
from metaod.web import _answers as answers
from metaod.web._held_tables import HeldTable, HeldTables, Kind, too_large
from metaod.web._names import disposition
from metaod.web._problems import Problem
from metaod.web._schemas import (
    BOOLEAN,
    Schema,
    check,
    list_of,
    number,
    one_of,
    or_null,
    parse_json,
    parse_parameter,
    record,
    text,
    whole,
)

_MOST_JSON = 2**20  # bytes of a body
_NAME = text(maxLength=10_000)  # of a column
_NAMES = list_of(_NAME, maxItems=10_000)
_READING = record(
    label=or_null(_NAME),
    delimiter=or_null(text(minLength=1, maxLength=1)),
    encoding=or_null(text(minLength=1, maxLength=40)),
    decimal=or_null(one_of(".", ",")),
    header=or_null(BOOLEAN),
    dayfirst=or_null(BOOLEAN),
    bad_values=or_null(one_of("error", "missing", "text")),
    skip_rows=or_null(whole(minimum=0, maximum=1_000_000)),
    skip_footer=or_null(whole(minimum=0, maximum=1_000_000)),
    sheet=or_null(text(minLength=1, maxLength=200)),
    na=list_of(text(maxLength=200), maxItems=100),
    text=_NAMES,
)
_ROLES = record(**dict.fromkeys(("ignore", "id", "category", "date", "time"), _NAMES))


@dataclass(frozen=True)
class Given:
    """A request whose parameters and body satisfy their schemas."""

    request: Request
    tables: HeldTables
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> HeldTable:
        """The table that the path names."""
        return self.tables.get(self.request.path_params["table"])


Handler = Callable[[Given], Awaitable[Response]]


@dataclass(frozen=True)
class Endpoint:
    """A method of a path.

    Parameters
    ----------
    method, path : str
        What is requested.
    handler : callable
        Answers it; its docstring is the description.
    status : int
        Of the answer if nothing is wrong.
    answer : Schema or str
        The schema of the answer, or its media type.
    problems : tuple of int
        Status codes if something is wrong, beside those that every endpoint has.
    query : dict of Schema
        Parameters; those with a default may be absent.
    body : Schema, optional
        Of the JSON that the request carries.
    takes : str, optional
        The media type of a body that is not JSON.
    """

    method: str
    path: str
    handler: Handler
    status: int = 200
    answer: "Schema | str | None" = None
    problems: tuple[int, ...] = ()
    query: dict[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    takes: str | None = None

    async def respond(self, request: Request, tables: HeldTables) -> Response:
        """Check a request and answer it."""
        query = {}
        for name, schema in self.query.items():
            values = request.query_params.getlist(name)
            if len(values) > 1:
                raise Problem(422, "is given twice", where=name, remedy="give it once")
            if values:
                query[name] = parse_parameter(values[0], schema, name)
            elif "default" in schema:
                query[name] = schema["default"]
            else:
                raise Problem(422, "is missing", where=name, remedy="see /api/openapi.json")
        if "table" in request.path_params:
            tables.get(request.path_params["table"])  # before a body is read
        body = {}
        if self.body is not None:
            _check_media_type(request, "application/json")
            body = parse_json(await _read(request, tables.limits.pause_seconds))
            check(body, self.body)
        elif self.takes is not None:
            _check_media_type(request, self.takes)
        return await self.handler(Given(request, tables, query, body))


def _check_media_type(request: Request, wanted: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        raise Problem(
            415, f"the body is not {wanted}", where="Content-Type", remedy=f"send {wanted}"
        )


async def _read(request: Request, seconds: float) -> bytes:
    """Read a small body, within the time that a client has."""
    data = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                data += chunk
                if len(data) > _MOST_JSON:
                    what = f"the body is larger than {_MOST_JSON:,} bytes"
                    raise Problem(413, what, remedy="send less")
    except TimeoutError:
        raise Problem(408, "the request stopped", remedy="try again") from None
    return bytes(data)


# handlers


async def _about(given: Given) -> Response:
    """Return the version and the limits of the server."""
    return JSONResponse({"version": __version__, "limits": given.tables.limits.to_dict()})


async def _upload(given: Given) -> Response:
    """Upload a table: the bytes of a file, whose name tells the format."""
    limits = given.tables.limits
    promised = given.request.headers.get("content-length", "0")
    if promised.isdecimal() and int(promised) > limits.upload_bytes:
        raise too_large(limits)
    chunks = (chunk async for chunk in given.request.stream() if chunk)
    table = await given.tables.add(given.query["name"], chunks)
    return _created(table)


async def _open_example(given: Given) -> Response:
    """Open the bundled example, made-up readings of machines."""
    data = files("metaod").joinpath("tables/examples/machines.csv").read_bytes()

    async def chunks() -> AsyncIterator[bytes]:
        yield data

    return _created(await given.tables.add("machines.csv", chunks()))


def _created(table: HeldTable) -> Response:
    return JSONResponse(table.document(), 201, {"Location": f"/api/tables/{table.id}"})


async def _table(given: Given) -> Response:
    """Return what is known of a table, and how far its job has come."""
    return JSONResponse(given.table.document())


async def _delete(given: Given) -> Response:
    """Delete a table with its file, its answers and its process."""
    await given.tables.delete(given.table)
    return Response(status_code=204)


async def _inspect(given: Given) -> Response:
    """Start to read the table, with these options and roles of columns."""
    return _started(given, "inspection", {})


async def _detect(given: Given) -> Response:
    """Start to find the outliers: pick a model, fit it and score every row."""
    return _started(given, "detection", {"contamination": given.body.get("contamination")})


def _started(given: Given, kind: Kind, more: dict[str, Any]) -> Response:
    reading = given.body.get("reading", {})
    arguments = {
        "reading": {name: value for name, value in reading.items() if value is not None},
        "roles": given.body.get("roles", {}),
        **more,
    }
    given.tables.start(given.table, kind, arguments)
    return JSONResponse(given.table.document(), 202)


async def _cancel(given: Given) -> Response:
    """Cancel the job of the table, if one is running."""
    table = given.table
    await table.cancel()
    return JSONResponse(table.document())


async def _inspection(given: Given) -> Response:
    """Return the columns, how each is read, and the options that were last given."""
    table = given.table
    if "inspection" not in table.found:
        table.refuse_while_running()
        raise Problem(409, "the table is not inspected", remedy="inspect it first")
    return JSONResponse({**table.found["inspection"], **table.given})


async def _result(given: Given) -> Response:
    """Return what was picked, what to expect, the scores, the map and the first rows."""
    return JSONResponse(await given.table.ask("result"))


async def _flag(given: Given) -> Response:
    """Flag another number of rows, the most outlying ones; null flags as many as estimated."""
    n_flagged = given.body["n_flagged"]
    n_flagged = None if n_flagged is None else int(n_flagged)
    return JSONResponse(await given.table.ask("flag", n_flagged=n_flagged))


async def _question(given: Given) -> Response:
    """Return the row to look at next, and how far the review has come."""
    return JSONResponse(await given.table.ask("question"))


async def _answer(given: Given) -> Response:
    """Answer whether a row is an outlier; return the next question."""
    row, answer = int(given.body["row"]), given.body["answer"]
    return JSONResponse(await given.table.ask("answer", row=row, answer=answer))


async def _take_back(given: Given) -> Response:
    """Take the last answer back; return its row as the next question."""
    return JSONResponse(await given.table.ask("back"))


async def _scored(given: Given) -> Response:
    """Download the table with score, rank and flag, in its own format or as CSV."""
    query = given.query
    return await _download(
        given, "write_scored", form=query["format"], why=query["why"], sort=query["sort"]
    )


async def _report(given: Given) -> Response:
    """Download the report."""
    return await _download(given, "write_report", media_type="text/html")


async def _marks(given: Given) -> Response:
    """Download the answers of the review, as 'metaod detect --marks' takes them."""
    return await _download(given, "marks", media_type="text/csv")


async def _download(
    given: Given, command: str, *, media_type: str = "application/octet-stream", **arguments: Any
) -> Response:
    table = given.table
    written = await table.ask(command, **arguments)
    path = table.folder / written["file"]
    content = await asyncio.to_thread(path.read_bytes) if command == "marks" else None
    headers = {"Content-Disposition": disposition(written["name"])}
    if content is not None:  # the review may add to the file meanwhile
        return Response(content, 200, headers, media_type)

    async def remove() -> None:
        with contextlib.suppress(OSError):
            path.unlink()

    return FileResponse(path, 200, headers, media_type, background=BackgroundTask(remove))


_TABLE = "/api/tables/{table}"
_SHARE = or_null(number(exclusiveMinimum=0, maximum=0.5))
ENDPOINTS = (
    Endpoint("GET", "/api", _about, answer=answers.ABOUT),
    Endpoint(
        "POST", "/api/tables", _upload, 201, answers.TABLE, (408, 413, 415, 422, 503),
        query={"name": text(maxLength=1000)}, takes="application/octet-stream",
    ),
    Endpoint("POST", "/api/example", _open_example, 201, answers.TABLE, (503,)),
    Endpoint("GET", _TABLE, _table, answer=answers.TABLE),
    Endpoint("DELETE", _TABLE, _delete, 204),
    Endpoint(
        "POST", f"{_TABLE}/inspection", _inspect, 202, answers.TABLE, (409, 503),
        body=record(reading=_READING, roles=_ROLES),
    ),
    Endpoint("GET", f"{_TABLE}/inspection", _inspection, 200, answers.INSPECTION, (409,)),
    Endpoint(
        "POST", f"{_TABLE}/detection", _detect, 202, answers.TABLE, (409, 503),
        body=record(reading=_READING, roles=_ROLES, contamination=_SHARE),
    ),
    Endpoint("DELETE", f"{_TABLE}/job", _cancel, 200, answers.TABLE),
    Endpoint("GET", f"{_TABLE}/result", _result, 200, answers.RESULT, (409,)),
    Endpoint(
        "PUT", f"{_TABLE}/flags", _flag, 200, answers.FLAGS, (409,),
        body=record("n_flagged", n_flagged=or_null(whole(minimum=0, maximum=10**9))),
    ),
    Endpoint("GET", f"{_TABLE}/review", _question, 200, answers.REVIEW, (409,)),
    Endpoint(
        "POST", f"{_TABLE}/review/answers", _answer, 200, answers.REVIEW, (409,),
        body=record(
            "row answer",
            row=whole(minimum=1, maximum=10**9),
            answer=one_of("yes", "no", "unsure"),
        ),
    ),
    Endpoint("DELETE", f"{_TABLE}/review/answers/last", _take_back, 200, answers.REVIEW, (409,)),
    Endpoint(
        "GET", f"{_TABLE}/scored", _scored, 200, "application/octet-stream", (409, 422),
        query={
            "format": one_of("same", "csv", default="same"),
            "why": {**BOOLEAN, "default": False},
            "sort": {**BOOLEAN, "default": False},
        },
    ),
    Endpoint("GET", f"{_TABLE}/marks", _marks, 200, "text/csv", (409,)),
    Endpoint("GET", f"{_TABLE}/report", _report, 200, "text/html", (409,)),
)  # fmt: skip
