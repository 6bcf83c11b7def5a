"""Research: benchmark catalogue, childsets, testbeds, evaluation protocols, tables, figures."""

from metaod.lab._catalogue import Catalogue, CatalogueEntry, catalogue
from metaod.lab._evaluation import EvaluationRun, evaluate_testbed, run_evaluation
from metaod.lab._injection import KINDS, Injection, recovery
from metaod.lab._loading import load_dataset
from metaod.lab._metaens import MetaEns, ScoreHistory
from metaod.lab._protocols import PROTOCOLS, Protocol, grouped_folds, groups_of, splits_of
from metaod.lab._publication import Findings, draw_results
from metaod.lab._results import Results
from metaod.lab._review_training import (
    Sample,
    fit_left,
    fit_rows,
    left_states,
    samples,
    untrained_ranker,
)
from metaod.lab._reviews import CHECKPOINTS, FOREST, ReviewTable, by_process, make_tables, play
from metaod.lab._running import Candidate, run_protocol
from metaod.lab._statistics import average_ranks, bootstrap_intervals
from metaod.lab._tables import summary_table
from metaod.lab._testbed_data import TestbedData
from metaod.lab.childsets._generator import ChildsetGenerator, make_childset
from metaod.lab.childsets._mothersets import (
    Motherset,
    list_mothersets,
    make_synthetic,
    read_motherset,
    read_mothersets,
)
from metaod.lab.childsets._recipe import Recipe
from metaod.lab.testbeds._building import build_childsets, build_poc, build_st
from metaod.lab.testbeds._folder import LeftOut, Manifest, Member, read_manifest

__all__ = [
    "CHECKPOINTS",
    "FOREST",
    "KINDS",
    "PROTOCOLS",
    "Candidate",
    "Catalogue",
    "CatalogueEntry",
    "ChildsetGenerator",
    "EvaluationRun",
    "Findings",
    "Injection",
    "LeftOut",
    "Manifest",
    "Member",
    "MetaEns",
    "Motherset",
    "Protocol",
    "Recipe",
    "Results",
    "ReviewTable",
    "Sample",
    "ScoreHistory",
    "TestbedData",
    "average_ranks",
    "bootstrap_intervals",
    "build_childsets",
    "build_poc",
    "build_st",
    "by_process",
    "catalogue",
    "draw_results",
    "evaluate_testbed",
    "fit_left",
    "fit_rows",
    "grouped_folds",
    "groups_of",
    "left_states",
    "list_mothersets",
    "load_dataset",
    "make_childset",
    "make_synthetic",
    "make_tables",
    "play",
    "read_manifest",
    "read_motherset",
    "read_mothersets",
    "recovery",
    "run_evaluation",
    "run_protocol",
    "samples",
    "splits_of",
    "summary_table",
    "untrained_ranker",
]
