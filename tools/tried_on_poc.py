"""Print, as a Markdown table, the settings tried on POC before MetaOD's result was reported.

Early stopping on held-out datasets (the protocol's unit), on held-out origins, and none; MetaOD_F
with other ranks and sharpness, because it is far below the paper's result.

    python tools/tried_on_poc.py --store reproduction/testbeds.db --testbed reproduction/poc
"""

import argparse
from pathlib import Path
from typing import Any

from metaod.lab import (
    Candidate,
    TestbedData,
    bootstrap_intervals,
    groups_of,
    read_manifest,
    run_protocol,
    splits_of,
)
from metaod.store import Store

TRIED: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("MetaOD, held out by dataset (the default on POC)", "metaod", "dataset", {}),
    ("MetaOD, held out by origin", "metaod", "origin", {}),
    ("MetaOD, no early stopping, 50 epochs", "metaod", "dataset", {"epochs": 50}),
    ("MetaOD, no early stopping, 200 epochs", "metaod", "dataset", {"epochs": 200}),
    ("MetaOD, no early stopping, 400 epochs", "metaod", "dataset", {"epochs": 400}),
    ("MetaOD_F", "metaod_f", "dataset", {}),
    ("MetaOD_F, no early stopping", "metaod_f", "dataset", {"epochs": 200}),
    ("MetaOD_F, k = 40", "metaod_f", "dataset", {"k": 40}),
    ("MetaOD_F, k = 40, alpha = 5", "metaod_f", "dataset", {"k": 40, "alpha": 5.0}),
)


def main() -> None:
    """Run all settings and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--testbed", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    with Store(given.store, read_only=True) as store:
        data = TestbedData.from_store(store, read_manifest(given.testbed), given.testbed)
    splits, M = splits_of(data, "folds"), data.metafeatures["paper"]
    origins = list(data.datasets["origin"])
    print("| tried | MAP [95 % over origins and seeds] | SD over seeds |\n|---|---|---|")
    for title, learner, held_out, changed in TRIED:
        stops = "no early stopping" not in title
        params = changed if stops else {**changed, "early_stopping": False}
        groups = origins if held_out == "origin" else groups_of(data, "folds")
        candidate = Candidate(title, learner, M, params)
        picks = run_protocol(
            data.P, groups, splits, [candidate], seeds=given.seeds, n_jobs=given.jobs
        )
        runs = picks.pivot_table("performance", "dataset", "seed").loc[data.P.index]
        low, high = bootstrap_intervals(runs.to_numpy()[:, None], origins)[0]
        mean, spread = runs.mean(axis=None), runs.mean().std()
        print(f"| {title} | {mean:.4f} [{low:.3f}, {high:.3f}] | {spread:.4f} |", flush=True)


if __name__ == "__main__":
    main()
