"""Print, as a Markdown table, the results and the stability of factorisations on a testbed.

    python -m research try-factorisations --store testbeds.db --testbed reproduction/poc
    python -m research try-factorisations --store testbeds.db --testbed reproduction/st
    python -m research try-factorisations ... --only metaod_f --only "length 1"

POC is tested in its five folds, ST in ten groups of origins. The columns after MAP are shares of
picks that change: if every meta-feature is changed by a relative 1e-9, if the start of V is
changed by 1e-9, and between the first two seeds.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaod.learners import make_learner
from metaod.store import Store
from research.protocols import grouped_folds, groups_of, splits_of
from research.running import Candidate, run_protocol
from research.statistics import bootstrap_intervals
from research.testbed_data import TestbedData
from research.testbeds.folder import read_manifest

# steps of constant length, one dataset at a time: the first version of the factorisation
FIRST: dict[str, Any] = {
    "k": 10,
    "intercept": True,
    "standardised": False,
    "length": 1.0,
    "epochs": 200,
    "learning_rate": 1.0,
    "schedule": "cyclical",
    "start": 1.0,
    "tolerance": 1e-4,
    "early_stopping": True,
}
UNIT = 30**0.5  # 30 components of standard deviation 1
TRIED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("metaod", "metaod_variant", {}),
    ("length 1", "metaod_variant", {"length": 1.0}),
    ("length 3", "metaod_variant", {"length": 3.0}),
    ("standard deviation 1, no intercept", "metaod_variant", {"length": UNIT, "intercept": False}),
    ("early stopping", "metaod_variant", {"early_stopping": True}),
    ("first version", "metaod_variant", FIRST),
    ("metaod_released", "metaod_released", {}),
    ("metaod_f", "metaod_f", {}),
    ("metaod_f, first version", "metaod_f", FIRST),
)
CHANGE = 1e-9


def table_row(title: str, learner: str, params: dict[str, Any], data: TestbedData, n: int) -> str:
    """Return the row of one setting, with n seeds."""
    origins = data.datasets["origin"]
    if data.testbed == "poc":
        splits, groups = splits_of(data, "folds"), groups_of(data, "folds")
    else:
        splits, groups = grouped_folds(origins, 10), groups_of(data, "leave-one-origin-out")
    M = data.metafeatures["paper"]
    noise = np.random.default_rng(0).normal(size=M.shape)
    start = make_learner(learner, **params).start + CHANGE  # type: ignore[attr-defined]  # latent
    candidates = [
        Candidate("meta-features", learner, M * (1.0 + CHANGE * noise), params),
        Candidate("start", learner, M, {**params, "start": start}),
    ]
    plain = Candidate("plain", learner, M, params)
    picks = pd.concat(
        [
            run_protocol(data.P, groups, splits, [plain], seeds=n),
            run_protocol(data.P, groups, splits, candidates, seeds=1),
        ]
    )
    picked = picks.pivot_table(
        index="dataset", columns=["method", "seed"], values="pick", aggfunc="first"
    )
    seeds = sorted(seed for method, seed in picked.columns if method == "plain")
    others = [("meta-features", seeds[0]), ("start", seeds[0]), ("plain", seeds[1])]
    changed = [(picked["plain", seeds[0]] != picked[other]).mean() for other in others]
    runs = picks[picks["method"] == "plain"].pivot_table("performance", "dataset", "seed")
    runs = runs.loc[data.P.index]
    low, high = bootstrap_intervals(runs.to_numpy()[:, None], list(origins))[0]
    cells = [f"{runs.mean(axis=None):.4f} [{low:.3f}, {high:.3f}]", f"{runs.mean().std():.4f}"]
    return " | ".join([f"| {title}", *cells, *(f"{share:.0%}" for share in changed)]) + " |"


def main() -> None:
    """Run all settings and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--testbed", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2, help="two at least")
    parser.add_argument("--only", action="append", choices=[title for title, *_ in TRIED])
    given = parser.parse_args()
    with Store(given.store, read_only=True) as store:
        data = TestbedData.from_store(store, read_manifest(given.testbed), given.testbed)
    print(f"| {data.testbed}, {given.seeds} seeds | MAP [95 %] | SD over seeds ", end="")
    print("| meta-features | start of V | seed |\n|---|---|---|---|---|---|")
    for title, learner, params in TRIED:
        if given.only is None or title in given.only:
            print(table_row(title, learner, params, data, given.seeds), flush=True)
