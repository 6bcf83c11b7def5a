"""Delimited text: CSV, TSV and their kin.

pyarrow parses, strictly and in parallel; columns that it leaves as text are judged after it. It
would read 01000 as 1000, so that columns with such codes in the file's beginning are given to it
as text. Codes that begin further down are read as numbers: to look for them would take a second
pass over every file of numbers.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from metaod.tables.readers.arrow import frame_from_arrow
from metaod.tables.readers.content import Content, foreign_errors
from metaod.tables.readers.dialect import Dialect, collapse_blanks, look
from metaod.tables.readers.encodings import as_utf8
from metaod.tables.readers.faults import check_records, line_of_row
from metaod.tables.readers.headers import as_index
from metaod.tables.readers.options import ReadOptions
from metaod.tables.readers.source import Source
from metaod.tables.readers.text_columns import TextJudge
from metaod.tables.readers.words import MISSING_WORDS, rounding_warning

__all__ = ["read"]

_BLOCK_BYTES = 2**20
_LARGEST_BLOCK = 2**31 - 1


def read(source: Source, options: ReadOptions) -> Content:
    """Read delimited text."""
    missing = MISSING_WORDS.union(options.na)
    text = as_utf8(source, source.encoding or options.encoding)
    source = text.source
    dialect = look(source, options, missing)
    if dialect.delimiter == " ":
        with source.open() as stream:
            source = replace(source, path=None, data=collapse_blanks(stream.read()))
    as_text = {name for name in (*options.text, options.label) if name is not None}
    types = {name: pa.string() for name in (*as_text, *dialect.coded)}
    table = _parse(source, dialect, missing, types)
    if text.n_quotes % 2 or _ends_within_quotes(table):
        check_records(source, dialect)  # a quote may be left open, which pyarrow lets pass
    warnings = [*text.warnings, *dialect.warnings]
    line_of = partial(line_of_row, source, dialect)
    judge = TextJudge(missing, dialect.decimal, source.name, line_of)
    columns = []
    for name, column in zip(dialect.names, table.columns, strict=True):
        if not pa.types.is_string(column.type):
            warnings += _rounding(name, column, source, dialect)
            columns.append(column)
        elif name in as_text:
            columns.append(judge.without_missing(column))
        else:
            columns.append(judge.judge(name, column, warnings))
    del table  # half the memory, as what follows copies
    frame, of_types = frame_from_arrow(
        pa.Table.from_arrays(columns, names=list(dialect.names)), source.name
    )
    warnings += of_types
    frame = as_index(frame, warnings)
    return Content(frame, tuple(warnings), place=lambda row: f"line {line_of(row)}")


def _parse(
    source: Source,
    dialect: Dialect,
    missing: frozenset[str],
    types: dict[str, Any],
    only: list[str] | None = None,
) -> Any:
    convert = pyarrow.csv.ConvertOptions(
        null_values=sorted(missing),
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
        column_types=types,
        include_columns=only,
    )
    parse = pyarrow.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    block_bytes = _BLOCK_BYTES
    while True:
        layout = pyarrow.csv.ReadOptions(
            block_size=block_bytes,
            skip_rows=dialect.skip_lines,
            column_names=list(dialect.names),
            skip_rows_after_names=int(dialect.header),
        )
        with foreign_errors(source.name, "delimited text"), source.open() as stream:
            try:
                return pyarrow.csv.read_csv(stream, layout, parse, convert)
            except pa.ArrowInvalid as error:
                # a record longer than a block says so; anything else is a fault of the text
                enough = block_bytes > min(source.size, _LARGEST_BLOCK - 1)
                if "straddl" not in str(error) or enough:
                    check_records(source, dialect)
                    raise
        block_bytes = min(16 * block_bytes, _LARGEST_BLOCK)


def _ends_within_quotes(table: Any) -> bool:
    """Whether the last field may have swallowed lines, for want of a closing quote."""
    last = table.column(-1)
    if len(last) == 0 or not pa.types.is_string(last.type):
        return False
    return "\n" in (last[-1].as_py() or "")


def _rounding(name: str, column: Any, source: Source, dialect: Dialect) -> list[str]:
    """Warn of whole numbers of so many digits that only a float holds them."""
    if not pa.types.is_floating(column.type):
        return []
    extremes = pc.min_max(column).as_py()
    if max(-(extremes["min"] or 0), extremes["max"] or 0) < 2**63:
        return []
    raw = _parse(source, dialect, frozenset([""]), {name: pa.string()}, only=[name])
    if not pc.any(pc.match_substring_regex(raw.column(0), "^ *[+-]?[0-9]{19,} *$")).as_py():
        return []
    return [rounding_warning(name, "beyond 64 bits")]
