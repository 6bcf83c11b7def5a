"""The result of ``metaod detect``, and how it is written to a file."""

import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from metaod.selection import Selection
    from metaod.tables import Table

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere
_ADDED = ("score", "rank", "flag")
_ENDINGS = (".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class Detection:
    """A table, the scores of its rows, and the selection unless the pick was a saved one."""

    table: "Table"
    scores: "npt.NDArray[np.float64]"
    threshold: float
    models: tuple[str, ...]
    notes: tuple[str, ...]
    selection: "Selection | None"

    @property
    def flags(self) -> "npt.NDArray[np.int64]":
        """1 for outliers, 0 for the other rows."""
        return (self.scores > self.threshold).astype("int64")

    @cached_property
    def order(self) -> "npt.NDArray[np.intp]":
        """Places of the rows, the most outlying first; equal scores as in the table."""
        return (-self.scores).argsort(kind="stable")

    @cached_property
    def ranks(self) -> "npt.NDArray[np.int64]":
        """1 for the most outlying row; equal scores share the smallest of their ranks."""
        ordered = -self.scores[self.order]
        return ordered.searchsorted(-self.scores, side="left").astype("int64") + 1


def targets_of(command: str, files: Sequence[str] | None, output: str | None) -> list[Target]:
    """Return the target of each table's scores; for several tables, files in a folder."""
    named = list(files) if files else [None]
    if output is None:
        return [None] * len(named)
    if output == "-":
        if len(named) > 1:
            what = "several tables cannot go to stdout"
            raise UserError(what, where=command, remedy="give a folder to -o")
        return ["-"]
    place = Path(output).expanduser()
    if len(named) == 1:
        return [_file(command, place, named[0])]
    if place.exists() and not place.is_dir():
        raise UserError("is a file", where=str(place), remedy="give a folder for several tables")
    stems = [_stem(Path(str(name)).name) for name in named]
    for stem in stems:
        if stems.count(stem) > 1:
            what = f"two tables would both be written to {stem}-scored.csv"
            remedy = "rename one, or score them one after another"
            raise UserError(what, where=command, remedy=remedy)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be made ({error.strerror})"
        raise UserError(what, where=str(place), remedy="check the path") from error
    return [
        _file(command, place / f"{stem}-scored.csv", name)
        for stem, name in zip(stems, named, strict=True)
    ]


def write_scored(found: Detection, target: Target, *, label: str | None = None) -> tuple[str, ...]:
    """Write the input with score, rank, flag and a label as 0 and 1; return the added names."""
    import pandas as pd

    frame, names = _scored_frame(found, label)
    # an index column of the file stays the first column
    has_index = frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex)
    if target == "-":
        frame.to_csv(sys.stdout, index=has_index, lineterminator="\n")
    elif target is not None:
        _write(frame, target, index=has_index)
    return names


def _scored_frame(found: Detection, label: str | None) -> tuple["pd.DataFrame", tuple[str, ...]]:
    """Return the input with score, rank and flag; a name that is taken gets an underscore."""
    frame = found.table.frame.copy(deep=False)
    if label is not None and found.table.label is not None:
        frame[label] = found.table.label
    taken = {str(column) for column in frame.columns}
    names = []
    for name, values in zip(_ADDED, (found.scores, found.ranks, found.flags), strict=True):
        while name in taken:
            name += "_"  # noqa: PLW2901 - until it is free
        taken.add(name)
        names.append(name)
        frame[name] = values
    return frame, tuple(names)


def _file(command: str, path: Path, source: str | None) -> Path:
    if path.suffix.lower() not in _ENDINGS:
        raise BadParameter(command, "--output", "a .csv or .parquet file, or -", str(path))
    if path.is_dir():
        raise UserError("is a folder", where=str(path), remedy="name a file in it")
    if not path.parent.is_dir():
        what = f"there is no folder {path.parent}"
        raise UserError(what, where=str(path), remedy="make it first")
    if source not in (None, "-") and path.exists() and path.samefile(str(source)):
        raise UserError("is the input itself", where=str(path), remedy="write to another file")
    if not os.access(path.parent, os.W_OK):  # the output is a new file in the folder first
        what = "its folder cannot be written"
        raise UserError(what, where=str(path), remedy="name another folder")
    return path


def _stem(name: str) -> str:
    path = Path(name)
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


def _write(frame: "pd.DataFrame", path: Path, *, index: bool) -> None:
    """Write to a new file and rename it: no half-written file is left."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(fresh, index=index)
        else:
            frame.to_csv(fresh, index=index, lineterminator="\n")
        fresh.replace(path)
    except OSError as error:
        what = f"cannot be written ({error.strerror})"
        raise UserError(what, where=str(path), remedy="check the path") from error
    finally:
        fresh.unlink(missing_ok=True)
