"""Learn from the rows that a user marks as outliers or not."""

from typing import TYPE_CHECKING

from metaod._lazy import exports

if TYPE_CHECKING:
    from metaod.review._features import RowSpace
    from metaod.review._loop import ReviewLoop
    from metaod.review._marked_table import MarkedTable
    from metaod.review._marks_file import ANSWERS
    from metaod.review._ranker import Ranker
    from metaod.review._row_view import RowCell, RowView
    from metaod.review._table_marks import TableMarks, UsedMarks, read_marks

__all__ = [
    "ANSWERS",
    "MarkedTable",
    "Ranker",
    "ReviewLoop",
    "RowCell",
    "RowSpace",
    "RowView",
    "TableMarks",
    "UsedMarks",
    "read_marks",
]

__getattr__ = exports(__name__)
