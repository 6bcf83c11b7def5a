"""What the commands share: the screen they print to."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

__all__ = [
    "DataDir",
    "Json",
    "console",
    "counted",
    "grid",
    "print_json",
    "visible",
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
DataDir = Annotated[
    Path | None, typer.Option(help="Folder that holds datasets already.", metavar="DIR")
]


def console() -> "Console":
    """Standard output; wide when it is a pipe, so that nothing is cut for a screen not there.

    What is printed is shown as it is: no markup, no emoji codes, as tables hold both.
    """
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            # rich would exit with 1; a reader that has seen enough is no error, see main()
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else 200
    return Screen(width=width, highlight=False, markup=False, emoji=False)


def visible(text: str) -> str:
    """Text of a user's table, with control characters made visible: they could steer a terminal.

    Examples
    --------
    >>> print(visible("a" + chr(27) + "[31m"))
    a\\x1b[31m
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def counted(number: int, thing: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def grid(*headings: str, right: tuple[str, ...] = ()) -> "Grid":
    """An empty table in the one style of all commands; the named columns are right-aligned."""
    from rich import box
    from rich.table import Table as Grid

    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return table


def print_json(data: Any) -> None:
    """Print JSON to standard output."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
