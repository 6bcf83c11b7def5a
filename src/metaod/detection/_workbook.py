"""The user's own workbook: cells are added, changed or marked, and all else stays as it is."""

import warnings
import zipfile
from collections.abc import Sequence
from copy import copy
from typing import Any, BinaryIO

from metaod.detection import _formats as formats
from metaod.tables import Table
from metaod.wrong_cells import Finding

# parts of a workbook that openpyxl does not keep, and what they are
_LOST = {
    "xl/charts/": "charts",
    "xl/media/": "images",
    "xl/diagrams/": "diagrams",
    "xl/threadedComments/": "threads of comments",
    "xl/slicers/": "slicers",
    "xl/timelines/": "timelines",
    "xl/ctrlProps/": "form controls",
    "xl/activeX/": "controls",
    "xl/embeddings/": "embedded objects",
    "xl/queryTables/": "queries",
    "xl/vbaProject.bin": "macros",
}
_COLOUR = "FFFFD966"


def lost_parts(table: Table) -> list[str]:
    """Name what a workbook holds that would be lost if it was written again."""
    if table.original is None or table.original.sheet is None:
        return []
    with table.original.source.open() as stream, zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
    return [what for part, what in _LOST.items() if any(name.startswith(part) for name in names)]


def is_kept(table: Table) -> bool:
    """Whether a table comes from a workbook that can be written again with all that it holds."""
    return table.original is not None and table.original.sheet is not None and not lost_parts(table)


class OwnWorkbook:
    """The workbook that a table was read from.

    Parameters
    ----------
    table : Table
        The table, for which :func:`is_kept` is true.
    """

    def __init__(self, table: Table) -> None:
        formats.check_openpyxl()
        from openpyxl import load_workbook  # noqa: PLC0415 - an extra

        original = table.original
        assert original is not None and original.sheet is not None  # noqa: S101, PT018 - see is_kept
        self._places = original.sheet
        with original.source.open() as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of styles and extensions that it ignores
            self._book = load_workbook(stream, rich_text=True)
        self._sheet = self._book[self._places.title]

    def cell(self, row: int, column: str) -> Any:
        """Return a cell of the table, which can be changed."""
        return self._sheet.cell(self._places.rows[row], self._places.columns[column])

    def add_column(self, name: str, values: Sequence[Any]) -> None:
        """Write a further column beside all that the sheet holds."""
        place = self._sheet.max_column + 1
        if self._places.header is not None:
            before = self._sheet.cell(self._places.header, max(self._places.columns.values()))
            heading = self._sheet.cell(self._places.header, place, name)
            heading._style = copy(before._style)  # noqa: SLF001 - openpyxl's way to copy a format
        for row, value in zip(self._places.rows, values, strict=True):
            text = formats.xlsx_value(value)
            own = self._sheet.cell(row, place, None if text == "" else text)
            if isinstance(own.value, str):
                own.data_type = "s"  # text that begins with = is no formula

    def mark(self, finding: Finding) -> None:
        """Colour a cell, and add a comment that tells what is wrong."""
        from openpyxl.comments import Comment  # noqa: PLC0415 - an extra
        from openpyxl.styles import PatternFill  # noqa: PLC0415 - an extra

        own = self.cell(finding.row, finding.column)
        own.fill = PatternFill("solid", fgColor=_COLOUR)
        text = f"{finding.certainty}: {finding.reason()}"
        if own.comment is not None:
            text = f"{own.comment.text}\n{text}"
        own.comment = Comment(text, "metaod")

    def save(self, stream: BinaryIO) -> None:
        """Write the workbook."""
        self._book.save(stream)
