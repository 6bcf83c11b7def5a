"""How time and memory grow with the rows of a table, beside scikit-learn's isolation forest.

    python benchmarks/scale.py                        1,000 to 1,000,000 rows of 20 columns
    python benchmarks/scale.py --rows 100000          other numbers of rows
    python benchmarks/scale.py --jobs 2               threads of every step, and of the forest

Tables are generated with a share of outliers and read from Parquet. Every step of every table runs
in a process of its own, after a small table that compiles what it needs. `pick` is
`metaod.select`, which measures the table; `fit` is `MetaOD().fit`, which scores
every row; `answer` is one answer of a review with the new scores of all rows, the median of answers
2 to 10; `apply` reads a saved pick and scores as many new rows; `forest` is scikit-learn's
`IsolationForest().fit(X).score_samples(X)`. `detect` is the whole command from file to file.
`expected` is what the cost laws say for the models of `fit`. Seconds are those of the processor,
over all threads, unless a column says wall. Memory is the largest that the process had, with
imports and the table.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
N_COLUMNS = 20


def made_table(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_COLUMNS)) @ rng.normal(size=(N_COLUMNS, N_COLUMNS))
    outliers = rng.random(n_rows) < 0.02
    X[outliers] += rng.normal(scale=6, size=(int(outliers.sum()), N_COLUMNS))
    return pd.DataFrame(X, columns=[f"column {place}" for place in range(N_COLUMNS)])


# steps: each takes a file and the number of jobs, and returns what is timed


def pick(path: Path, jobs: int) -> Callable[[], object]:  # noqa: ARG001 - a pick has no jobs
    import metaod

    table = metaod.read_table(path)
    return lambda: metaod.select(table)


def fit(path: Path, jobs: int) -> Callable[[], object]:
    import metaod

    table = metaod.read_table(path)
    return lambda: metaod.MetaOD(n_jobs=jobs).fit(table)


def answer(path: Path, jobs: int) -> Callable[[], object]:
    import metaod

    review = metaod.Review(path, n_jobs=jobs)

    def one() -> None:
        review.tell(review.ask(), True)
        _ = review.scores

    return one


def apply(path: Path, jobs: int) -> Callable[[], object]:  # noqa: ARG001 - saved with the pick
    import metaod

    new = metaod.read_table(path)
    return lambda: metaod.load(path.with_suffix(".pick")).score_samples(new)


def save(path: Path, jobs: int) -> Callable[[], object]:
    import metaod

    return lambda: metaod.MetaOD(n_jobs=jobs).fit(path).save(path.with_suffix(".pick"))


def forest(path: Path, jobs: int) -> Callable[[], object]:
    from sklearn.ensemble import IsolationForest

    X = pd.read_parquet(path).to_numpy()
    return lambda: IsolationForest(n_jobs=jobs, random_state=0).fit(X).score_samples(X)


STEPS = {step.__name__: step for step in (pick, fit, answer, apply, save, forest)}


def run_step(name: str, folder: Path, n_rows: int, jobs: int) -> None:
    """Print the seconds and memory of one step, in this process."""
    step = STEPS[name]
    step(folder / "small.parquet", jobs)()  # imports and compiles
    timed = step(folder / f"{n_rows}.parquet", jobs)
    times = []
    made: Any = None
    for _ in range(10 if name == "answer" else 1):
        wall, used = time.perf_counter(), time.process_time()
        made = timed()
        times.append((time.process_time() - used, time.perf_counter() - wall))
    kept = times[1:] or times
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = {
        "seconds": median(t[0] for t in kept),
        "wall": median(t[1] for t in kept),
        "GiB": memory,
        "expected": expected_seconds(made) if name == "fit" else 0.0,
    }
    print(json.dumps(found))


def expected_seconds(model: Any) -> float:
    from metaod.models import expected_costs

    selection = model.selection_
    shape = selection.prepared.X.shape
    [cost] = expected_costs([selection.best], *shape, is_sampled=True)
    return cost.seconds


def measured(name: str, folder: Path, n_rows: int, jobs: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder)]
    command += ["--rows", str(n_rows), "--jobs", str(jobs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measured_command(folder: Path, n_rows: int, jobs: int) -> dict[str, float]:
    """Return what `metaod detect FILE -o FILE` takes from the shell."""
    command = [sys.executable, "-m", "metaod", "detect", str(folder / f"{n_rows}.parquet")]
    command += ["-o", str(folder / "scored.parquet"), "--jobs", str(jobs)]
    with (folder / "log").open("wb") as log:
        wall = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit((folder / "log").read_text())
    seconds = usage.ru_utime + usage.ru_stime
    taken = time.perf_counter() - wall
    return {"seconds": seconds, "wall": taken, "GiB": usage.ru_maxrss / 2**20}


COLUMNS = (
    "rows", "pick, s", "fit, s", "expected, s", "answer, s", "apply, s", "forest, s",
    "fit / forest", "apply / forest", "fit, GiB", "detect, s", "detect, wall s", "detect, GiB",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        run_step(given.step, given.folder, given.rows[0], given.jobs)
        return
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made_table(500).to_parquet(folder / "small.parquet")
        STEPS["save"](folder / "small.parquet", given.jobs)()
        for n_rows in given.rows or ROWS:
            path = folder / f"{n_rows}.parquet"
            made_table(n_rows).to_parquet(path)
            found: dict[str, Any] = {
                step: measured(step, folder, n_rows, given.jobs)
                for step in ("save", "pick", "fit", "answer", "apply", "forest")
            }
            command = measured_command(folder, n_rows, given.jobs)
            times = {step: found[step]["seconds"] for step in found}
            cells = [
                f"{n_rows:,}",
                *(f"{times[step]:.3g}" for step in ("pick", "fit")),
                f"{found['fit']['expected']:.3g}",
                *(f"{times[step]:.3g}" for step in ("answer", "apply", "forest")),
                *(f"{times[step] / times['forest']:.1f}" for step in ("fit", "apply")),
                f"{found['fit']['GiB']:.2f}",
                f"{command['seconds']:.3g}",
                f"{command['wall']:.3g}",
                f"{command['GiB']:.2f}",
            ]
            print("| " + " | ".join(cells) + " |", flush=True)
            for file in folder.glob(f"{n_rows}.*"):
                file.unlink()


if __name__ == "__main__":
    main()
