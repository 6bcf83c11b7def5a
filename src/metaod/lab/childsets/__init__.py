"""Childsets: benchmark datasets with controlled properties, drawn from labelled tables."""

from metaod.lab.childsets._generator import Childset, ChildsetGenerator, make_childset
from metaod.lab.childsets._mothersets import (
    TASKS,
    Motherset,
    MothersetEntry,
    Task,
    list_mothersets,
    make_synthetic,
    read_motherset,
    read_mothersets,
)
from metaod.lab.childsets._recipe import SIBLINGS, Recipe

__all__ = [
    "SIBLINGS",
    "TASKS",
    "Childset",
    "ChildsetGenerator",
    "Motherset",
    "MothersetEntry",
    "Recipe",
    "Task",
    "list_mothersets",
    "make_childset",
    "make_synthetic",
    "read_motherset",
    "read_mothersets",
]
