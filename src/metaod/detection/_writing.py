"""Write a table with its scores: which rows, in which format."""

import errno
import gzip
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from metaod.detection import _formats as formats
from metaod.detection._detection import Detection
from metaod.errors import BadParameter, UserError
from metaod.tables import RawText, Table, check_plain_file

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere
_ADDED = ("score", "rank", "flag")
_WHY = "why"
_REPORT_ENDINGS = (".html", ".htm")
_PACKED = (f"{ending}.gz" for ending in formats.WRITERS if ending not in formats.NOT_COMPRESSED)
ENDINGS = (*formats.WRITERS, *_PACKED)


@dataclass(frozen=True)
class Choice:
    """Which rows are written, whether the most outlying ones come first, and formulas as text."""

    sort: bool = False
    flagged_only: bool = False
    no_formulas: bool = False  # in delimited text; other formats never hold one
    why: bool = False

    def rows_of(self, found: Detection) -> npt.NDArray[np.intp] | None:
        """Return the places of the rows to write; None for the table as it is."""
        if not self.sort and not self.flagged_only:
            return None
        order = found.order if self.sort else np.arange(len(found.scores))
        return order[found.flags[order] == 1] if self.flagged_only else order


def check_target(target: Target, table: Table) -> None:
    """Refuse, before the table is fitted, a target that cannot hold it."""
    if isinstance(target, Path) and ending_of(target) == ".xlsx":
        formats.check_openpyxl()
        formats.check_xlsx_size(table.n_rows, table.n_columns + len(_ADDED) + 1, str(target))


def write_scored(found: Detection, target: Target, choice: Choice | None = None) -> tuple[str, ...]:
    """Write the user's table with score, rank and flag; return the names of the added columns.

    Delimited text is copied byte for byte if the target is delimited text too.
    """
    names = added_names(found)
    if found.table.original is not None:
        found.table.original.check_unchanged()
    choice = choice or Choice()
    write = partial(
        _write_to, found, target, names, choice.rows_of(found), no_formulas=choice.no_formulas
    )
    if target == "-":
        sys.stdout.flush()
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif target is not None:
        replace_file(target, write)
    return names


def listed_cells(found: Detection, rows: npt.NDArray[np.intp]) -> Any:
    """Return the user's cells of some rows: an Arrow table or a frame."""
    original, frame = found.table.original, found.table.frame
    if original is not None:
        return original.read_numbers(rows)
    cells = frame if found.table.label is None else frame.assign(label=found.table.label)
    return cells.iloc[rows]


def scored_cells(
    found: Detection, rows: npt.NDArray[np.intp] | None = None, *, as_text: bool = False
) -> Any:
    """Return the user's cells with score, rank and flag: an Arrow table or a frame.

    Text of a file becomes numbers where no digit is lost, unless `as_text`; then scores have the
    decimal mark of the file.
    """
    original, frame = found.table.original, found.table.frame
    if original is None:
        cells: Any = frame if found.table.label is None else frame.assign(label=found.table.label)
    else:
        cells = original.read() if as_text else original.read_numbers()
    scores: Any = found.scores
    if as_text and original is not None and original.raw is not None:
        scores = [score_text(score, original.raw.decimal) for score in scores.tolist()]
    values = (scores, found.ranks, found.flags, *([] if found.why is None else [found.why]))
    added = dict(zip(added_names(found), values, strict=True))
    if hasattr(cells, "append_column"):
        for name, column in added.items():
            cells = cells.append_column(name, [column])
        return cells if rows is None else cells.take(rows)
    cells = cells.assign(**added)
    return cells if rows is None else cells.iloc[rows]


def added_names(found: Detection, *, why: bool = False) -> tuple[str, ...]:
    """Name the added columns; a name that is taken gets an underscore."""
    table = found.table
    own = table.frame.columns if table.original is None else table.original.names
    taken = {str(column) for column in own}
    names = []
    for name in (*_ADDED, _WHY) if why or found.why is not None else _ADDED:
        while name in taken:
            name += "_"  # noqa: PLW2901 - until it is free
        taken.add(name)
        names.append(name)
    return tuple(names)


def _write_to(
    found: Detection,
    target: Target,
    names: Sequence[str],
    rows: npt.NDArray[np.intp] | None,
    stream: BinaryIO,
    *,
    no_formulas: bool,
) -> None:
    ending = ".csv" if target == "-" else ending_of(Path(str(target))).removesuffix(".gz")
    original = found.table.original
    if no_formulas and formats.WRITERS[ending] in (formats.write_csv, formats.write_tsv):
        _write_without_formulas(found, rows, ending, stream)
    elif original is None or original.raw is None:
        formats.WRITERS[ending](scored_cells(found, rows), stream)
    elif target == "-" or keeps_delimiter(original.raw, ending):
        scores, ranks, flags = found.scores.tolist(), found.ranks.tolist(), found.flags.tolist()
        mark = original.raw.decimal

        def cells(row: int) -> list[str]:
            own = [score_text(scores[row], mark), str(ranks[row]), str(flags[row])]
            return own if found.why is None else [*own, found.why[row]]

        original.raw.write(stream, names, cells, rows)
    elif ending in (".csv", ".tsv"):
        delimiter, header = "," if ending == ".csv" else "\t", original.raw.header
        text = scored_cells(found, rows, as_text=True)
        formats.write_csv(text, stream, delimiter=delimiter, header=header)
    else:
        formats.WRITERS[ending](scored_cells(found, rows), stream)


def _write_without_formulas(
    found: Detection, rows: npt.NDArray[np.intp] | None, ending: str, stream: BinaryIO
) -> None:
    original, delimiter, header = found.table.original, ",", True
    raw = None if original is None else original.raw
    if raw is not None:
        header = raw.header
    if formats.WRITERS[ending] is formats.write_tsv:
        delimiter = "\t"
    elif raw is not None and raw.delimiter != " ":
        delimiter = raw.delimiter
    cells = scored_cells(found, rows, as_text=raw is not None)
    formats.write_csv(cells, stream, delimiter=delimiter, header=header, no_formulas=True)


def score_text(score: float, decimal: str) -> str:
    return repr(score).replace(".", decimal)


def keeps_delimiter(raw: RawText, ending: str) -> bool:
    """Whether a text is copied: if the target ends like it, or the delimiter suits the ending."""
    source, delimiter = raw.source, raw.delimiter
    if ending == ".tsv":
        return delimiter == "\t"
    if ending == ".csv":
        return source.suffix == ".csv" or delimiter not in ("\t", " ")
    return formats.WRITERS[ending] in (formats.write_csv, formats.write_tsv)


def check_output(path: "str | PathLike[str]", source: "str | PathLike[str]") -> Path:
    """Return the path of a scored table to write; refuse what cannot be one."""
    target = Path(path).expanduser()
    if ending_of(target) not in ENDINGS:
        raise BadParameter(
            "detect_file", "output", f"a file that ends in {', '.join(ENDINGS)}", path
        )
    _check_folder(target)
    refuse_input(target, [Path(source).expanduser()])
    return target


def refuse_input(target: Path, sources: Sequence[Path]) -> None:
    """Refuse to write to one of the files that are read."""
    if target.exists() and any(file.exists() and target.samefile(file) for file in sources):
        raise UserError("is the input itself", where=str(target), remedy="write to another file")


def check_report(path: "str | PathLike[str]") -> Path:
    """Return the path of a report to write; refuse what cannot be one."""
    target = Path(path).expanduser()
    if target.suffix.lower() not in _REPORT_ENDINGS:
        raise BadParameter("MetaOD.report", "path", "a file that ends in .html", str(path))
    _check_folder(target)
    return target


def _check_folder(target: Path) -> None:
    """Refuse a file that cannot be written."""
    if "\0" in str(target):
        raise UserError("is not a path", where=repr(str(target)), remedy="name a file")
    check_plain_file(target)
    if not target.parent.is_dir():
        what = f"there is no folder {target.parent}"
        raise UserError(what, where=str(target), remedy="make it first")
    if not os.access(target.parent, os.W_OK):  # it is a new file in the folder first
        what = "its folder cannot be written"
        raise UserError(what, where=str(target), remedy="name another folder")


def write_report(page: str, path: Path) -> None:
    """Write the text of a report to a file."""

    def write(stream: BinaryIO) -> None:
        stream.write(page.encode())

    replace_file(path, write)


def replace_file(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write to a new file and rename it: no half-written file is left."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        with ExitStack() as stack:
            stream: Any = stack.enter_context(fresh.open("xb"))
            if ending_of(path).endswith(".gz"):
                packed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
                stream = stack.enter_context(packed)
            write(stream)
        fresh.replace(path)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space, or name another disk" if is_full else "check the path"
        raise UserError(what, where=str(path), remedy=remedy) from error
    finally:
        fresh.unlink(missing_ok=True)


def ending_of(path: PurePath) -> str:
    """Return the ending of a name in lower case, as .csv or .csv.gz."""
    last = path.suffix.lower()
    return f"{path.with_suffix('').suffix.lower()}.gz" if last == ".gz" else last
