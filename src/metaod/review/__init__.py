"""Learn from the rows that a person marks as outliers or not."""

from metaod.review._contents import RowContents
from metaod.review._marks_file import Mark, Marks, MarksFile, read_marks
from metaod.review._matching import Matched, match_marks

__all__ = ["Mark", "Marks", "MarksFile", "Matched", "RowContents", "match_marks", "read_marks"]
