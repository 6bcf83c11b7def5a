"""A report as one HTML file: plain data, then figures, then the page."""

from metaod.report._page import render
from metaod.report._score_sketch import Axis, ScoreSketch, sketch_scores
from metaod.report._summary import (
    ColumnLine,
    Measured,
    Pick,
    Recipe,
    SimilarTable,
    Step,
    Summary,
    TopRow,
    TopRows,
    Why,
)
from metaod.report._table_map import Direction, TableMap, map_table
from metaod.report._text import shown, shown_name

__all__ = [
    "Axis",
    "ColumnLine",
    "Direction",
    "Measured",
    "Pick",
    "Recipe",
    "ScoreSketch",
    "SimilarTable",
    "Step",
    "Summary",
    "TableMap",
    "TopRow",
    "TopRows",
    "Why",
    "map_table",
    "render",
    "shown",
    "shown_name",
    "sketch_scores",
]
