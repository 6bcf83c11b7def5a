"""The application: the routes of the API, the page, and errors as problem documents."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from metaod.web._folder import UploadFolder
from metaod.web._guard import LOCAL_NAMES, Guard
from metaod.web._held_tables import HeldTables
from metaod.web._limits import Limits
from metaod.web._openapi import openapi
from metaod.web._problems import Problem, defect
from metaod.web._routes import ENDPOINTS, Endpoint

_PAGE = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/elements.js": ("elements.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def make_app(
    limits: Limits | None = None,
    *,
    names: Collection[str] = LOCAL_NAMES,
    token: str | None = None,
    uploads: Path | None = None,
) -> ASGIApp:
    """Make the ASGI application of the page and its API.

    Parameters
    ----------
    limits : Limits, optional
        How much clients may use.
    names : collection of str
        Names of the server in the header Host.
    token : str, optional
        What every request must present.
    uploads : Path, optional
        The folder in which the private folder of the uploads is made.
    """
    limits = limits or Limits()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, HeldTables]]:
        folder = UploadFolder(uploads)
        tables = HeldTables(folder.path, limits)
        deleting = asyncio.create_task(tables.keep_deleting_expired())
        try:
            yield {"tables": tables}  # the state of every request
        finally:
            deleting.cancel()
            await tables.delete_all()
            folder.remove()

    def route(path: str, endpoints: dict[str, Endpoint]) -> Route:
        async def respond(request: Request) -> Response:
            endpoint = endpoints["GET" if request.method == "HEAD" else request.method]
            return await endpoint.respond(request, request.state.tables)

        return Route(path, respond, methods=list(endpoints))

    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    description = openapi(ENDPOINTS)

    async def describe(_: Request) -> Response:
        return JSONResponse(description)

    routes: list[BaseRoute] = [route(path, endpoints) for path, endpoints in by_path.items()]
    routes += [_page_route(path, *page) for path, page in _PAGE.items()]
    routes.append(Route("/api/openapi.json", describe))
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            Problem: _answer_problem,
            HTTPException: _answer_http,
            ClientDisconnect: _answer_gone,
            Exception: _answer_defect,
        },
    )
    app.router.redirect_slashes = False
    return Guard(app, names, token)


def _page_route(path: str, file: str, media_type: str) -> Route:
    content = files("metaod.web").joinpath("page", file).read_bytes()

    async def respond(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return Route(path, respond)


async def _answer_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - for the type checker
    return error.response()


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker
    what = {404: "there is no such page", 405: f"{request.method} is not possible here"}
    headers = dict(error.headers or {})
    remedy = "see /api/openapi.json"
    text = what.get(error.status_code, "the request cannot be answered")
    return Problem(error.status_code, text, remedy=remedy, headers=headers).response()


async def _answer_gone(_: Request, __: Exception) -> Response:
    return Problem(400, "the client stopped sending").response()


async def _answer_defect(_: Request, error: Exception) -> Response:
    return defect(error).response()
