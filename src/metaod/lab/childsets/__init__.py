"""Childsets: benchmarks with known outlying properties, drawn from labelled tables."""

from metaod.lab.childsets.generator import Childset, ChildsetGenerator, make_childset
from metaod.lab.childsets.mothersets import (
    Motherset,
    MothersetEntry,
    list_mothersets,
    read_motherset,
)
from metaod.lab.childsets.recipe import Recipe
from metaod.lab.childsets.synthetic import make_synthetic

__all__ = [
    "Childset",
    "ChildsetGenerator",
    "Motherset",
    "MothersetEntry",
    "Recipe",
    "list_mothersets",
    "make_childset",
    "make_synthetic",
    "read_motherset",
]
