"""Select a model for a table, and report why it was selected and what to expect."""

from metaod.selection._candidates import memory_for
from metaod.selection._explanation import family_names
from metaod.selection._progress import OnProgress, ProgressReport, Tracker, part_of
from metaod.selection._select import Selection, make_selection, select
from metaod.selection._trust import table_notes

__all__ = [
    "OnProgress",
    "ProgressReport",
    "Selection",
    "Tracker",
    "family_names",
    "make_selection",
    "memory_for",
    "part_of",
    "select",
    "table_notes",
]
