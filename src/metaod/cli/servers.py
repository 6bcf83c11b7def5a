"""``metaod serve``, a local page, and ``metaod mcp``, tools for programs that act for a user."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from metaod.cli.options import with_options
from metaod.cli.screen import message
from metaod.errors import UserError
from metaod.options import Names, Options, option
from metaod.web import Limits

_TOKEN = re.compile("[A-Za-z0-9_-]{16,200}")


@dataclass(frozen=True, kw_only=True)
class Serving(Options):
    """The options of the page."""

    host: str = option("127.0.0.1", "Address to listen at.")
    port: int = option(8765, "Port to listen at; 0 takes a free one.", minimum=0, maximum=65535)
    open_browser: bool = option(False, "Open the page in the browser.", flags=("--open",))
    tls_cert: str | None = option(None, "Certificate in PEM: serve by HTTPS.", metavar="FILE")
    tls_key: str | None = option(None, "Key of the certificate in PEM.", metavar="FILE")
    audit: str | None = option(
        None,
        "Append uploads, downloads, answers and deletions to this file, as JSON lines without "
        "cell values.",
        metavar="FILE",
    )


@with_options
def serve(
    *,
    token: Annotated[
        str | None,
        typer.Option(
            help="Word that requests must present; by default one is generated and printed.",
            envvar="METAOD_TOKEN",
            show_envvar=True,
            metavar="WORD",
        ),
    ] = None,
    asked: Serving,
    limits: Limits,
) -> None:
    """Start a local page for the browser: choose a table, check findings, review rows, download.

    The page and its files stay on this machine: nothing is sent anywhere else.
    Uploads are deleted when they are not used any more, and when the server
    ends (Ctrl-C).
    """  # fmt: skip
    from metaod.web import PageServer

    if token is not None and not _TOKEN.fullmatch(token):
        what = (
            f"a token must be a word of 16 to 200 letters, digits, - and _; this has {len(token)}"
        )
        raise UserError(f"{what} characters", where="--token", remedy="give another, or none")

    if (asked.tls_cert is None) != (asked.tls_key is None):
        what = "a certificate and its key belong together"
        raise UserError(what, where="metaod serve", remedy="give --tls-cert and --tls-key")

    def on_start(link: str) -> None:
        message(f"MetaOD is at {link}")
        if token is None:
            message(
                f"that link is for one browser; others and programs need the token {server.token}"
            )
        message("Ctrl-C ends it and deletes all uploads")
        if asked.open_browser:
            import webbrowser

            webbrowser.open(link)

    server = PageServer(
        host=asked.host,
        port=asked.port,
        token=token,
        limits=limits,
        tls=None if asked.tls_cert is None else (asked.tls_cert, asked.tls_key or ""),
        audit=None if asked.audit is None else Path(asked.audit),
        on_start=on_start,
    )
    try:
        server.run()
    except KeyboardInterrupt:
        message("stopped; all uploads are deleted")


@dataclass(frozen=True, kw_only=True)
class Allowing(Options):
    """The options of the tools."""

    allow: Names = option(
        (), "A file that may be read, or a folder with all that is inside.", metavar="PATH"
    )
    allow_write: str | None = option(
        None,
        "The folder in which new files may be made; by default nothing is written.",
        metavar="FOLDER",
    )
    max_bytes: int = option(200_000_000, "The largest file that is read.", metavar="N", minimum=1)
    max_seconds: float = option(
        120.0,
        "The longest expected time to fit a pick; slower models are left out.",
        metavar="S",
        minimum=0.001,
    )


@with_options
def mcp(*, asked: Allowing) -> None:
    """Let an AI assistant use MetaOD (MCP server).

    The tools: inspect, select, detect, explain rows, review. The command speaks
    the Model Context Protocol (MCP) on standard input and output; a client such
    as an editor or a chat program starts it. It reads only what --allow names,
    and writes only with --allow-write. Needs
    'pip install "metaod-next[mcp]"'.
    """
    from metaod.agents import Access, serve

    if not asked.allow:
        what = "no file or folder is allowed"
        raise UserError(what, where="metaod mcp", remedy="name some with --allow PATH")
    allow_write = None if asked.allow_write is None else Path(asked.allow_write)
    access = Access.of([Path(path) for path in asked.allow], allow_write, asked.max_bytes)
    serve(access, max_seconds=asked.max_seconds)
