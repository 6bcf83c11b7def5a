"""Childsets: benchmarks with known outlying properties, drawn from labelled tables."""

from metaod.datasets.childsets.generator import Childset, ChildsetGenerator, make_childset
from metaod.datasets.childsets.mothersets import (
    Motherset,
    MothersetEntry,
    list_mothersets,
    read_motherset,
)
from metaod.datasets.childsets.recipe import Recipe
from metaod.datasets.childsets.synthetic import make_synthetic

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
