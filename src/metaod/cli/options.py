"""Options of commands, made from their declarations, and the tables that they name."""

import inspect
import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metaod._files import expanded
from metaod.cli.progress import ProgressLine
from metaod.cli.screen import message
from metaod.errors import BadFile, UserError
from metaod.options import Columns, Option, Options, Picking, Reading, command_words

if TYPE_CHECKING:
    from metaod.tables import Table

_FORMATS = "CSV, Parquet, XLSX, XLS, ODS, JSON, SQLite, DuckDB, ARFF, MAT, NPY, URL; - is stdin."
TABLES = f"Tables: {_FORMATS}"
File = Annotated[str | None, typer.Argument(help=f"Table: {_FORMATS}")]
Files = Annotated[list[str] | None, typer.Argument(help=TABLES, metavar="FILE")]
Example = Annotated[bool, typer.Option("--example", help="Use the bundled example.")]
Learner = Annotated[str, typer.Option(help=Picking.declared()["learner"].help, metavar="NAME")]

_PATIENCE_SECONDS = 1.0  # with a named pipe, in silence
# measured: 12 MB of dates and amounts of money in a second, 90 MB of plain numbers
_BYTES_PER_SECOND = {".csv": 2e7, ".tsv": 2e7, ".txt": 2e7, ".data": 2e7, ".xlsx": 1e6}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace parameters of a command that are groups of options by these options."""
    own = inspect.signature(command)
    groups: dict[str, type[Options]] = {
        name: parameter.annotation
        for name, parameter in own.parameters.items()
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Options)
    }
    parameters = []
    for name, parameter in own.parameters.items():
        group = groups.get(name)
        parameters += [parameter] if group is None else _parameters(group)

    def run(**given: Any) -> None:
        for name, kind in groups.items():
            values = {own.name: given.pop(own.name) for own in _parameters(kind)}
            known = {own: value for own, value in values.items() if value is not None}
            given[name] = kind(**known).checked(f"metaod {command.__name__}")
        command(**given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # mypy does not know it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(group: type[Options]) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if option.default == () else option.default,
            annotation=Annotated[_type(option), _typer_option(option, group.title)],
        )
        for name, option in group.offered().items()
    ]


def _type(option: Option) -> Any:
    kinds = [kind for kind in (bool, str, int, float) if kind in option.types]
    kind: Any = list[str] if option.is_many else str if option.values or not kinds else kinds[0]
    return kind | None if option.default in (None, ()) else kind


def _typer_option(option: Option, panel: str) -> Any:
    flags = option.flags or (f"--{option.name.replace('_', '-')}",)
    is_switch = len(flags) == 2 and flags[1].startswith("--")
    return typer.Option(
        *(["/".join(flags)] if is_switch else flags),
        help=f"{option.help[:-1]}; repeatable." if option.is_many else option.help,
        metavar=option.metavar or None,
        rich_help_panel=panel or None,
        min=option.minimum,
        max=option.maximum,
    )


def open_table(
    command: str, file: str | None, reading: Reading, columns: Columns, *, example: bool
) -> "Table":
    """Read the file or the bundled example."""
    from metaod.tables import Roles, load_example, read_table

    given = reading.given()
    if file is None and not example:
        raise UserError("no FILE was given", where=command, remedy="name one, or use --example")
    if example and (file is not None or given):
        extra = "FILE" if file is not None else command_words(next(iter(given)))[0]
        what = f"{extra} cannot be used with --example"
        raise UserError(what, where=command, remedy="leave one of them out")
    if file is None:
        return load_example()
    with (
        _opened_pipe(file) as source,
        ProgressLine("reading the table", seconds=_reading_seconds(file)),
    ):
        return read_table(source, **given, unused=Roles.of(vars(columns)).is_unused)


def open_tables(
    command: str, files: Sequence[str] | None, reading: Reading, columns: Columns, *, example: bool
) -> Iterator["Table"]:
    """Read several tables one after another; all files must exist before the first is read."""
    named = named_files(command, files)
    return (open_table(command, file, reading, columns, example=example) for file in named)


def named_files(command: str, files: Sequence[str] | None) -> list[str | None]:
    """Return the files, or None alone; refuse several of which one is stdin or does not exist."""
    from metaod.tables import pattern_files

    if files is None or len(files) < 2:
        return [*files] if files else [None]
    if "-" in files:
        what = "stdin (-) cannot be read together with other files"
        raise UserError(what, where=command, remedy="give it alone")
    for file in files:
        if not (expanded(file).exists() or pattern_files(file) or "://" in file):
            raise BadFile(file, "there is no such file", remedy="check the path")
    return [*files]


def _reading_seconds(file: str) -> float | None:
    """Return the expected time to read a file of text or a workbook; None if it is not known."""
    path = expanded(file)
    speed = _BYTES_PER_SECOND.get(path.suffix.lower())
    return path.stat().st_size / speed if speed and path.is_file() else None


def _opened_pipe(file: str) -> AbstractContextManager[Any]:
    """Open a named pipe, and say that it waits if no program writes to it; files stay as they are.

    Opening it as a file would wait without a word.
    """
    path = expanded(file)
    if not path.is_fifo():
        return nullcontext(file)
    pipe = open(path, "rb", opener=lambda name, how: os.open(name, how | os.O_NONBLOCK))  # noqa: SIM115 - the caller closes it
    if not select.select([pipe], [], [], _PATIENCE_SECONDS)[0]:
        what = "is a named pipe: waiting for a program that writes to it (Ctrl-C ends this)"
        message(f"{file} {what}")
        select.select([pipe], [], [])
    os.set_blocking(pipe.fileno(), True)
    return pipe
