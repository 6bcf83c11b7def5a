"""Where ``metaod detect`` writes the tables with their scores, and what else it finds."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from metaod._files import expanded
from metaod.errors import BadParameter, UserError, hide_password

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere


class Outputs(NamedTuple):
    """What is written for a table, by option: its scores, findings, corrected copy and report."""

    output: Target
    cells: Any
    fix: Any
    report: Any


def outputs_of(
    command: str,
    tables: Sequence[str | None],
    given: Sequence[str | None],
    others: Iterable[str | None],
) -> list[Outputs]:
    """Return what is written for each table, None for the example; for several, files in folders.

    The values of the options come in the order of Outputs. The `others` are files that the
    command reads or writes too.
    """
    from metaod.tables import pattern_files

    options = [f"--{name}" for name in Outputs._fields]
    every = [_named(command, *own, tables) for own in zip(options, given, strict=True)]
    taken = [*(path for paths in every for path in paths), *others]
    read = [file for file in tables if file is not None and file != "-"]
    sources = [own for file in read for own in pattern_files(file) or [file]]
    for option, paths in zip(options, every, strict=True):
        for path in paths:
            if isinstance(path, Path):
                refuse_taken(path, taken)
                _check(command, option, path, sources)
    return [Outputs(*own) for own in zip(*every, strict=True)]


def refuse_taken(path: Path, taken: Iterable[str | Path | None]) -> None:
    """Refuse to write to a file that is taken twice: by this, and by another option or table."""
    own = [expanded(other).resolve() for other in taken if other is not None]
    if own.count(path.resolve()) > 1:
        what = "is named twice, and would be overwritten"
        raise UserError(what, where=str(path), remedy="give each its own name")


def _named(
    command: str, option: str, given: str | None, tables: Sequence[str | None]
) -> list[Target]:
    """Return what an option names for each table: one file, or files in a folder, which is made."""
    if given is None:
        return [None] * len(tables)
    if given == "-" and option == "--output":
        if len(tables) > 1:
            what = "several tables cannot go to stdout"
            raise UserError(what, where=command, remedy="give a folder to -o, such as scored/")
        return ["-"]
    place = expanded(given)
    is_folder = place.is_dir() or given.endswith(("/", os.sep))
    if len(tables) == 1 and not is_folder:
        return [place]
    if place.exists() and not place.is_dir():
        raise UserError("is a file", where=str(place), remedy="give a folder for several tables")
    if not is_folder:
        what = "several tables need a folder"
        remedy = f"make it first, or end its name with a slash: {option} {place.with_suffix('')}/"
        raise UserError(what, where=str(place), remedy=remedy)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be made ({error.strerror})"
        raise UserError(what, where=str(place), remedy="check the path") from error
    return [place / _name_in_folder(option, table) for table in tables]


def _name_in_folder(option: str, table: str | None) -> str:
    from metaod.detection import scored_name

    own = {None: "example.csv", "-": "stdin.csv"}
    source = re.sub(r"[*?\[\]]+", "all", hide_password(own.get(table) or str(table)))
    if option in ("--output", "--fix"):
        return scored_name(source)
    stem = PurePath(PurePath(source).name.removesuffix(".gz")).stem
    return f"{stem}-cells.csv" if option == "--cells" else f"{stem}-report.html"


def _check(command: str, option: str, path: Path, sources: Sequence[str]) -> None:
    """Refuse a file that cannot be written."""
    from metaod.detection import output_path

    kinds: dict[str, Any] = {"--cells": "cells", "--report": "report"}
    try:
        output_path(path, sources, owner=command, name=option, kind=kinds.get(option, "table"))
    except BadParameter as error:
        more = ", a folder (FOLDER/), or - (stdout)" if option == "--output" else ""
        legal = f"{error.legal}{more}"
        raise BadParameter(command, option, legal, error.got, code=error.code) from error
