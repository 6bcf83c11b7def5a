"""The file of findings: it is written, a person accepts some of them, and it is read again."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from metaod._files import expanded, replace_file
from metaod.detection import _formats as formats
from metaod.detection._result import Detection
from metaod.detection._writing import output_path
from metaod.errors import BadColumn, BadFile
from metaod.tables import Table, read_table
from metaod.wrong_cells import Finding

EMPTY = "(empty)"
"""The suggestion that empties a cell."""

_EXACT = 2**53
_NUMBER = re.compile("-?[0-9]+(?:(?P<mark>[.,])(?P<part>[0-9]+))?")
_NAMES = ("row", "column", "value", "suggestion", "accept", "expected", "why", "kind", "score")
_ANSWERS = dict.fromkeys(("yes", "y", "true", "1", "x", "ja", "oui", "si", "sí", "sì"), True)
_ANSWERS |= dict.fromkeys(("", "no", "n", "false", "0", "nein", "non"), False)


@dataclass(frozen=True)
class Correction:
    """What a cell should hold.

    Parameters
    ----------
    row : int
        Its row, counted from 0.
    column : str
        Its column.
    text : str
        What it should hold, as the file would have it; nothing for an empty cell.
    before : str or None
        What it holds, if it is known.
    """

    row: int
    column: str
    text: str
    before: str | None = None


def write_cells(
    found: Detection,
    path: "str | PathLike[str]",
    corrections: Mapping[tuple[int, str], str] | None = None,
) -> None:
    """Write all findings to a file: CSV, a workbook, Parquet or JSON.

    Each has its row, counted from 1, its column, its value as the file has it, what was expected,
    and a suggested value. A person writes yes in the column ``accept``, and may change
    ``suggestion``: see :func:`read_corrections`. Corrections that are given, by row, counted from
    0, and column, are accepted already.
    """
    target = output_path(path, owner="write_cells", name="path", kind="cells")
    findings = () if found.wrong is None else found.wrong.findings()
    rows = sorted({own.row for own in findings})
    texts = found.texts(np.array(rows, dtype=np.intp))
    places = dict(zip(rows, range(len(rows)), strict=True))
    accepted = corrections or {}
    cells = []
    for own in findings:
        value = suggestion_text(own.value)
        if own.column in texts:
            value = texts[own.column][places[own.row]]
        correct = accepted.get((own.row, own.column))
        text = suggested(own, found.table) if correct is None else correct
        suggestion = "" if text is None else text or EMPTY
        known = own.row + 1, own.column, value, suggestion, "" if correct is None else "yes"
        cells.append((*known, own.expected, own.why, own.kind, round(own.score, 4)))
    frame = pd.DataFrame(cells, columns=list(_NAMES))
    ending = target.suffix.lower()
    replace_file(target, lambda out: formats.write([frame], out, ending, no_formulas=True))


def suggested(finding: Finding, table: Table) -> str | None:
    """Return what a cell should hold, as the table's file has it; None if that is unknown.

    It is unknown of a formula, whose inputs may be wrong.
    """
    places = None if table.original is None else table.original.sheet
    if places is not None and places.holds_formula(finding.row, finding.column):
        return None
    if finding.kind == "code":
        return ""
    style, value = table.style(finding.column), finding.suggestion
    text = suggestion_text(value) if style.is_plain else style.text(value)
    number = _NUMBER.fullmatch(text)
    if number and table.original is not None and isinstance(value, float | int):
        missing = table.original.decimals.get(finding.column, 0) - len(number["part"] or "")
        mark = "" if number["mark"] or missing < 1 else "," if "," in style.text(0.5) else "."
        text += mark + "0" * missing
    return text or None


def suggestion_text(value: Any, decimal: str = ".") -> str:
    """Return a value as a file with this decimal mark has it.

    Examples
    --------
    >>> suggestion_text(1240.5, ","), suggestion_text(12.0), suggestion_text(None)
    ('1240,5', '12', '')
    """
    if value is None or value is pd.NaT or value != value:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, float | np.floating):
        number = float(value)
        text = str(int(number)) if number.is_integer() and abs(number) < _EXACT else repr(number)
        return text.replace(".", decimal)
    return formats.plain_text(value)


def read_corrections(path: "str | PathLike[str]") -> tuple[Correction, ...]:
    """Read the corrections that a person has accepted in a file of findings.

    Parameters
    ----------
    path : path-like
        The file of :func:`write_cells`, in which ``accept`` holds yes for the accepted findings.
    """
    source, frame = str(path), _frame(path)
    for name in ("row", "column", "suggestion", "accept"):
        if name not in frame:
            remedy = "give the file of findings, in which accept is yes for what you accept"
            raise BadColumn(name, "is not in the file of findings", path=source, remedy=remedy)
    found: dict[tuple[int, str], Correction] = {}
    for number, own in enumerate(frame.to_dict("records"), start=1):
        answer = own["accept"].strip().lower()
        if answer not in _ANSWERS:
            what = f"{own['accept']!r:.40} is not an answer"
            raise _bad_cell(source, number, "accept", what, "write yes, or leave it empty")
        if not _ANSWERS[answer]:
            continue
        row = own["row"].strip().removesuffix(".0")
        if not row.isdecimal() or int(row) < 1:
            what, remedy = f"{row!r:.40} is no row", "rows are counted from 1"
            raise _bad_cell(source, number, "row", what, remedy)
        if not own["suggestion"]:
            what = "the finding is accepted, and nothing says what the cell should hold"
            remedy = f"write the value, or {EMPTY} to empty the cell"
            raise _bad_cell(source, number, "suggestion", what, remedy)
        text = "" if own["suggestion"] == EMPTY else own["suggestion"]
        cell = int(row) - 1, own["column"]
        if cell in found and found[cell].text != text:
            what = f"row {row}, column {own['column']!r} is to hold two different values"
            raise _bad_cell(source, number, "suggestion", what, "accept one of them")
        found[cell] = Correction(*cell, text, own.get("value"))
    return tuple(found.values())


def _bad_cell(source: str, number: int, column: str, what: str, remedy: str) -> BadColumn:
    return BadColumn(column, f"row {number:,}: {what}", path=source, remedy=remedy)


def _frame(path: "str | PathLike[str]") -> pd.DataFrame:
    """Read a file of findings as text."""
    target, frame = expanded(path), pd.DataFrame()
    if target.is_file() and target.read_bytes().strip() == ",".join(_NAMES).encode():
        return pd.DataFrame(columns=[*_NAMES])  # a table without findings
    if target.suffix.lower() == ".json":
        try:
            rows = json.loads(target.read_text("utf-8"))
            frame = pd.DataFrame(rows if isinstance(rows, list) else [rows])
        except (OSError, TypeError, ValueError) as error:
            remedy = "give a file of findings"
            raise BadFile(path, f"cannot be read ({error})", remedy=remedy) from error
    else:
        is_sheet = target.suffix.lower() != ".parquet"
        options: dict[str, Any] = {"header": True, "skip_footer": 0} if is_sheet else {}
        table = read_table(target, unused=lambda _: True, **options)
        cells: Any = table.frame if table.original is None else table.original.read()
        frame = cells.to_pandas() if hasattr(cells, "to_pandas") else cells
    texts = {name: frame[name].map(suggestion_text) for name in frame.columns}
    return pd.DataFrame({name: own.map(formats.with_formula) for name, own in texts.items()})
