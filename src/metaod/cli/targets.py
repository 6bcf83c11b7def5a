"""Where ``metaod detect`` writes the tables with their scores, and the reports."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

from metaod.errors import BadParameter, UserError

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere


def targets_of(command: str, files: Sequence[str] | None, output: str | None) -> list[Target]:
    """Return the target of each table's scores; for several tables, files in a folder."""
    named = list(files) if files else [None]
    if output == "-":
        if len(named) > 1:
            what = "several tables cannot go to stdout"
            raise UserError(what, where=command, remedy="give a folder to -o, such as scored/")
        return ["-"]
    paths = _paths(command, "-o", named, output, _scored_name)
    return [None if path is None else _file(command, path, named) for path in paths]


def reports_of(command: str, files: Sequence[str] | None, report: str | None) -> list[Path | None]:
    """Return the file of each table's report; for several tables, files in a folder."""
    from metaod.detection import output_path

    named = list(files) if files else [None]
    paths = _paths(command, "--report", named, report, _report_name)
    legal: dict[str, Any] = {"owner": command, "name": "--report", "endings": (".html", ".htm")}
    return [None if path is None else output_path(path, **legal) for path in paths]


def _paths(
    command: str,
    option: str,
    named: Sequence[str | None],
    output: str | None,
    name_of: Callable[[str], str],
) -> list[Path] | list[None]:
    """Return a file for each table: the one that is named, or files in the folder."""
    if output is None:
        return [None] * len(named)
    place = Path(output).expanduser()
    is_folder = place.is_dir() or output.endswith(("/", os.sep))
    if len(named) == 1 and not is_folder:
        return [place]
    if place.exists() and not place.is_dir():
        raise UserError("is a file", where=str(place), remedy="give a folder for several tables")
    if not is_folder:
        what = "several tables need a folder"
        remedy = f"make it first, or end its name with a slash: {option} {place.with_suffix('')}/"
        raise UserError(what, where=str(place), remedy=remedy)
    names = [name_of(str(name or "example.csv")) for name in named]
    for name in names:
        if names.count(name) > 1:
            what = f"two tables would both be written to {name}"
            remedy = "rename one, or score them one after another"
            raise UserError(what, where=command, remedy=remedy)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be made ({error.strerror})"
        raise UserError(what, where=str(place), remedy="check the path") from error
    return [place / name for name in names]


def _file(command: str, path: Path, sources: Sequence[str | None]) -> Path:
    from metaod.detection import output_path

    files = [source for source in sources if source not in (None, "-")]
    try:
        return output_path(path, files, owner=command, name="--output")
    except BadParameter as error:
        legal = f"{error.legal}, a folder (FOLDER/), or - (stdout)"
        raise BadParameter(command, "--output", legal, error.got, code=error.code) from error


def _scored_name(source: str) -> str:
    from metaod.detection import scored_name

    return scored_name("stdin.csv" if source == "-" else source)


def _report_name(source: str) -> str:
    """Name the report after its table: orders.csv.gz has orders-report.html."""
    name = PurePath("stdin.csv" if source == "-" else source).name
    return f"{PurePath(name.removesuffix('.gz')).stem}-report.html"
