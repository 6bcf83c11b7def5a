"""``metaod compare``: the pick beside isolation forest and ADEngine, on labelled tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.detection import MEASURES, comparison_grid
from metaod.cli.options import Example, Files, open_tables, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_json, size_of
from metaod.errors import counted, percent
from metaod.options import Columns, Picking, Reading

if TYPE_CHECKING:
    from rich.console import Console

    from metaod.detection import Compared
    from metaod.tables import Table

_COMMAND = "metaod compare"


@with_options
def compare(
    files: Files = None,
    *,
    example: Example = False,
    trials: Annotated[
        int,
        typer.Option(help="Trials with other seeds; the figures are means.", metavar="N", min=1),
    ] = 1,
    picking: Picking,
    columns: Columns,
    reading: Reading,
    json: Json = False,
) -> None:
    """Compare MetaOD with isolation forest and PyOD's ADEngine on labelled tables.

    Name the label column with --label. All three methods score the same
    prepared table, and the label only measures them: average precision (AP),
    ROC AUC, and precision at n, the share of outliers among the n top rows of a
    table with n outliers.
    """
    from metaod.detection import compare as measure_methods

    options = {**picking.given(), **columns.given()}
    compared: list[tuple[Table, tuple[Compared, ...]]] = []
    out = console()
    for place, table in enumerate(open_tables(_COMMAND, files, reading, columns, example=example)):
        with ProgressLine("preparing the table") as line:
            rows = measure_methods(table, trials=trials, progress=line.show, **options)
        compared.append((table, rows))
        if not json:
            if place:
                out.print()
            _print(out, table, rows)
    if json:
        print_json(*(_as_data(table, rows, trials) for table, rows in compared))
    elif len(compared) > 1:
        _print_means(out, [rows for _, rows in compared])


def _as_data(table: "Table", rows: "Sequence[Compared]", trials: int) -> dict[str, Any]:
    outliers = int(table.checked_label().sum())
    size = {"rows": table.n_rows, "columns": table.n_columns, "outliers": outliers}
    methods = [row.to_dict() for row in rows]
    return {"source": table.source, **size, "trials": trials, "methods": methods}


def _print(out: "Console", table: "Table", rows: "Sequence[Compared]") -> None:
    outliers = int(table.checked_label().sum())
    share = f"{counted(outliers, 'outlier')} ({percent(outliers / table.n_rows)})"
    size = size_of(table.source, table.n_rows, table.n_columns)
    out.print(f"{size}, {share}", style="bold")
    out.print(comparison_grid(rows))


def _print_means(out: "Console", tables: "Sequence[Sequence[Compared]]") -> None:
    """Print the mean over the tables on which every method has measures."""
    whole = [rows for rows in tables if all(row.measures is not None for row in rows)]
    if not whole:
        return
    of = counted(len(whole), "table") if len(whole) == len(tables) else (
        f"the {len(whole)} of {len(tables)} tables that every method scored"
    )  # fmt: skip
    out.print(f"\nmean of {of}", style="bold")
    listing = grid("method", *MEASURES, right=MEASURES)
    for rows in zip(*whole, strict=True):
        every = zip(*(row.measures for row in rows if row.measures is not None), strict=True)
        listing.add_row(rows[0].method, *(f"{sum(own) / len(own):.3f}" for own in every))
    out.print(listing)
