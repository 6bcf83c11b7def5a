"""What every request must pass: the host's name, the site that sends it, and the token."""

import hmac
import json
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
_NEEDS_LINK = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>MetaOD</title>
<h1>This page needs its link</h1>
<p>Open the whole link that <code>metaod serve</code> printed; it ends with <code>?token=…</code>.
</html>"""


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
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Refuses requests of other sites, to other names, or without the token.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    names : collection of str
        Names of this server in the header Host. Addresses are allowed too, unless all names are
        local: a page whose name was bound to this machine's address (DNS rebinding) sends its
        name.
    token : str, optional
        What requests must present, as a bearer or in a cookie, which ``/?token=`` sets.
    """

    def __init__(self, app: ASGIApp, names: Collection[str], token: str | None = None) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._token = token

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
                if sets_cookie:
                    kept = f"{cookie_name(scope)}={self._token}"
                    headers.append("Set-Cookie", f"{kept}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        headers = Headers(scope=scope)
        sets_cookie = self._comes_with_link(scope)
        try:
            self._check_host(headers)
            _check_site(headers, scope)
            if self._token is not None and not sets_cookie:
                self._check_token(HTTPConnection(scope))
        except Problem as problem:
            answer = answer_problem(problem)
            if problem.status == 401 and scope["path"] == "/":
                answer = Response(_NEEDS_LINK, 401, problem.headers, "text/html")
            sets_cookie = False
            await answer(scope, receive, send_guarded)
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
        if kind.lower() == "bearer" and self._is_token(given.strip()):
            return
        if not self._is_token(request.cookies.get(cookie_name(request.scope), "")):
            raise refused("no-token", headers={"WWW-Authenticate": "Bearer"})

    def _comes_with_link(self, scope: Scope) -> bool:
        if self._token is None or scope["path"] != "/" or scope["method"] != "GET":
            return False
        return self._is_token(HTTPConnection(scope).query_params.get("token", ""))

    def _is_token(self, given: str) -> bool:
        own = (self._token or "").encode()
        return hmac.compare_digest(given.encode("utf-8", "replace"), own)


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
