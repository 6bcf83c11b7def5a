"""Write a table with its scores: which rows, in which format."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal

import numpy as np

from metaod._files import expanded, replace_file, writable_path
from metaod.detection import _formats as formats
from metaod.detection._result import Detection, Places
from metaod.detection._workbook import OwnWorkbook, is_kept
from metaod.errors import BadParameter, Message, Setting, UserError
from metaod.selection import OnProgress, Tracker, part_of
from metaod.tables import Table, TableStream

Target = Path | Literal["-"] | None  # a file, standard output, or nowhere
_ADDED = ("score", "rank", "flag")
_BLOCK = 2**14
_WHY_SHARE = 0.8  # of the work, if flagged rows are explained
_CHUNKED = (".csv", ".tsv", ".parquet")  # formats that a file read in chunks is written in


def check_target(target: Target, source: Table | TableStream, *, sort: bool = False) -> None:
    """Refuse, before anything is fitted, a target that cannot hold the scored table."""
    ending = "" if target is None else ending_of(target)
    if isinstance(source, Table):
        if ending == ".xlsx":
            formats.check_openpyxl()
            n_columns = source.n_columns + len(_ADDED) + 2
            formats.check_xlsx_size(source.n_rows, n_columns, str(target))
        return
    if sort:
        text = "{set} needs all rows in memory, and the file is read in chunks"
        needed = Message("sort-in-chunks", text, set=Setting("sort", True))
        remedy = "sort the output by rank, or read the table at once"
        raise UserError(needed, where=str(target), remedy=remedy)
    is_text = source.raw is not None
    legal = [*formats.DELIMITERS] if is_text else _CHUNKED
    if ending and ending not in legal:
        kind = "text" if is_text else "Parquet file"
        what = f"a {kind} that is read in chunks cannot be written as {ending}"
        remedy = f"name a file that ends in {', '.join(legal[:3])}, or read the table at once"
        raise UserError(what, where=str(target), remedy=remedy)


def write_scored(
    found: Detection,
    target: Target,
    *,
    sort: bool = False,
    flagged_only: bool = False,
    no_formulas: bool = False,
    why: bool = False,
    progress: OnProgress | None = None,
) -> tuple[str, ...]:
    """Write the user's table with further columns; return their names.

    These are score, rank and flag and, if wrong cells were looked for, suspect: the row's most
    certain finding. Delimited text is copied byte for byte if the target is delimited text too.

    Parameters
    ----------
    found : Detection
        The result.
    target : path, "-" or None
        A file, standard output, or nowhere.
    sort : bool, default=False
        Whether the most outlying rows come first.
    flagged_only : bool, default=False
        Whether only flagged rows are written.
    no_formulas : bool, default=False
        Whether delimited text gets a quote before cells that a spreadsheet would run.
    why : bool, default=False
        Whether a further column tells why each flagged row is unusual.
    progress : callable, optional
        Receives a :class:`ProgressReport` after every block of rows.
    """
    suspect = [] if found.wrong is None else ["suspect"]
    names = _added_names(found, [*_ADDED, *suspect, *(["why"] if why else [])])
    if target is None:
        return names
    source = found.stream or found.table.original
    check_target(target, found.stream or found.table, sort=sort)
    if source is not None:
        source.check_unchanged()
    rows = None
    if sort or flagged_only:
        rows = found.order if sort else np.arange(found.n_rows)
        rows = rows[found.flags[rows] == 1] if flagged_only else rows
    reasons = None
    if why:
        reasons = found.explain_flagged(progress=part_of(progress, 0.0, _WHY_SHARE))
        progress = part_of(progress, _WHY_SHARE, 1.0)
    tracker = Tracker(progress)
    scored = _Scored(found, names, rows, reasons, tracker)

    def write(stream: BinaryIO) -> None:
        scored.write(stream, target, no_formulas=no_formulas)
        if found.stream is not None:
            found.stream.check_unchanged()

    if target == "-":
        sys.stdout.flush()
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        replace_file(Path(target), write)
    tracker.finish("write")
    return names


def _added_names(found: Detection, wanted: Sequence[str]) -> tuple[str, ...]:
    """Name the added columns; a name that is taken gets an underscore."""
    table = found.table
    own = table.frame.columns if table.original is None else table.original.names
    taken = {str(column) for column in own}
    names = []
    for name in wanted:
        while name in taken:
            name += "_"  # noqa: PLW2901 - until it is free
        taken.add(name)
        names.append(name)
    return tuple(names)


@dataclass
class _Scored:
    """The rows to write, with the cells that are added to them."""

    found: Detection
    names: tuple[str, ...]
    rows: Places | None  # None for the table as it is
    reasons: dict[int, str] | None
    tracker: Tracker

    def __post_init__(self) -> None:
        original = self.found.table.original
        self._raw = None if original is None else original.raw
        self._n_rows = self.found.n_rows if self.rows is None else len(self.rows)
        self._report = self.tracker.counting("write", self._n_rows)

    def write(self, stream: BinaryIO, target: Target, *, no_formulas: bool) -> None:
        """Write in the format of the target."""
        raw, ending = self._raw, ending_of(target)
        if ending == ".xlsx" and self.rows is None and is_kept(self.found.table):
            self._write_own_workbook(stream)
            return
        is_text = ending in formats.DELIMITERS and raw is not None
        if raw is not None and is_text and (target == "-" or raw.suits(ending)):
            change = formats.without_formula if no_formulas else None
            texts = self._texts_by_row(raw.decimal)
            replace(raw, change=change).write(stream, self.names, texts, self.rows)
            return
        header = raw is None or raw.header
        parts = self._parts(as_text=is_text)
        formats.write(parts, stream, ending, header=header, no_formulas=no_formulas)

    def _write_own_workbook(self, stream: BinaryIO) -> None:
        book = OwnWorkbook(self.found.table)
        for name, values in zip(self.names, self._added(0, self._n_rows), strict=True):
            book.add_column(name, np.asarray(values).tolist())
        for finding in self.found.findings:
            book.mark(finding)
        book.save(stream)

    def _parts(self, *, as_text: bool) -> Iterator[Any]:
        """Yield the user's cells with the added columns: Arrow tables or a frame.

        Text of a file becomes numbers where no digit is lost, unless `as_text`.
        """
        for first, part in self._cells(as_text=as_text):
            cells = part
            scores, *others = self._added(first, first + len(cells))
            if as_text and self._raw is not None:
                scores = [_score_text(score, self._raw.decimal) for score in scores.tolist()]
            added = dict(zip(self.names, (scores, *others), strict=True))
            if hasattr(cells, "append_column"):
                for name, column in added.items():
                    cells = cells.append_column(name, [column])
            else:
                cells = cells.assign(**added)
            yield cells

    def _cells(self, *, as_text: bool) -> Iterator[tuple[int, Any]]:
        original = self.found.table.original
        if self.found.stream is not None:
            yield from self.found.stream.cells(self.rows)
        elif as_text and original is not None:
            cells = original.read()
            yield 0, cells if self.rows is None else cells.take(self.rows)
        else:
            yield 0, self.found.cells(self.rows)

    def _added(self, first: int, stop: int) -> list[Any]:
        """Return the added cells of the rows that are written as first to stop."""
        found = self.found
        places = np.arange(first, stop) if self.rows is None else self.rows[first:stop]
        own: list[Any] = [found.scores[places], found.ranks_of(places)]
        own.append(found.flags[places].astype(np.int64))
        if found.wrong is not None:
            findings = map(found.findings_of, places.tolist())
            own.append([rest[0].sentence() if rest else "" for rest in findings])
        if self.reasons is not None:
            own.append([self.reasons.get(place, "") for place in places.tolist()])
        if stop > first:
            self._report(stop)
        return own

    def _texts_by_row(self, decimal: str) -> Callable[[int], Sequence[str]]:
        """Return a function that gives the cells of a row; rows come in the order of writing."""
        texts: dict[int, tuple[str, ...]] = {}
        first = 0

        def texts_of(row: int) -> Sequence[str]:
            nonlocal first
            if row not in texts:
                stop = min(first + _BLOCK, self._n_rows)
                scores, *others = (np.asarray(own).tolist() for own in self._added(first, stop))
                places = range(first, stop) if self.rows is None else self.rows[first:stop].tolist()
                columns = [_score_text(score, decimal) for score in scores]
                cells = zip(columns, *(map(str, column) for column in others), strict=True)
                texts.clear()
                texts.update(zip(places, cells, strict=True))
                first = stop
            return texts[row]

        return texts_of


def _score_text(score: float, decimal: str) -> str:
    return repr(score).replace(".", decimal)


def ending_of(target: Target) -> str:
    """Return the ending of a target in lower case, without .gz."""
    return ".csv" if target == "-" else _ending_of(Path(str(target))).removesuffix(".gz")


def output_path(
    path: "str | PathLike[str]",
    sources: Sequence["str | PathLike[str]"] = (),
    *,
    owner: str,
    name: str = "output",
    kind: formats.Kind = "table",
) -> Path:
    """Return the path of a file to write; refuse other endings, and what cannot be written.

    Parameters
    ----------
    path : path-like
        The file.
    sources : sequence of path-like
        Files that are read, which are not written to.
    owner, name : str
        The function or command and its parameter, for errors.
    kind : {"table", "cells", "report"}
        What is written, which decides the legal endings.
    """
    target = expanded(path)
    endings = formats.ENDINGS[kind]
    if _ending_of(target) not in endings:
        legal = [ending for ending in endings if not ending.endswith(".gz")]
        packed = " (text also with .gz)" if len(legal) < len(endings) else ""
        what = f"a file that ends in {', '.join(legal)}{packed}"
        raise BadParameter(owner, name, what, str(path), code="format")
    target = writable_path(target)
    files = [expanded(source) for source in sources]
    if target.exists() and any(file.exists() and target.samefile(file) for file in files):
        raise UserError("is the input itself", where=str(target), remedy="write to another file")
    return target


def scored_name(source: str, what: str = "scored") -> str:
    """Name a copy after its source, in the same format if that can be written.

    Examples
    --------
    >>> scored_name("data/orders.csv.gz"), scored_name("survey.sav")
    ('orders-scored.csv.gz', 'survey-scored.csv')
    """
    path = PurePath(source)
    ending = _ending_of(path)
    stem = path.name[: len(path.name) - len(ending)]
    return f"{stem}-{what}{ending if ending in formats.ENDINGS['table'] else '.csv'}"


def _ending_of(path: PurePath) -> str:
    """Return the ending of a name in lower case, as .csv or .csv.gz."""
    last = path.suffix.lower()
    return f"{path.with_suffix('').suffix.lower()}.gz" if last == ".gz" else last
