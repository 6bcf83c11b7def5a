"""Write every table and figure of an evaluation into one folder."""

from pathlib import Path

import pandas as pd

from metaod.lab._methods import Testbed, method, paper_methods
from metaod.lab._results import Results, Unit, rows_of
from metaod.lab._statistics import friedman_nemenyi
from metaod.lab._tables import (
    dataset_table,
    matching_table,
    pairwise_table,
    performance_table,
    show_pairwise,
    show_performance,
    summary_table,
    write_table,
)
from metaod.lab.figures._embedding import write_embedding
from metaod.lab.figures._ranks import write_average_rank, write_critical_difference, write_pairs
from metaod.lab.figures._timing import timing_table, write_largest, write_selection_time


def unit_of(testbed: Testbed) -> Unit:
    """Return the unit of a row in a testbed's tables: a motherset in POC, a dataset in ST."""
    return "motherset" if testbed == "poc" else "dataset"


def write_all(
    results: Results,
    P: pd.DataFrame,
    metafeatures: pd.DataFrame | None,
    folder: str | Path,
    testbed: Testbed,
) -> list[Path]:
    """Write every table and figure of one testbed and protocol.

    Parameters
    ----------
    results : Results
        What every method reached on every dataset.
    P : DataFrame of shape (n_datasets, n_models)
        Performance of every model that can be picked, by fingerprint.
    metafeatures : DataFrame or None
        Meta-features by fingerprint; None leaves the embedding out.
    folder : path
        The output folder; created if needed.
    testbed : {"poc", "st"}
        In POC a row is a motherset, the mean over its childsets.

    Returns
    -------
    list of Path
        The files written.
    """
    folder, by = Path(folder), unit_of(testbed)
    written = write_datasets(results, folder)
    sets = {"paper": paper_methods(results.methods), "all": results.methods}
    for name, methods in sets.items():
        if methods:
            table = performance_table(results, by, methods)
            written += write_table(table, folder, f"performance-{name}", show_performance(table))
    written += write_table(summary_table(results, by), folder, "summary")
    table = pairwise_table(results, by)
    written += write_table(table, folder, "pairwise", show_pairwise(table))
    # the oracle's differences are so large that all others would look the same
    oracle = method("oracle").title
    others = table[(table["method 1"] != oracle) & (table["method 2"] != oracle)]
    if len(others):
        written += write_pairs(others, folder)
    written += write_table(matching_table(results, P, by), folder, "qth-best")
    written += _write_rank_figures(results, folder, by)
    if metafeatures is not None:
        written += write_testbed_embedding(results, metafeatures, folder, testbed)
    return written + write_times(results, folder)


def write_datasets(results: Results, folder: Path) -> list[Path]:
    """Write the table of datasets, and that of left-out datasets, if any."""
    written = write_table(dataset_table(results), folder, "datasets")
    left_out = results.left_out()
    if len(left_out):
        written += write_table(left_out, folder, "left-out")
    return written


def _write_rank_figures(results: Results, folder: Path, by: Unit) -> list[Path]:
    summary = summary_table(results, by)
    performance = results.matrix(by).rename(columns=lambda key: method(key).title)
    papers = [method(key).title for key in paper_methods(results.methods)]
    everything = [str(title) for title in performance.columns]
    sets = {"paper": ("rank of paper's", papers), "all": ("rank of all", everything)}
    written: list[Path] = []
    for name, (rank, titles) in sets.items():
        data = summary[["method", "category", "MAP"]].assign(rank=summary[rank])
        if titles:
            written += write_average_rank(data, folder, f"average-rank-{name}")
        if len(titles) > 2 and len(performance) > 1:
            found = friedman_nemenyi(performance[titles])
            written += write_critical_difference(found, folder, f"critical-difference-{name}", by)
    return written


def write_testbed_embedding(
    results: Results, metafeatures: pd.DataFrame, folder: Path, testbed: Testbed
) -> list[Path]:
    """Write t-SNE of the meta-features, coloured by motherset (POC) or shared origin (ST)."""
    rows = results.datasets.index
    remedy = "extract them for every dataset of the testbed"
    M = rows_of(metafeatures, rows, where="meta-features", remedy=remedy)
    groups = results.datasets["motherset" if testbed == "poc" else "origin"]
    return write_embedding(M, groups, folder)


def write_times(results: Results, folder: Path) -> list[Path]:
    """Write selection times, and those of the largest datasets, if they were measured."""
    data = timing_table(results)
    written: list[Path] = []
    if (data["select_seconds"] > 0).any():
        written += write_selection_time(data, folder)
    if data["train_seconds"].notna().any():
        written += write_largest(data, folder)
    return written
