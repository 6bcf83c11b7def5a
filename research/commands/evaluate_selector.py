"""Compare the committee and the gain forest with their rivals, on development and final origins.

    python -m research evaluate-selector development --jobs 2
    python -m research evaluate-selector final --jobs 2

``development`` uses ten folds of the development origins; ``final`` fits on all of them and tests
on the final origins. Learners are fitted on numeric and mixed tables and tested on numeric ones;
research evaluate-mixed tests on mixed ones. All follow docs/selector-protocol.md and write CSV and
Markdown tables to results/selector; research learning-curve writes the learning curve. Needs the
extra ``research``, and results/selector/adengine.csv from research run-adengine.
"""

import argparse
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed

from metaod.history import RECIPES, TrainingData
from metaod.learners import make_learner, origin_folds
from metaod.models import COMMITTEE, ModelSpec, average_of
from research.shipped import (
    MIXED_COLLECTIONS,
    final_origins,
    fitted_performance,
    shipped_datasets,
    shipped_training_data,
)
from research.statistics import bootstrap_intervals

FOLDER = Path(__file__).parents[2] / "results" / "selector"
BOTH = ("paper", "scores")
MANY = 99
"""More members than any average has."""

Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Design:
    """A learner, its training data, and how many members its picks may have."""

    learner: str
    schemas: tuple[str, ...] = BOTH
    space: str = "extended"
    params: dict[str, Any] = field(default_factory=dict)
    roc_auc: float = 0.0
    """Weight of ROC AUC beside AP in the performance that it is fitted on."""
    most: int = MANY
    """Upper limit of a pick's members."""
    seeds: int = 3


DEFAULT = RECIPES["default"]
CHOSEN = Design(DEFAULT.learner, DEFAULT.schemas, DEFAULT.space, DEFAULT.params)

FINAL_ONLY = {
    "previous default: SS, the paper's 302 models",
    "MetaOD as in the paper, 302 models",
    "the paper's 302 models",
    "three times the price",
    "supervised surrogates in its place",
}
"""Not run in ten folds: research compare-learners or the log of the search has the result."""

DESIGNS = {
    "gain forest: pick='learned'": CHOSEN,
    "gain forest: pick='learned-single'": replace(CHOSEN, most=1),
    "previous default: SS, the paper's 302 models": Design(
        "supervised_surrogates", BOTH, "paper", seeds=1
    ),
    "MetaOD as in the paper, 302 models": Design("metaod", ("paper",), "paper", seeds=1),
}

ABLATIONS = {
    "as it is": CHOSEN,
    "score features alone": Design(CHOSEN.learner, ("scores",), seeds=1),
    "the paper's features alone": Design(CHOSEN.learner, ("paper",), seeds=1),
    "no price for losses": Design(CHOSEN.learner, params={"price": 0.0}, seeds=1),
    "three times the price": Design(CHOSEN.learner, params={"price": 0.3}, seeds=1),
    "two models at most": replace(CHOSEN, most=2),
    "the paper's 302 models": Design(
        CHOSEN.learner,
        BOTH,
        "paper",
        {"reference": "IForest(n_estimators=100, max_features=1.0)"},
        seeds=1,
    ),
    "supervised surrogates in its place": Design("supervised_surrogates", seeds=1),
}


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=("development", "final"))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    bench = Bench(final=given.which == "final")
    runs = {**DESIGNS, **{f"ablation: {name}": item for name, item in ABLATIONS.items()}}
    if given.which == "development":
        runs = {k: v for k, v in runs.items() if k.removeprefix("ablation: ") not in FINAL_ONLY}
    found = bench.run(runs, given.jobs)
    means = {name: values.mean(axis=1) for name, values in found.items()}
    reached = pd.DataFrame(means | {"IForest()": bench.iforest})
    reached.to_csv(FOLDER / f"{given.which}-reached.csv", float_format="%.6f")
    write(bench, found, given.which)


class Bench:
    """Datasets, the splits, and the performance of every column.

    Mixed tables are tested only if ``mixed`` says so, and trained on unless ``numeric_history``.
    """

    def __init__(self, *, final: bool, mixed: bool = False, numeric_history: bool = False) -> None:
        self._numeric_history = numeric_history
        self._data: dict[tuple[tuple[str, ...], str], TrainingData] = {}
        whole = self.data(CHOSEN)
        last = whole.origins.isin(final_origins()).to_numpy()
        splits = [(~last, last)]
        if not final:  # ten folds of the development origins
            folds = np.full(len(last), -1)
            folds[~last] = origin_folds(whole.origins[~last], 10)
            splits = [(~last & (folds != fold), folds == fold) for fold in range(10)]
        self.is_mixed = pd.Series(
            shipped_datasets()["collection"].reindex(whole.P.index).isin(MIXED_COLLECTIONS),
            whole.P.index,
        )
        asked = np.ones(len(last), dtype=bool) if mixed else ~self.is_mixed.to_numpy()
        self.splits = [(train, test & asked) for train, test in splits]
        tested = np.logical_or.reduce([test for _, test in self.splits])
        self.P = whole.P[tested]
        self.iforest = whole.reference[tested]
        self.origins = whole.origins[tested]

    def data(self, design: Design) -> TrainingData:
        """The training data of a design; all designs use the same datasets."""
        key = (design.schemas, design.space)
        if key not in self._data:
            self._data[key] = shipped_training_data(
                design.schemas,
                space=design.space,
                averages=DEFAULT.averages and design.space == DEFAULT.space,
                mixed=not self._numeric_history,
            )
        return self._data[key]

    def run(self, designs: dict[str, Design], jobs: int) -> dict[str, pd.DataFrame]:
        """Performance of each design's picks, one column per seed."""
        # designs that differ only in the limit of members share their fits
        alike: dict[str, list[str]] = {}
        for name, design in designs.items():
            alike.setdefault(str(replace(design, most=0)), []).append(name)
        todo = [
            (names, seed, split)
            for names in alike.values()
            for seed in range(designs[names[0]].seeds)
            for split in range(len(self.splits))
        ]
        parts = Parallel(jobs, verbose=1)(
            delayed(reached_by)(
                self.data(designs[names[0]]),
                designs[names[0]],
                [designs[name].most for name in names],
                seed,
                *self.splits[split],
            )
            for names, seed, split in todo
        )
        found: dict[str, list[pd.Series[float]]] = {name: [] for name in designs}
        for (names, _, _), pieces in zip(todo, parts, strict=True):
            for name, piece in zip(names, pieces, strict=True):
                found[name].append(piece)
        return {
            name: pd.concat(
                [
                    pd.concat(pieces[start : start + len(self.splits)]).reindex(self.P.index)
                    for start in range(0, len(pieces), len(self.splits))
                ],
                axis=1,
            )
            for name, pieces in found.items()
        }

    def fixed(self, most: int) -> "pd.Series[float]":
        """Performance of the column that was best on the training origins of each split."""
        pieces = []
        whole = self.data(CHOSEN)
        allowed = [name for name in whole.P if n_members(name) <= most]
        for train, test in self.splits:
            # the reference replaces a column that does not apply
            means = filled(whole, train)[allowed].mean()
            best = str(means.idxmax())
            print(f"best fixed of {most}: {best}")
            pieces.append(filled(whole, test)[best])
        return pd.concat(pieces).reindex(self.P.index)


def filled(data: TrainingData, rows: Rows) -> pd.DataFrame:
    """Performance, with the reference's where a column does not apply."""
    return data.P[rows].apply(lambda column: column.fillna(data.reference[rows]))


def n_members(name: str) -> int:
    """Count the members of a model or average."""
    return len(ModelSpec.parse(name).members)


def scores_of(
    data: TrainingData, design: Design, seed: int, train: Rows, test: Rows
) -> pd.DataFrame:
    """Fit a design to some datasets and return the scores of all columns for others."""
    learner = make_learner(design.learner, **design.params)
    if learner.is_random:
        learner = make_learner(design.learner, **design.params, random_state=seed)
    P = fitted_performance(data, design.roc_auc)
    learner.fit(P[train], data.M[train], data.origins[train])
    scores: pd.DataFrame = learner.predict(data.M[test])
    return scores


def reached_by(
    data: TrainingData, design: Design, most: list[int], seed: int, train: Rows, test: Rows
) -> "list[pd.Series[float]]":
    """Performance of the picks, for each limit of members."""
    scores = scores_of(data, design, seed, train, test)
    P = data.P[test]
    found = []
    for count in most:
        picks = picks_of(P, scores, count)
        reached = [P.loc[name, picks[name]] for name in P.index]
        found.append(pd.Series(reached, index=P.index))
    return found


def picks_of(P: pd.DataFrame, scores: pd.DataFrame, most: int) -> "pd.Series[str]":
    """Return the best column for each dataset, of at most so many members."""
    allowed = [name for name in P if n_members(name) <= most]
    usable = scores[allowed].where(P[allowed].notna())
    return usable.T.sort_index().T.idxmax(axis=1)


def figures(
    name: str, reached: pd.DataFrame, bench: Bench, fixed: "pd.Series[float]"
) -> dict[str, Any]:
    """One row of a table; counts are means over seeds."""
    gains = reached.sub(bench.iforest, axis=0)
    gain = gains.mean(axis=1)
    over = reached.mean(axis=1) - fixed
    low, high = bootstrap_intervals(gain.to_frame(), bench.origins)[0]
    below, above = bootstrap_intervals(over.to_frame(), bench.origins)[0]
    return {
        "design": name,
        "MAP": reached.mean(axis=None),
        "gain": gain.mean(),
        "low": low,
        "high": high,
        "wins": round(float((gains > 1e-9).sum().mean())),
        "losses": round(float((gains < -1e-9).sum().mean())),
        "lost_05": (gains < -0.05).mean(axis=None),
        "won_05": (gains > 0.05).mean(axis=None),
        "over_fixed": over.mean(),
        "over_fixed_low": below,
        "over_fixed_high": above,
    }


def write(bench: Bench, found: dict[str, pd.DataFrame], which: str) -> None:
    """Write the table of designs and rivals, and the table of ablations."""
    fixed = bench.fixed(3)
    committee = bench.P[average_of(*COMMITTEE).id].fillna(bench.iforest)
    engine = pd.read_csv(FOLDER / "adengine.csv").set_index("fingerprint")["ap"]
    lacking = bench.P.index.difference(engine.index)
    if len(lacking) or bench.iforest.isna().any():
        what = f"{len(lacking)} datasets are not in adengine.csv, or iForest has no AP on one"
        raise SystemExit(what)
    others = {
        "best fixed average of up to three": fixed,
        "best fixed of all candidates": bench.fixed(MANY),
        "best fixed model": bench.fixed(1),
        "the committee of seven: pick='committee'": committee,
        "PyOD 3's ADEngine().detect": engine.reindex(bench.P.index),
        "PyOD's default IForest()": bench.iforest,
        "best model or average with hindsight": bench.P.max(axis=1),
    }
    rows = [figures(name, found[name], bench, fixed) for name in DESIGNS if name in found]
    rows += [figures(name, values.to_frame(), bench, fixed) for name, values in others.items()]
    _save(rows, which, bench)
    ablations = {name: f"ablation: {name}" for name in ABLATIONS}
    rows = [figures(n, found[key], bench, fixed) for n, key in ablations.items() if key in found]
    _save(rows, f"{which}-ablations", bench)
    if which == "final":
        pick = found["gain forest: pick='learned'"].mean(axis=1)
        for name in ("PyOD 3's ADEngine().detect", "the committee of seven: pick='committee'"):
            gap = pick - others[name]
            low, high = bootstrap_intervals(gap.to_frame(), bench.origins)[0]
            print(f"over {name}: {gap.mean():+.4f} [{low:+.4f}, {high:+.4f}]")


def _save(rows: list[dict[str, Any]], name: str, bench: Bench) -> None:
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / f"{name}.csv", index=False, float_format="%.6f")
    lines = [
        f"{len(bench.P)} datasets of {bench.origins.nunique()} origins.",
        "",
        "| design | MAP | − iForest [95 %] | wins-losses | lost > .05 | − best fixed [95 %] |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['design']} | {row['MAP']:.4f} | {row['gain']:+.4f} [{row['low']:+.4f}, "
        f"{row['high']:+.4f}] | {row['wins']}-{row['losses']} | {row['lost_05']:.1%} | "
        f"{row['over_fixed']:+.4f} [{row['over_fixed_low']:+.4f}, {row['over_fixed_high']:+.4f}] |"
        for row in rows
    ]
    _write_lines(lines, name)


def _write_lines(lines: list[str], name: str) -> None:
    (FOLDER / f"{name}.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
