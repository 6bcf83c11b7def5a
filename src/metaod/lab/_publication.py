"""All that is published of an evaluation: tables and figures into one folder."""

from pathlib import Path

import pandas as pd

from metaod.errors import UserError
from metaod.lab._methods import Testbed, method, paper_methods
from metaod.lab._results import Results, Unit
from metaod.lab._statistics import friedman_nemenyi
from metaod.lab._tables import (
    dataset_table,
    matching_table,
    pairwise_table,
    performance_table,
    show_pairwise,
    show_performance,
    summary_table,
)
from metaod.lab._writing import write_table
from metaod.lab.figures.average_rank import write_average_rank
from metaod.lab.figures.critical_difference import write_critical_difference
from metaod.lab.figures.embedding import write_embedding
from metaod.lab.figures.pairwise import write_pairs
from metaod.lab.figures.timing import timing_table, write_largest, write_selection_time

__all__ = [
    "unit_of",
    "write_all",
    "write_datasets",
    "write_matching",
    "write_pairwise",
    "write_performance",
    "write_rank_figures",
    "write_summary",
    "write_testbed_embedding",
    "write_times",
]


def unit_of(testbed: Testbed) -> Unit:
    """What a row of a testbed's tables is: in POC a motherset, in ST a dataset."""
    return "motherset" if testbed == "poc" else "dataset"


def write_datasets(results: Results, folder: Path) -> list[Path]:
    """The table of datasets, and of those that were left out, if any."""
    written = [*write_table(dataset_table(results), folder, "datasets")]
    left_out = results.left_out()
    if len(left_out):
        written += write_table(left_out, folder, "left-out")
    return written


def write_performance(results: Results, folder: Path, testbed: Testbed) -> list[Path]:
    """Average precision and ranks by dataset: of the paper's methods, and of all."""
    written: list[Path] = []
    sets = {
        "performance-paper": paper_methods(results.methods),
        "performance-all": results.methods,
    }
    for stem, methods in sets.items():
        if methods:
            table = performance_table(results, unit_of(testbed), methods)
            written += write_table(table, folder, stem, shown=show_performance(table))
    return written


def write_summary(results: Results, folder: Path, testbed: Testbed) -> list[Path]:
    """Mean, standard deviation and average ranks of every method."""
    return [*write_table(summary_table(results, unit_of(testbed)), folder, "summary")]


def write_pairwise(results: Results, folder: Path, testbed: Testbed) -> list[Path]:
    """All pairs of methods compared, as a table and as a matrix."""
    table = pairwise_table(results, unit_of(testbed))
    written = [*write_table(table, folder, "pairwise", shown=show_pairwise(table))]
    # beside the oracle all other differences would look the same
    oracle = method("oracle").title
    others = table[(table["method 1"] != oracle) & (table["method 2"] != oracle)]
    if len(others):
        written += write_pairs(others, folder)
    return written


def write_matching(results: Results, P: pd.DataFrame, folder: Path, testbed: Testbed) -> list[Path]:
    """For every method the q-th best model that it does not significantly differ from."""
    return [*write_table(matching_table(results, P, unit_of(testbed)), folder, "qth-best")]


def write_rank_figures(results: Results, folder: Path, testbed: Testbed) -> list[Path]:
    """Average ranks and critical differences: of the paper's methods, and of all."""
    by = unit_of(testbed)
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
            stem = f"critical-difference-{name}"
            written += write_critical_difference(found, folder, stem, unit=by)
    return written


def write_testbed_embedding(
    results: Results, metafeatures: pd.DataFrame, folder: Path, testbed: Testbed
) -> list[Path]:
    """t-SNE of the testbed's meta-features, coloured by motherset (POC) or shared origin (ST)."""
    datasets = results.datasets
    missing = [str(name) for name in datasets.index if name not in metafeatures.index]
    if missing:
        raise UserError(
            f"no row for dataset {missing[0]} and {len(missing) - 1} others",
            where="meta-features",
            remedy="extract them for every dataset of the testbed",
        )
    groups = datasets["motherset" if testbed == "poc" else "origin"]
    return [*write_embedding(metafeatures.loc[datasets.index], groups, folder)]


def write_times(results: Results, folder: Path) -> list[Path]:
    """Time of selection, its share of training, and the largest datasets, where measured."""
    data = timing_table(results)
    written: list[Path] = []
    if (data["select_seconds"] > 0).any():
        written += write_selection_time(data, folder)
    if data["train_seconds"].notna().any():
        written += write_largest(data, folder)
    return written


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
        Where the files go; made if it is not there.
    testbed : {"poc", "st"}
        Which: in POC a row is a motherset, the mean over its childsets.

    Returns
    -------
    list of Path
        The files written.
    """
    folder = Path(folder)
    written = write_datasets(results, folder)
    written += write_performance(results, folder, testbed)
    written += write_summary(results, folder, testbed)
    written += write_pairwise(results, folder, testbed)
    written += write_matching(results, P, folder, testbed)
    written += write_rank_figures(results, folder, testbed)
    if metafeatures is not None:
        written += write_testbed_embedding(results, metafeatures, folder, testbed)
    written += write_times(results, folder)
    return written
