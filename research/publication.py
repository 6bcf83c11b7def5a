"""Write every table and figure of an evaluation into one folder, and draw them again from it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pandas as pd

from metaod.errors import BadFile
from research.figures.embedding import Panel, embed, write_embedding, write_embeddings
from research.figures.ranks import write_average_rank, write_critical_difference, write_pairs
from research.figures.timing import timing_table, write_largest, write_selection_time
from research.methods import Testbed, method, paper_methods
from research.protocols import PROTOCOLS, Protocol
from research.results import Results, Unit, rows_of
from research.sensitivity import write_sensitivity
from research.statistics import friedman_nemenyi, rank_intervals
from research.tables import (
    dataset_table,
    matching_table,
    pairwise_table,
    performance_table,
    show_pairwise,
    show_performance,
    show_summary,
    summary_table,
    times_table,
    write_table,
)


def unit_of(testbed: Testbed) -> Unit:
    """Return the unit of a row in a testbed's tables: a motherset in POC, a dataset in ST."""
    return "motherset" if testbed == "poc" else "dataset"


@dataclass(frozen=True)
class Findings:
    """Everything that the tables and figures of one testbed and protocol show.

    Parameters
    ----------
    testbed : {"poc", "st"}
        In POC a row of a table is a motherset, the mean over its childsets.
    protocol : {"folds", "leave-one-out", "leave-one-origin-out"}
        The splits.
    results : Results
        What every method reached on every dataset.
    P : DataFrame of shape (n_datasets, n_models), optional
        Performance of every model that can be picked, by fingerprint, for the q-th best models.
    embedding : DataFrame, optional
        ``x``, ``y`` and ``group`` of every dataset, from :func:`embed_testbed`.
    varied : DataFrame, optional
        The runs of MetaOD with one setting changed at a time.
    """

    testbed: Testbed
    protocol: Protocol
    results: Results
    P: pd.DataFrame | None = None
    embedding: pd.DataFrame | None = None
    varied: pd.DataFrame | None = None

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read what :meth:`write` wrote; files that are missing are left out."""
        folder = Path(folder)
        path = folder / "run.json"
        try:
            run = json.loads(path.read_text("utf-8"))
            testbed, protocol = run["testbed"], run["protocol"]
            if protocol not in PROTOCOLS[testbed]:
                raise ValueError(protocol)
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"is not the record of an evaluation ({error})"
            raise BadFile(
                path, what, remedy="write it with: python -m research evaluate"
            ) from error
        found = {
            name: pd.read_parquet(folder / f"{name}.parquet")
            for name in ("performance", "sensitivity")
            if (folder / f"{name}.parquet").exists()
        }
        places = folder / "embedding.csv"
        return cls(
            testbed,
            protocol,
            Results.read(folder / "results.parquet"),
            found.get("performance"),
            pd.read_csv(places, keep_default_na=False) if places.exists() else None,
            found.get("sensitivity"),
        )

    @property
    def caption(self) -> str:
        """Testbed, protocol, and numbers of datasets, origins and seeds."""
        return self._caption(self.results.frame["seed"].nunique())

    def _caption(self, seeds: int) -> str:
        rows, origins = len(self.results.matrix()), self.results.origins().nunique()
        of = "childsets of {} mothersets" if self.testbed == "poc" else "datasets of {} origins"
        splits = "" if self.testbed == "poc" else f", {self.protocol.replace('-', ' ')}"
        return f"{self.testbed.upper()}{splits}: {rows} {of.format(origins)}, {seeds} seeds"

    def write(self, folder: str | Path) -> list[Path]:
        """Write the data, every table and every figure; return the files."""
        folder = Path(folder)
        written = [self.results.write(folder / "results.parquet")]
        kept = {"performance": self.P, "sensitivity": self.varied}
        for name, frame in kept.items():
            if frame is not None:
                written.append(folder / f"{name}.parquet")
                frame.to_parquet(written[-1])
        return written + self.draw(folder)

    def draw(self, folder: str | Path) -> list[Path]:
        """Write every table and figure; return the files."""
        folder, results, by = Path(folder), self.results, unit_of(self.testbed)
        written = write_datasets(results, folder)
        sets = {"paper": paper_methods(results.methods), "all": results.methods}
        for name, methods in sets.items():
            if methods:
                table = performance_table(results, by, methods)
                shown = show_performance(table)
                written += write_table(table, folder, f"performance-{name}", shown)
        summary = summary_table(results, by)
        written += write_table(summary, folder, "summary", show_summary(summary))
        written += self._draw_pairs(folder)
        if self.P is not None:
            written += write_table(matching_table(results, self.P, by), folder, "qth-best")
        written += self._draw_ranks(summary, folder)
        if self.embedding is not None:
            written += write_embedding(self.embedding, folder, self.caption)
        if self.varied is not None:
            iforest = results.by_dataset["iforest"]
            origins = results.datasets["origin"]
            caption = self._caption(self.varied["seed"].nunique())
            written += write_sensitivity(self.varied, iforest, origins, folder, caption)
        return written + write_times(results, folder, self.caption)

    def _draw_pairs(self, folder: Path) -> list[Path]:
        table = pairwise_table(self.results, unit_of(self.testbed))
        written = write_table(table, folder, "pairwise", show_pairwise(table))
        # the oracle's differences are so large that all others would look the same
        oracle = method("oracle").title
        others = table[(table["method 1"] != oracle) & (table["method 2"] != oracle)]
        return written + (write_pairs(others, folder, self.caption) if len(others) else [])

    def _draw_ranks(self, summary: pd.DataFrame, folder: Path) -> list[Path]:
        results, by = self.results, unit_of(self.testbed)
        # Friedman's test needs independent rows
        performance = results.matrix("origin").rename(columns=lambda key: method(key).title)
        runs, origins = results.runs(by), results.origins(by)
        sets = {"paper": paper_methods(results.methods), "all": results.methods}
        columns = {"paper": "rank of paper's", "all": "rank of all"}
        written: list[Path] = []
        for name, keys in sets.items():
            if not keys:
                continue
            titles = [method(key).title for key in keys]
            data = summary[["method", "category", "MAP", "low", "high"]]
            data = data.assign(rank=summary[columns[name]]).set_index("method").loc[titles]
            ends = rank_intervals([runs[key] for key in keys], origins)
            data = data.assign(rank_low=ends[:, 0], rank_high=ends[:, 1]).reset_index()
            stem = f"average-rank-{name}"
            written += write_average_rank(data, folder, stem, self.caption)
            if len(titles) > 2 and len(performance) > 1:
                found = friedman_nemenyi(performance[titles])
                stem = f"critical-difference-{name}"
                unit: Unit = "motherset" if self.testbed == "poc" else "origin"
                written += write_critical_difference(found, folder, stem, unit, self.caption)
        return written


def draw_results(folder: str | Path) -> list[Path]:
    """Draw again from the folder of the results of both testbeds; return the files.

    Every folder below with a ``run.json`` is drawn, and the embeddings of POC and of ST side by
    side. Nothing is computed again that needs data or training.
    """
    folder = Path(folder)
    records = sorted(folder.rglob("run.json"))
    if not records:
        what = "holds no results of an evaluation"
        raise BadFile(folder, what, remedy="write them with: python -m research evaluate")
    written: list[Path] = []
    panels: dict[Testbed, Panel] = {}
    for record in records:
        found = Findings.read(record.parent)
        written += found.draw(record.parent)
        if found.embedding is not None:
            datasets = found.results.datasets
            origins = datasets["origin"].reindex(found.embedding["dataset"]).to_numpy()
            n = f"{len(datasets)} datasets of {datasets['origin'].nunique()} origins"
            title = f"{found.testbed.upper()}: {n}"
            panels[found.testbed] = Panel(title, found.embedding.assign(group=origins))
    if len(panels) > 1:
        written += write_embeddings([panels[name] for name in sorted(panels)], folder)
    return written


def embed_testbed(results: Results, metafeatures: pd.DataFrame, testbed: Testbed) -> pd.DataFrame:
    """Return t-SNE of the meta-features, grouped by motherset (POC) or shared origin (ST)."""
    rows = results.datasets.index
    remedy = "extract them for every dataset of the testbed"
    M = rows_of(metafeatures, rows, where="meta-features", remedy=remedy)
    groups = results.datasets["motherset" if testbed == "poc" else "origin"]
    return embed(M).assign(group=groups).rename_axis("dataset").reset_index()


def write_datasets(results: Results, folder: Path) -> list[Path]:
    """Write the table of datasets, and that of left-out datasets, if any."""
    written = write_table(dataset_table(results), folder, "datasets")
    left_out = results.left_out()
    if len(left_out):
        written += write_table(left_out, folder, "left-out")
    return written


def write_times(results: Results, folder: Path, caption: str = "") -> list[Path]:
    """Write selection times, and those of the largest datasets, if they were measured."""
    data = timing_table(results)
    written: list[Path] = []
    if (data["select_seconds"] > 0).any():
        written += write_table(times_table(data), folder, "times")
        written += write_selection_time(data, folder, caption)
    if data["train_seconds"].notna().any():
        written += write_largest(data, folder, caption)
    return written
