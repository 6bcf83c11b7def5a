"""The routes of the API: what each takes, and what answers it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Literal

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from metaod._version import __version__
from metaod.options import Columns, Fitting, Options, Reading, Writing, option
from metaod.web._guard import Session, cookie_name
from metaod.web._held_tables import HeldTable, HeldTables, Kind, too_large
from metaod.web._problems import USES, refused
from metaod.web._uploads import disposition

_MOST_JSON = 2**20  # bytes of a body

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Flags(Options):
    """How many rows are flagged."""

    n_flagged: int | None = option(
        None, "Flag so many; null as many as are estimated.", minimum=0, maximum=10**9
    )


@dataclass(frozen=True, kw_only=True)
class Answer(Options):
    """What a person says about a row."""

    row: int = option(None, "The row, counted from 1.", minimum=1, maximum=10**9)
    answer: Literal["yes", "no", "unsure"] = option(None, "Whether it is an outlier.")
    alike: bool = option(False, "Answer for all rows of its pattern that have no answer.")


@dataclass(frozen=True, kw_only=True)
class Verdict(Options):
    """What a person says about a finding."""

    row: int = option(None, "The row, counted from 1.", minimum=1, maximum=10**9)
    column: str = option(None, "The column.")
    answer: Literal["wrong", "right"] = option(None, "Whether the cell is wrong.")
    correction: str | None = option(
        None, "What a wrong cell should hold; null for what the finding suggests."
    )
    alike: bool = option(False, "Answer about all findings of its pattern.")


@dataclass(frozen=True, kw_only=True)
class SignIn(Options):
    """What a browser gives for its cookie."""

    code: str = option("", "The code of the printed link, which is good for one browser.")
    token: str = option("", "The token.")


@dataclass(frozen=True, kw_only=True)
class Upload(Options):
    """What comes with a file."""

    name: str = option(None, "The name of the file, which tells the format.")


@dataclass(frozen=True, kw_only=True)
class Scored(Writing):
    """How the scored table is written."""

    format: Literal["same", "csv"] = option("same", "Of the file: as the upload, or CSV.")
    no_formulas: bool = option(True, "Write a ' before cells that a spreadsheet would run.")


@dataclass(frozen=True, kw_only=True)
class Corrected(Options):
    """Which of two files is given."""

    log: bool = option(False, "The list of the corrections, not the corrected table.")


# requests


def _tables(request: Request) -> HeldTables:
    tables: HeldTables = request.state.tables
    return tables


def _table(request: Request) -> HeldTable:
    return _tables(request).get(request.path_params["table"])


async def _body(request: Request) -> dict[str, Any]:
    """Read a small JSON object, within the time that a client has."""
    _check_media_type(request, "application/json")
    data = bytearray()
    try:
        async with asyncio.timeout(_tables(request).limits.pause_seconds):
            async for chunk in request.stream():
                data += chunk
                if len(data) > _MOST_JSON:
                    raise refused("large-body")
    except TimeoutError:
        raise refused("slow-client") from None
    return parse_object(bytes(data))


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object."""
    try:
        found = json.loads(data.decode(), parse_constant=_refuse)
        json.dumps(found, ensure_ascii=False).encode()  # refuses lone surrogates
    except (ValueError, RecursionError) as error:
        raise refused("not-json") from error
    if not isinstance(found, dict):
        raise refused("not-an-object", where="the body")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _query(request: Request, kind: type[Options]) -> dict[str, Any]:
    """Check the parameters of the query; true and false are booleans."""
    words = {"true": True, "false": False}
    given = {name: words.get(text, text) for name, text in request.query_params.items()}
    return kind.parse(given, "the query")


def _check_media_type(request: Request, wanted: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != wanted:
        raise refused("media-type", where="Content-Type", wanted=wanted)


# handlers


async def _sign_in(request: Request) -> Response:
    """Set the cookie with which a browser presents the token."""
    session: Session = request.state.session
    given = SignIn.parse(await _body(request), "session")
    if not (session.takes(given.get("code", "")) or session.admits(given.get("token", ""))):
        raise refused("no-token")
    kept: dict[str, Any] = {"httponly": True, "samesite": "strict"}
    answer = Response(status_code=204)
    name, is_secure = cookie_name(request.scope), request.url.scheme == "https"
    answer.set_cookie(name, session.token, secure=is_secure, **kept)
    return answer


async def _about(request: Request) -> Response:
    """Return the version, the limits, and the options of reading and columns."""
    about = {
        "version": __version__,
        "limits": asdict(_tables(request).limits),
        "form": [own.form_field() for own in Reading.offered().values() if own.label],
        "reading": Reading.json_schema(),
        "roles": Columns.json_schema(),
        "uses": USES,
    }
    return JSONResponse(about)


async def _upload(request: Request) -> Response:
    """Take the bytes of a file, whose name tells the format."""
    name = _query(request, Upload)["name"]
    _check_media_type(request, "application/octet-stream")
    limits = _tables(request).limits
    promised = request.headers.get("content-length", "0")
    if promised.isdecimal() and int(promised) > limits.max_mb * 2**20:
        raise too_large(limits)
    chunks = (chunk async for chunk in request.stream() if chunk)
    return _created(await _tables(request).add(name, chunks, _client(request)))


def _client(request: Request) -> str:
    return "" if request.client is None else request.client.host


async def _open_example(request: Request) -> Response:
    data = files("metaod").joinpath("tables/examples/machines.csv").read_bytes()

    async def chunks() -> AsyncIterator[bytes]:
        yield data

    return _created(await _tables(request).add("machines.csv", chunks(), _client(request)))


def _created(table: HeldTable) -> Response:
    return JSONResponse(table.document(), 201, {"Location": f"/api/tables/{table.id}"})


async def _state(request: Request) -> Response:
    return JSONResponse(_table(request).document())


async def _delete(request: Request) -> Response:
    await _tables(request).delete(_table(request))
    return Response(status_code=204)


async def _cancel(request: Request) -> Response:
    table = _table(request)
    await table.cancel()
    return JSONResponse(table.document())


async def _inspection(request: Request) -> Response:
    """Return the columns, how each is read, and the options that were last given."""
    table = _table(request)
    if "inspection" not in table.found:
        table.refuse_while_running()
        raise refused("not-inspected")
    return JSONResponse({**table.found["inspection"], **table.given})


def _starts(kind: Kind, takes: type[Options]) -> Handler:
    """Return a handler that starts a job, whose options are checked before."""

    async def respond(request: Request) -> Response:
        table = _table(request)
        body = await _body(request)
        given = {"reading": body.pop("reading", {}), "roles": body.pop("roles", {})}
        for group, name in ((Reading, "reading"), (Columns, "roles")):
            if not isinstance(given[name], dict):
                raise refused("not-an-object", where=name)
            group.parse(given[name], name)
        given |= takes.parse(body, kind)
        _tables(request).start(table, kind, given)
        return JSONResponse(table.document(), 202)

    return respond


def _asks(command: str, takes: type[Options] | None = None) -> Handler:
    """Return a handler that runs a command of the table's process."""

    async def respond(request: Request) -> Response:
        table = _table(request)
        given = {} if takes is None else takes.parse(await _body(request), command)
        named = {name: own for name, own in request.path_params.items() if name != "table"}
        return JSONResponse(await table.ask(command, **given, **named))

    return respond


def _downloads(command: str, media_type: str, takes: type[Options] = Options) -> Handler:
    """Return a handler that gives a new file, which is removed afterwards."""

    async def respond(request: Request) -> Response:
        table = _table(request)
        written = await table.ask(command, **_query(request, takes))
        path = table.folder / written["file"]

        async def remove() -> None:
            with contextlib.suppress(OSError):
                path.unlink()

        headers = {"Content-Disposition": disposition(written["name"])}
        return FileResponse(path, 200, headers, media_type, background=BackgroundTask(remove))

    return respond


_TABLE = "/api/tables/{table}"
ROUTES: dict[str, dict[str, Handler]] = {
    "/api": {"GET": _about},
    "/api/session": {"POST": _sign_in},
    "/api/tables": {"POST": _upload},
    "/api/example": {"POST": _open_example},
    _TABLE: {"GET": _state, "DELETE": _delete},
    f"{_TABLE}/inspection": {"POST": _starts("inspection", Options), "GET": _inspection},
    f"{_TABLE}/detection": {"POST": _starts("detection", Fitting)},
    f"{_TABLE}/job": {"DELETE": _cancel},
    f"{_TABLE}/result": {"GET": _asks("result")},
    f"{_TABLE}/flags": {"PUT": _asks("flag", Flags)},
    f"{_TABLE}/rows/{{row:int}}": {"GET": _asks("row")},
    f"{_TABLE}/findings": {"GET": _asks("findings")},
    f"{_TABLE}/findings/answers": {"POST": _asks("judge", Verdict)},
    f"{_TABLE}/findings/answers/last": {"DELETE": _asks("take_back")},
    f"{_TABLE}/review": {"GET": _asks("question")},
    f"{_TABLE}/review/answers": {"POST": _asks("answer", Answer)},
    f"{_TABLE}/review/answers/last": {"DELETE": _asks("back")},
    f"{_TABLE}/scored": {"GET": _downloads("write_scored", "application/octet-stream", Scored)},
    f"{_TABLE}/corrected": {
        "GET": _downloads("write_corrected", "application/octet-stream", Corrected)
    },
    f"{_TABLE}/cells": {"GET": _downloads("write_cells", "text/csv")},
    f"{_TABLE}/marks": {"GET": _downloads("write_marks", "text/csv")},
    f"{_TABLE}/report": {"GET": _downloads("write_report", "text/html")},
}
