"""Compare MetaEns with single models on its own 39 datasets: those of ODDS and DAMI.

    python -m research evaluate-metaens DATASETS SCORES

DATASETS is the folder of labelled datasets with its list; only its folders odds and dami are read.
SCORES is a folder where the scores of the 297 models (one trial) are kept, about 150 MB; they are
computed if they are missing. Writes results/selector/metaens.csv and .md. Needs the extra
``research``; takes about 20 minutes on one core.

MetaEns is fitted on all other datasets, as in its paper, and on all datasets of other origins:
some of the 39 are versions of others. The candidates are the models of the paper of MetaOD
without ABOD beyond 50 neighbours.
"""

import argparse
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from metaod.history import DEFAULT_FOREST, iter_folder
from metaod.models import Matrix, model_space
from research.kept_scores import KeptScores
from research.metaens import MetaEns, ScoreHistory
from research.shipped import shipped_matrix
from research.statistics import average_precision, bootstrap_intervals

FOLDER = Path(__file__).parents[2] / "results" / "selector"
COLLECTIONS = ("odds", "dami")
SPECS = [
    spec
    for spec in model_space("paper")
    if spec.detector != "ABOD" or float(str(dict(spec.params)["n_neighbors"])) <= 50
]
MODELS = [spec.id for spec in SPECS]
FAMILIES = [spec.detector for spec in SPECS]
BASELINE = "PyOD's default IForest()"
TREES, EXAMPLES = 50, 30_000  # a choice changes little with more, and each is fitted 67 times


@dataclass(frozen=True)
class ScoredDataset:
    """A dataset and the scores (297, n) of the models, NaN where missing."""

    name: str
    origin: str
    fingerprint: str
    scores: npt.NDArray[np.float32]
    y: npt.NDArray[np.int8]

    def ap(self, chosen: tuple[int, ...]) -> float:
        """Average precision of the average of the chosen models."""
        return average_precision(self.y, MetaEns().scores(self.scores, chosen))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    with threadpool_limits(1):
        datasets = read(given.datasets, KeptScores(given.scores))
        print(f"{len(datasets)} datasets", flush=True)
        history = [read_history(item, given.scores) for item in datasets]
        print("made the examples", flush=True)
        single = np.array([item.ap for item in history])
        found = fixed(datasets, single)
        for by in ("name", "origin"):
            groups = np.array([getattr(item, by) for item in datasets])
            label = {"name": "dataset", "origin": "origin"}[by]
            for name, values in left_out(datasets, history, groups, single, given.seeds).items():
                found[f"{name}, one {label} left out"] = values
                print(name, label, np.mean(values).round(4), flush=True)
    write(found, datasets)


def read(folder: Path, kept: KeptScores) -> list[ScoredDataset]:
    """Read the datasets of ODDS and DAMI and their scores."""
    found = []
    for entry in iter_folder(folder, label="y"):
        if entry.path.parent.name not in COLLECTIONS:
            continue
        dataset = entry.load()
        scores = kept.of(dataset, model_space("paper"))
        missing = np.full(len(dataset.y), np.nan, dtype=np.float32)
        matrix = np.array([scores.get((model, 0), missing) for model in MODELS]).clip(-1e30, 1e30)
        name = f"{entry.path.parent.name}/{entry.path.stem}"
        origin = str(dataset.origin)
        found.append(ScoredDataset(name, origin, dataset.fingerprint, matrix, dataset.y))
    return found


def read_history(item: ScoredDataset, folder: Path) -> ScoreHistory:
    """Read the examples of a dataset, or make and keep them."""
    path = folder / "examples" / f"{item.name.replace('/', '-')}.npz"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        made = ScoreHistory.of(item.scores, item.y, FAMILIES)
        np.savez(path, **vars(made))
    with np.load(path, allow_pickle=False) as file:
        return ScoreHistory(**{field.name: file[field.name] for field in fields(ScoreHistory)})


def fixed(datasets: list[ScoredDataset], single: Matrix) -> dict[str, list[float]]:
    """Average precision of choices that learn nothing, by dataset."""
    forests = [model for model, family in enumerate(FAMILIES) if family == "IForest"]
    best = forests[int(np.nanmean(single[:, forests], axis=0).argmax())]
    default = shipped_matrix(references=True)[DEFAULT_FOREST]
    everything = []
    for item in datasets:
        present = ~np.isnan(item.scores).any(axis=1)
        everything.append(item.ap(tuple(np.flatnonzero(present))))
    return {
        "best model of each dataset (hindsight)": list(np.nanmax(single, axis=1)),
        f"best iForest of all datasets (hindsight): {MODELS[best]}": list(single[:, best]),
        BASELINE: list(default[[item.fingerprint for item in datasets]]),
        "mega ensemble: all 297": everything,
    }


def left_out(
    datasets: list[ScoredDataset],
    history: list[ScoreHistory],
    groups: npt.NDArray[Any],
    single: Matrix,
    seeds: int,
) -> dict[str, list[float]]:
    """Average precision of each dataset's choice, learned from the other groups."""
    names = (
        "MetaEns, first model by ELECT",
        "MetaEns, first model by neighbours",
        "first model by ELECT alone",
        "first model by neighbours alone",
        "Global Best",
    )
    found = {name: [0.0] * len(datasets) for name in names}
    found["models of MetaEns, first by ELECT"] = [0.0] * len(datasets)
    for count, group in enumerate(np.unique(groups)):
        print(f"{count} of {len(np.unique(groups))}", flush=True)
        train, tested = np.flatnonzero(groups != group), np.flatnonzero(groups == group)
        means = np.nanmean(single[train], axis=0)
        for row in tested:
            item = datasets[row]
            present = ~np.isnan(item.scores).any(axis=1)
            found["Global Best"][row] = item.ap((int(np.where(present, means, -1).argmax()),))
        for seed in range(seeds):
            learner = MetaEns(random_state=seed, n_estimators=TREES, max_examples=EXAMPLES)
            learner.fit([history[row] for row in train], FAMILIES)
            for row in tested:
                item = datasets[row]
                for first, title in (("elect", "ELECT"), ("neighbours", "neighbours")):
                    learner.first = first  # type: ignore[assignment] - one of the two literals
                    chosen = learner.choose(item.scores)
                    found[f"MetaEns, first model by {title}"][row] += item.ap(chosen) / seeds
                    found[f"first model by {title} alone"][row] += item.ap(chosen[:1]) / seeds
                    if first == "elect":
                        found["models of MetaEns, first by ELECT"][row] += len(chosen) / seeds
    return found


def write(found: dict[str, list[float]], datasets: list[ScoredDataset]) -> None:
    """Write figures by design, with intervals over origins, and the values by dataset."""
    origins = np.array([item.origin for item in datasets])
    table = pd.DataFrame(found, index=[item.name for item in datasets])
    forest = table[BASELINE]
    lines = [
        f"{len(datasets)} datasets of {len(set(origins))} origins, 297 models, one trial.",
        "",
        "| choice | MAP | − iForest [95 %] | wins-losses |",
        "|---|---|---|---|",
    ]
    rows = []
    for name in table:
        if name.startswith("models of"):
            print(name, table[name].mean())
            continue
        gain = table[name] - forest
        low, high = bootstrap_intervals(gain.to_frame(), origins)[0]
        wins, losses = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        rows.append((name, table[name].mean(), gain.mean(), low, high, wins, losses))
        lines.append(
            f"| {name} | {table[name].mean():.4f} | {gain.mean():+.4f} [{low:+.4f}, {high:+.4f}] "
            f"| {wins}-{losses} |"
        )
    columns = ["choice", "MAP", "gain", "low", "high", "wins", "losses"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.to_csv(FOLDER / "metaens.csv", index=False, float_format="%.6f")
    (FOLDER / "metaens.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
