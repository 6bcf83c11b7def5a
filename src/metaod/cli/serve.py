"""``metaod serve``: a local page to find and review outliers."""

import re
from typing import Annotated

import typer

from metaod.cli.screen import message
from metaod.errors import UserError

_TOKEN = re.compile("[A-Za-z0-9_-]{16,200}")


def serve(
    *,
    host: Annotated[
        str,
        typer.Option(help="Address to listen at; one that is not local needs a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen at; 0 takes a free one.", min=0, max=65535)
    ] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            help="Word that requests must present; made up for addresses that are not local.",
            envvar="METAOD_TOKEN",
            show_envvar=True,
            metavar="WORD",
        ),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    max_mb: Annotated[int, typer.Option(help="Largest upload in MB.", min=1)] = 200,
    max_rows: Annotated[int, typer.Option(help="Most rows of a table.", min=1)] = 1_000_000,
    max_columns: Annotated[int, typer.Option(help="Most columns of a table.", min=1)] = 2_000,
    max_minutes: Annotated[float, typer.Option(help="Longest time of a job.", min=0.01)] = 30.0,
    max_jobs: Annotated[int, typer.Option(help="Most jobs at the same time.", min=1)] = 2,
    max_tables: Annotated[int, typer.Option(help="Most tables at the same time.", min=1)] = 8,
    keep_minutes: Annotated[
        float, typer.Option(help="Delete a table that is unused for so long.", min=0.01)
    ] = 60.0,
) -> None:
    """Open a local page: drop a table, find its outliers, review them, download the result.

    The page and its files stay on this machine: nothing is sent anywhere else.
    Uploads are deleted when they are not used any more, and when the server
    ends (Ctrl-C).
    """  # fmt: skip
    from metaod.web import Limits, PageServer

    if token is not None and not _TOKEN.fullmatch(token):
        what = (
            f"a token must be a word of 16 to 200 letters, digits, - and _; this has {len(token)}"
        )
        raise UserError(f"{what} characters", where="--token", remedy="give another, or none")

    def on_start(link: str) -> None:
        message(f"MetaOD is at {link}")
        message("Ctrl-C ends it and deletes all uploads")
        if open_browser:
            import webbrowser

            webbrowser.open(link)

    limits = Limits(
        upload_bytes=max_mb * 2**20,
        rows=max_rows,
        columns=max_columns,
        seconds=60 * max_minutes,
        jobs=max_jobs,
        tables=max_tables,
        idle_seconds=60 * keep_minutes,
    )
    try:
        PageServer(host=host, port=port, token=token, limits=limits, on_start=on_start).run()
    except KeyboardInterrupt:
        message("stopped; all uploads are deleted")
