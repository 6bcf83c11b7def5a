"""JSON and JSON Lines: each record is a row, and nested objects are columns with dotted names."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import pandas as pd

from metaod.errors import BadFile, Setting, counted, listed
from metaod.options import Reading
from metaod.tables._notations import MISSING_WORDS
from metaod.tables.readers._json_text import JsonRecords, Layout
from metaod.tables.readers._names import default_names, has_header
from metaod.tables.readers._reader import Content
from metaod.tables.readers._source import (
    CELL_BYTES,
    Source,
    as_utf8,
    check_bytes,
    check_expansion,
    check_width,
)

_MOST_LEVELS = 50  # of objects in a record
_LONGEST_NAME = 1000
_ROWS_TO_CHECK = 200
_LONG = 2**20
# the most memory that Python needs for what one of these bytes begins or separates
_BYTES_NEEDED = {b"{": 250, b"[": 100, b",": 100, b'"': 40}

_Numbered = Iterable[tuple[int, Any]]


def read(source: Source, options: Reading) -> Content:
    """Read the records of a file: a line each, or those of a list."""
    text = as_utf8(source, options.encoding)
    layout, path, records = _records(text.source, options)
    unit = "line" if layout == "lines" else "record"
    rows = _Rows(source, unit, options.memory_limit)
    for number, record in records:
        rows.add(record, number)
    columns, numbers = rows.columns(), rows.numbers
    if rows.are_lists:
        missing = MISSING_WORDS.union(options.missing_words)
        first, *below = islice(zip(*columns.values(), strict=True), _ROWS_TO_CHECK)
        names = [_name(place, cell) for place, cell in enumerate(first)]
        if has_header(first, below, missing) == (True, None) and len({*names}) == len(names):
            columns = {name: own[1:] for name, own in zip(names, columns.values(), strict=True)}
            numbers = numbers[1:]
    frame = pd.DataFrame(columns, index=range(len(numbers)), dtype=object)
    return Content(
        frame,
        text.warnings,
        locate=lambda row: f"{unit} {numbers[row]}",
        may_hold_index=True,
        records=JsonRecords(
            text, layout, tuple(columns) if rows.are_lists else (), path, tuple(numbers)
        ),
    )


def _name(place: int, cell: Any) -> str:
    """Return the name of a column of lists; without one, the first is the index of the rows."""
    unnamed = f"column {place + 1}" if place else ""
    return unnamed if cell is None else str(cell)


def _records(source: Source, options: Reading) -> tuple[Layout, str, _Numbered]:
    """Return where the records are, the name of their list, and the records with their numbers."""
    lines, most = _lines(source), options.memory_limit
    beginning = list(islice(lines, 2))
    if len(beginning) == 2:
        try:
            _parse(beginning[0][1], source, most)
        except BadFile:
            pass  # the first line of a value that goes on
        else:
            found = chain(beginning, lines)
            parsed = ((n, _parse(line, source, most, n)) for n, line in found)
            return "lines", "", parsed
    with source.open() as stream:
        whole = _parse(stream.read(), source, most)
    layout, path, records = _list_in(whole, source, options)
    return layout, path, enumerate(records, start=1)


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    with source.open() as stream:
        yield from ((n, line) for n, line in enumerate(stream, start=1) if line.strip())


def _list_in(whole: Any, source: Source, options: Reading) -> tuple[Layout, str, Sequence[Any]]:
    """Return the records: the value if it is a list, or what an object holds of them."""
    if not isinstance(whole, dict):
        return ("list", "", whole) if isinstance(whole, list) else ("one", "", [whole])
    lists = dict(_lists_of_records(whole))
    named = options.variable
    if named is not None:
        if named not in lists:
            remedy = f"it holds {listed(list(lists))}" if lists else "leave the name out"
            raise BadFile(source.name, f"holds no list of records {named!r}", remedy=remedy)
        return "list", named, lists[named]
    if len(lists) == 1:
        return "list", *next(iter(lists.items()))
    if lists:
        what = f"holds several lists of records: {listed(list(lists), most=20)}"
        raise BadFile(source.name, what, remedy=Setting("variable").advice("name one: {set}"))
    if rows := _by_column(whole):
        return "columns", "", rows
    rows = _by_key(whole)
    return ("keys", "", rows) if rows else ("one", "", [whole])


def _lists_of_records(value: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    for name, own in value.items():
        if isinstance(own, dict):
            yield from _lists_of_records(own, f"{prefix}{name}.")
        elif isinstance(own, list) and own and isinstance(own[0], dict | list):
            yield prefix + name, own


def _by_column(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns: lists of one length, or objects from row number to value."""
    columns = list(whole.values())
    if columns and all(isinstance(column, dict) for column in columns):
        if any(list(column) != list(map(str, range(len(columns[0])))) for column in columns):
            return []
        columns = [list(column.values()) for column in columns]
    if not all(isinstance(own, list) and len(own) == len(columns[0]) for own in columns):
        return []
    return [dict(zip(whole, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _by_key(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return records that are named by keys, which become the index of the rows."""
    if len(whole) < 2 or not all(isinstance(record, dict) for record in whole.values()):
        return []
    return [{"": key, **record} for key, record in whole.items()]


class _Rows:
    """Collects the columns of records; `unit` is what their numbers count."""

    def __init__(self, source: Source, unit: str, max_bytes: int) -> None:
        self.numbers: list[int] = []
        self.are_lists = False
        self._name, self._unit, self._max_bytes = source.name, unit, max_bytes
        self._columns: dict[str, list[Any]] = {}
        self._n_cells = 0

    def add(self, record: Any, number: int) -> None:
        """Add a record, an object or a list."""
        n_rows = len(self.numbers)
        if n_rows == 0:
            self.are_lists = isinstance(record, list)
        if not isinstance(record, list if self.are_lists else dict):
            wanted = "a list" if self.are_lists else "an object"
            raise self._bad(number, f"is {_kind_of(record)} and not {wanted}")
        if isinstance(record, list):
            if n_rows and len(record) != len(self._columns):
                values = counted(len(record), "value")
                raise self._bad(number, f"has {values}, the first has {len(self._columns):,}")
            record = dict(zip(default_names(len(record)), record, strict=True))
        cells: dict[str, Any] = {}
        self._flatten(record, cells, number)
        for key, value in cells.items():
            column = self._columns.setdefault(key, [])
            column.extend([None] * (n_rows - len(column)))
            column.append(value)
        self.numbers.append(number)
        self._n_cells += len(cells)
        n_bytes = CELL_BYTES * len(self.numbers) * len(self._columns)
        check_width(self._name, (1, len(self._columns)))
        check_bytes(self._name, "needs at least", n_bytes, self._max_bytes)
        remedy = "leave out keys that few records have"
        check_expansion(self._name, CELL_BYTES * self._n_cells, n_bytes, remedy)

    def _flatten(
        self,
        record: dict[str, Any],
        cells: dict[str, Any],
        number: int,
        prefix: str = "",
        level: int = 1,
    ) -> None:
        check_width(self._name, (1, len(cells) + len(record)))
        for key, value in record.items():
            name = prefix + key.encode(errors="replace").decode()
            if len(name) > _LONGEST_NAME:
                raise self._bad(number, f"has a name of {len(name):,} characters")
            if isinstance(value, dict) and level == _MOST_LEVELS:
                raise self._bad(number, f"nests more than {_MOST_LEVELS} objects")
            if isinstance(value, dict):
                self._flatten(value, cells, number, f"{name}.", level + 1)
                continue
            if name in cells:
                raise self._bad(number, f"has two values named {name!r}")
            is_list = isinstance(value, list)
            cells[name] = json.dumps(value, ensure_ascii=False) if is_list else value

    def _bad(self, number: int, what: str) -> BadFile:
        line = number if self._unit == "line" else None
        remedy = "correct it, or write all records alike"
        what = what if line else f"record {number} {what}"
        return BadFile(self._name, what, line=line, remedy=remedy)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns, that without a name first: it is the index of the rows."""
        n_rows = len(self.numbers)
        found = {"": self._columns[""]} if "" in self._columns else {}
        found |= self._columns
        if not found:
            raise BadFile(self._name, "holds no records", remedy="check how it was written")
        return {name: own + [None] * (n_rows - len(own)) for name, own in found.items()}


def _parse(text: bytes, source: Source, max_bytes: int, line: int = 1) -> Any:
    if len(text) > _LONG:
        check_bytes(source.name, "may need", _bytes_needed(text), max_bytes)
    place: int | None = None
    try:
        return _DECODER.decode(text.decode("utf-8-sig").rstrip())
    except json.JSONDecodeError as error:
        what = f"is not valid JSON: {error.msg} (character {error.colno})"
        place = line + error.lineno - 1
    except RecursionError:
        what = "nests lists or objects too deeply"
    except ValueError as error:  # a repeated key, or a number of thousands of digits
        what = f"cannot be read ({error})"
    remedy = "correct it, or write or download it again"
    raise BadFile(source.name, what, line=place or line, remedy=remedy)


def _bytes_needed(text: bytes) -> int:
    """Return the most memory that the values of a text need once decoded."""
    n_bytes = len(text) * (2 if text.isascii() else 8)
    return n_bytes + sum(text.count(mark) * n for mark, n in _BYTES_NEEDED.items())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated[:100]!r} is there twice in an object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _kind_of(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return kinds.get(type(value), "a number" if not isinstance(value, bool) else "a truth value")
