"""Measure which part of the gains over `IForest()` is noise, from labelled datasets.

    python -m research measure-gain-noise DATASETS SCORES

DATASETS is the folder of labelled datasets with its list. SCORES is a folder where the scores of
the 40 models of the extended space (one trial) are kept; they are computed if they are missing.
Writes results/selector/gain-noise.csv, which research evaluate-contrasts reads, and gain-noise.md,
the highest possible R² by family. The CSV file has, for each model and
measure, over the development datasets, the variance of the gains around the model's mean, and the
parts of it that are noise of two kinds. Needs the extra ``research``.

- Sampling: the rows of a dataset are a sample. The rows are divided at random, by label, into two
  halves with gains a and b; the mean of (a - b)²/4 over several divisions estimates the variance
  of the gain on all rows (exactly so if the measure is a mean over rows). The scores are those of
  a fit to all rows, so that the effect of the sample on the fit is not included.
- Trials: the variance between the trials of random models and of `IForest()`, divided by the
  number of trials. Models of the family IForest share trees with `IForest()`; theirs is set to 0.

No meta-feature can predict noise, so R² is at most 1 minus its share of the variance. In
simulations with 5 to 60 outliers the estimate from halves was between 0.8 and 1.4 times the truth.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.history import DEFAULT_FOREST, iter_folder, measure
from metaod.models import ModelSpec, model_space
from research.commands.evaluate_selector import CHOSEN, FOLDER
from research.kept_scores import KeptScores
from research.shipped import final_origins, shipped_cells, shipped_training_data

MEASURES = ("ap", "roc_auc")
SAME_AS_REFERENCE = "IForest(n_estimators=100, max_features=1.0)"
"""The model of the space that is PyOD's default iForest, up to its seed."""
DIVISIONS = 10

Scores = npt.NDArray[np.float64]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("scores", type=Path)
    given = parser.parse_args()
    with threadpool_limits(1):
        sampling = sampling_noise(given.datasets, KeptScores(given.scores))
    rows = []
    for name in MEASURES:
        data = shipped_training_data(CHOSEN.schemas, space=CHOSEN.space, measure=name, mixed=False)
        gains = data.P.sub(data.reference, axis=0).loc[sampling[name].index]
        trials = trial_noise(name).reindex(index=gains.index, columns=gains.columns)
        for model in gains:
            noise = sampling[name][model]
            known = gains[model].notna() & noise.notna()
            rows.append(
                {
                    "measure": name,
                    "model": model,
                    "n_datasets": int(known.sum()),
                    "variance": gains[model][known].var(ddof=1),
                    "sampling": noise[known].mean(),
                    "trials": trials[model][known].mean(),
                }
            )
    table = pd.DataFrame(rows)
    table.to_csv(FOLDER / "gain-noise.csv", index=False, float_format="%.8f")
    write_page(table)


def ceilings(table: pd.DataFrame) -> pd.DataFrame:
    """Return 1 minus the share of noise in the variance of gains, by family and measure."""
    families = [ModelSpec.parse(model).detector for model in table["model"]]
    totals = table.groupby([families, table["measure"]])[["variance", "sampling", "trials"]].sum()
    share = (totals["sampling"] + totals["trials"]) / totals["variance"]
    return (1 - share).unstack()  # noqa: PD010 - a Series has no pivot_table


def write_page(table: pd.DataFrame) -> None:
    """Write the table by family."""
    found = ceilings(table)
    lines = [
        f"{table['n_datasets'].max()} development datasets; gains over `IForest()`.",
        "",
        "| family | ceiling of R², AP | ceiling of R², ROC AUC |",
        "|---|---|---|",
    ]
    lines += [f"| {row.Index} | {row.ap:.3f} | {row.roc_auc:.3f} |" for row in found.itertuples()]
    (FOLDER / "gain-noise.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def sampling_noise(folder: Path, kept: KeptScores) -> dict[str, pd.DataFrame]:
    """Return for each measure the variance of gains (datasets × models) from the sample of rows."""
    data = shipped_training_data(CHOSEN.schemas, space=CHOSEN.space, mixed=False)
    development = set(data.P.index[~data.origins.isin(final_origins())])
    found: dict[str, dict[str, pd.Series[float]]] = {name: {} for name in MEASURES}
    for entry in iter_folder(folder, label="y"):
        dataset = entry.load()
        key = dataset.fingerprint
        if key not in development or key in found["ap"]:
            continue
        scores = kept.of(dataset, model_space(CHOSEN.space))
        # each half needs an outlier
        if (SAME_AS_REFERENCE, 0) not in scores or dataset.y.sum() < 2:
            continue
        models = [model for (model, _), values in scores.items() if np.isfinite(values).all()]
        matrix = np.array([scores[model, 0] for model in models], dtype=np.float64)
        noise = halves_noise(matrix, dataset.y, models.index(SAME_AS_REFERENCE))
        for name, values in zip(MEASURES, noise, strict=True):
            found[name][key] = pd.Series(values, index=models)
        if len(found["ap"]) % 50 == 0:
            print(f"{len(found['ap'])} datasets", flush=True)
    return {name: pd.DataFrame(parts).T for name, parts in found.items()}


def halves_noise(
    scores: Scores, y: npt.NDArray[np.int8], reference: int, divisions: int = DIVISIONS
) -> Scores:
    """Return the sampling variance (measures, models) of gains over the reference."""
    generator = np.random.default_rng(0)
    total = np.zeros((len(MEASURES), len(scores)))
    for _ in range(divisions):
        first = np.zeros(len(y), dtype=bool)
        for label in (0, 1):
            rows = generator.permutation(np.flatnonzero(y == label))
            first[rows[: len(rows) // 2]] = True
        gains = []
        for half in (first, ~first):
            values = np.array([measure(y[half], row[half])[: len(MEASURES)] for row in scores])
            gains.append(values - values[reference])
        total += ((gains[0] - gains[1]) ** 2 / 4).T
    return total / divisions


def trial_noise(name: str) -> pd.DataFrame:
    """Return the variance of the mean gain (datasets × models) between trials; 0 if not random."""
    cells = shipped_cells()
    noise = (cells[f"{name}_std"] ** 2 / cells["n_trials"]).fillna(0.0)
    matrix = cells.assign(noise=noise).pivot_table(index="dataset", columns="model", values="noise")
    total = matrix.add(matrix[DEFAULT_FOREST], axis=0)
    total[[model for model in total if ModelSpec.parse(model).detector == "IForest"]] = 0.0
    return total
