"""Processor time of two versions of MetaOD in one run, and the ratio of the second to the first.

    git worktree add ../earlier REVISION
    python benchmarks/versions.py ../earlier .

Each piece of work is done twice in a process of its own, by turns with one version and the other.
The second time counts, without imports and compiling; the figure is the least of the repeats.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

REPEATS = 4
START = "import sys, time, warnings; warnings.simplefilter('ignore'); import metaod, numpy as np; "
FIT = "X = np.random.default_rng(0).normal(size=(3000, 20))"
BUILD = (
    "import tempfile; from metaod.history import iter_folder; "
    "from metaod.store import Store, build, BuildOptions; options = BuildOptions("
    "detectors=('KNN', 'LOF', 'IForest', 'HBOS'), trials=2, references=False); "
    "entries = list(iter_folder('sets'))"
)
WORK = {  # what comes before, and what is timed
    "read CSV, 200,000 × 20": ("", "metaod.read_table('numbers.csv')"),
    "prepare, 20,000 × 11 mixed": ("t = metaod.read_table('mixed.csv')", "metaod.prepare(t)"),
    "fit, 3,000 × 20": (FIT, "metaod.MetaOD().fit(X)"),
    "fit, 3,000 × 20, rows only": (FIT, "metaod.MetaOD(**rows_only).fit(X)"),
    "build, 3 tables of 600 rows": (
        BUILD,
        "build(Store(tempfile.mktemp(), create=True), entries, options)",
    ),
    "metaod detect --example": ("from metaod.cli.main import main", "run()"),
}
RUN = """
rows_only = {'rows_only': True} if 'rows_only' in metaod.MetaOD().get_params() else {}
def run():
    try: main(['detect', '--example'])
    except SystemExit: pass
"""


def write_tables(folder: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(20)]
    numbers = pd.DataFrame(rng.normal(size=(200_000, 20)), columns=names)
    numbers.to_csv(folder / "numbers.csv", index=False)
    mixed = (
        numbers[names[:8]]
        .head(20_000)
        .assign(
            town=rng.choice(["Lima", "Oslo", "Rome", "Bonn"], 20_000),
            day=pd.date_range("2020-01-01", periods=20_000, freq="h").astype(str),
            code=rng.integers(0, 9, 20_000),
        )
    )
    mixed.mask(rng.random(mixed.shape) < 0.02).to_csv(folder / "mixed.csv", index=False)
    (folder / "sets").mkdir()
    for i in range(3):
        X, y = rng.normal(size=(600, 6)), np.arange(600) < 20
        X[y] += 4
        np.savez(folder / "sets" / f"{i}.npz", X=X, y=y.astype(int))


def seconds(version: Path, folder: Path, before: str, timed: str) -> float:
    code = f"{START}\n{RUN}\n{before}\n{timed}\nstart = time.process_time()\n{timed}\n"
    code += "print(time.process_time() - start, file=sys.stderr)"
    own = {"PYTHONPATH": str(version.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ | own, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return float(done.stderr.split()[-1])


def main() -> None:
    versions = [Path(name) for name in sys.argv[1:3]]
    print("| work | first (s) | second (s) | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        for name, (before, timed) in WORK.items():
            runs = [
                [seconds(version, Path(folder), before, timed) for version in versions]
                for _ in range(REPEATS)
            ]
            first, second = (min(own) for own in zip(*runs, strict=True))
            print(f"| {name} | {first:.2f} | {second:.2f} | {second / first:.2f} |", flush=True)


if __name__ == "__main__":
    main()
