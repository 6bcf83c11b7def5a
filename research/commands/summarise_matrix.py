"""Print the summary of the shipped performance matrix, in Markdown.

python -m research summarise-matrix > docs/performance-matrix-summary.md
"""

import re

import pandas as pd

from metaod.history import shipped_folder
from metaod.models import model_space
from research.shipped import shipped_cells, shipped_datasets


def table(frame: pd.DataFrame) -> str:
    """A frame as a Markdown table."""
    head = "| " + " | ".join([frame.index.name or "", *map(str, frame.columns)]) + " |"
    rule = "|---" + "|---:" * frame.shape[1] + "|"
    rows = [
        f"| {index} | " + " | ".join(map(str, row)) + " |" for index, *row in frame.itertuples()
    ]
    return "\n".join([head, rule, *rows])


def main() -> None:
    """Read the shipped files and print."""
    cells, datasets = shipped_cells(), shipped_datasets()
    models = pd.read_parquet(shipped_folder() / "models.parquet").set_index("id")
    cells["family"] = cells["model"].map(models["family"])
    is_reference = cells["model"].map(models["is_reference"].astype(bool))
    is_of_paper = cells["model"].isin([spec.id for spec in model_space("paper")])
    own, references = cells[is_of_paper], cells[is_reference]
    print("# What is in the shipped performance matrix\n")
    source = "the files in `src/metaod/history/shipped`"
    print(f"Made by `python -m research summarise-matrix` from {source}: the paper's models.\n")
    print(
        f"{len(datasets)} datasets of {datasets['origin'].nunique()} origins × "
        f"{own['model'].nunique()} models = {len(own)} cells, and "
        f"{references['model'].nunique()} reference models.\n"
    )
    print("## Cells by family and state\n")
    states = pd.crosstab(own["family"], own["state"])
    states["failed %"] = (100 * states.get("failed", 0) / states.sum(axis=1)).round(2)
    print(table(states.sort_index()), "\n")
    print("## Why cells failed\n")
    failed = own[own["state"] == "failed"].copy()
    failed["reason"] = [re.sub(r"\d+(\.\d+)?", "N", reason) for reason in failed["reason"]]
    reasons = (
        failed.groupby(["family", "reason"])
        .agg(cells=("model", "size"), datasets=("dataset", "nunique"))
        .reset_index()
        .sort_values(["family", "cells"], ascending=[True, False])
        .set_index("family")
    )
    print(table(reasons[["cells", "datasets", "reason"]]), "\n")
    print("## Average precision by family\n")
    ok = own[own["state"] == "ok"]
    best = ok.loc[ok.groupby("dataset")["ap"].idxmax()]
    of_models = ok.groupby(["family", "model"])["ap"].mean()
    by_family = pd.DataFrame(
        {
            "mean AP over its models": ok.groupby("family")["ap"].mean().round(4),
            "mean AP of its best fixed model": of_models.groupby("family").max().round(4),
            "has the best model of a dataset": best.groupby("family").size(),
            "median seconds": ok.groupby("family")["seconds"].median().round(4),
        }
    ).fillna(0)
    print(table(by_family), "\n")
    print(f"Best of the models on each dataset, with hindsight: mean AP {best['ap'].mean():.4f}.\n")
    print("## Reference models\n")
    good = references[references["state"] == "ok"]
    sizes, means = good.groupby("model").size(), good.groupby("model")["ap"].mean().round(4)
    print(table(pd.DataFrame({"datasets": sizes, "mean AP": means})), "\n")
    print("## The ten models with the largest mean AP (over the datasets where they are ok)\n")
    top = ok.groupby("model").agg(datasets=("ap", "size"), mean=("ap", "mean"))
    top = top[top["datasets"] > 0.95 * len(datasets)].nlargest(10, "mean").round(4)
    print(table(top))
