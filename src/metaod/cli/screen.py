"""Print: the console, grids, JSON, and messages to standard error."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    from metaod.tables import PreparedTable

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder that holds datasets already.", metavar="DIR")
]

_LONG_SECONDS = 3.0


def console(*, stderr: bool = False) -> "Console":
    """Return a console, 200 columns wide for a pipe; markup and emoji codes are plain text."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # handled in main(); rich would exit with 1

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = shutil.get_terminal_size().columns if is_terminal else 200
    return Screen(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def visible(text: str) -> str:
    """Make control characters visible: those in a user's table could control the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(number: int, thing: str) -> str:
    """Return the number with the noun, as '1 row' or '2 rows'."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def shape_of(prepared: "PreparedTable") -> str:
    """Describe the name and size of a table."""
    n_rows, n_prepared = prepared.X.shape
    n_columns = len(prepared.record.columns)
    text = f"{visible(prepared.source)}: {counted(n_rows, 'row')} × {counted(n_columns, 'column')}"
    return text if n_columns == n_prepared else f"{text} ({n_prepared} after preparation)"


def grid(*headings: str, right: tuple[str, ...] = ()) -> "Grid":
    """Return an empty table; the columns in `right` are right-aligned."""
    from rich import box
    from rich.table import Table as Grid

    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return table


def print_json(data: Any) -> None:
    """Print JSON to standard output."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def message(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - what it is for


@contextmanager
def message_if_long(text: str) -> Iterator[None]:
    """Print a message if the work takes longer than 3 s; on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    timer = Timer(_LONG_SECONDS, message, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
