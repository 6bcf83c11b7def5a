"""``metaod inspect``: the columns of a table and their preparation."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.options import Example, File, open_table, with_options
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import Json, console, grid, print_json, print_notes, size_of, visible
from metaod.errors import counted
from metaod.options import Columns, Reading

if TYPE_CHECKING:
    from metaod.tables import PreparedTable, Table

_MOST_COLUMNS = 40


@with_options
def inspect(
    file: File = None,
    *,
    example: Example = False,
    columns: Columns,
    reading: Reading,
    all_columns: Annotated[
        bool, typer.Option("--all", help=f"Show every column, not only the first {_MOST_COLUMNS}.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a table's columns, their types and roles, and what preparation will do to each."""
    from metaod.tables import prepare

    table = open_table("metaod inspect", file, reading, columns, example=example)
    with ProgressLine("preparing the table"):
        prepared = prepare(table, **columns.given())
    if json:
        print_json(_as_data(table, prepared))
    else:
        _print(table, prepared, most=None if all_columns else _MOST_COLUMNS)


def _warnings(table: "Table", prepared: "PreparedTable") -> list[str]:
    return [*table.warnings, *prepared.record.messages]


def _as_data(table: "Table", prepared: "PreparedTable") -> dict[str, Any]:
    return {
        "source": table.source,
        "rows": table.n_rows,
        "columns": table.n_columns,
        "outliers": None if table.label is None else int(table.label.sum()),
        "prepared_columns": list(prepared.names),
        "record": prepared.record.to_dict(),
        "warnings": _warnings(table, prepared),
    }


def _print(table: "Table", prepared: "PreparedTable", *, most: int | None) -> None:
    out = console()
    out.print(size_of(table), style="bold")
    if table.label is not None:
        outliers = f"{counted(int(table.label.sum()), 'outlier')} ({table.label.mean():.1%})"
        out.print(f"label (not used for picking): {outliers}")
    shown = prepared.record.columns[:most]
    listing = grid("column", "type", "role", "missing", "preparation", right=("missing",))
    for column in shown:
        name, done = visible(column.name), visible(column.description())
        listing.add_row(name, column.kind, column.role, str(column.n_missing or ""), done)
    out.print(listing)
    hidden = len(prepared.record.columns) - len(shown)
    if hidden:
        out.print(f"... and {counted(hidden, 'more column')}; --all shows them")
    rows, columns = prepared.X.shape
    evidence = ", ".join(map(repr, prepared.record.evidence))
    with_evidence = f", with {evidence} of all columns" if evidence else ""
    size = f"{counted(rows, 'row')} × {counted(columns, 'numeric column')}"
    out.print(f"prepared: {size}{with_evidence}")
    print_notes(out, _warnings(table, prepared))
