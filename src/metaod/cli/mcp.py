"""``metaod mcp``: tools for programs that act for a user, over the protocol MCP."""

from pathlib import Path
from typing import Annotated

import typer

from metaod.errors import UserError


def mcp(
    *,
    allow: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file that may be read, or a folder with all that is inside; repeatable.",
            metavar="PATH",
        ),
    ] = None,
    allow_write: Annotated[
        Path | None,
        typer.Option(
            help="The folder in which new files may be made; by default nothing is written.",
            metavar="FOLDER",
        ),
    ] = None,
    max_bytes: Annotated[
        int, typer.Option(help="The largest file that is read.", metavar="N", min=1)
    ] = 200_000_000,
    max_seconds: Annotated[
        float,
        typer.Option(
            help="The longest expected time to fit a pick; slower models are left out.",
            metavar="S",
            min=0.001,
        ),
    ] = 120.0,
) -> None:
    """Serve tools to an assistant: inspect, select, detect, explain rows, review.

    Speaks the Model Context Protocol (MCP) on standard input and output; a
    client such as an editor or a chat program starts this command. It reads
    only what --allow names, and writes only with --allow-write. Needs
    'pip install "metaod-next[mcp]"'.
    """
    from metaod.agents import Access, serve

    if not allow:
        what = "no file or folder is allowed"
        raise UserError(what, where="metaod mcp", remedy="name some with --allow PATH")
    serve(Access.of(allow, allow_write, max_bytes), max_seconds=max_seconds)
