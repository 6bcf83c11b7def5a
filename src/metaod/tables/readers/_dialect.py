"""How a delimited text is written: delimiter, decimal mark, header and names."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from threading import Lock

from metaod.errors import BadFile, Message, Setting
from metaod.options import Reading, is_delimiter
from metaod.tables._notations import CODE, NUMBER, shorten
from metaod.tables.readers._names import (
    NO_HEADER,
    check_names,
    count_titles,
    default_names,
    has_header,
    title_warning,
)
from metaod.tables.readers._source import Source

# in order of preference where several fit: commas also stand inside numbers
_DELIMITERS = "\t;|,"
_HEAD_BYTES = 2**20
_LONGEST_HEAD = 2**28
_HEAD_RECORDS = 1000
_SEPARATOR_LINE = re.compile(r"sep=(.)(?:\r\n|\r|\n)", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
_BLANK_LINES = re.compile(r"(?:\r\n|\r|\n)*")
_BLANK_LINES_OF_BLANKS = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_DECIMALS = {
    mark: re.compile(
        r"\s*[(+-]?(?:[$€£¥₹]|[A-Z]{3})?\s?-?"
        rf"(?:[0-9]{{1,3}}(?:[{group}'\u00a0\u202f ][0-9]{{3}})+|[0-9]*)[{mark}][0-9]+"
        r"\s?(?:[$€£¥₹%]|[A-Za-z°²³/]{1,6})?[)-]?\s*"
    )
    for mark, group in (".,", ",.")
}
_CODE = re.compile(rf"\s*{CODE}\s*")
_BEFORE_CODES = "0+- \t"
_NUMBER = re.compile(NUMBER["."])
_FIELD_LIMIT = Lock()  # of all threads
_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3}|\.[0-9]{3})\s*")


@dataclass(frozen=True)
class Dialect:
    """How a delimited text is written."""

    delimiter: str
    decimal: str
    names: tuple[str, ...]  # the first is empty if it is the row index
    header: bool
    skip_lines: int  # before the first record
    code_columns: tuple[str, ...]  # with whole numbers that begin with zeros
    warnings: tuple[Message, ...]


def detect_dialect(source: Source, options: Reading, missing: Collection[str]) -> Dialect:
    """Detect from its beginning how a UTF-8 text is written; options take precedence.

    The delimiter is the first of tab, semicolon, bar and comma that splits most records into the
    same number of fields; or blanks, if they do so for all. The decimal mark is a comma if more
    fields look like ``1,5`` than like ``1.5``.
    """
    text, whole = _read_beginning(source)
    delimiter, skip_lines = options.delimiter, 0
    separator = _SEPARATOR_LINE.match(text)  # written and read by Excel
    if separator and is_delimiter(separator[1]):
        delimiter = delimiter or separator[1]
        skip_lines, text = 1, text[separator.end() :]
    if options.skip_rows:
        text = _LINE.sub("", text, count=options.skip_rows)
        skip_lines += options.skip_rows
    if delimiter is None:
        candidates = "\t" if source.suffix in (".tsv", ".tab") else _DELIMITERS
        candidates = "".join(mark for mark in candidates if mark != options.decimal)
        delimiter = _detect_delimiter(text, candidates, whole, missing)
    blank_lines = _BLANK_LINES_OF_BLANKS if delimiter == " " else _BLANK_LINES
    if blank := blank_lines.match(text):
        skip_lines += len(blank[0].splitlines())
        text = text[blank.end() :]
    records = _split_records(text, delimiter, whole)
    if not records and not text.strip():
        raise BadFile(source.name, "holds only blank lines", remedy="check the export")
    if not records or (len(records) == 1 and text.count('"') % 2):
        remedy = "look for a quote that is never closed"
        what = "the first record does not end"
        raise BadFile(source.name, what, line=skip_lines + 1, remedy=remedy)
    _refuse_comment(source, records, skip_lines)
    if options.delimiter is not None and options.header is None and len(records[0]) == 1:
        other = _detect_delimiter(text, _DELIMITERS, whole, missing)
        _refuse_delimiter(source, _split_records(text, other, whole), other)
    n_titles, title = 0, None
    if options.skip_rows is None and options.header is not False and delimiter != " ":
        n_titles = count_titles(records, missing)
    if n_titles:
        n_lines = _lines_before(text, delimiter, n_titles)
        title = title_warning(records[:n_titles], skip_lines + n_lines)
        skip_lines, records = skip_lines + n_lines, records[n_titles:]

    if options.decimal == "," and options.delimiter is None and len(records[0]) == 1:
        _refuse_commas(source, records, skip_lines)

    header, header_warning = options.header, None
    if header is None:
        header, header_warning = has_header(records[0], records[1:], missing)
    if header and whole and len(records) == 1:
        advice = NO_HEADER.advice("check the export, or set {set} if the line is data")
        raise BadFile(source.name, "holds a header but no rows", remedy=advice)
    data = records[1:] if header else records
    decimal, decimal_warning = (
        (options.decimal, None) if options.decimal else _detect_decimal(data, delimiter)
    )
    names = default_names(len(records[0]))
    if header:
        names = check_names(_with_names(records[0], data), source.name, skip_lines + 1)
    return Dialect(
        delimiter,
        decimal,
        names,
        header,
        skip_lines,
        _code_columns(names, data),
        warnings=tuple(filter(None, (title, header_warning, decimal_warning))),
    )


def repeat_code_columns(dialect: Dialect, data: bytes) -> Dialect:
    """Add the columns with codes at the beginning of other records of the same text."""
    head = codecs.getincrementaldecoder("utf-8")().decode(data[:_HEAD_BYTES])
    records = _split_records(head, dialect.delimiter, len(data) <= _HEAD_BYTES)
    found = {*dialect.code_columns, *_code_columns(dialect.names, records)}
    return replace(dialect, code_columns=tuple(name for name in dialect.names if name in found))


def collapse_blanks(text: bytes) -> bytes:
    """Replace runs of blanks outside quotes by one blank; strip them at the ends of lines."""
    outside_and_inside = text.split(b'"')
    for part in range(0, len(outside_and_inside), 2):
        outside = outside_and_inside[part].replace(b"\t", b" ")
        while b"  " in outside:
            outside = outside.replace(b"  ", b" ")
        for end in (b"\n", b"\r"):
            outside = outside.replace(b" " + end, end).replace(end + b" ", end)
        outside_and_inside[part] = outside
    return b'"'.join(outside_and_inside).strip(b" ")


def _read_beginning(source: Source) -> tuple[str, bool]:
    """Return the beginning, if possible two records, and whether it is the whole text."""
    n_bytes = _HEAD_BYTES
    while True:
        head = source.head(n_bytes)
        whole = len(head) < n_bytes
        outside_quotes = b"".join(head.split(b'"')[::2])
        if whole or n_bytes >= _LONGEST_HEAD or len(outside_quotes.splitlines()) > 2:
            break
        n_bytes *= 8
    text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=whole)
    return text, whole


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module, which stops at 128 KiB, read fields of any length."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _split_records(text: str, delimiter: str, whole: bool) -> list[list[str]]:
    """Split the beginning of a text; a last record that may be cut short is left out."""
    if delimiter == " ":
        text = collapse_blanks(text.encode()).decode()
    records: list[list[str]] = []
    with _long_fields():
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > _HEAD_RECORDS:
                return records[:-1]
    return records if whole else records[:-1]


def _lines_before(text: str, delimiter: str, n_records: int) -> int:
    """Return how many lines the first records and the blank lines below them take."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    n_lines = 0
    with _long_fields():
        for record in reader:
            if record and n_records == 0:
                break
            n_lines, n_records = reader.line_num, n_records - bool(record)
    return n_lines


def _detect_delimiter(text: str, candidates: str, whole: bool, missing: Collection[str]) -> str:
    records = {mark: _split_records(text, mark, whole) for mark in candidates}
    fits = {mark: _fit(records[mark]) for mark in candidates}
    best = max(candidates, key=lambda mark: fits[mark])  # the first of equals
    if fits[best] == (True, 1.0):
        return best
    titled = [mark for mark in candidates if _fits_below_titles(records[mark], missing)]
    if titled or fits[best] >= (True, 0.0):
        return titled[0] if titled else best
    if len(candidates) > 1 and _fit(_split_records(text, " ", whole)) == (True, 1.0):
        return " "
    return best if fits[best] > (False, 0.0) else candidates[-1]


def _fit(records: Sequence[Sequence[str]]) -> tuple[bool, float]:
    """Return whether a delimiter fits the first record, and what share of all it fits."""
    [(width, count)] = Counter(map(len, records)).most_common(1) or [(1, 0)]
    share = count / max(1, len(records))
    if width == 1 or share <= 0.5:
        return False, 0.0
    return len(records[0]) == width, share


def _fits_below_titles(records: Sequence[Sequence[str]], missing: Collection[str]) -> bool:
    n_titles = count_titles(records, missing)
    widths = [len(record) for record in records[n_titles:]]
    return n_titles > 0 and widths.count(widths[0]) > len(widths) / 2


def _detect_decimal(records: Sequence[Sequence[str]], delimiter: str) -> tuple[str, Message | None]:
    if delimiter == ",":
        return ".", None
    fields = [field for record in records for field in record]
    found = {mark: [field for field in fields if _DECIMALS[mark].fullmatch(field)] for mark in ".,"}
    # three digits may be thousands, and count only if there is nothing else
    sure = {
        mark: [field for field in found[mark] if not _THOUSANDS.fullmatch(field)] for mark in ".,"
    }
    counted = sure if sure["."] or sure[","] else found
    if len(counted[","]) <= len(counted["."]):
        return ".", None
    if not sure[","]:
        return ",", Message(
            "guessed-decimal",
            "numbers such as {example!r} were read with a decimal comma ({setting}, if the comma "
            "groups thousands)",
            example=found[","][0].strip(),
            setting=Setting("decimal", "."),
        )
    return ",", None


def _with_names(first: Sequence[str], data: Sequence[Sequence[str]]) -> list[str]:
    """Name columns without a name or value, as delimiters at the ends of all lines make them."""
    names = list(first)
    for place, name in enumerate(first):
        if not name.strip() and not any(row[place].strip() for row in data if place < len(row)):
            names[place] = f"column {place + 1}"
    return names


def _code_columns(names: Sequence[str], records: Sequence[Sequence[str]]) -> tuple[str, ...]:
    columns = zip_longest(*records, fillvalue="")
    return tuple(
        name
        for name, column in zip(names, columns, strict=False)  # ragged records are refused later
        if any(field[:1] in _BEFORE_CODES and _CODE.fullmatch(field) for field in column)
    )


def _refuse_comment(source: Source, records: Sequence[Sequence[str]], skip_lines: int) -> None:
    """Refuse a comment in the first line, unless records below have as many fields: names then."""
    rest = [record for record in records[1:] if not record[0].startswith("#")]
    widths = set()
    for record in rest:
        words = record[0].split()  # numpy writes a comment above numbers separated by blanks
        are_numbers = len(record) == 1 and all(map(_NUMBER.fullmatch, words))
        widths.add(len(words) if are_numbers else len(record))
    if records[0][0].startswith("#") and rest and len(records[0]) not in widths:
        advice = "comment lines are not read: remove them, or set {set}"
        remedy = Setting("skip_rows").advice(advice)
        raise BadFile(source.name, "begins with a comment", line=skip_lines + 1, remedy=remedy)


def _refuse_delimiter(source: Source, records: Sequence[Sequence[str]], other: str) -> None:
    """Refuse a given delimiter that leaves one column, if another one separates names."""
    if other != " " and _fit(records)[0] and not any(map(_NUMBER.fullmatch, records[0])):
        what = f"has one column: the delimiter seems to be {other!r}"
        raise BadFile(source.name, what, remedy=Setting("delimiter").advice("leave out {set}"))


def _refuse_commas(source: Source, records: Sequence[Sequence[str]], skip_lines: int) -> None:
    """Refuse one column whose first line holds names between commas, the decimal mark."""
    names = records[0][0].split(",")
    if len(names) > 1 and not any(map(_NUMBER.fullmatch, names)):
        what = f"has one column if the comma is a decimal mark: {shorten(records[0][0])!r}"
        advice = "if commas separate the columns, leave out {set}"
        remedy = Setting("decimal", ",").advice(advice)
        raise BadFile(source.name, what, line=skip_lines + 1, remedy=remedy)
