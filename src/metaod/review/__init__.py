"""Learn from the rows that a person marks as outliers or not."""

from metaod.review._contents import RowContents
from metaod.review._marks_file import Mark, Marks, MarksFile, read_marks
from metaod.review._matching import Matched, match_marks
from metaod.review._row_view import Cell, RowView

__all__ = [
    "Cell",
    "Mark",
    "Marks",
    "MarksFile",
    "Matched",
    "RowContents",
    "RowView",
    "match_marks",
    "read_marks",
]
