"""What the commands that pick a model share: their options, their tables, their screens."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.screen import console, counted, grid, visible
from metaod.cli.tables import open_table
from metaod.cli.waiting import not_silent, tell
from metaod.errors import BadFile, BadParameter, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.selection import Selection
    from metaod.tables import Table

__all__ = [
    "Exclude",
    "Files",
    "Learner",
    "MaxSeconds",
    "Pick",
    "Seed",
    "Space",
    "message_screen",
    "one_or_several",
    "open_tables",
    "picking",
    "print_notes",
    "print_pick",
    "print_trust",
]

Files = Annotated[
    list[str] | None,
    typer.Argument(
        help="Tables: CSV, TSV, Parquet, ARFF, MAT, NPY, NPZ, XLSX; - is stdin.", metavar="FILE"
    ),
]
Learner = Annotated[
    str,
    typer.Option(
        help="Who picks: default, the name of a learner, or an artifact's file.", metavar="NAME"
    ),
]
Pick = Annotated[
    str | None,
    typer.Option(
        help="ensemble: models and averages of a few; single: one model alone.",
        metavar="KIND",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(help="A family or model not to be picked; repeatable.", metavar="MODEL"),
]
Space = Annotated[
    list[str] | None,
    typer.Option(
        help="Pick among these only: a space, a family or a model; repeatable.", metavar="MODEL"
    ),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(help="Only models expected to take no longer to fit.", metavar="S"),
]
Seed = Annotated[
    int, typer.Option(help="Seed of all that is random.", metavar="N", min=0, max=2**32 - 1)
]

_OPTIONS = {"random_state": "--seed"}
_WORKING = "working; the first run after an installation compiles, for up to a minute"


def open_tables(
    command: str, files: Sequence[str] | None, *, example: bool, **options: Any
) -> Iterator["Table"]:
    """Read the tables that a command was given, one after another; all must be there."""
    named: Sequence[str | None] = files or [None]
    if len(named) > 1 and "-" in named:
        raise UserError(
            "stdin (-) makes no sense beside other files", where=command, remedy="give it alone"
        )
    for file in named if len(named) > 1 else ():
        if not Path(str(file)).expanduser().exists():
            raise BadFile(str(file), "there is no such file", remedy="check the path")
    return (open_table(command, file, example=example, **options) for file in named)


@contextmanager
def picking(command: str, learner: str) -> Iterator[None]:
    """While a command picks: its own names in errors, and a word where it takes long."""
    from metaod.history import will_train

    if will_train(learner):
        tell(f"training {learner} on the shipped performance matrix, once; it is kept")
    try:
        with not_silent(_WORKING):
            yield
    except BadParameter as error:
        if error.owner not in ("select", "MetaOD"):
            raise
        option = _OPTIONS.get(error.name, f"--{error.name.replace('_', '-')}")
        legal, got, remedy = error.legal, error.got, error.remedy
        raise BadParameter(command, option, legal, got, remedy=remedy) from error


def one_or_several(given: Sequence[str] | None) -> str | list[str] | None:
    """Options as :func:`metaod.select` takes them: the name of a space may only stand alone."""
    if not given:
        return None
    return given[0] if len(given) == 1 else list(given)


def message_screen(*, beside_output: bool) -> "Console":
    """Where a command tells what it does: stderr where its output goes to stdout."""
    out = console()
    if beside_output:
        out.stderr = True
        if sys.stderr.isatty():
            out.width = shutil.get_terminal_size().columns
    return out


def print_pick(out: "Console", selection: "Selection") -> None:
    """Which table, and what was picked for it."""
    n_rows, n_columns = selection.prepared.X.shape
    source = visible(selection.prepared.source)
    shape = f"{counted(n_rows, 'row')} × {counted(n_columns, 'prepared column')}"
    out.print(f"{source}: {shape}", style="bold")
    members = selection.members
    if len(members) == 1:
        out.print(f"pick: {members[0]}")
        return
    out.print(f"pick: the average of {len(members)} models")
    listing = grid("model")
    for name in members:
        listing.add_row(name)
    out.print(listing)


def print_trust(out: "Console", selection: "Selection") -> None:
    """How sure the pick is; warnings stand out."""
    for line in str(selection.trust).splitlines():
        out.print(visible(line), style="yellow" if line.startswith("Warning") else None)


def print_notes(out: "Console", notes: Sequence[str], selection: "Selection | None" = None) -> None:
    """What the user should know; what the trust in the pick warns of is said there."""
    said = () if selection is None else selection.trust.warnings
    for note in notes:
        if note not in said:
            out.print(f"note: {visible(note)}", style="yellow")
