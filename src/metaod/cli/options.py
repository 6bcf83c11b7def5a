"""Options that several commands share, for reading tables and picking models."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod.cli.progress import ProgressLine
from metaod.cli.screen import message
from metaod.errors import BadFile, UserError

if TYPE_CHECKING:
    from metaod.tables import Table

_FORMATS = "CSV, TSV, Parquet, ARFF, MAT, NPY, NPZ, XLSX; - is stdin."
File = Annotated[str | None, typer.Argument(help=f"Table: {_FORMATS}")]
Files = Annotated[list[str] | None, typer.Argument(help=f"Tables: {_FORMATS}", metavar="FILE")]
Example = Annotated[bool, typer.Option("--example", help="Use the bundled example.")]
_LEARNER = (
    "The learner that picks: default, a name that 'metaod learners' lists, or a file that "
    "'metaod train' wrote."
)
Learner = Annotated[str, typer.Option(help=_LEARNER, metavar="NAME")]

# measured: 12 MB of dates and amounts of money in a second, 90 MB of plain numbers
_BYTES_PER_SECOND = {".csv": 2e7, ".tsv": 2e7, ".txt": 2e7, ".data": 2e7, ".xlsx": 1e6}

Group = Mapping[str, tuple[Any, Any]]  # options by name: annotation and default


def _option(kind: Any, text: str, *flags: str, default: Any = None, **settings: Any) -> Any:
    return Annotated[kind, typer.Option(*flags, help=text, **settings)], default


_reading = functools.partial(_option, rich_help_panel="Reading the table")
_columns = functools.partial(_option, rich_help_panel="Columns", metavar="COLUMN")
_picking = functools.partial(_option, rich_help_panel="Picking the model")

READING: Group = {  # of metaod.read_table
    "label": _reading(
        str | None,
        "Column (or array) that marks outliers; it only measures the pick.",
        metavar="NAME",
    ),
    "delimiter": _reading(
        str | None, "Field delimiter of text files; detected by default.", metavar="C"
    ),
    "encoding": _reading(str | None, "Text encoding; detected by default.", metavar="NAME"),
    "decimal": _reading(str | None, "Decimal mark, '.' or ','; detected by default.", metavar="C"),
    "na": _reading(
        list[str] | None, "A further word for a missing value; repeatable.", metavar="WORD"
    ),
    "header": _reading(
        bool | None,
        "Whether the first line names the columns; detected by default.",
        "--header/--no-header",
        show_default=False,
    ),
    "text": _reading(list[str] | None, "Read this column as text; repeatable.", metavar="COLUMN"),
    "dayfirst": _reading(
        bool | None,
        "Whether dates such as 03/04/2024 begin with the day, if their column does not tell.",
        "--dayfirst/--monthfirst",
        show_default=False,
    ),
    "bad_values": _reading(
        str | None,
        "What to do with other values in a column of numbers or dates: error (the default), "
        "missing, or text (the column is read as text). In chunks (--stream), a value outside the "
        "sample is missing by default, and text refuses it.",
        metavar="KIND",
    ),
    "skip_rows": _reading(
        int | None,
        "Lines to skip above the table; titles are detected by default.",
        metavar="N",
        min=0,
    ),
    "skip_footer": _reading(
        int | None, "Rows to skip below the table, such as totals.", metavar="N", min=0
    ),
    "sheet": _reading(
        str | None, "Sheet of an XLSX workbook: its name, or its number from 0.", metavar="NAME"
    ),
    "variable": _reading(str | None, "Array to take from a .mat or .npz file.", metavar="NAME"),
    "max_bytes": _reading(
        int | None, "Most memory that the file may take; 8 GiB by default.", metavar="N", min=1
    ),
}

COLUMNS: Group = {  # of metaod.Preparation
    "ignore": _columns(list[str] | None, "Do not use this column; repeatable."),
    "only": _columns(list[str] | None, "Use only this column; repeatable."),
    "id": _columns(
        list[str] | None, "This column names the rows: shown first and not used; repeatable."
    ),
    "category": _columns(
        list[str] | None, "The numbers of this column are names, as codes are; repeatable."
    ),
    "date": _columns(
        list[str] | None,
        "This column holds dates, also as 20240131 or seconds since 1970; dates are not used; "
        "repeatable.",
    ),
    "time": _columns(
        list[str] | None,
        "Use the time of this date column: rows of a later time are then unusual; repeatable.",
    ),
}

PICKING: Group = {  # of metaod.select
    "learner": _picking(str, _LEARNER, default="default", metavar="NAME"),
    "pick": _picking(
        str | None,
        "committee: a fixed average of seven models (the default); learned: the learner picks a "
        "model or an average of a few; learned-single: it picks one model.",
        metavar="KIND",
    ),
    "exclude": _picking(
        list[str] | None, "Do not pick this family or model; repeatable.", metavar="MODEL"
    ),
    "space": _picking(
        list[str] | None, "Pick only from this space, family or model; repeatable.", metavar="MODEL"
    ),
    "max_seconds": _picking(
        float | None, "Pick only models expected to fit in this time.", metavar="S"
    ),
    "seed": _picking(
        int, "Seed of all random parts.", default=0, metavar="N", min=0, max=2**32 - 1
    ),
}


def grouped_options(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's parameter by a group of options; it gets their values as a dict."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = []
        for own in inspect.signature(command).parameters.values():
            parameters += [
                inspect.Parameter(name, own.KEYWORD_ONLY, default=default, annotation=annotation)
                for name, (annotation, default) in groups.get(own.name, {}).items()
            ] or [own]

        @functools.wraps(command)
        def run(*args: Any, **given: Any) -> None:
            values = {
                group: {name: given.pop(name, default) for name, (_, default) in options.items()}
                for group, options in groups.items()
            }
            command(*args, **given, **values)

        del run.__wrapped__  # typer would read its parameters
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # mypy does not know it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def open_table(
    command: str,
    file: str | None,
    reading: Mapping[str, Any],
    columns: Mapping[str, Any],
    *,
    example: bool,
) -> "Table":
    """Read the file or the bundled example; options that are None keep their default."""
    from metaod.tables import Roles, load_example, read_table

    given = {name: value for name, value in reading.items() if value is not None}
    if file is None and not example:
        raise UserError("no FILE was given", where=command, remedy="name one, or use --example")
    if example and (file is not None or given):
        extra = "FILE" if file is not None else f"--{next(iter(given)).replace('_', '-')}"
        what = f"{extra} cannot be used with --example"
        raise UserError(what, where=command, remedy="leave one of them out")
    if file is None:
        return load_example()
    sheet = given.get("sheet")
    if isinstance(sheet, str) and sheet.isdecimal():
        given["sheet"] = int(sheet)
    with ProgressLine("reading the table", seconds=_reading_seconds(file)):
        return read_table(file, **given, unused=Roles.of(columns).is_unused)


def open_tables(
    command: str,
    files: Sequence[str] | None,
    reading: Mapping[str, Any],
    columns: Mapping[str, Any],
    *,
    example: bool,
) -> Iterator["Table"]:
    """Read several tables one after another; all files must exist before the first is read."""
    check_files(command, files)
    named: Sequence[str | None] = files or [None]
    return (open_table(command, file, reading, columns, example=example) for file in named)


def check_files(command: str, files: Sequence[str] | None) -> None:
    """Refuse several tables of which one is standard input or does not exist."""
    named = files or []
    if len(named) > 1 and "-" in named:
        what = "stdin (-) cannot be read together with other files"
        raise UserError(what, where=command, remedy="give it alone")
    for file in named if len(named) > 1 else ():
        if not Path(str(file)).expanduser().exists():
            raise BadFile(str(file), "there is no such file", remedy="check the path")


def selection_options(picking: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of :func:`metaod.select` from the values of the group PICKING."""
    options = {**picking, "random_state": picking["seed"]}
    del options["seed"]
    for name in ("exclude", "space"):
        given = picking[name] or [None]
        options[name] = given[0] if len(given) == 1 else list(given)  # one may name a model space
    return options


def _reading_seconds(file: str) -> float | None:
    """Return the expected time to read a file of text or a workbook; None if it is not known."""
    path = Path(file).expanduser()
    speed = _BYTES_PER_SECOND.get(path.suffix.lower())
    return path.stat().st_size / speed if speed and path.is_file() else None


@contextmanager
def picking_progress(learner: str) -> Iterator[ProgressLine]:
    """Say that a learner is trained first, and show how far picking and fitting have come."""
    from metaod.history import will_train

    if will_train(learner):
        message(f"training {learner} on the shipped performance matrix (once; it is cached)")
    with ProgressLine("preparing the table") as line:
        yield line
