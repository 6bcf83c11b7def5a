"""Build, train and detect once, on small tables made here.

    python -m research demo demo-output

A dozen labelled tables are drawn into the folder, some models are evaluated on them, a learner is
trained, and it finds the outliers of the bundled example.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

N_TABLES = 12
FAMILIES = ("HBOS", "IForest", "KNN", "LOF")


def make_table(number: int) -> pd.DataFrame:
    """Draw a labelled table with outliers of one of three kinds: far, local, or out of line."""
    rng = np.random.default_rng(number)
    n, d, n_outliers = (int(rng.integers(*ends)) for ends in ((150, 400), (3, 9), (8, 25)))
    mixing = rng.normal(size=(d, d))
    kind = number % 3
    centres = rng.normal(0, 8, size=(2 if kind == 1 else 1, d))
    widths = np.array([0.3, 3.0])[: len(centres)]
    member = rng.integers(0, len(centres), n)
    X = centres[member] + widths[member, None] * (rng.normal(size=(n, d)) @ mixing)
    if kind == 0:
        X[:n_outliers] = X.mean(axis=0) + 4 * X.std(axis=0) * rng.choice([-1, 1], (n_outliers, d))
    elif kind == 1:
        # far for the narrow cluster, near for the wide one
        X[:n_outliers] = centres[0] + 2.0 * rng.normal(size=(n_outliers, d)) @ mixing
    else:
        # each column is ordinary, all of them together are not
        X[:n_outliers] = rng.permuted(X, axis=0)[:n_outliers]
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(d)]).round(4)
    frame["y"] = (np.arange(n) < n_outliers).astype(int)
    return frame.sample(frac=1, random_state=number)


def run(*arguments: object) -> None:
    """Show a command and run it."""
    print(f"\n$ metaod {' '.join(map(str, arguments))}", flush=True)
    subprocess.run([sys.executable, "-m", "metaod", *map(str, arguments)], check=True)  # noqa: S603 - our own command


def main() -> None:
    """Run the commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for everything that is made")
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    tables = out / "tables"
    tables.mkdir(parents=True)
    for number in range(N_TABLES):
        make_table(number).to_csv(tables / f"table{number:02d}.csv", index=False)
    print(f"{N_TABLES} labelled tables drawn into {tables}")

    store, learner = out / "demo.db", out / "demo.metaod"
    families = [part for name in FAMILIES for part in ("--family", name)]
    run("build", "--store", store, "--data", tables, *families, "--trials", 1, "--schema", "paper",
        "--no-references", "--jobs", 1)  # fmt: skip
    run("train", "--store", store, "--learner", "metaod", "--out", learner)
    run("detect", "--example", "--learner", learner, "-o", out / "scored.csv", "--top", 5)
