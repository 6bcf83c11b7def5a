"""Compare every learner on the shipped datasets, to choose the default.

The final origins are not used. Origins are divided into ten groups; each group is left out once, so
that no learner picks for a dataset whose origin it has seen. Prints a Markdown table of the mean AP
of the picks, their difference to PyOD's default iForest with a bootstrap interval over origins
and seeds, wins and losses by more than .005, and losses of more than .05.

    python -m research compare-learners --jobs 2 --journal compare.jsonl
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from metaod.learners import learner_class
from research.protocols import grouped_folds
from research.running import Candidate, run_protocol
from research.shipped import final_origins, shipped_matrix, shipped_training_data
from research.statistics import bootstrap_intervals

LEARNERS = (
    "global_best", "global_best_rank", "isac", "argosmart", "supervised_surrogates", "alors",
    "metaod", "metaod_f", "metaod_c", "squared_error", "pyod_rule", "random_selection",
)  # fmt: skip
UNLEARNED = ("pyod_rule", "random_selection")
SCHEMAS = {"paper": ("paper",), "scores": ("scores",), "both": ("paper", "scores")}


def main() -> None:
    """Run the comparison and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--journal", type=Path, default=None)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS)
    given = parser.parse_args()
    data = {
        name: shipped_training_data(schemas, final=False, mixed=False)
        for name, schemas in SCHEMAS.items()
    }
    first = data["paper"]
    candidates = []
    for name in given.learners:
        if learner_class(name).uses_metafeatures and name not in UNLEARNED:
            candidates += [Candidate(f"{name}:{key}", name, data[key].M) for key in SCHEMAS]
        else:
            candidates.append(Candidate(f"{name}:-", name, first.M))
    picks = run_protocol(
        first.P,
        list(first.origins),
        grouped_folds(first.origins, given.folds),
        candidates,
        seeds=given.seeds,
        n_jobs=given.jobs,
        journal=given.journal,
        progress=lambda done, total: print(f"\r{done}/{total}", end="", flush=True),
    )
    references = shipped_matrix(references=True).loc[first.P.index]
    others = [name for name in references if name not in first.P]
    iforest = references["IForest()"]
    fixed = {f"fixed: {name}": references[[name]] for name in others}
    rows = [_row(name, "-", reached, iforest, first.origins) for name, reached in fixed.items()]
    for key, found in picks.groupby("method", sort=False):
        reached = found.pivot_table("performance", "dataset", "seed").reindex(first.P.index)
        name, schema = str(key).split(":")
        rows.append(_row(name, schema, reached, iforest, first.origins))
    table = pd.DataFrame(rows).sort_values("MAP", ascending=False)
    print(f"\n\n{len(first.P)} datasets of {first.n_origins} origins; ", end="")
    print(f"{len(final_origins())} final origins left out\n")
    print("| learner | meta-features | MAP | − iForest [95 %] | better-worse | losses > .05 |")
    print("|---|---|---|---|---|---|")
    for row in table.to_dict("records"):
        print(
            f"| {row['learner']} | {row['schema']} | {row['MAP']:.4f} | {row['difference']} | "
            f"{row['wins']} | {row['large']:.1%} |"
        )


def _row(
    learner: str, schema: str, runs: pd.DataFrame, iforest: pd.Series, origins: pd.Series
) -> dict[str, object]:
    """Figures of one learner, datasets × seeds; the interval is over origins and seeds."""
    known = runs.notna().all(axis=1) & iforest.notna()
    differences = runs.sub(iforest, axis=0)[known]
    low, high = bootstrap_intervals(differences.to_numpy()[:, None], origins[known])[0]
    difference = differences.mean(axis=1)
    return {
        "learner": learner,
        "schema": schema,
        "MAP": float(runs[known].mean(axis=1).mean()),
        "difference": f"{difference.mean():+.4f} [{low:+.4f}, {high:+.4f}]",
        "wins": f"{int((difference > 0.005).sum())}-{int((difference < -0.005).sum())}",
        "large": float(np.mean(difference < -0.05)),
    }
