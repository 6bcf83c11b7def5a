"""The server: the application, its address, slow connections, and its shutdown."""

import asyncio
import contextlib
import secrets
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection, Generator
from importlib.resources import files
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from metaod.errors import UserError
from metaod.web._audit import Audit
from metaod.web._guard import LOCAL_NAMES, Guard, Session, answer_problem, is_local
from metaod.web._held_tables import HeldTables
from metaod.web._limits import Limits
from metaod.web._problems import problem_of, refused
from metaod.web._routes import ROUTES, Handler
from metaod.web._uploads import UploadFolder

_PAGE = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/elements.js": ("elements.js", "text/javascript"),
    "/findings.js": ("findings.js", "text/javascript"),
    "/state.js": ("state.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_MOST_CONNECTIONS = 200
_MOST_WAITING = 50  # connections without a whole request
_SECONDS_TO_END = 3
SECONDS_TO_REQUEST = 10.0  # for the first line and the headers


class PageServer(uvicorn.Server):
    """Serves the page from `run()` until the process is interrupted, or `should_exit` is set.

    Parameters
    ----------
    host, port : str, int
        The address; port 0 is a free one.
    token : str, optional
        What requests must present; by default one is made.
    limits : Limits, optional
        How much clients may use.
    uploads : Path, optional
        The folder in which the private folder of the uploads is made.
    tls : pair of str, optional
        The files of a certificate and its key: the page is then served by HTTPS.
    audit : Path, optional
        The file to which uploads, downloads, answers and deletions are written.
    on_start : callable
        Takes the link of the page when it can be opened.

    Attributes
    ----------
    link : str
        The address of the page, with a code that lets one browser in, once.
    token : str
        What other browsers and programs must present.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        limits: Limits | None = None,
        uploads: Path | None = None,
        tls: tuple[str, str] | None = None,
        audit: Path | None = None,
        on_start: Callable[[str], None] = lambda _: None,
    ) -> None:
        session = Session(token or secrets.token_urlsafe(32))
        self.token = session.token
        log = None if audit is None else Audit(audit)
        cert, key = tls or (None, None)
        names = {*LOCAL_NAMES, host} if is_local(host) else {*LOCAL_NAMES, host, _own_name()}
        self._opened = _listen(host, port)
        self._on_start = on_start
        port = self._opened.getsockname()[1]
        self.link = f"{'https' if tls else 'http'}://{_address(host, port)}/#code={session.code}"
        config = uvicorn.Config(
            _make_app(limits or Limits(), names, session, uploads, log),
            http=_PromptProtocol,
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_SECONDS_TO_END,
            ssl_certfile=cert,
            ssl_keyfile=key,
        )
        _load(config)
        super().__init__(config)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the end; then all uploads are deleted."""
        with self._opened:
            super().run(sockets or [self._opened])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._on_start(self.link)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Shut down cleanly also when the terminal is closed (SIGHUP), unless that is ignored."""
        closed: Any = getattr(signal, "SIGHUP", None)  # not on Windows
        is_main = threading.current_thread() is threading.main_thread()
        handles = closed and is_main and signal.getsignal(closed) is signal.SIG_DFL
        with super().capture_signals():
            if handles:
                signal.signal(closed, self.handle_exit)
            try:
                yield
            finally:
                if handles:
                    signal.signal(closed, signal.SIG_DFL)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down cleanly; a second Ctrl-C does not stop the deletion of the uploads."""
        super().handle_exit(sig, frame)
        self.force_exit = False


def _load(config: uvicorn.Config) -> None:
    """Read the certificate, and refuse one that cannot be used."""
    try:
        config.load()
    except OSError as error:  # also of the module ssl
        what = f"the certificate or its key cannot be used ({error.strerror or error})"
        remedy = "give both in PEM, the key without a password"
        raise UserError(what, where="--tls-cert", remedy=remedy) from error


def _make_app(
    limits: Limits,
    names: Collection[str],
    session: Session,
    uploads: Path | None,
    log: Audit | None,
) -> ASGIApp:
    """Make the application of the page and its API."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        folder = UploadFolder(uploads)
        note = (lambda table: log.note("deleted", table=table)) if log else (lambda _: None)
        tables = HeldTables(folder.path, limits, note)
        deleting = asyncio.create_task(tables.keep_deleting_expired())
        try:
            yield {"tables": tables, "session": session}  # the state of every request
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
    guarded = Guard(app, names, session)
    return guarded if log is None else log.watch(guarded)


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


class _PromptProtocol(H11Protocol):
    """Closes connections that do not finish the headers of a request in time.

    If many are waiting, the oldest one of the client that has most of them is closed: a client
    that begins many requests takes no place from others.
    """

    _all_waiting: ClassVar[dict[str, list["_PromptProtocol"]]] = {}
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _watch(self) -> None:
        is_asked = self.cycle is not None and not self.cycle.response_complete
        if is_asked:
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(SECONDS_TO_REQUEST, self.transport.close)
            self._all_waiting.setdefault(self._from, []).append(self)
            if sum(map(len, self._all_waiting.values())) > _MOST_WAITING:
                oldest = max(self._all_waiting.values(), key=len)[0]
                oldest._stop_waiting()  # noqa: SLF001 - of this class
                oldest.transport.close()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
            own = self._all_waiting[self._from]
            own.remove(self)
            if not own:
                del self._all_waiting[self._from]

    @property
    def _from(self) -> str:
        return self.client[0] if self.client else ""


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
    except OSError as error:
        what = f"there is no address {host!r}"
        raise UserError(what, where="--host", remedy="give one of this machine") from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
    except OSError as error:
        opened.close()
        what = f"cannot listen at {host}, port {port} ({error.strerror})"
        remedy = "name another with --port; 0 takes a free one"
        raise UserError(what, where="metaod serve", remedy=remedy) from error
    return opened


def _own_name() -> str:
    return socket.gethostname().lower()


def _address(host: str, port: int) -> str:
    name = _own_name() if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
