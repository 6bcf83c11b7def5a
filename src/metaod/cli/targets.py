"""Where ``metaod detect`` writes the tables with their scores, and the reports."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    from metaod.detection import Target

_LEGAL = "a file that ends in .csv, .tsv, .jsonl (or these with .gz), .xlsx or .parquet; or -"


def targets_of(command: str, files: Sequence[str] | None, output: str | None) -> list["Target"]:
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
    from metaod.detection import check_report

    named = list(files) if files else [None]
    paths = _paths(command, "--report", named, report, _report_name)
    try:
        return [None if path is None else check_report(path) for path in paths]
    except BadParameter as error:
        raise BadParameter(command, "--report", error.legal, error.got) from error


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
    from metaod.detection import ENDINGS, ending_of, refuse_input
    from metaod.tables import check_plain_file

    if ending_of(path) not in ENDINGS:
        raise BadParameter(command, "--output", _LEGAL, str(path))
    check_plain_file(path, remedy="name a file, or - for a pipe")
    if not path.parent.is_dir():
        what = f"there is no folder {path.parent}"
        raise UserError(what, where=str(path), remedy="make it first")
    files = [Path(source).expanduser() for source in sources if source not in (None, "-")]
    refuse_input(path, files)
    if not os.access(path.parent, os.W_OK):  # the output is a new file in the folder first
        what = "its folder cannot be written"
        raise UserError(what, where=str(path), remedy="name another folder")
    return path


def _scored_name(source: str) -> str:
    """Name the scored table after its source, in the same format if that can be written."""
    from metaod.detection import ENDINGS, ending_of

    path = PurePath("stdin.csv" if source == "-" else source)
    ending = ending_of(path)
    stem = path.name[: len(path.name) - len(ending)]
    return f"{stem}-scored{ending if ending in ENDINGS else '.csv'}"


def _report_name(source: str) -> str:
    """Name the report after its table: orders.csv.gz has orders-report.html."""
    from metaod.detection import ending_of

    path = PurePath("stdin.csv" if source == "-" else source)
    return f"{path.name[: len(path.name) - len(ending_of(path))]}-report.html"
