"""Measure the effect of MetaOD's parameters, to choose their defaults.

    python -m research choose-metaod-defaults                 every change of one parameter, a table
    python -m research choose-metaod-defaults --only k        changes of one parameter only
    python -m research choose-metaod-defaults --seeds 3       averages of more seeds

Uses the shipped performance matrix without the final origins, in two regimes of five folds each:

unseen    datasets of a random draw of origins, folds by origin: no test dataset has a relative
          among the training datasets
siblings  datasets of the origins that have several, folds at random: most test datasets have one

The value is the mean, over test datasets, of the average precision of the learner's pick minus that
of the reference IForest(). The error is the standard error of the mean over datasets; all rows use
the same datasets, so differences between rows are more certain than that.
"""

import argparse
from dataclasses import fields
from time import process_time

import numpy as np
import pandas as pd

from metaod.learners import make_learner
from metaod.metafeatures import schema
from research.shipped import final_origins, shipped_datasets, shipped_matrix, shipped_metafeatures

FOLDS = 5
UNSEEN_ORIGINS = 140
CHANGES: dict[str, tuple[object, ...]] = {
    "k": (10,),
    "intercept": (False,),
    "standardised": (False,),
    "length": (1.0, 3.0),
    "base": (10.0,),
    "alpha": (0.3, 3.0),
    "relevance": ("row",),
    "learning_rate": (0.005, 0.05),
    "epochs": (100,),
    "schedule": ("cyclical", "constant"),
    "start": (1.0,),
    "initialisation": ("random",),
    "early_stopping": (True,),
    "min_samples_leaf": (5,),
    "max_depth": (10,),
}
RIVALS = ("global_best", "metaod_released", "metaod_f", "metaod_c", "squared_error")


class Regime:
    """Datasets, their folds, and the performance of the models and the reference."""

    def __init__(self, rows: np.ndarray, by_origin: bool) -> None:
        matrix = shipped_matrix(references=True)
        self.P = shipped_matrix().loc[rows]
        M = shipped_metafeatures("paper")
        self.M = M.loc[rows, list(schema("paper").of_columns(M.columns).learned)]
        self.origins = shipped_datasets().loc[rows, "origin"]
        self.reference = matrix.loc[rows, "IForest()"]
        units = self.origins if by_origin else pd.Series(range(len(rows)), index=rows)
        drawn = np.random.default_rng(1).permutation(units.unique())
        fold_of = {unit: place % FOLDS for place, unit in enumerate(drawn)}
        self.fold = units.map(fold_of).to_numpy()
        # a learner holds out a part of its training side by the same units
        self.groups = units

    def gain(self, name: str, **params: object) -> pd.Series:
        """Performance of the picks minus the reference's, by dataset."""
        parts = []
        for fold in range(FOLDS):
            test = self.fold == fold
            learner = make_learner(name, **params)
            learner.fit(self.P[~test], self.M[~test], self.groups[~test])
            picks = learner.predict(self.M[test]).idxmax(axis=1)
            # a pick that failed on the dataset counts as a random model
            reached = [
                value if not np.isnan(value := self.P.loc[row, pick]) else self.P.loc[row].mean()
                for row, pick in picks.items()
            ]
            parts.append(reached - self.reference[test])
        return pd.concat(parts)


def regimes() -> dict[str, Regime]:
    """The two regimes, both without the final origins."""
    origins = shipped_datasets()["origin"]
    origins = origins[~origins.isin(final_origins())]
    everything = np.sort(origins.unique())
    drawn = np.random.default_rng(0).choice(everything, UNSEEN_ORIGINS, replace=False)
    several = origins.map(origins.value_counts()) > 1
    return {
        "unseen": Regime(origins.index[origins.isin(drawn)].to_numpy(), by_origin=True),
        "siblings": Regime(origins.index[several].to_numpy(), by_origin=False),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=[*CHANGES, "rivals", "defaults"], help="one parameter")
    parser.add_argument("--seeds", type=int, default=2, help="seeds to average over")
    args = parser.parse_args()
    defaults = {item.name: item.default for item in fields(make_learner("metaod_variant"))}
    rows: list[tuple[str, str, dict[str, object]]] = [("defaults", "metaod_variant", {})]
    for name, values in CHANGES.items():
        rows += [
            (f"`{name}={value!r}`", "metaod_variant", {name: value})
            for value in values
            if args.only in (None, name) and value != defaults[name]
        ]
    rows += [(f"`{name}`", name, {}) for name in RIVALS if args.only in (None, "rivals")]
    known = regimes()
    titles = " | ".join(f"{name} ({len(regime.P)})" for name, regime in known.items())
    print(f"| MetaOD with | {titles} | s a fit |\n|---|" + "---|" * (len(known) + 1))
    for title, learner, params in rows:
        cells, start = [], process_time()
        is_random = "random_state" in {item.name for item in fields(make_learner(learner))}
        seeds = [{"random_state": seed} for seed in range(args.seeds)] if is_random else [{}]
        for regime in known.values():
            draws = [regime.gain(learner, **params, **seed) for seed in seeds]
            gain = pd.concat(draws, axis=1).mean(axis=1)
            cells.append(f"{gain.mean():+.4f} ± {gain.sem():.4f}")
        seconds = (process_time() - start) / (FOLDS * len(known) * len(seeds))
        print(f"| {title} | " + " | ".join(cells) + f" | {seconds:.1f} |", flush=True)
