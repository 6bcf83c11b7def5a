"""ARFF files. scipy's reader supports neither strings nor sparse rows and names no lines."""

import datetime as dt
import io
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.errors import BadFile, Message, Setting
from metaod.options import Reading
from metaod.tables._notations import na_setting, shorten
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    as_utf8,
    check_bytes,
    check_expansion,
    damaged,
)

_VALUES_PER_CHUNK = 200_000

_Row = tuple[int, list[str | None]]  # its line, and a value an attribute, None where missing


def read(source: Source, options: Reading) -> Content:
    """Read an ARFF file."""
    text = as_utf8(source, options.encoding)
    line_of = array("q")
    with text.source.open() as stream, io.TextIOWrapper(stream, "utf-8-sig") as lines:
        numbered = enumerate(lines, start=1)
        attributes = [
            replace(declared, kind="string") if declared.name in options.text_columns else declared
            for declared in _read_header(numbered, source.name)
        ]
        # sparse rows may be short; a line is a row, an attribute or a comment
        n_cells = max(0, text.n_lines - len(attributes)) * len(attributes)
        check_expansion(source.name, source.size, 8 * n_cells, "give fewer rows or attributes")
        columns = [_Column(attribute, source.name) for attribute in attributes]
        rows = _RowReader(attributes, {"?", *options.missing_words}, source.name).rows(numbered)
        n_rows = max(1, _VALUES_PER_CHUNK // len(columns))
        while chunk := list(islice(rows, n_rows)):
            chunk_lines = [line for line, _ in chunk]
            line_of.extend(chunk_lines)
            n_bytes = CELL_BYTES * len(line_of) * len(columns)
            check_bytes(source.name, "needs at least", n_bytes, options.memory_limit)
            by_column = zip(*(row for _, row in chunk), strict=True)
            for column, values in zip(columns, by_column, strict=True):
                column.add(values, chunk_lines)
    if not line_of:
        raise BadFile(source.name, "holds no rows after @data", remedy="check the export")
    frame = pd.DataFrame({column.attribute.name: column.series() for column in columns})
    return Content(
        frame, text.warnings, locate=lambda row: f"line {line_of[row]}", declares_types=True
    )


# values

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# a quoted value, or a bare one, and what ends it; the last after an index
_BY_COMMAS = re.compile(rf"[ \t]*(?:({_QUOTED})[ \t]*|((?:[^,'\"][^,]*)?))(,|$)")
_BY_BLANKS = re.compile(rf"(?:({_QUOTED})|([^ \t'\"][^ \t]*))([ \t]+|$)")
_BY_INDEX = re.compile(rf"[ \t]*([0-9]{{1,9}})[ \t]+(?:({_QUOTED})[ \t]*|([^ \t,'\"][^,]*))(,|$)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def _split(pattern: re.Pattern[str], text: str) -> list[tuple[str, bool, str]] | None:
    """Split a text into (value, is it quoted, index); None where it does not match the pattern."""
    values = []
    position, ended = 0, False
    while not ended:
        found = pattern.match(text, position)
        if found is None:
            return None
        *index, quoted, bare, end = found.groups()
        value, is_quoted = (bare.strip(), False) if quoted is None else (_unquote(quoted), True)
        values.append((value, is_quoted, "".join(index)))
        position, ended = found.end(), not end
    return values


def _split_values(text: str) -> list[tuple[str, bool]] | None:
    """Split values at commas, or at blanks where there is no comma."""
    values = _split(_BY_COMMAS if "," in text else _BY_BLANKS, text.strip())
    return None if values is None else [(value, quoted) for value, quoted, _ in values]


def _unquote(token: str) -> str:
    if len(token) < 2 or token[0] not in "'\"" or token[-1] != token[0]:
        return token
    return _ESCAPE.sub(_unescape, token[1:-1])


def _unescape(escape: re.Match[str]) -> str:
    letter = escape[1]
    if len(letter) > 1:
        code = int(letter[1:], 16)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)  # no half of a surrogate pair
    return _ESCAPED.get(letter, letter)


# the header

_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
_TYPES = {"numeric": "numeric", "real": "numeric", "integer": "integer", "string": "string"}
# Java's letters for the parts of a date, and Python's
# fmt: off
_DATE_PARTS = {
    "yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S",
    "SSS": "%f", "a": "%p", "Z": "%z", "EEE": "%a",
}
# fmt: on
_DATE_PIECE = re.compile(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']")
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str  # numeric, integer, string, nominal or date
    values: tuple[str, ...] = ()
    date_format: str = ""


def _read_header(lines: Iterator[tuple[int, str]], source: str) -> list[_Attribute]:
    """Read the declarations up to and including ``@data``."""
    attributes: dict[str, _Attribute] = {}
    for number, raw in lines:
        line = raw.strip()
        keyword = line.split(maxsplit=1)[0].lower() if line else ""
        if not line or line.startswith("%") or keyword == "@relation":
            continue
        if keyword == "@attribute":
            attribute = _parse_attribute(line, number, source, attributes)
            attributes[attribute.name] = attribute
        elif keyword == "@data":
            if not attributes:
                raise BadFile(source, "declares no attributes", line=number)
            return list(attributes.values())
        else:
            remedy = "only @relation, @attribute and comments after % may precede @data"
            what = f"{shorten(line)!r} is not a declaration"
            raise BadFile(source, what, line=number, remedy=remedy)
    raise damaged(source, "has no @data")


def _parse_attribute(line: str, number: int, source: str, others: Collection[str]) -> _Attribute:
    found = _ATTRIBUTE.fullmatch(line)
    name = _unquote(found[1]).strip() if found else ""
    if not found or not name or not found[2]:
        what = "an attribute without a name or a type"
        raise BadFile(source, what, line=number, remedy="fix the line")
    fail = partial(BadFile, source, line=number, column=name)
    if name in others:
        raise fail("the attribute is declared twice", remedy="rename it")
    declared = found[2].strip()
    word, _, rest = declared.partition(" ")
    if word.lower() in _TYPES:
        return _Attribute(name, _TYPES[word.lower()])
    if word.lower() == "date":
        java = _unquote(rest.strip()) or _DEFAULT_DATE
        date_format = _date_format(java)
        if date_format is None:
            what = f"the date format {java!r} has unknown or repeated parts"
            raise fail(what, remedy="declare the attribute as string")
        return _Attribute(name, "date", date_format=date_format)
    if declared.startswith("{") and declared.endswith("}"):
        values = _split_values(declared[1:-1])
        if values is not None:
            return _Attribute(name, "nominal", values=tuple(value for value, _ in values))
    remedy = "types are numeric, real, integer, string, date and {a, b, ...}"
    raise fail(f"the type {declared[:40]!r} is not supported", remedy=remedy)


def _date_format(java: str) -> str | None:
    """Translate Java's date format to Python's; None where it has unknown or repeated parts."""
    pieces, parts = [], []
    for piece in _DATE_PIECE.finditer(java):
        if piece[2] is None:  # a literal, quoted or not
            literal = piece[0] if piece[1] is None else piece[1] or "'"
            pieces.append(literal.replace("%", "%%"))
        else:
            parts.append(_DATE_PARTS.get(piece[0], ""))
            pieces.append(parts[-1])
    return None if "" in parts or len(set(parts)) < len(parts) else "".join(pieces)


# rows and columns


class _RowReader:
    """Splits the lines after ``@data`` into values; a sparse row gets a default for the omitted."""

    def __init__(self, attributes: Sequence[_Attribute], missing: set[str], source: str) -> None:
        self.missing = missing
        self.source = source
        zeros = {"numeric": "0", "integer": "0"}
        self.omitted = [
            (*each.values, None)[0] if each.kind == "nominal" else zeros.get(each.kind)
            for each in attributes
        ]

    def rows(self, lines: Iterable[tuple[int, str]]) -> Iterator[_Row]:
        missing, width = self.missing, len(self.omitted)
        for number, raw in lines:
            line = raw.strip()
            if not line or line[0] == "%":
                continue
            row: list[str | None]
            if line[0] == "{":
                row = self._sparse(line, number)
            elif "'" in line or '"' in line or "," not in line:
                row = self._quoted(line, number)
            else:  # the most frequent case, and the fastest
                row = [
                    None if value in missing else value for value in map(str.strip, line.split(","))
                ]
            if len(row) != width:
                what = f"{len(row)} values where {width} attributes are declared"
                remedy = "fix the line, or quote values that contain a comma"
                raise BadFile(self.source, what, line=number, remedy=remedy)
            yield number, row

    def _quoted(self, line: str, number: int) -> list[str | None]:
        values = _split_values(line)
        if values is None:
            what = "a quote is opened and not closed, or stands inside a value"
            remedy = r"close it, or write it as \' inside quotes"
            raise BadFile(self.source, what, line=number, remedy=remedy)
        return [None if value in self.missing and not quoted else value for value, quoted in values]

    def _sparse(self, line: str, number: int) -> list[str | None]:
        content = line[1:-1]
        entries = _split(_BY_INDEX, content) if content.strip() else []
        if entries is None or not line.endswith("}"):
            remedy = "write it as {index value, index value, ...}, indices counted from 0"
            raise BadFile(self.source, "is not a sparse row", line=number, remedy=remedy)
        row = list(self.omitted)
        last = -1
        for value, quoted, written in entries:
            index = int(written)
            if not last < index < len(row):
                what = f"index {index} where indices rise from 0 to {len(row) - 1}"
                raise BadFile(self.source, what, line=number, remedy="fix the line")
            row[index] = None if value in self.missing and not quoted else value
            last = index
        return row


class _Column:
    """A column of the declared type, filled one chunk of rows at a time."""

    def __init__(self, attribute: _Attribute, source: str) -> None:
        self.attribute = attribute
        self.source = source
        self._chunks: list[npt.NDArray[Any]] = []
        self._codes = {value: code for code, value in enumerate(attribute.values)}

    def add(self, values: Sequence[str | None], lines: Sequence[int]) -> None:
        try:
            self._chunks.append(self._convert(values))
        except (ValueError, KeyError) as error:
            if len(values) == 1:
                raise self._error(values[0], lines[0]) from error
            for value, line in zip(values, lines, strict=True):
                self.add([value], [line])  # raises at the value at fault

    def series(self) -> "pd.Series[Any]":
        values = np.concatenate(self._chunks)
        if self.attribute.kind == "nominal":
            # a missing value has code -1, which takes the None at the end
            return pd.Series(np.array([*self.attribute.values, None], dtype=object)[values])
        if self.attribute.kind == "integer" and np.all(np.abs(values) < 2**53):
            whole = values.astype(np.int64)
            return pd.Series(whole if (whole == values).all() else values)
        return pd.Series(values)

    def _convert(self, values: Sequence[str | None]) -> npt.NDArray[Any]:
        kind, codes = self.attribute.kind, self._codes
        if kind == "string":
            return np.array(values, dtype=object)
        if kind == "nominal":
            return np.array([-1 if value is None else codes[value] for value in values], np.int32)
        if kind == "date":
            dates = [None if value is None else self._parse_date(value) for value in values]
            return np.array(dates, dtype="datetime64[us]")
        if "_" in "".join([value for value in values if value is not None]):
            raise ValueError("Python would read 1_000 as a number")
        return np.array([np.nan if value is None else float(value) for value in values])

    def _parse_date(self, value: str) -> dt.datetime:
        date_format = self.attribute.date_format
        date = dt.datetime.strptime(value, date_format)  # noqa: DTZ007 - see the next line
        return date.astimezone(dt.UTC).replace(tzinfo=None) if date.tzinfo else date

    def _error(self, value: str | None, line: int) -> BadFile:
        name, kind = self.attribute.name, self.attribute.kind
        legal = {"nominal": "one of the declared values", "date": "a date of the declared format"}
        shown = repr(shorten(str(value)))
        remedy = Message(
            "bad-value",
            "fix it, name it as missing: {na}, or read the column as text: {text}",
            na=na_setting(str(value)),
            text=Setting("text", name),
        )
        what = f"{shown} is not {legal.get(kind, 'a number')}"
        return BadFile(self.source, what, line=line, column=name, remedy=remedy)
