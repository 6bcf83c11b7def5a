"""Learn from the rows that a person marks as outliers or not."""

from metaod.review._features import FEATURES, MarkedRows, similarities
from metaod.review._left import COVERAGE, STATE_FEATURES, Left, state_features
from metaod.review._loop import ReviewLoop, checked_marks
from metaod.review._marked_table import MarkedTable
from metaod.review._marks_file import ANSWERS
from metaod.review._ranker import Ranker, predict, shipped_ranker
from metaod.review._row_view import Cell, RowView, in_own_units
from metaod.review._rows import Rows, RowSpace
from metaod.review._table_marks import TableMarks, UsedMarks, read_marks

__all__ = [
    "ANSWERS",
    "COVERAGE",
    "FEATURES",
    "STATE_FEATURES",
    "Cell",
    "Left",
    "MarkedRows",
    "MarkedTable",
    "Ranker",
    "ReviewLoop",
    "RowSpace",
    "RowView",
    "Rows",
    "TableMarks",
    "UsedMarks",
    "checked_marks",
    "in_own_units",
    "predict",
    "read_marks",
    "shipped_ranker",
    "similarities",
    "state_features",
]
