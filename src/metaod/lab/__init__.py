"""Research: benchmark catalogue, childsets, testbeds, evaluation protocols, tables, figures."""

from metaod.lab._cataloguing import Catalogue, CatalogueEntry, catalogue
from metaod.lab._evaluating import PROTOCOLS, Protocol, evaluate_testbed, groups_of, splits_of
from metaod.lab._loading import load_dataset
from metaod.lab._publication import unit_of, write_all
from metaod.lab._results import Results
from metaod.lab._sensitivity import run_sensitivity, sensitivity_splits, write_sensitivity
from metaod.lab._tables import summary_table
from metaod.lab._testbed_data import TestbedData
from metaod.lab._timing import add_times, measure_times
from metaod.lab._writing import write_table
from metaod.lab.childsets.generator import Childset, ChildsetGenerator, make_childset
from metaod.lab.childsets.mothersets import (
    TASKS,
    Motherset,
    MothersetEntry,
    Task,
    list_mothersets,
    read_motherset,
)
from metaod.lab.childsets.recipe import Recipe
from metaod.lab.childsets.synthetic import make_synthetic
from metaod.lab.testbeds.manifest import LeftOut, Manifest, Member, read_manifest
from metaod.lab.testbeds.own_childsets import build_childsets
from metaod.lab.testbeds.poc import build_poc
from metaod.lab.testbeds.st import build_st

__all__ = [
    "PROTOCOLS",
    "TASKS",
    "Catalogue",
    "CatalogueEntry",
    "Childset",
    "ChildsetGenerator",
    "LeftOut",
    "Manifest",
    "Member",
    "Motherset",
    "MothersetEntry",
    "Protocol",
    "Recipe",
    "Results",
    "Task",
    "TestbedData",
    "add_times",
    "build_childsets",
    "build_poc",
    "build_st",
    "catalogue",
    "evaluate_testbed",
    "groups_of",
    "list_mothersets",
    "load_dataset",
    "make_childset",
    "make_synthetic",
    "measure_times",
    "read_manifest",
    "read_motherset",
    "run_sensitivity",
    "sensitivity_splits",
    "splits_of",
    "summary_table",
    "unit_of",
    "write_all",
    "write_sensitivity",
    "write_table",
]
