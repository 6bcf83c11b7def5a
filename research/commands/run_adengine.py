"""Measure the average precision of PyOD 3's ``ADEngine().detect(X)`` on every dataset of a folder.

As a user calls it: PyOD profiles the prepared table, plans and runs; with seeds 0 to 4 if its
detector is random, otherwise once. A stopped run continues where it stopped.

    python -m research run-adengine DATASETS results/selector/adengine.csv
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from metaod.detection._comparison import run_adengine
from metaod.history import iter_folder, measure
from metaod.tables import prepare

RANDOM = {"IForest", "LODA", "INNE", "CBLOF", "AutoEncoder", "VAE", "DeepSVDD"}
TRIALS = 5
FIELDS = ("fingerprint", "dataset", "detector", "ap")


def run_engine(X: np.ndarray, y: np.ndarray) -> tuple[str, float]:
    """The detector that PyOD chose, and its mean AP."""
    reached = []
    for seed in range(TRIALS):
        name, scores = run_adengine(X, random_state=seed)
        reached.append(measure(y, scores).ap)
        if name not in RANDOM:
            break
    return name, float(np.mean(reached))


def main() -> None:
    """Run the datasets that the target does not have yet."""
    data, target = map(Path, sys.argv[1:])
    warnings.filterwarnings("ignore")
    target.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if target.exists():
        with target.open(newline="") as file:
            done = {row["fingerprint"] for row in csv.DictReader(file)}
    with target.open("a", newline="") as file, threadpool_limits(1):
        writer = csv.writer(file, lineterminator="\n")
        if target.stat().st_size == 0:
            writer.writerow(FIELDS)
        for entry in iter_folder(data, label="y"):
            dataset = entry.load()
            # the same content under another name is one dataset
            if dataset.fingerprint in done:
                continue
            done.add(dataset.fingerprint)
            name, ap = run_engine(prepare(dataset.table).X, dataset.y)
            writer.writerow((dataset.fingerprint, entry.full_name, name, f"{ap:.6f}"))
            file.flush()
