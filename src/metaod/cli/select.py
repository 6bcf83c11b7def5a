"""``metaod select``: the ranked models for a table, the explanation, and the confidence."""

import math
import re
from typing import TYPE_CHECKING, Annotated

import typer

from metaod.cli.detection import print_pick
from metaod.cli.options import Example, Files, open_tables, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import (
    Json,
    console,
    grid,
    print_json,
    print_notes,
    print_warnings,
    shape_of,
    visible,
)
from metaod.errors import counted
from metaod.options import Columns, Picking, Reading

if TYPE_CHECKING:
    from metaod.selection import Selection
    from metaod.tables import Table

Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show the full ids of the picked models.")
]

_COMMAND = "metaod select"

_OTHER_COLUMNS_WIDTH = 40  # of the ranking, beside the model
_PARAMETER = re.compile(r"\b[a-z_]+=")


@with_options
def select(
    files: Files = None,
    *,
    example: Example = False,
    top: Annotated[int, typer.Option(help="Models to show.", metavar="N", min=1)] = 10,
    verbose: Verbose = False,
    picking: Picking,
    columns: Columns,
    reading: Reading,
    json: Json = False,
) -> None:
    """Show which models would be chosen for a table, and why.

    Nothing is fitted; 'metaod detect' does that. With --json, one object for
    one table, and a list of objects for several.

    Exit codes: 0 picked; 2 an error that you can correct; 1 a defect in
    metaod; 130 interrupted.
    """
    from metaod.selection import select as select_for
    from metaod.tables import prepare

    tables = open_tables(_COMMAND, files, reading, columns, example=example)
    found = []
    for place, table in enumerate(tables):
        with ProgressLine("preparing the table") as line:
            prepared = prepare(table, **columns.given())
            selection = select_for(prepared, **picking.given(), progress=line.show)
        if json:
            found.append(selection.to_dict(top=top))
            continue
        if place:
            typer.echo()
        _print(selection, table, top, verbose=verbose)
    if json:
        print_json(*found)


def _print(selection: "Selection", table: "Table", top: int, *, verbose: bool) -> None:
    from metaod.models import member_ids
    from metaod.selection import table_notes

    out = console()
    out.print(shape_of(selection.prepared), style="bold")
    print_pick(out, selection.members)
    warnings = selection.trust.warnings
    print_notes(out, (*table.warnings, *table_notes(selection.prepared.record)), warnings)
    numbers = ("expected", "interval", "seconds")
    listing = grid("", "model", *numbers, right=("", *numbers))
    rows = selection.ranking.head(top).to_dict("records")
    models = [" + ".join(member_ids(str(row["model"]))) for row in rows]
    is_wide = max(map(len, models)) > out.width - _OTHER_COLUMNS_WIDTH
    if is_wide and not verbose:
        models = [_PARAMETER.sub("", model) for model in models]
    for rank, (row, model) in enumerate(zip(rows, models, strict=True), start=1):
        listing.add_row(
            str(rank),
            model,
            "-" if math.isnan(row["predicted"]) else f"{row['predicted']:.2f}",
            "-" if math.isnan(row["low"]) else f"{row['low']:.2f}–{row['high']:.2f}",
            "-" if math.isnan(row["seconds"]) else f"{row['seconds']:.2g}",
        )
    out.print(listing)
    hidden = len(selection.ranking) - top
    if hidden > 0:
        out.print(f"... and {counted(hidden, 'more model')}; --top shows them")
    if is_wide and not verbose:
        out.print("Parameter names are hidden; --verbose shows them.")
    if selection.passed_over:
        n_over = counted(len(selection.passed_over), "model")
        out.print(f"{n_over} left out: not allowed, too costly, or not for this table")
    out.print("\nWhy this pick", style="bold")
    explained = selection.explain()
    for line in (explained.reason(), *explained.figures()):
        out.print(visible(line))
    out.print("\nConfidence", style="bold")
    for line in selection.trust.summary().splitlines():
        out.print(line)
    print_warnings(out, warnings)
