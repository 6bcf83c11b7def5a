"""A report as one HTML file: plain data, then figures, then the page."""

from metaod.report._page import render, shown
from metaod.report._score_sketch import Axis, sketch_scores
from metaod.report._table_map import map_table

__all__ = ["Axis", "map_table", "render", "shown", "sketch_scores"]
