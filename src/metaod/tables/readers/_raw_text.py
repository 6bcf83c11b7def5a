"""The records of a delimited text as its file has them, to be written again byte for byte.

The file is read anew, so that its text is not kept beside the typed columns. A quote opens a field
only at its start, as in pyarrow and in Python's ``csv``.
"""

import codecs
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaod.errors import BadFile, UserError
from metaod.tables.readers._dialect import Dialect
from metaod.tables.readers._source import Source, library_errors

_CHUNK = 2**20
_LONGEST_RECORD = 2**26  # bytes, in a file whose records were not checked yet
_BYTE_ORDERS = {
    "utf-16": {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"},
    "utf-32": {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"},
}
_HEADER, _NO_ROW = -1, -2  # instead of a row's number: the names; a blank line, a title or a total

Order = npt.NDArray[np.intp]
Rows = npt.NDArray[np.int64]


class Record(NamedTuple):
    """A line or record: the row that it is, counted from 0, or a negative number; its bytes."""

    row: int
    body: bytes
    end: bytes

    @property
    def is_header(self) -> bool:
        """Whether it holds the names."""
        return self.row == _HEADER


@dataclass(frozen=True)
class RawText:
    """A delimited text in its file, and which of its records are rows.

    Lines before the first record and records after the last row are no part of the table.
    """

    source: Source  # as it is, not yet decompressed or decoded
    encoding: str
    delimiter: str  # a blank stands for runs of blanks
    decimal: str
    names: tuple[str, ...]  # of all columns, the label and the row index included
    header: bool
    skip_lines: int
    n_rows: int | None  # None as long as it is not known: all records are rows then
    change: Callable[[str], str] | None = None  # what becomes of each field that is written

    @classmethod
    def of(cls, source: Source, encoding: str, dialect: Dialect) -> "RawText":
        """Describe a text of which all records are rows."""
        return cls(
            source,
            encoding,
            dialect.delimiter,
            dialect.decimal,
            dialect.names,
            dialect.header,
            dialect.skip_lines,
            n_rows=None,
        )

    def __post_init__(self) -> None:
        if self.source.packed is not None:  # it is decompressed again
            object.__setattr__(self, "source", replace(self.source, data=b""))

    def suits(self, ending: str) -> bool:
        """Whether the text can be copied to a file that ends so, with its delimiter."""
        if ending == ".tsv":
            return self.delimiter == "\t"
        return ending != ".csv" or self.source.suffix == ".csv" or self.delimiter not in ("\t", " ")

    def rows(self, wanted: Collection[int] | None = None) -> Iterator[list[str]]:
        """Yield the fields of every row as text; or of the wanted rows, in the file's order."""
        for record in self.records() if wanted is None else self.picked(wanted):
            if record.row >= 0:
                yield self.fields(record)

    def fields(self, record: Record) -> list[str]:
        """Return the fields of a record as text."""
        text = record.body.decode(self.body_encoding)
        if self.delimiter != " " and '"' not in text:
            return text.split(self.delimiter)
        return [field for _, _, field in _fields(text, self.delimiter)]

    def write_changed(
        self, stream: BinaryIO, cells: Mapping[int, Mapping[int, str]]
    ) -> Iterator[tuple[int, int, str]]:
        """Write the text with other text in some fields; all else keeps its bytes.

        Parameters
        ----------
        stream : binary file
            Where to write.
        cells : mapping of int to mapping of int to str
            The new text of fields, by rows and the places of columns.

        Yields
        ------
        row, place, text
            What the changed fields held.
        """
        stream.write(self._mark)
        for record in self.records():
            body = record.body
            if record.row in cells:
                fields = self.fields(record)
                yield from ((record.row, place, fields[place]) for place in cells[record.row])
                body = self._changed(body, cells[record.row])
            stream.write(self._encoded(self._filtered(body) + record.end))

    def _filtered(self, body: bytes) -> bytes:
        """Apply the change to the fields of a record; most records keep their bytes."""
        if self.change is None:
            return body
        fields = [field for _, _, field in _fields(body.decode(self.body_encoding), self.delimiter)]
        changed = {place: self.change(field) for place, field in enumerate(fields)}
        changed = {place: own for place, own in changed.items() if own != fields[place]}
        return self._changed(body, changed) if changed else body

    def _changed(self, body: bytes, cells: Mapping[int, str]) -> bytes:
        text = body.decode(self.body_encoding)
        fields = list(_fields(text, self.delimiter))
        for place, cell in sorted(cells.items(), reverse=True):
            start, stop, _ = fields[place]
            is_blank = not cell.strip() and len(fields) == 1  # a blank line would be no row
            is_quoted = text.startswith('"', start) or is_blank or self._needs_quotes(cell)
            text = text[:start] + (_quoted(cell) if is_quoted else cell) + text[stop:]
        try:
            text.encode(self._codec)
        except UnicodeEncodeError as error:
            what = f"{text[error.start]!r} cannot be written in the file's encoding"
            remedy = f"write it with the characters of {self.encoding}, or convert the file"
            raise UserError(what, where=self.source.name, remedy=remedy) from error
        return text.encode(self.body_encoding)

    def cells(self, rows: Rows | None, batch_rows: int) -> Iterator[tuple[int, Any]]:
        """Yield the fields of all or some rows, rising, as Arrow tables of text.

        Each comes with its first row, or the place of it among `rows`.
        """
        schema = pa.schema([(name, pa.string()) for name in self.names])
        fields, first = self.rows(None if rows is None else frozenset(rows.tolist())), 0
        while batch := list(islice(fields, batch_rows)):
            columns = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
            yield first, pa.table(columns, schema=schema)
            first += len(batch)
        if first == 0:
            yield first, schema.empty_table()

    def line_finder(self, wanted: Collection[int] | None = None) -> Callable[[int], int]:
        """Return what tells the line, counted from 1, at which a row begins, of all or some.

        All lines are found when the first is wanted.
        """
        lines: dict[int, int] = {}

        def line_of(row: int) -> int:
            found = ((own.row, line) for line, own in self.numbered()) if not lines else ()
            lines.update({own: line for own, line in found if wanted is None or own in wanted})
            return lines[row]

        return line_of

    def numbered(self) -> Iterator[tuple[int, Record]]:
        """Yield every line and record, each with the line at which it begins."""
        line = 1
        for record in self.records():
            yield line, record
            line += len(record.body.splitlines()) or 1

    def picked(self, wanted: Collection[int]) -> Iterator[Record]:
        """Yield the records of some rows, in the file's order."""
        last = max(wanted, default=-1)
        if last < 0:
            return
        for record in self.records():
            if record.row in wanted:
                yield record
            if record.row == last:
                return

    @property
    def body_encoding(self) -> str:
        """The encoding of the records' bytes."""
        return self.encoding if self._is_transparent else "utf-8"

    def write(
        self,
        stream: BinaryIO,
        names: Sequence[str],
        cells: Callable[[int], Sequence[str]],
        order: Order | None = None,
    ) -> None:
        """Write the text with further cells in every row, and their names if it has names.

        Parameters
        ----------
        stream : binary file
            Where to write.
        names : sequence of str
            Names of the further columns.
        cells : callable
            Returns the further cells of a row, counted from 0.
        order : array of int, optional
            The rows to write, in this order; lines below the first row that are no rows are then
            left out. By default the whole text.
        """
        stream.write(self._mark)
        if order is not None and np.any(np.diff(order) <= 0):
            self._write_in_order(stream, names, cells, order)
            return
        wanted = None
        if order is not None:
            wanted = np.zeros(self._known_rows, dtype=np.bool_)
            wanted[order] = True
        has_rows = False
        for row, own, end in self.records():
            body = own
            if row >= 0:
                has_rows = True
                if wanted is None or wanted[row]:
                    body = self._filtered(body) + self._further(cells(row))
                    stream.write(self._encoded(body + end))
            elif row == _HEADER:
                stream.write(self._encoded(self._filtered(body) + self._further(names) + end))
            elif wanted is None or not has_rows:
                stream.write(self._encoded(body + end))

    def _write_in_order(
        self,
        stream: BinaryIO,
        names: Sequence[str],
        cells: Callable[[int], Sequence[str]],
        order: Order,
    ) -> None:
        """Copy the rows to a temporary file and write them from there: they may exceed memory."""
        starts, sizes = np.zeros((2, self._known_rows), dtype=np.int64)
        usual_end = b""
        with tempfile.TemporaryFile() as rows:
            place = 0
            for row, own, end in self.records():
                body = own
                usual_end = usual_end or end
                if row >= 0:
                    body = self._filtered(body)
                    starts[row], sizes[row] = place, len(body)
                    place += rows.write(body)
                elif row == _HEADER:
                    stream.write(self._encoded(self._filtered(body) + self._further(names) + end))
                elif place == 0:
                    stream.write(self._encoded(body + end))
            end = usual_end or b"\n"
            for row in order.tolist():
                rows.seek(starts[row])
                body = rows.read(sizes[row])
                stream.write(self._encoded(body + self._further(cells(row)) + end))

    @property
    def _known_rows(self) -> int:
        if self.n_rows is None:
            raise ValueError("rows cannot be chosen before their number is known")
        return self.n_rows

    def _further(self, cells: Sequence[str]) -> bytes:
        cells = cells if self.change is None else [*map(self.change, cells)]
        quoted = [_quoted(cell) if self._needs_quotes(cell) else cell for cell in cells]
        text = self.delimiter.join(("", *quoted))
        # a cell that is not of the file may hold characters that its encoding lacks
        known = text.encode(self._codec, "replace").decode(self._codec)
        return known.encode(self.body_encoding)

    def _needs_quotes(self, cell: str) -> bool:
        is_blank = self.delimiter == " " and (not cell or "\t" in cell)
        return is_blank or any(c in cell for c in (self.delimiter, '"', "\n", "\r"))

    # records

    def records(self) -> Iterator[Record]:
        """Yield every line and every record, in the text's encoding or in UTF-8."""
        delimiter = self.delimiter.encode()
        blanks = b" \t" if delimiter == b" " else b""
        row = _HEADER if self.header else 0
        n_lines = n_pending = 0
        pending: list[bytes] = []
        is_open = False
        for line in _lines(self._chunks()):
            n_lines += 1
            if n_lines <= self.skip_lines or row == self.n_rows:
                yield Record(_NO_ROW, *_without_end(line))
                continue
            if is_open or b'"' in line:
                spaced = line.replace(b"\t", b" ") if blanks else line
                is_open = _leaves_open(spaced, delimiter, is_open)
                pending.append(line)
                n_pending += len(line)
                if is_open and (self.n_rows is not None or n_pending < _LONGEST_RECORD):
                    continue
                if is_open:
                    raise self._open_quote(n_lines - len(pending) + 1)
                line = b"".join(pending)  # noqa: PLW2901 - a record of several lines
                pending, n_pending = [], 0
            body, end = _without_end(line)
            if not body.strip(blanks):
                yield Record(_NO_ROW, body, end)
                continue
            yield Record(row, body, end)
            row += 1
        if pending:
            raise self._open_quote(n_lines - len(pending) + 1)
        if self.n_rows is not None and row < self.n_rows:
            raise BadFile(self.source.name, "was changed after it was read", remedy="start again")

    def _open_quote(self, line: int) -> BadFile:
        what = "a quote is opened in this record and never closed"
        remedy = 'close it, or write a quote inside a field as ""'
        return BadFile(self.source.name, what, line=line, remedy=remedy)

    def _chunks(self) -> Iterator[bytes]:
        """Yield the text without its byte-order mark, in its encoding or in UTF-8."""
        with library_errors(self.source.name, "gzip"), self.source.open() as stream:
            stream.read(len(self._mark))
            decode = None
            if not self._is_transparent:
                decode = codecs.getincrementaldecoder(self._codec)().decode
            while chunk := stream.read(_CHUNK):
                yield chunk if decode is None else decode(chunk).encode()

    # encoding

    @cached_property
    def _is_transparent(self) -> bool:
        """Whether ASCII characters are the same bytes as in ASCII, wherever they stand."""
        try:
            return bytes(range(128)).decode(self.encoding) == bytes(range(128)).decode("ascii")
        except UnicodeError:
            return False

    @cached_property
    def _mark(self) -> bytes:
        """The bytes of the byte-order mark, if the text begins with one."""
        with self.source.open() as stream:
            head = stream.read(4)
        name = codecs.lookup(self.encoding).name
        if name in _BYTE_ORDERS:
            return next((mark for mark in _BYTE_ORDERS[name] if head.startswith(mark)), b"")
        mark = "\ufeff".encode(self.encoding, errors="ignore")
        return mark if mark and head.startswith(mark) else b""

    @cached_property
    def _codec(self) -> str:
        """The encoding, of UTF-16 and UTF-32 with the byte order of the text."""
        name = codecs.lookup(self.encoding).name
        if name not in _BYTE_ORDERS:
            return name
        native = f"{name}-{'le' if sys.byteorder == 'little' else 'be'}"
        return _BYTE_ORDERS[name].get(self._mark, native)

    def _encoded(self, text: bytes) -> bytes:
        return text if self._is_transparent else text.decode().encode(self._codec)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        lines = (rest + chunk).splitlines(keepends=True)
        rest = lines.pop() if lines else b""  # may go on, or be \r before \n
        yield from lines
    if rest:
        yield rest


def _without_end(line: bytes) -> tuple[bytes, bytes]:
    body = line.removesuffix(b"\n").removesuffix(b"\r")
    return body, line[len(body) :]


def _leaves_open(line: bytes, delimiter: bytes, is_open: bool) -> bool:
    """Whether a quoted field goes on after the line; `is_open` says so of the line before."""
    place = 0
    while True:
        if is_open:
            quote = line.find(b'"', place)
            if quote < 0:
                return True
            if line[quote + 1 : quote + 2] == b'"':
                place = quote + 2
                continue
            # what follows the closing quote belongs to the field
            end = line.find(delimiter, quote + 1)
            if end < 0:
                return False
            place, is_open = end + 1, False
        if line.startswith(b'"', place):
            place, is_open = place + 1, True
            continue
        opening = line.find(delimiter + b'"', place)
        if opening < 0:
            return False
        place, is_open = opening + 2, True


def _quoted(cell: str) -> str:
    return '"{}"'.format(cell.replace('"', '""'))


def _fields(record: str, delimiter: str) -> Iterator[tuple[int, int, str]]:
    """Yield where fields begin and end, and their texts; as Python's ``csv``, but of any length."""
    place, stop = 0, len(record)
    if delimiter == " ":
        stop = len(record.rstrip(" \t"))
        place = stop - len(record[:stop].lstrip(" \t"))
    between = re.compile("[ \t]+" if delimiter == " " else re.escape(delimiter))
    while True:
        start, field = place, ""
        if record.startswith('"', place):
            place += 1
            while (quote := record.find('"', place, stop)) >= 0:
                field += record[place:quote]
                place = quote + 1
                if not record.startswith('"', place):
                    break
                field += '"'
                place += 1
        end = between.search(record, place, stop)
        if end is None:
            yield start, stop, field + record[place:stop]
            return
        yield start, end.start(), field + record[place : end.start()]
        place = end.end()
