"""The application: the routes of the API, the page, and errors as problem documents."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from metaod.errors import UserError
from metaod.web._guard import LOCAL_NAMES, Guard, answer_problem
from metaod.web._held_tables import HeldTables
from metaod.web._problems import problem_of, refused
from metaod.web._process import Limits
from metaod.web._routes import ROUTES, Handler
from metaod.web._uploads import UploadFolder

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

    routes = [_route(path, handlers) for path, handlers in ROUTES.items()]
    routes += [_page_route(path, *page) for path, page in _PAGE.items()]
    kinds = (UserError, HTTPException, ClientDisconnect, Exception)
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers=dict.fromkeys(kinds, _answer)
    )
    app.router.redirect_slashes = False
    return Guard(app, names, token)


def _route(path: str, handlers: dict[str, Handler]) -> Route:
    async def respond(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, respond, methods=list(handlers))


def _page_route(path: str, file: str, media_type: str) -> Route:
    content = files("metaod.web").joinpath("page", file).read_bytes()

    async def respond(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return Route(path, respond)


async def _answer(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        code = "no-method" if error.status_code == 405 else "no-page"
        error = refused(code, headers=dict(error.headers or {}))
    elif isinstance(error, ClientDisconnect):
        error = refused("client-gone")
    return answer_problem(problem_of(error))
