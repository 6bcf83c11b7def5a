"""Select a model for a table, and report why it was selected and what to expect."""

from metaod.selection._candidates import Constraints, Models, Pick, check_pick
from metaod.selection._explanation import family_names
from metaod.selection._progress import OnProgress, ProgressReport, Tracker, part_of
from metaod.selection._select import Selection, check_seed, make_selection, select
from metaod.selection._trust import table_notes

__all__ = [
    "Constraints",
    "Models",
    "OnProgress",
    "Pick",
    "ProgressReport",
    "Selection",
    "Tracker",
    "check_pick",
    "check_seed",
    "family_names",
    "make_selection",
    "part_of",
    "select",
    "table_notes",
]
