"""Write a copy of a table with accepted corrections, and a log of them."""

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from metaod._files import replace_file
from metaod.detection import _formats as formats
from metaod.detection._cells_file import Correction, suggestion_text
from metaod.detection._workbook import OwnWorkbook, is_kept
from metaod.detection._writing import ending_of, output_path
from metaod.errors import BadColumn
from metaod.tables import Table, TableStream, plain_values

_SHOWN_ROWS = 10  # in an error
_LOG = ["row", "column", "before", "after"]
_ByRow = Mapping[int, Mapping[str, Correction]]
_Note = Callable[[Correction, str], None]


def write_corrected(
    source: Table | TableStream,
    corrections: Sequence[Correction],
    path: "str | PathLike[str]",
    *,
    no_formulas: bool = False,
) -> Path:
    """Write the table with the corrections and nothing else changed; return the path of the log.

    Delimited text and JSON keep every other byte, and a workbook its sheets, formulas and formats;
    another format than that of the table gets its rows and columns. The log,
    ``FILE.log.csv``, has the row, the column, and the text before and after of each correction.
    Nothing is written if a cell does not hold what a correction says that it holds, or if it holds
    a formula that would be overwritten.

    Parameters
    ----------
    source : Table or TableStream
        The table as read from its file.
    corrections : sequence of Correction
        What cells should hold.
    path : path-like
        The file to write.
    no_formulas : bool, default=False
        Whether delimited text gets a quote before cells that a spreadsheet would run.
    """
    table = source.sample if isinstance(source, TableStream) else source
    own_path = None if table.original is None else table.original.source.path
    target = output_path(path, [own_path] if own_path else [], owner="write_corrected", name="path")
    names = table.frame.columns if table.original is None else table.original.names
    by_row: dict[int, dict[str, Correction]] = defaultdict(dict)
    for own in corrections:
        if own.column not in names or not 0 <= own.row < source.n_rows:
            what = f"row {own.row + 1:,}: there is no such cell in the table"
            raise BadColumn(own.column, what, remedy="give the findings of this table")
        by_row[own.row][own.column] = own
    changed: list[tuple[Correction, str]] = []

    def note(own: Correction, before: str) -> None:
        _check_before(own, before)
        changed.append((own, before))

    replace_file(target, lambda out: _write(source, by_row, note, out, target, no_formulas))
    changed.sort(key=lambda change: change[0].row)
    cells = [(own.row + 1, own.column, before, own.text) for own, before in changed]
    log = target.with_name(f"{target.name}.log.csv")
    frame = pd.DataFrame(cells, columns=_LOG)
    replace_file(log, lambda out: formats.write_csv([frame], out, no_formulas=True))
    return log


def _write(
    source: Table | TableStream,
    by_row: _ByRow,
    note: _Note,
    stream: BinaryIO,
    path: Path,
    no_formulas: bool,
) -> None:
    """Write the file, and note the corrections with what the cells held before."""
    table = source.sample if isinstance(source, TableStream) else source
    original, ending = table.original, ending_of(path)
    raw = None if original is None else original.raw
    if original is not None:
        original.check_unchanged()
    if raw is not None and ending in formats.DELIMITERS and raw.suits(ending):
        places = {name: place for place, name in enumerate(raw.names)}
        texts = {
            row: {places[name]: own.text for name, own in cells.items()}
            for row, cells in by_row.items()
        }
        raw = replace(raw, change=formats.without_formula if no_formulas else None)
        for row, place, before in raw.write_changed(stream, texts):
            note(by_row[row][raw.names[place]], before)
        return
    if ending == ".xlsx" and is_kept(table):
        book = OwnWorkbook(table)
        accepted = [own for cells in by_row.values() for own in cells.values()]
        pairs = [(own, book.cell(own.row, own.column)) for own in accepted]
        _refuse_formulas([own for own, cell in pairs if cell.data_type == "f"])
        for own, cell in pairs:
            note(own, suggestion_text(cell.value))
            cell.value = _value(own.text, cell.value)
        book.save(stream)
        return
    records = None if original is None else original.records
    if records is not None and ending == (".jsonl" if records.layout == "lines" else ".json"):

        def change(row: int, name: str, value: Any) -> Any:
            own, is_list = by_row[row][name], isinstance(value, list)
            note(own, json.dumps(value, ensure_ascii=False) if is_list else suggestion_text(value))
            new = _value(own.text, value)
            return new if isinstance(new, list) else formats.json_value(new)

        stream.write(records.changed(by_row, change))
        return
    decimal = "." if raw is None else raw.decimal
    parts = (_corrected(first, cells, by_row, note, decimal) for first, cells in _cells(source))
    header = raw is None or raw.header
    formats.write(parts, stream, ending, header=header, no_formulas=no_formulas)


def _cells(source: Table | TableStream) -> Iterator[tuple[int, Any]]:
    if isinstance(source, TableStream):
        yield from source.cells()
    elif source.original is not None:
        yield 0, source.original.read()
    else:
        yield 0, formats.frame_of(source)


def _corrected(first: int, cells: Any, by_row: _ByRow, note: _Note, decimal: str) -> Any:
    """Return a part of the table, an Arrow table or a frame, with the corrections of its rows."""
    names = [str(name) for name in getattr(cells, "column_names", cells.columns)]
    columns: dict[int, list[Any]] = {}
    changed: defaultdict[int, set[int]] = defaultdict(set)
    for row in sorted(by_row):
        if not first <= row < first + len(cells):
            continue
        for name, own in by_row[row].items():
            place = names.index(name)
            if place not in columns:
                is_arrow = isinstance(cells, pa.Table)
                column = cells.column(place) if is_arrow else cells.iloc[:, place]
                columns[place] = plain_values(column) if is_arrow else column.tolist()
            changed[place].add(row - first)
            values = columns[place]
            before = values[row - first]
            note(own, suggestion_text(before, decimal))
            text = own.text if isinstance(before, str) else own.text.replace(decimal, ".")
            values[row - first] = _value(text, before)
    for place, values in columns.items():
        if not isinstance(cells, pa.Table):
            column = pd.Series(values, index=cells.index, dtype=object)
            cells = cells.assign(**{cells.columns[place]: column.infer_objects()})
            continue
        kind = cells.schema.field(place).type
        is_new = [row in changed[place] for row in range(len(values))]
        new = [value if own else None for value, own in zip(values, is_new, strict=True)]
        try:
            column = pc.if_else(pa.array(is_new), pa.array(new, kind), cells.column(place))
            cells = cells.set_column(place, cells.schema.field(place), column)
        except (pa.ArrowException, TypeError, ValueError) as error:
            what = f"a correction does not fit the type of the column, {kind}"
            raise BadColumn(names[place], what, remedy="write another value") from error
    return cells


def _value(text: str, before: Any) -> Any:
    """Return a text as a value: a number or date if the cell held no other text."""
    if not text:
        return None
    if isinstance(before, dt.date):
        with suppress(ValueError):
            stamp = pd.Timestamp(text).to_pydatetime()
            return stamp if isinstance(before, dt.datetime) else stamp.date()
    if isinstance(before, list):  # of JSON
        with suppress(ValueError):
            return json.loads(text)
    if isinstance(before, bool) and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not isinstance(before, str):
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
    return text


def _refuse_formulas(found: Sequence[Correction]) -> None:
    """Refuse to overwrite formulas; the cells that they read may be wrong."""
    if not found:
        return
    column = found[0].column
    rows = [f"{own.row + 1:,}" for own in found if own.column == column]
    hold = "row {} holds a formula" if len(rows) == 1 else "rows {} hold formulas"
    what = f"{hold.format('; '.join(rows[:_SHOWN_ROWS]))}, and formulas are not overwritten"
    remedy = "remove 'yes' from such findings, and correct the cells that the formulas read"
    raise BadColumn(column, what, remedy=remedy)


def _check_before(own: Correction, held: str) -> None:
    """Refuse to correct a cell that holds something else than the findings say."""
    if own.before is None or held.strip() in (own.before.strip(), f"'{own.before.strip()}"):
        return
    with suppress(ValueError):
        if float(own.before) == float(held):  # a spreadsheet has written 1.50 as 1.5
            return
    what = f"row {own.row + 1:,} holds {held!r:.40}, and not {own.before!r:.40} as the findings say"
    remedy = "give the findings of this table, or remove their column 'value' to skip the check"
    raise BadColumn(own.column, what, remedy=remedy)
