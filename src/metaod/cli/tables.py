"""How the commands read their table: the options they share, and what is behind them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.errors import UserError

if TYPE_CHECKING:
    from metaod.tables import Table

__all__ = [
    "Decimal",
    "Delimiter",
    "Encoding",
    "Example",
    "File",
    "Header",
    "Label",
    "MaxBytes",
    "MissingWords",
    "Sheet",
    "TextColumns",
    "Variable",
    "open_table",
]

File = Annotated[
    str | None,
    typer.Argument(help="Table: CSV, TSV, Parquet, ARFF, MAT, NPY, NPZ, XLSX; - is stdin."),
]
Example = Annotated[bool, typer.Option("--example", help="Use the bundled example.")]
Label = Annotated[
    str | None,
    typer.Option(help="Label column (or array), kept for evaluation alone.", metavar="NAME"),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Field delimiter of text files; found by looking.", metavar="C")
]
Encoding = Annotated[
    str | None, typer.Option(help="Text encoding; found by looking.", metavar="NAME")
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal mark, '.' or ','; found by looking.", metavar="C")
]
MissingWords = Annotated[
    list[str] | None,
    typer.Option("--na", help="A further word for a missing value; repeatable.", metavar="WORD"),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; found by looking.",
        show_default=False,
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text", help="Take this column as text; repeatable.", metavar="COLUMN"),
]
Sheet = Annotated[
    str | None,
    typer.Option(help="Sheet of an XLSX workbook: its name, or its number from 0.", metavar="NAME"),
]
Variable = Annotated[
    str | None, typer.Option(help="Array to take from a .mat or .npz file.", metavar="NAME")
]
MaxBytes = Annotated[
    int | None,
    typer.Option(help="The most memory that the file may claim; 8 GiB.", metavar="N", min=1),
]


def open_table(command: str, file: str | None, *, example: bool, **options: Any) -> "Table":
    """Read the table that a command was given, or the bundled example.

    Parameters
    ----------
    command : str
        The command, as errors name it.
    file : str or None
        A path, or ``-``; None with `example`.
    example : bool
        Whether the bundled example is meant.
    **options
        Options of :func:`metaod.read_table`; those that are None are left to it.
    """
    from metaod.tables import load_example, read_table

    given = {name: value for name, value in options.items() if value is not None}
    if file is None and not example:
        raise UserError("no FILE was given", where=command, remedy="name one, or say --example")
    if example and (file is not None or given):
        extra = "FILE" if file is not None else f"--{next(iter(given)).replace('_', '-')}"
        raise UserError(
            f"{extra} makes no sense with --example", where=command, remedy="leave one of them out"
        )
    if file is None:
        return load_example()
    sheet = given.get("sheet")
    if isinstance(sheet, str) and sheet.isdecimal():
        given["sheet"] = int(sheet)
    return read_table(file, **given)
