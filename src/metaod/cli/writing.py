"""Write the table of ``metaod detect`` with its scores: where, which rows, in which format."""

import gzip
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from metaod.cli import formats
from metaod.cli.detection import Detection
from metaod.errors import BadParameter, UserError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from metaod.tables import Original, Table

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere
_ADDED = ("score", "rank", "flag")
_WHY = "why"
_PACKED = (f"{ending}.gz" for ending in formats.WRITERS if ending not in formats.NOT_COMPRESSED)
_ENDINGS = (*formats.WRITERS, *_PACKED)
_LEGAL = "a file that ends in .csv, .tsv, .jsonl (or these with .gz), .xlsx or .parquet; or -"


@dataclass(frozen=True)
class Choice:
    """Which rows are written, whether the most outlying ones come first, and formulas as text."""

    sort: bool = False
    flagged_only: bool = False
    no_formulas: bool = False  # in delimited text; other formats never hold one
    why: bool = False

    def rows_of(self, found: Detection) -> "npt.NDArray[np.intp] | None":
        """Return the places of the rows to write; None for the table as it is."""
        import numpy as np

        if not self.sort and not self.flagged_only:
            return None
        order = found.order if self.sort else np.arange(len(found.scores))
        return order[found.flags[order] == 1] if self.flagged_only else order


# where to write


def targets_of(command: str, files: Sequence[str] | None, output: str | None) -> list[Target]:
    """Return the target of each table's scores; for several tables, files in a folder."""
    named = list(files) if files else [None]
    if output is None:
        return [None] * len(named)
    if output == "-":
        if len(named) > 1:
            what = "several tables cannot go to stdout"
            raise UserError(what, where=command, remedy="give a folder to -o, such as scored/")
        return ["-"]
    place = Path(output).expanduser()
    is_folder = place.is_dir() or output.endswith(("/", os.sep))
    if len(named) == 1 and not is_folder:
        return [_file(command, place, named)]
    if place.exists() and not place.is_dir():
        raise UserError("is a file", where=str(place), remedy="give a folder for several tables")
    if not is_folder:
        what = "several tables need a folder"
        remedy = f"make it first, or end its name with a slash: -o {place.with_suffix('')}/"
        raise UserError(what, where=str(place), remedy=remedy)
    names = [_scored_name(str(name or "example.csv")) for name in named]
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
    return [_file(command, place / name, named) for name in names]


def check_target(target: Target, table: "Table") -> None:
    """Refuse, before the table is fitted, a target that cannot hold it."""
    if isinstance(target, Path) and _ending(target) == ".xlsx":
        formats.check_openpyxl()
        formats.check_xlsx_size(table.n_rows, table.n_columns + len(_ADDED) + 1, str(target))


def _file(command: str, path: Path, sources: Sequence[str | None]) -> Path:
    from metaod.tables import check_plain_file

    if _ending(path) not in _ENDINGS:
        raise BadParameter(command, "--output", _LEGAL, str(path))
    check_plain_file(path, remedy="name a file, or - for a pipe")
    if not path.parent.is_dir():
        what = f"there is no folder {path.parent}"
        raise UserError(what, where=str(path), remedy="make it first")
    files = [Path(source).expanduser() for source in sources if source not in (None, "-")]
    if path.exists() and any(file.exists() and path.samefile(file) for file in files):
        raise UserError("is the input itself", where=str(path), remedy="write to another file")
    if not os.access(path.parent, os.W_OK):  # the output is a new file in the folder first
        what = "its folder cannot be written"
        raise UserError(what, where=str(path), remedy="name another folder")
    return path


def _ending(path: PurePath) -> str:
    """Return the ending of a name in lower case, as .csv or .csv.gz."""
    last = path.suffix.lower()
    return f"{path.with_suffix('').suffix.lower()}.gz" if last == ".gz" else last


def _scored_name(source: str) -> str:
    """Name the scored table after its source, in the same format if that can be written."""
    path = PurePath("stdin.csv" if source == "-" else source)
    ending = _ending(path)
    stem = path.name[: len(path.name) - len(ending)]
    return f"{stem}-scored{ending if ending in _ENDINGS else '.csv'}"


# how to write


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
        _replace(target, write)
    return names


def scored_cells(
    found: Detection, rows: "npt.NDArray[np.intp] | None" = None, *, as_text: bool = False
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
        scores = [_score_text(score, original.raw.decimal) for score in scores.tolist()]
    values = (scores, found.ranks, found.flags, *([] if found.why is None else [found.why]))
    added = dict(zip(added_names(found), values, strict=True))
    if hasattr(cells, "append_column"):
        for name, column in added.items():
            cells = cells.append_column(name, [column])
        return cells if rows is None else cells.take(rows)
    cells = cells.assign(**added)
    return cells if rows is None else cells.iloc[rows]


def added_names(found: Detection) -> tuple[str, ...]:
    """Name the added columns; a name that is taken gets an underscore."""
    table = found.table
    own = table.frame.columns if table.original is None else table.original.names
    taken = {str(column) for column in own}
    names = []
    for name in _ADDED if found.why is None else (*_ADDED, _WHY):
        while name in taken:
            name += "_"  # noqa: PLW2901 - until it is free
        taken.add(name)
        names.append(name)
    return tuple(names)


def _write_to(
    found: Detection,
    target: Target,
    names: Sequence[str],
    rows: "npt.NDArray[np.intp] | None",
    stream: BinaryIO,
    *,
    no_formulas: bool,
) -> None:
    ending = ".csv" if target == "-" else _ending(Path(str(target))).removesuffix(".gz")
    original = found.table.original
    if no_formulas and formats.WRITERS[ending] in (formats.write_csv, formats.write_tsv):
        _write_without_formulas(found, rows, ending, stream)
    elif original is None or original.raw is None:
        formats.WRITERS[ending](scored_cells(found, rows), stream)
    elif target == "-" or _keeps_delimiter(original, ending):
        scores, ranks, flags = found.scores.tolist(), found.ranks.tolist(), found.flags.tolist()
        mark = original.raw.decimal

        def cells(row: int) -> list[str]:
            own = [_score_text(scores[row], mark), str(ranks[row]), str(flags[row])]
            return own if found.why is None else [*own, found.why[row]]

        original.raw.write(stream, names, cells, rows)
    elif ending in (".csv", ".tsv"):
        delimiter, header = "," if ending == ".csv" else "\t", original.raw.header
        text = scored_cells(found, rows, as_text=True)
        formats.write_csv(text, stream, delimiter=delimiter, header=header)
    else:
        formats.WRITERS[ending](scored_cells(found, rows), stream)


def _write_without_formulas(
    found: Detection, rows: "npt.NDArray[np.intp] | None", ending: str, stream: BinaryIO
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


def _score_text(score: float, decimal: str) -> str:
    return repr(score).replace(".", decimal)


def _keeps_delimiter(original: "Original", ending: str) -> bool:
    """Whether a text is copied: if the target ends like it, or the delimiter suits the ending."""
    assert original.raw is not None  # noqa: S101 - for the type checker
    source, delimiter = original.raw.source, original.raw.delimiter
    if ending == ".tsv":
        return delimiter == "\t"
    if ending == ".csv":
        return source.suffix == ".csv" or delimiter not in ("\t", " ")
    return formats.WRITERS[ending] in (formats.write_csv, formats.write_tsv)


def _replace(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write to a new file and rename it: no half-written file is left."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        with ExitStack() as stack:
            stream: Any = stack.enter_context(fresh.open("xb"))
            if _ending(path).endswith(".gz"):
                packed = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)
                stream = stack.enter_context(packed)
            write(stream)
        fresh.replace(path)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        raise UserError(what, where=str(path), remedy="check the path") from error
    finally:
        fresh.unlink(missing_ok=True)
