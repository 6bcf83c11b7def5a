"""``metaod select``: the ranked models for a table, why, and how sure."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.picking import (
    Exclude,
    Files,
    Learner,
    MaxSeconds,
    Pick,
    Seed,
    Space,
    one_or_several,
    open_tables,
    picking,
    print_notes,
    print_pick,
    print_trust,
)
from metaod.cli.screen import Json, console, counted, grid, print_json, visible
from metaod.cli.tables import (
    Decimal,
    Delimiter,
    Encoding,
    Example,
    Header,
    Label,
    MaxBytes,
    MissingWords,
    Sheet,
    TextColumns,
    Variable,
)

if TYPE_CHECKING:
    from metaod.selection import Selection
    from metaod.tables import Table

__all__ = ["select"]

_COMMAND = "metaod select"

_BESIDE = 40
"""Width of the ranking's columns beside the model."""


def select(
    files: Files = None,
    *,
    example: Example = False,
    top: Annotated[int, typer.Option(help="Models to show.", metavar="N", min=1)] = 10,
    learner: Learner = "default",
    pick: Pick = None,
    exclude: Exclude = None,
    space: Space = None,
    max_seconds: MaxSeconds = None,
    seed: Seed = 0,
    label: Label = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: MissingWords = None,
    header: Header = None,
    text: TextColumns = None,
    sheet: Sheet = None,
    variable: Variable = None,
    max_bytes: MaxBytes = None,
    json: Json = False,
) -> None:
    """Pick a model for a table without labels: the ranking, why, and how sure.

    Nothing is fitted; 'metaod detect' does that. With --json, one object for
    one table, and a list of objects for several.

    Exit codes: 0 picked; 2 something to mend, said in one line; 1 a defect of
    ours; 130 interrupted.

    Examples:  metaod select table.csv  ·  metaod select t.csv --exclude ABOD
    """
    from metaod.selection import select as select_for

    options: dict[str, Any] = {
        "learner": learner,
        "pick": pick,
        "exclude": one_or_several(exclude),
        "space": one_or_several(space),
        "max_seconds": max_seconds,
        "random_state": seed,
    }
    tables = open_tables(
        _COMMAND, files, example=example, label=label, delimiter=delimiter,
        encoding=encoding, decimal=decimal, na=na, header=header, text=text, sheet=sheet,
        variable=variable, max_bytes=max_bytes,
    )  # fmt: skip
    found = []
    for place, table in enumerate(tables):
        with picking(_COMMAND, learner):
            selection = select_for(table, **options)
        if json:
            found.append(selection.to_dict(top=top))
            continue
        if place:
            typer.echo()
        _print(selection, table, top)
    if json:
        print_json(found if files and len(files) > 1 else found[0])


def _print(selection: "Selection", table: "Table", top: int) -> None:
    from metaod.selection import table_notes

    out = console()
    print_pick(out, selection)
    print_notes(out, (*table.warnings, *table_notes(selection.prepared.record)), selection)
    listing = grid(
        "",
        "model",
        "expected",
        "interval",
        "seconds",
        right=("", "expected", "interval", "seconds"),
    )
    for rank, row in enumerate(selection.ranking.head(top).to_dict("records"), start=1):
        listing.add_row(
            str(rank),
            _model(str(row["model"]), out.width),
            _shown(row["predicted"]),
            "-" if math.isnan(row["low"]) else f"{row['low']:.2f}–{row['high']:.2f}",
            "-" if math.isnan(row["seconds"]) else f"{row['seconds']:.2g}",
        )
    out.print(listing)
    hidden = len(selection.ranking) - top
    if hidden > 0:
        out.print(f"... and {counted(hidden, 'more model')}; --top shows them")
    if selection.passed_over:
        n_over = counted(len(selection.passed_over), "model")
        out.print(f"{n_over} may not be picked: not asked for, too costly or not for this table")
    out.print("\nwhy", style="bold")
    for line in str(selection.explain()).splitlines():
        out.print(visible(line))
    out.print("\nhow sure", style="bold")
    print_trust(out, selection)


def _model(model: str, width: int) -> str:
    """A model as the ranking shows it: of a long average, one member a line."""
    from metaod.models import member_ids, title_of

    title = title_of(model)
    return title if len(title) <= width - _BESIDE else " +\n".join(member_ids(model))


def _shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
