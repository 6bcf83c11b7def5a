"""Measure how well the gains of models over `IForest()` are predicted from meta-features.

    python -m research evaluate-contrasts --jobs 2 --keep FOLDER

Several learners predict the gains of the 40 models of the extended space, in average precision and
in ROC AUC, in ten folds of the development origins. Writes results/selector/contrasts.csv (a row
for each measure, family and learner) and contrasts.md. Reads results/selector/gain-noise.csv, from
research measure-gain-noise. Needs the extra ``research``; takes about ten minutes on one core. With
``--keep``, the predictions of each fit are kept in the folder, and a run that was ended goes on.

R² is 1 minus the squared errors of the predictions over those of each model's mean gain on the
training origins. The rank correlation is Spearman's, over datasets, of predicted and true gains, a
mean over the family's models. Both are means over seeds. The ceiling of R² is 1 minus the share of
noise in the variance of the gains.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor

from metaod.history import DEFAULT_FOREST, TrainingData
from metaod.learners import Cleaning, make_learner
from metaod.models import Matrix, ModelSpec
from research.commands.evaluate_selector import BOTH, CHOSEN, FOLDER, Bench, Rows
from research.commands.measure_gain_noise import SAME_AS_REFERENCE, ceilings
from research.shipped import shipped_training_data

MEASURES = {"ap": "AP", "roc_auc": "ROC AUC"}
GAIN_FOREST = "gain forest"
SEEDS = 3
TREES = 100
"""Trees of the forests; the shipped gain forest has 500."""
DRAWS = 2000

Predict = Callable[[Matrix, Matrix, Matrix, int], Matrix]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    splits = Bench(final=False, numeric_history=True).splits
    rows: list[dict[str, Any]] = []
    for measure in MEASURES:
        data = shipped_training_data(
            BOTH, space=CHOSEN.space, averages=True, measure=measure, mixed=False
        )
        rows += contrasts(data, splits, measure, given.jobs, given.keep)
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / "contrasts.csv", index=False, float_format="%.6f")
    tested = np.logical_or.reduce([test for _, test in splits])
    write_page(table, f"{tested.sum()} datasets of {data.origins[tested].nunique()} origins")


# the learners: each predicts gains (datasets × models) from cleaned meta-features


def ridge(M: Matrix, gains: Matrix, new: Matrix, seed: int) -> Matrix:  # noqa: ARG001 - Predict
    """Ridge regression; the strength of the penalty is chosen by leave-one-out."""
    found: Matrix = RidgeCV(np.logspace(1, 7, 13)).fit(M, gains).predict(new)
    return found


def neighbours(M: Matrix, gains: Matrix, new: Matrix, seed: int) -> Matrix:  # noqa: ARG001 - Predict
    """The mean over the 30 nearest datasets."""
    found: Matrix = KNeighborsRegressor(30).fit(M, gains).predict(new)
    return found


def extra_trees(M: Matrix, gains: Matrix, new: Matrix, seed: int) -> Matrix:
    """Extra trees with one output for each model."""
    forest = ExtraTreesRegressor(
        TREES, min_samples_leaf=5, max_features=0.2, bootstrap=True, random_state=seed
    )
    found: Matrix = forest.fit(M, gains).predict(new)
    return found


LEARNERS: dict[str, tuple[Predict | None, int]] = {
    GAIN_FOREST: (None, SEEDS),
    "supervised surrogates": (None, SEEDS),
    "extra trees": (extra_trees, SEEDS),
    "ridge regression": (ridge, 1),
    "nearest neighbours": (neighbours, 1),
}
"""The function, or None for a learner of the package, and the number of seeds."""


def kept_or_predicted(
    keep: Path | None, fold: int, name: str, seed: int, data: TrainingData, *given: Any
) -> pd.DataFrame:
    """Return the predicted gains, from the folder if they are there."""
    if keep is None:
        return predicted_gains(name, seed, data, *given)
    path = keep / f"{data.measure}-{name.replace(' ', '-')}-{seed}-{fold}.parquet"
    if not path.exists():
        predicted_gains(name, seed, data, *given).to_parquet(path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)
    return pd.read_parquet(path)


def predicted_gains(
    name: str, seed: int, data: TrainingData, models: list[str], train: Rows, test: Rows
) -> pd.DataFrame:
    """Return the gains of the models that a learner predicts on the tested datasets."""
    gains = data.P[train].sub(data.reference[train], axis=0)
    function, _ = LEARNERS[name]
    if name == GAIN_FOREST:
        learner = make_learner("gain_forest", price=0.0, n_estimators=TREES, random_state=seed)
        learner.fit(data.P[train], data.M[train], data.origins[train])
    elif function is None:
        learner = make_learner("supervised_surrogates", n_estimators=TREES, random_state=seed)
        learner.fit(gains[models], data.M[train], data.origins[train])
    else:
        raw = data.M.to_numpy()
        cleaning = Cleaning.fit(raw[train])
        known = gains[models].fillna(gains[models].mean()).to_numpy()
        found = function(cleaning.transform(raw[train]), known, cleaning.transform(raw[test]), seed)
        return pd.DataFrame(found, data.P.index[test], models)
    scores: pd.DataFrame = learner.predict(data.M[test])
    return scores[models]


def contrasts(
    data: TrainingData,
    splits: list[tuple[Rows, Rows]],
    measure: str,
    jobs: int,
    keep: Path | None,
) -> list[dict[str, Any]]:
    """Return a row for each family and learner."""
    tested = np.logical_or.reduce([test for _, test in splits])
    singles = [name for name in data.P if ModelSpec.parse(name).detector != "ZAverage"]
    gains = data.P.loc[tested, singles].sub(data.reference[tested], axis=0)
    models = [name for name in singles if name != SAME_AS_REFERENCE]
    means = pd.concat([_training_means(data, models, *split) for split in splits])
    base = (gains[models] - means.reindex(gains.index)) ** 2
    todo = [(name, seed) for name, (_, seeds) in LEARNERS.items() for seed in range(seeds)]
    todo.sort(key=lambda item: item[1])
    parts = Parallel(jobs, verbose=1)(
        delayed(kept_or_predicted)(keep, fold, name, seed, data, models, *split)
        for name, seed in todo
        for fold, split in enumerate(splits)
    )
    n = len(splits)
    predicted: dict[str, list[pd.DataFrame]] = {name: [] for name in LEARNERS}
    for place, (name, _) in enumerate(todo):
        predicted[name].append(pd.concat(parts[place * n : (place + 1) * n]).reindex(gains.index))
    ceiling = ceilings(pd.read_csv(FOLDER / "gain-noise.csv"))[measure]
    best = data.P.loc[tested, singles].idxmax(axis=1)
    families = pd.Series([ModelSpec.parse(name).detector for name in singles], singles)
    rows = []
    for family in sorted(set(families)):
        names = [name for name in models if families[name] == family]
        own = gains[[name for name in singles if families[name] == family]]
        described = {
            "measure": measure,
            "family": family,
            "models": own.shape[1],
            "hindsight": own.max(axis=1).mean(),
            "best_on": best.isin(own.columns).mean(),
            "best_fixed": own.mean().max(),
            "spread": float(np.nanstd(gains[names])),
            "ceiling": ceiling[family],
        }
        for name, found in predicted.items():
            left = [(gains[names] - one[names]) ** 2 for one in found]
            r2 = [1 - item.sum(axis=None) / base[names].sum(axis=None) for item in left]
            low, high = _interval(left, base[names], data.origins[tested])
            rho = [one[names].corrwith(gains[names], method="spearman").mean() for one in found]
            rows.append(
                described
                | {"learner": name, "r2": np.mean(r2), "r2_low": low, "r2_high": high}
                | {"r2_least": min(r2), "r2_most": max(r2), "spearman": np.mean(rho)}
            )
    return rows


def _training_means(data: TrainingData, models: list[str], train: Rows, test: Rows) -> pd.DataFrame:
    mean = data.P.loc[train, models].sub(data.reference[train], axis=0).mean()
    return pd.DataFrame([mean] * int(test.sum()), data.P.index[test])


def _interval(
    left: list[pd.DataFrame], base: pd.DataFrame, origins: "pd.Series[str]"
) -> tuple[float, float]:
    """Return the 95 % interval of R², averaged over seeds, from a bootstrap over origins."""
    errors = np.mean([item.sum(axis=1) for item in left], axis=0)
    sums = pd.DataFrame({"left": errors, "base": base.sum(axis=1)}, base.index)
    by_origin = sums.groupby(origins).sum().to_numpy()
    drawn = np.random.default_rng(0).integers(len(by_origin), size=(DRAWS, len(by_origin)))
    totals = by_origin[drawn].sum(axis=1)
    low, high = np.quantile(1 - totals[:, 0] / totals[:, 1], [0.025, 0.975])
    return float(low), float(high)


def write_page(table: pd.DataFrame, about: str) -> None:
    """Write the tables of one measure after the other."""
    lines = [f"{about}, ten folds; gains over `{DEFAULT_FOREST}`."]
    for measure, title in MEASURES.items():
        part = table[table["measure"] == measure]
        main_rows = part[part["learner"] == GAIN_FOREST]
        main_rows = main_rows.sort_values("hindsight", ascending=False)
        heading = ["family", "models", "best with hindsight", "best of all on", "best fixed"]
        heading += ["spread", "ceiling of R²", "R² [95 %]", "R² by seed", "rank correlation"]
        lines += ["", f"**{title}**, gain forest:", "", f"| {' | '.join(heading)} |"]
        lines += ["|---" * len(heading) + "|"]
        lines += [
            f"| {row.family} | {row.models} | {row.hindsight:+.4f} | {row.best_on:.1%} | "
            f"{row.best_fixed:+.4f} | {row.spread:.3f} | {row.ceiling:.2f} | "
            f"{row.r2:+.3f} [{row.r2_low:+.3f}, {row.r2_high:+.3f}] | "
            f"{row.r2_least:+.3f} to {row.r2_most:+.3f} | {row.spearman:+.2f} |"
            for row in main_rows.itertuples()
        ]
        names = list(LEARNERS)
        lines += [
            "",
            f"**{title}**, R² (rank correlation) of each learner:",
            "",
            f"| family | {' | '.join(names)} |",
            "|---" * (len(names) + 1) + "|",
        ]
        cells = part.set_index(["family", "learner"])
        lines += [
            f"| {family} | "
            + " | ".join(
                f"{cells.loc[(family, name), 'r2']:+.3f} "
                f"({cells.loc[(family, name), 'spearman']:+.2f})"
                for name in names
            )
            + " |"
            for family in main_rows["family"]
        ]
    (FOLDER / "contrasts.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
