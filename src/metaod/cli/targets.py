"""Where ``metaod detect`` writes the tables with their scores, and the reports."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

from metaod.errors import BadParameter, UserError, hide_password

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere


def targets_of(
    command: str, files: Sequence[str] | None, given: str | None, option: str = "--output"
) -> list[Target]:
    """Return what an option writes for each table; for several tables, files in a folder.

    The option is --output, --cells (the findings), --fix (the corrected table) or --report.
    """
    from metaod.detection import output_path, scored_name
    from metaod.tables import pattern_files

    named = list(files) if files else [None]
    if given == "-" and option == "--output":
        if len(named) > 1:
            what = "several tables cannot go to stdout"
            raise UserError(what, where=command, remedy="give a folder to -o, such as scored/")
        return ["-"]
    kinds: dict[str, tuple[Callable[[str], str], dict[str, Any]]] = {
        "--output": (scored_name, {}),
        "--fix": (scored_name, {}),
        "--cells": (lambda name: f"{_stem(name)}-cells.csv", {"kind": "cells"}),
        "--report": (lambda name: f"{_stem(name)}-report.html", {"kind": "report"}),
    }
    name_of, legal = kinds[option]
    paths = _paths(command, option, named, given, name_of)
    legal |= {
        "sources": [
            own
            for file in named
            if file not in (None, "-")
            for own in pattern_files(file) or [file]
        ],
        "owner": command,
    }
    try:
        return [None if path is None else output_path(path, name=option, **legal) for path in paths]
    except BadParameter as error:
        more = ", a folder (FOLDER/), or - (stdout)" if option == "--output" else ""
        text = f"{error.legal}{more}"
        raise BadParameter(command, option, text, error.got, code=error.code) from error


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
    option = "-o" if option == "--output" else option
    if len(named) == 1 and not is_folder:
        return [place]
    if place.exists() and not place.is_dir():
        raise UserError("is a file", where=str(place), remedy="give a folder for several tables")
    if not is_folder:
        what = "several tables need a folder"
        remedy = f"make it first, or end its name with a slash: {option} {place.with_suffix('')}/"
        raise UserError(what, where=str(place), remedy=remedy)
    own = {None: "example.csv", "-": "stdin.csv"}
    names = [name_of(_plain(own.get(name) or str(name))) for name in named]
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


def _plain(source: str) -> str:
    """Return a name that a file can be called after, for a URL or a pattern.

    >>> _plain("logs/*.csv")
    'logs/all.csv'
    """
    return re.sub(r"[*?\[\]]+", "all", hide_password(source))


def _stem(source: str) -> str:
    """Name a file after its table: orders for orders.csv.gz.

    >>> _stem("data/orders.csv.gz")
    'orders'
    """
    return PurePath(PurePath(source).name.removesuffix(".gz")).stem
