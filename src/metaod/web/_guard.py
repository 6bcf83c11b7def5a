"""What every request must pass: the host's name, the site that sends it, and the token."""

import hmac
import json
import secrets
from collections.abc import Collection
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metaod.web._problems import Problem, refused

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SIGN_IN = ("POST", "/api/session")


class Session:
    """What lets a client in: the token, or once a code, for which a browser gets a cookie.

    Parameters
    ----------
    token : str
        The token.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self.code = secrets.token_urlsafe(24)
        self._is_used = False

    def admits(self, given: str) -> bool:
        """Whether a word is the token."""
        return _is_same(given, self.token)

    def takes(self, code: str) -> bool:
        """Whether a word is the code, which is used up then."""
        if self._is_used or not _is_same(code, self.code):
            return False
        self._is_used = True
        return True


def _is_same(given: str, own: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), own.encode())


def answer_problem(problem: Problem) -> Response:
    """Return a problem as an HTTP response."""
    content = json.dumps(problem.document(), ensure_ascii=False).encode(errors="replace")
    return Response(content, problem.status, problem.headers, "application/problem+json")


def is_local(host: str) -> bool:
    """Whether only this machine can reach a server at an address.

    Examples
    --------
    >>> is_local("localhost"), is_local("127.0.0.9"), is_local("::1"), is_local("0.0.0.0")
    (True, True, True, False)
    """
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


class Guard:
    """Refuses requests of other sites, to other names, or to the API without the token.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    names : collection of str
        Names of this server in the header Host. Addresses are allowed too, unless all names are
        local: a page whose name was bound to this machine's address (DNS rebinding) sends its
        name.
    session : Session
        The token that requests must present, as a bearer or in the cookie that signing in sets.
    """

    def __init__(self, app: ASGIApp, names: Collection[str], session: Session) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._session = session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an ASGI request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            _check_site(headers, scope)
            asked = scope["method"], scope["path"]
            if scope["path"].startswith("/api") and asked != _SIGN_IN:
                self._check_token(HTTPConnection(scope))
        except Problem as problem:
            await answer_problem(problem)(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        name = host_name(hosts[0]) if len(hosts) == 1 else ""
        if name in self._names or (not self._names <= LOCAL_NAMES and _is_address(name)):
            return
        raise refused("wrong-host")

    def _check_token(self, request: HTTPConnection) -> None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._session.admits(given.strip()):
            return
        if not self._session.admits(request.cookies.get(cookie_name(request.scope), "")):
            raise refused("no-token", headers={"WWW-Authenticate": "Bearer"})


def cookie_name(scope: Scope) -> str:
    """Return the name of the token's cookie: browsers send cookies to all ports of a host.

    Examples
    --------
    >>> cookie_name({"server": ("127.0.0.1", 8765)})
    'metaod_token_8765'
    """
    _, port = scope.get("server") or ("", 0)
    return f"metaod_token_{port}"


def host_name(header: str) -> str:
    """Return the name in a header Host, without its port.

    Examples
    --------
    >>> host_name("LocalHost:80"), host_name("[::1]:80"), host_name("a.b.")
    ('localhost', '::1', 'a.b')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _check_site(headers: Headers, scope: Scope) -> None:
    """Refuse requests that a page of another site makes; other programs send no such headers."""
    changes = scope["method"] not in ("GET", "HEAD")
    site = headers.get("sec-fetch-site", "none")
    if site not in ("same-origin", "none") and (changes or scope["path"] != "/"):
        raise refused("foreign-site", where=f"Sec-Fetch-Site: {site[:40]}")
    origin = headers.get("origin")
    own = [f"{scheme}://{headers['host'].lower()}" for scheme in ("http", "https")]
    if origin is not None and origin.lower() not in own:
        raise refused("foreign-site", where="Origin")
