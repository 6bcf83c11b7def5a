"""Print: the console, grids, JSON, and messages to standard error."""

import codecs
import io
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.errors import Message, counted, worded
from metaod.options import as_flags

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

    from metaod.tables import PreparedTable

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

# for terminals that lack a character; any other is shown as ?
_PLAIN = {"×": "x", "·": "-", "–": "-", "…": "...", "±": "+-", "≠": "!=", "→": "->", "²": "^2"}


def prepare_streams() -> None:
    """Make printing safe: no closed stream, and no error for a character that cannot be shown."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller (>&-): what is printed is lost
            setattr(sys, name, io.TextIOWrapper(io.BytesIO(), "utf-8"))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="metaod-plain")


def _replace_unknown(error: UnicodeError) -> tuple[str, int]:
    """Handle an encoding error, as :func:`codecs.register_error` describes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in unknown), error.end


codecs.register_error("metaod-plain", _replace_unknown)


def console(*, stderr: bool = False) -> "Console":
    """Return a console, as wide as the terminal, COLUMNS or else 200; markup is plain text."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # handled in main(); rich would exit with 1

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    given = is_terminal or os.environ.get("COLUMNS", "").isdecimal()
    width = shutil.get_terminal_size().columns if given else 200
    return Screen(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def width_of(out: "Console") -> int:
    """Return the width of what is read as text: of the terminal, or 80 columns."""
    return out.width if out.is_terminal else min(out.width, 80)


def visible(text: str) -> str:
    """Make control characters visible: those in a user's table could control the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shape_of(prepared: "PreparedTable") -> str:
    """Describe the name and size of a table."""
    n_rows, n_prepared = prepared.X.shape
    n_columns = len(prepared.record.columns)
    text = size_of(prepared.source, n_rows, n_columns)
    return text if n_columns == n_prepared else f"{text} ({n_prepared} after preparation)"


def grid(*headings: str, right: Sequence[str] = (), rows: Iterable[Sequence[str]] = ()) -> "Grid":
    """Return a table; the columns in `right` are right-aligned."""
    from rich import box
    from rich.table import Table as Grid

    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def print_facts(*facts: tuple[str, str]) -> None:
    """Print names with what they stand for, in two columns without headings."""
    table = grid("", "", rows=facts)
    table.show_header = False
    console().print(table)


def print_json(*documents: Any) -> None:
    """Print JSON to standard output: a document, or a list of several."""
    data = documents if len(documents) > 1 else documents[0]
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    plain = not encoding.lower().startswith("utf")  # then others are written as \\u0000
    typer.echo(json.dumps(data, indent=2, ensure_ascii=plain, allow_nan=False, default=in_words))


def in_words(text: str | Message) -> str:
    """Return a message with options as the command line takes them."""
    return worded(text, as_flags)


def print_notes(out: "Console", notes: Sequence[str | Message], warnings: Any = ()) -> None:
    """Print notes on the table, without those among the warnings."""
    for note in dict.fromkeys(notes):
        if note and note not in warnings:
            out.print(f"note: {visible(in_words(note))}")


def print_warnings(out: "Console", warnings: Sequence[str | Message]) -> None:
    """Print why the pick may be unreliable."""
    for warning in warnings:
        out.print(f"warning: {visible(in_words(warning))}", style="yellow")


def size_of(source: str, n_rows: int, n_columns: int) -> str:
    """Describe the name and size of a table."""
    return f"{visible(source)}: {counted(n_rows, 'row')} × {counted(n_columns, 'column')}"


def message(text: str) -> None:
    """Print a line to standard error."""
    print(visible(text), file=sys.stderr, flush=True)  # noqa: T201 - what it is for
