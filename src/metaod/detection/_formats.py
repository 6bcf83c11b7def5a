"""File formats that scored tables are written in, by their endings."""

import csv
import datetime as dt
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaod.errors import UserError, required
from metaod.tables import Table, plain_values

_BATCH = 2**14
_EXACT = 10**15  # larger whole numbers are not all exact as doubles
_XLSX_ROWS, _XLSX_COLUMNS, _XLSX_CHARACTERS = 2**20, 2**14, 2**15 - 1
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")  # as Excel escapes them, and CR

_FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")
_SIGNED_NUMBER = re.compile(r" *[+-](?:[0-9.,' ]*(?:[eE][+-]?[0-9]+)? ?%?|inf|nan) *")

_MAY_RUN = {  # by the ending
    ending: re.compile(rb'[\r\n"%b] *(?:[=@]|[+-][A-Za-z(=@])' % marks)
    for marks, endings in ((b",;|", (".csv", ".txt")), (b"\t", (".tsv", ".tab")))
    for ending in endings
}

Parts = Iterable[Any]
"""Arrow tables or frames with the same columns, whose rows follow each other."""


def write_csv(
    parts: Parts,
    stream: BinaryIO,
    *,
    delimiter: str = ",",
    header: bool = True,
    no_formulas: bool = False,
) -> None:
    """Write UTF-8 with quotes where they are needed."""
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    change = without_formula if no_formulas else lambda value: value
    for place, cells in enumerate(parts):
        if header and place == 0:
            writer.writerow([change(name) for name in _names(cells)])
        for row in _rows(cells):
            writer.writerow([change(plain_text(value)) for value in row])
    text.flush()
    text.detach()  # the caller closes the stream


def without_formula(value: Any) -> Any:
    """Put a quote before text that a spreadsheet would run as a formula; numbers stay.

    >>> [without_formula(text) for text in ("=1+2", "@SUM(A1)", "-2,5", "-", "plain")]
    ["'=1+2", "'@SUM(A1)", '-2,5', '-', 'plain']
    """
    is_formula = isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA_BEGINS)
    return f"'{value}" if is_formula and not _SIGNED_NUMBER.fullmatch(value) else value


def with_formula(text: str) -> str:
    """Undo :func:`without_formula`."""
    return text[1:] if text[:1] == "'" and without_formula(text[1:]) == text else text


def may_run(path: Path) -> bool:
    """Whether a file is delimited text, and seems to have cells that a spreadsheet would run."""
    pattern = _MAY_RUN.get(path.suffix.lower())
    if pattern is None:
        return False
    with path.open("rb") as stream:
        last = b"\n"
        while block := stream.read(2**20):
            if pattern.search(last + block):
                return True
            last = block[-16:]
    return False


def write_jsonl(parts: Parts, stream: BinaryIO) -> None:
    """Write one JSON object a line."""
    stream.writelines(
        json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        for cells in parts
        for row in json_rows(cells)
    )


def write_json(parts: Parts, stream: BinaryIO) -> None:
    """Write a JSON list of one object a row."""
    rows = [row for cells in parts for row in json_rows(cells)]
    stream.write(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def write_parquet(parts: Parts, stream: BinaryIO) -> None:
    """Write Parquet; columns of mixed values as text."""
    with ExitStack() as stack:
        writer = None
        for part in parts:
            cells = part
            if not isinstance(cells, pa.Table):
                cells = pa.table({str(name): _arrow_column(part[name]) for name in part.columns})
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(stream, cells.schema))
            writer.write_table(cells.cast(writer.schema))


def write_xlsx(parts: Parts, stream: BinaryIO) -> None:
    """Write a workbook of one sheet; needs openpyxl."""
    check_openpyxl()
    from openpyxl import Workbook  # noqa: PLC0415 - an extra
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415 - an extra

    book = Workbook(write_only=True)
    sheet = book.create_sheet("scored")

    def cell(value: Any) -> Any:
        value = xlsx_value(value)
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet, value)
        made.data_type = "s"  # text that begins with = is no formula
        return made

    try:
        for cells in parts:  # one: what is read in chunks is not written as a workbook
            sheet.append([cell(name) for name in _names(cells)])
            for row in _rows(_without_rounding(cells)):
                sheet.append([cell(value) for value in row])
    finally:
        sheet.close()
    book.save(stream)


DELIMITERS = {
    ".csv": ",",
    ".tsv": "\t",
    ".tab": "\t",
    **dict.fromkeys((".txt", ".dat", ".data", ".psv"), ","),
}
"""Endings of delimited text; tables of other formats are written with these delimiters."""

WRITERS: dict[str, Callable[[Parts, BinaryIO], None]] = {
    ".xlsx": write_xlsx,
    ".parquet": write_parquet,
    ".jsonl": write_jsonl,
    ".json": write_json,
}
"""Functions that write the other formats, by their endings."""

Kind = Literal["table", "cells", "report"]
ENDINGS: dict[Kind, tuple[str, ...]] = {
    # workbooks and Parquet are compressed anyway, the others also with gzip
    "table": (
        *DELIMITERS,
        *WRITERS,
        *(f"{ending}.gz" for ending in (*DELIMITERS, ".jsonl", ".json")),
    ),
    "cells": (".csv", ".xlsx", ".parquet", ".json"),
    "report": (".html", ".htm"),
}
"""All endings of the files that are written: scored tables, findings and reports."""


def write(
    parts: Parts, stream: BinaryIO, ending: str, *, header: bool = True, no_formulas: bool = False
) -> None:
    """Write in the format of an ending; the last two options are those of delimited text."""
    delimiter = DELIMITERS.get(ending)
    if delimiter is None:
        WRITERS[ending](parts, stream)
    else:
        write_csv(parts, stream, delimiter=delimiter, header=header, no_formulas=no_formulas)


def frame_of(table: Table) -> pd.DataFrame:
    """Return the cells of a table that is from no file, with its label."""
    frame, name = table.given(), "label"
    while name in frame:
        name += "_"
    return frame if table.label is None else frame.assign(**{name: table.label})


def check_openpyxl() -> None:
    """Raise MissingExtra if workbooks cannot be written."""
    required("openpyxl", extra="excel", needed_for="writing XLSX workbooks")


def check_xlsx_size(n_rows: int, n_columns: int, where: str) -> None:
    """Refuse a table that no sheet can hold."""
    if n_rows >= _XLSX_ROWS or n_columns > _XLSX_COLUMNS:
        what = f"a sheet holds at most {_XLSX_ROWS - 1:,} rows and {_XLSX_COLUMNS:,} columns"
        raise UserError(what, where=where, remedy="write .csv or .parquet")


def json_rows(cells: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows as objects of values that JSON can hold."""
    names = _names(cells)
    for row in _rows(_without_rounding(cells)):
        yield json_values(dict(zip(names, row, strict=True)))


# values


def _names(cells: Any) -> list[str]:
    return [str(name) for name in getattr(cells, "column_names", cells.columns)]


def _rows(cells: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of an Arrow table or a frame; None for what is missing."""
    if hasattr(cells, "to_batches"):
        for batch in cells.to_batches(max_chunksize=_BATCH):
            yield from zip(*map(plain_values, batch.columns), strict=True)
        return
    for start in range(0, len(cells), _BATCH):
        part = cells.iloc[start : start + _BATCH]
        columns = (part.iloc[:, place] for place in range(part.shape[1]))
        plain = [column.astype(object).where(column.notna(), None).tolist() for column in columns]
        yield from zip(*plain, strict=True)


def plain_text(value: Any) -> str:
    """Write a value as text: floats with all their digits, days without a time."""
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return repr(value) if type(value) is float else str(value)


def json_value(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    return plain_text(value)


def json_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of values that JSON can hold."""
    return {name: json_value(value) for name, value in given.items()}


def xlsx_value(value: Any) -> Any:
    """Return a value that a cell of a workbook can hold."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, dt.datetime) and value.tzinfo is None and 1900 < value.year < 10_000:
        return value
    text = _NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", plain_text(value))
    if len(text) > _XLSX_CHARACTERS:
        what = f"a cell of a workbook holds at most {_XLSX_CHARACTERS:,} characters"
        raise UserError(what, remedy="write .csv or .parquet")
    return text


def _without_rounding(cells: Any) -> Any:
    """Turn columns of whole numbers and decimals into text if doubles would round them."""
    if not isinstance(cells, pa.Table):
        wide = [
            name
            for name in cells.columns
            if cells[name].dtype.kind in "iu" and cells[name].abs().max() >= _EXACT
        ]
        return cells.assign(**{name: cells[name].astype(str) for name in wide})
    for place, name in enumerate(cells.column_names):
        column = cells.column(place)
        if pa.types.is_decimal(column.type):
            is_exact = column.type.precision <= 15
            column = column.cast(pa.float64() if is_exact else pa.string())
        elif pa.types.is_integer(column.type):
            extremes = pc.min_max(column).as_py()
            if max(-(extremes["min"] or 0), extremes["max"] or 0) >= _EXACT:
                column = column.cast(pa.string())
        cells = cells.set_column(place, name, column)
    return cells


def _arrow_column(column: Any) -> Any:
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array(
            [None if value is None else plain_text(value) for value in column], pa.string()
        )
