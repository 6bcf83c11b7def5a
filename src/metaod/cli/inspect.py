"""``metaod inspect``: what a table holds and what preparation will make of it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.screen import Json, console, grid, print_json, visible
from metaod.cli.tables import (
    Decimal,
    Delimiter,
    Encoding,
    Example,
    File,
    Header,
    Label,
    MaxBytes,
    MissingWords,
    Sheet,
    TextColumns,
    Variable,
    open_table,
)

if TYPE_CHECKING:
    from metaod.tables import PreparedTable, Table

__all__ = ["inspect"]

_MOST_COLUMNS = 40


def inspect(
    file: File = None,
    *,
    example: Example = False,
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
    all_columns: Annotated[
        bool, typer.Option("--all", help=f"Show every column, not the first {_MOST_COLUMNS}.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a table's columns, their types, and what preparation will do to each.

    Examples:  metaod inspect table.csv  ·  metaod inspect t.csv --label fraud --decimal ,
    """
    from metaod.tables import prepare

    table = open_table(
        "metaod inspect", file, example=example, label=label, delimiter=delimiter,
        encoding=encoding, decimal=decimal, na=na, header=header, text=text, sheet=sheet,
        variable=variable, max_bytes=max_bytes,
    )  # fmt: skip
    prepared = prepare(table)
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
    out.print(
        f"{visible(table.source)}: {table.n_rows} rows × {table.n_columns} columns", style="bold"
    )
    if table.label is not None:
        out.print(
            f"label set apart, for evaluation alone: {int(table.label.sum())} outliers "
            f"({table.label.mean():.1%})"
        )
    shown = prepared.record.columns[:most]
    listing = grid("column", "type", "missing", "preparation", right=("missing",))
    for column in shown:
        listing.add_row(
            visible(column.name), column.kind, str(column.n_missing or ""), visible(column.deed())
        )
    out.print(listing)
    hidden = len(prepared.record.columns) - len(shown)
    if hidden:
        out.print(f"... and {hidden} more columns; --all shows them")
    out.print(f"prepared: {prepared.X.shape[0]} rows × {prepared.X.shape[1]} numeric columns")
    for warning in _warnings(table, prepared):
        out.print(f"warning: {visible(warning)}", style="yellow")
