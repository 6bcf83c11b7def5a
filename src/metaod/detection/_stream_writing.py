"""Write a file that is read in chunks with the scores of its rows: a second pass over it."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from metaod.detection import _formats as formats
from metaod.detection._writing import (
    Choice,
    Target,
    added_names,
    ending_of,
    keeps_delimiter,
    replace_file,
    score_text,
)
from metaod.errors import UserError
from metaod.selection import OnProgress, Tracker
from metaod.tables import Table

if TYPE_CHECKING:
    from metaod.detection._streamed import StreamedDetection

_BLOCK = 2**14
_Places = npt.NDArray[np.intp]


def check_stream_target(target: Target, is_text: bool, choice: Choice) -> None:
    """Refuse, before anything is read, what a file read in chunks cannot be written as."""
    where = str(target)
    if choice.sort:
        what = "--sort needs all rows in memory, and the file is read in chunks"
        remedy = (
            "sort the output by rank, write --flagged-only, or read the table at once: --no-stream"
        )
        raise UserError(what, where=where, remedy=remedy)
    if target is None:
        return
    ending = _ending(target)
    legal: tuple[str, ...] = (".parquet", ".csv", ".tsv")
    if is_text:
        legal = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".psv")
    if ending not in legal:
        kind = "text" if is_text else "Parquet file"
        what = f"a {kind} that is read in chunks cannot be written as {ending}"
        remedy = (
            f"name a file that ends in {', '.join(legal[:3])}, or read the table at once: "
            "read_table (--no-stream)"
        )
        raise UserError(what, where=where, remedy=remedy)


def write_streamed(
    found: "StreamedDetection",
    target: Target,
    choice: Choice | None = None,
    *,
    progress: OnProgress | None = None,
) -> tuple[str, ...]:
    """Write the file with score, rank and flag; return the names of the added columns."""
    choice = choice or Choice()
    raw = found.stream.raw
    check_stream_target(target, raw is not None, choice)
    names = added_names(found, why=choice.why)
    if target is None:
        return names
    found.stream.check_unchanged()
    rows = np.flatnonzero(found.flags) if choice.flagged_only else None
    tracker = Tracker(progress)
    added = _Added(found, rows, tracker, why=choice.why)
    ending = _ending(target)
    write: Callable[[BinaryIO], None]
    is_copied = raw is not None and not choice.no_formulas
    if raw is not None and is_copied and (target == "-" or keeps_delimiter(raw, ending)):
        write = partial(_copy, found, added, names, rows)
    elif ending == ".parquet":
        write = partial(_write_parquet, found, added, names, rows)
    else:
        write = partial(_write_text, found, added, names, rows, ending, choice.no_formulas)

    def write_unchanged(stream: BinaryIO) -> None:
        write(stream)
        found.stream.check_unchanged()

    if target == "-":
        sys.stdout.flush()
        write_unchanged(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        replace_file(Path(target), write_unchanged)
    tracker.finish("write")
    return names


class _Added:
    """The cells that are added to rows, block by block."""

    def __init__(
        self, found: "StreamedDetection", rows: _Places | None, tracker: Tracker, *, why: bool
    ) -> None:
        self._found, self._rows, self._tracker, self._why = found, rows, tracker, why
        self._n_rows = found.n_rows if rows is None else len(rows)
        self._started = time.monotonic()
        self._first, self._texts = 0, list[tuple[str, ...]]()
        self._chunks = found.stream.chunks()
        self._chunk: tuple[int, Table | None] = (0, None)

    def columns(self, first: int, stop: int) -> tuple[Any, ...]:
        """Return scores, ranks, flags and reasons of the rows that are written as first to stop."""
        found = self._found
        places = np.arange(first, stop) if self._rows is None else self._rows[first:stop]
        scores, flags = found.scores[places], found.flags[places].astype(np.int64)
        own: tuple[Any, ...] = (scores, found.ranks_of_scores(scores), flags)
        if self._why:
            own = (*own, self._reasons(places, flags))
        if stop > first:
            left = (time.monotonic() - self._started) / stop * (self._n_rows - stop)
            text, fraction = f"{stop:,} of {self._n_rows:,}", stop / self._n_rows
            self._tracker.stage("write", text, fraction=fraction, seconds_left=left)
        return own

    def texts(self, row: int, decimal: str) -> Sequence[str]:
        """Return the cells of a row as text; rows are asked for in rising order."""
        place = row
        if self._rows is not None:
            place = int(np.searchsorted(self._rows, row))
        if not self._first <= place < self._first + len(self._texts):
            stop = min(place + _BLOCK, self._n_rows)
            scores, *others = (np.asarray(column).tolist() for column in self.columns(place, stop))
            texts = [score_text(score, decimal) for score in scores]
            self._first = place
            self._texts = list(zip(texts, *(map(str, column) for column in others), strict=True))
        return self._texts[place - self._first]

    def _reasons(self, places: _Places, flags: npt.NDArray[np.int64]) -> list[str]:
        texts = {}
        model = self._found.model
        assert model is not None  # noqa: S101 - for the type checker
        for rows, table in self._typed_rows(places[flags == 1]):
            for row, reasons in zip(rows.tolist(), model.explain_rows(table), strict=True):
                texts[row] = "; ".join(map(str, reasons.main_reasons())) or str(reasons)
        return [texts.get(place, "") for place in places.tolist()]

    def _typed_rows(self, places: _Places) -> Iterator[tuple[_Places, Table]]:
        """Read rows, which rise from call to call, in a pass of its own over the file."""
        while len(places):
            first, chunk = self._chunk
            n_within = int(np.searchsorted(places, first + (chunk.n_rows if chunk else 0)))
            if chunk is not None and n_within:
                yield places[:n_within], chunk.take(places[:n_within] - first)
                places = places[n_within:]
            else:
                self._chunk = (first + (chunk.n_rows if chunk else 0), next(self._chunks))


def _copy(
    found: "StreamedDetection",
    added: _Added,
    names: Sequence[str],
    rows: _Places | None,
    stream: BinaryIO,
) -> None:
    """Copy a text byte for byte, with the added cells."""
    raw = found.stream.raw
    assert raw is not None  # noqa: S101 - for the type checker
    raw.write(stream, names, lambda row: added.texts(row, raw.decimal), rows)


def _scored(
    found: "StreamedDetection", added: _Added, names: Sequence[str], rows: _Places | None
) -> Iterator[Any]:
    """Yield the cells with the added columns, as Arrow tables."""
    for first, cells in found.stream.cells(rows):
        columns = added.columns(first, first + cells.num_rows)
        raw = found.stream.raw
        for name, column in zip(names, columns, strict=True):
            values = column
            if raw is not None and column is columns[0]:
                values = [score_text(score, raw.decimal) for score in column.tolist()]
            cells = cells.append_column(name, [values])  # noqa: PLW2901 - with one column more
        yield cells


def _write_parquet(
    found: "StreamedDetection",
    added: _Added,
    names: Sequence[str],
    rows: _Places | None,
    stream: BinaryIO,
) -> None:
    schema = getattr(found.stream, "schema")  # noqa: B009 - of a Parquet file alone
    types = (pa.float64(), pa.int64(), pa.int64(), pa.string())
    for name, kind in zip(names, types, strict=False):
        schema = schema.append(pa.field(name, kind))
    with pq.ParquetWriter(stream, schema) as writer:
        for cells in _scored(found, added, names, rows):
            writer.write_table(cells.cast(schema))


def _write_text(
    found: "StreamedDetection",
    added: _Added,
    names: Sequence[str],
    rows: _Places | None,
    ending: str,
    no_formulas: bool,
    stream: BinaryIO,
) -> None:
    raw = found.stream.raw
    is_tabbed = formats.WRITERS[ending] is formats.write_tsv
    delimiter = "\t" if is_tabbed else ","
    if no_formulas and raw is not None and not is_tabbed and raw.delimiter != " ":
        delimiter = raw.delimiter
    header = True if raw is None else raw.header
    for cells in _scored(found, added, names, rows):
        formats.write_csv(
            cells, stream, delimiter=delimiter, header=header, no_formulas=no_formulas
        )
        header = False


def _ending(target: Target) -> str:
    return ".csv" if target == "-" else ending_of(Path(str(target))).removesuffix(".gz")
