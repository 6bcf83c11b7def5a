"""Count the picks of MetaOD and MetaOD_F that a change of one billionth changes, on both testbeds.

    python tools/try_perturbations.py --store reproduction/testbeds.db --testbeds reproduction

V's start and the meta-features are changed by a relative 1e-9 (V, which starts at 0, by an absolute
one). POC is split into its folds, ST into ten groups of origins.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from metaod.lab import TestbedData, grouped_folds, groups_of, read_manifest, splits_of
from metaod.learners import make_learner
from metaod.store import Store

SIZE = 1e-9
LEARNERS = ("metaod", "metaod_f", "metaod_released")


def main() -> None:
    """Print one line per testbed and learner."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--testbeds", type=Path, required=True)
    given = parser.parse_args()
    for testbed in ("poc", "st"):
        folder = given.testbeds / testbed
        with Store(given.store, read_only=True) as store:
            data = TestbedData.from_store(store, read_manifest(folder), folder)
        M = data.metafeatures["paper"]
        nearby = M * (1 + SIZE * np.random.default_rng(0).normal(size=M.shape))
        for name in LEARNERS:
            start = make_learner(name).params()["start"]
            default = picks(data, M, name)
            by_features = (picks(data, nearby, name) != default).mean()
            by_start = (picks(data, M, name, start=start + SIZE) != default).mean()
            counts = f"features {by_features:.1%}, V {by_start:.1%} of {len(default)} picks"
            print(f"{testbed} {name}: changed by {counts}", flush=True)


def picks(data: TestbedData, M: pd.DataFrame, name: str, **params: float) -> "pd.Series[str]":
    """Return the pick for every dataset, with seed 0."""
    protocol = "folds" if data.testbed == "poc" else "leave-one-origin-out"
    groups = np.asarray(groups_of(data, protocol))
    splits = splits_of(data, protocol)
    if data.testbed == "st":
        splits = grouped_folds(data.datasets["origin"], 10)
    found = []
    for split in splits:
        learner = make_learner(name, random_state=0, **params)
        learner.fit(data.P.iloc[split.train], M.iloc[split.train], groups[split.train])
        scores = learner.predict(M.iloc[split.test]).where(data.P.iloc[split.test].notna())
        found.append(scores.T.sort_index().idxmax())
    return pd.concat(found).reindex(data.P.index)


if __name__ == "__main__":
    main()
