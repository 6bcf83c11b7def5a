"""What the commands print with: the console, grids, JSON, and messages to standard error."""

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

__all__ = [
    "DataDir",
    "Json",
    "console",
    "counted",
    "grid",
    "message",
    "message_if_long",
    "print_json",
    "shape_of",
    "visible",
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder that holds datasets already.", metavar="DIR")
]

_LONG_SECONDS = 3.0
"""Time after which :func:`message_if_long` prints its message."""


def console(*, stderr: bool = False) -> "Console":
    """Standard output, or standard error for a command whose output goes to standard output.

    A pipe is taken as 200 columns wide. Markup and emoji codes are printed as they are, as tables
    may hold both.
    """
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            # rich would exit with 1; a reader that has seen enough is no error, see main()
            raise BrokenPipeError

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = shutil.get_terminal_size().columns if is_terminal else 200
    return Screen(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def visible(text: str) -> str:
    """Make control characters visible: those in a user's table could control the terminal.

    Examples
    --------
    >>> print(visible("a" + chr(27) + "[31m"))
    a\\x1b[31m
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(number: int, thing: str) -> str:
    """Number and noun, in the plural where due.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def shape_of(prepared: "PreparedTable") -> str:
    """Name and size of a table, as the first line of a command's output."""
    n_rows, n_prepared = prepared.X.shape
    n_columns = len(prepared.record.columns)
    text = f"{visible(prepared.source)}: {counted(n_rows, 'row')} × {counted(n_columns, 'column')}"
    return text if n_columns == n_prepared else f"{text} ({n_prepared} after preparation)"


def grid(*headings: str, right: tuple[str, ...] = ()) -> "Grid":
    """Make an empty table in the style of all commands; the named columns are right-aligned."""
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
