"""Records of delimited text as columns, parsed by pyarrow, and the place of a faulty one.

pyarrow would read 01000 as 1000, so columns with such codes in the first megabyte are parsed as
text. Codes that begin further down are read as numbers: finding them takes a second pass.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from metaod.errors import BadFile, Message, Setting, UserError
from metaod.options import Reading
from metaod.tables._column_types import rounding_warning
from metaod.tables._footers import is_total
from metaod.tables._notations import ERROR_WORDS, MISSING_WORDS, OBVIOUS_WORDS
from metaod.tables.readers._arrow import frame_from_arrow
from metaod.tables.readers._dialect import Dialect
from metaod.tables.readers._raw_text import RawText
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import Source, library_errors

_BLOCK_BYTES = 2**20
_BLOCK_BYTES_A_COLUMN = 800
_MANY_COLUMNS, _FIRST_RECORDS = 2000, 5
_DECIMAL = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_LARGEST_BLOCK = 2**31 - 1
_MOST_FOOTERS = 10
_FAILED_COLUMN = re.compile(r"In CSV column #([0-9]+):")


@dataclass(frozen=True)
class Records:
    """The records of a UTF-8 text whose dialect is known."""

    source: Source
    dialect: Dialect
    check: Callable[[], None]  # raises an error that names the line of a fault, if there is one

    def read(self, options: Reading, line_of: Callable[[int], int]) -> Content:
        """Read the columns; pyarrow decides types."""
        names = self.dialect.names
        missing = (MISSING_WORDS - ERROR_WORDS).union(options.missing_words)
        as_text = {*options.text_columns, *self.dialect.code_columns, options.label} - {None}
        types = dict.fromkeys(as_text, pa.string())
        table = self._parse_wide(missing, types) if len(names) > _MANY_COLUMNS else None
        table = self._parse(missing, types) if table is None else table
        words = self._missing_words(table, missing.difference(options.missing_words))
        rounded = [
            rounding_warning(name, "beyond 64 bits")
            for name, column in zip(names, table.columns, strict=True)
            if self._has_rounded_integers(name, column)
        ]
        frame, warnings = frame_from_arrow(table, self.source.name)
        return Content(
            frame,
            (*rounded, *warnings),
            locate=lambda row: f"line {line_of(row)}",
            line_of=line_of,
            decimal=self.dialect.decimal,
            may_hold_index=True,
            missing=words,
            types=dict(zip(names, table.schema.types, strict=True)),
        )

    def _parse(
        self, missing: Collection[str], types: dict[str, Any], only: list[str] | None = None
    ) -> Any:
        # each column of each block takes its time: a wide table has few blocks
        block_bytes = max(_BLOCK_BYTES, _BLOCK_BYTES_A_COLUMN * len(self.dialect.names))
        while True:
            with library_errors(self.source.name, "delimited text"), self.source.open() as stream:
                try:
                    return _parse(stream, self.dialect, block_bytes, missing, types, only)
                except pa.ArrowInvalid as error:
                    # "straddling": a record is longer than a block; else the text is faulty
                    enough = block_bytes > min(self.source.size, _LARGEST_BLOCK - 1)
                    if "straddl" not in str(error) or enough:
                        self.check()
                        raise
            block_bytes = min(16 * block_bytes, _LARGEST_BLOCK)

    def _parse_wide(self, missing: Collection[str], types: dict[str, Any]) -> Any:
        """Parse a wide table: pyarrow takes 80 µs a column to find its type, 10 µs if given.

        None if there are other kinds of values further down, or the file is faulty.
        """
        raw = RawText.of(self.source, "utf-8", self.dialect)
        columns = zip(*islice(raw.rows(), _FIRST_RECORDS), strict=False)
        decimals = {
            name: pa.float64()
            for name, fields in zip(self.dialect.names, columns, strict=False)
            if self.dialect.decimal == "." and all(map(_DECIMAL.fullmatch, fields))
        }
        try:
            return self._parse(missing, {**decimals, **types})
        except UserError:
            return None

    def _missing_words(self, table: Any, missing: frozenset[str]) -> dict[str, int]:
        """Count the words, in columns with gaps, that were taken as missing; not in wide tables."""
        columns = zip(self.dialect.names, table.columns, strict=True)
        names = [name for name, column in columns if column.null_count]
        if not names or table.num_columns > _MANY_COLUMNS:
            return {}
        looked_for = pa.array(sorted(missing - OBVIOUS_WORDS))
        counts: Counter[str] = Counter()
        for column in self._texts(names).columns:
            found = column.filter(pc.is_in(column, value_set=looked_for))
            for item in found.value_counts().to_pylist() if len(found) else ():
                counts[item["values"]] += item["counts"]
        return dict(counts)

    def _has_rounded_integers(self, name: str, column: Any) -> bool:
        if not pa.types.is_floating(column.type):
            return False
        extremes = pc.min_max(column).as_py()
        if max(-(extremes["min"] or 0), extremes["max"] or 0) < 2**63:
            return False
        whole = pc.match_substring_regex(self._texts([name]).column(0), "^ *[+-]?[0-9]{19,} *$")
        return bool(pc.any(whole).as_py())

    def _texts(self, names: list[str]) -> Any:
        return self._parse([""], dict.fromkeys(names, pa.string()), names)


def _parse(
    stream: Any,
    dialect: Dialect,
    block_bytes: int,
    missing: Collection[str],
    types: dict[str, Any],
    only: list[str] | None,
) -> Any:
    layout = pyarrow.csv.ReadOptions(
        block_size=block_bytes,
        skip_rows=dialect.skip_lines,
        column_names=list(dialect.names),
        skip_rows_after_names=int(dialect.header),
    )
    convert = pyarrow.csv.ConvertOptions(
        null_values=sorted(missing),
        true_values=["true", "True", "TRUE"],  # by default also 1, and 0 below
        false_values=["false", "False", "FALSE"],
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
        column_types=types,
        include_columns=only,
    )
    parse = pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    return pyarrow.csv.read_csv(stream, layout, parse, convert)


def read_typed(
    data: bytes,
    dialect: Dialect,
    missing: Collection[str],
    types: dict[str, Any],
    only: list[str] | None = None,
) -> Any:
    """Read records of a UTF-8 text as columns of known types.

    A column that holds something else is read as floats if its type is whole numbers, then as
    text; `types` is changed accordingly. Raise ArrowInvalid if the records are no table.
    """
    block_bytes = min(len(data) + 1, _LARGEST_BLOCK)
    while True:
        try:
            return _parse(pa.py_buffer(data), dialect, block_bytes, missing, types, only)
        except pa.ArrowInvalid as error:
            failed = _FAILED_COLUMN.match(str(error))
            if failed is None:
                raise
            name = dialect.names[int(failed[1])]
            if pa.types.is_string(types[name]):
                raise
            types[name] = pa.float64() if types[name] == pa.int64() else pa.string()


def check_records(raw: RawText, n_skipped: int = 0) -> None:
    """Raise :class:`BadFile` at the first record with an open quote or a wrong width.

    This is a second, slow pass, which finds the line of an error. The last `n_skipped` records are
    no part of the table.
    """
    width, ragged = len(raw.names), None
    above: _Record | None = None
    with closing(_records(raw, n_skipped)) as records:
        for record in records:
            if ragged is None and len(record.fields) != width:
                if record.last_line == record.first_line:  # no open quote can have caused it
                    raise _ragged_error(raw, record, _n_short_below(records, width), above)
                ragged = _ragged_error(raw, record, None)
            above = record
    if ragged is not None:
        raise ragged


@dataclass(frozen=True)
class _Record:
    first_line: int
    last_line: int
    fields: list[str]


def _records(raw: RawText, n_skipped: int) -> Generator[_Record, None, None]:
    waiting: deque[_Record] = deque()
    for line, record in raw.numbered():
        if record.row >= 0 or record.is_header:
            last_line = line + max(0, len(record.body.splitlines()) - 1)
            waiting.append(_Record(line, last_line, raw.fields(record)))
        if len(waiting) > n_skipped:
            yield waiting.popleft()


def _n_short_below(records: Iterator[_Record], width: int) -> int | None:
    """Return how many short records follow up to the end of the text; None if others do."""
    n_short = 0
    for record in records:
        if len(record.fields) >= width or n_short == _MOST_FOOTERS:
            return None
        n_short += 1
    return n_short


def _ragged_error(
    raw: RawText,
    record: _Record,
    n_short_below: int | None,
    above: _Record | None = None,
) -> BadFile:
    found, width = len(record.fields), len(raw.names)
    expected = "the header has" if raw.header else "the first line has"
    remedy: str | Message = "fix the line, or quote fields that contain the delimiter"
    if record.fields[0].startswith("#"):
        remedy = "comment lines are not read: remove them"
    elif found < width and n_short_below is not None and record.first_line > 2:
        n_rows, line = 1 + n_short_below, record.first_line
        if above is not None and is_total(next(filter(str.strip, above.fields), "")):
            n_rows, line = n_rows + 1, above.first_line
        advice = f"set {{set}} if the table ends above line {line}"
        remedy = Setting("skip_footer", n_rows).advice(advice)
    elif raw.delimiter == "," and (width, found) == (1, 2):
        advice = "if the comma is a decimal mark, set {set}"
        remedy = Setting("decimal", ",").advice(advice)
    elif found == 1 and record.fields[0].strip() and not record.fields[0].strip("-=+ "):
        remedy = "lines of dashes are not read: remove them"
    elif raw.header and found == width + 1 and not record.fields[-1].strip():
        remedy = (
            "lines end with a delimiter, but the header does not: add one to it, or remove them"
        )
    elif raw.header and found == width + 1 and record.first_line == raw.skip_lines + 2:
        remedy = (
            "if every line has one field more, row names were written without a header: write "
            "the file without them (R: row.names=FALSE)"
        )
    fields = "1 field" if found == 1 else f"{found} fields"
    if record.last_line > record.first_line:
        fields += f" (a quoted field continues to line {record.last_line})"
    what = f"{fields} where {expected} {width}, with the delimiter {raw.delimiter!r}"
    return BadFile(raw.source.name, what, line=record.first_line, remedy=remedy)
