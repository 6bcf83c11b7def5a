"""How long a pick takes: beside training what is picked, and beside PyOD's own rules.

    python benchmarks/selection.py            # tables up to 100,000 rows
    python benchmarks/selection.py --large    # and a million rows

Each table is drawn at random with a share of outliers. `pick` is `metaod.select` in a process that
has picked before, median of several; `first` is the same in a fresh process, compiled code cached,
imports included; `ADEngine` is PyOD's plan for the table, which looks at its shape alone, and
`train` is the fit of the picked detector.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

SHAPES = ((100, 3), (300, 9), (1_000, 10), (3_000, 20), (10_000, 20), (100_000, 20))
LARGE = (1_000_000, 20)


def made_table(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    outliers = rng.random(n_rows) < 0.05
    X[outliers] += rng.normal(scale=6, size=(int(outliers.sum()), n_columns))
    return X


def time_picks(X: np.ndarray, learner: str, repeats: int) -> tuple[float, object]:
    import metaod

    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        selection = metaod.select(X, learner=learner)
        times.append(time.perf_counter() - started)
    return median(times), selection


def time_rules(X: np.ndarray) -> float:
    from pyod.utils.ad_engine import ADEngine

    times = []
    for _ in range(3):
        started = time.perf_counter()
        engine = ADEngine()
        engine.plan_detection(engine.profile_data(X))
        times.append(time.perf_counter() - started)
    return median(times)


def time_training(selection: object, limit: float) -> float | None:
    if not float(selection.ranking["seconds"][0]) < limit:
        return None
    detector = selection.detector()
    started = time.perf_counter()
    detector.fit(selection.prepared.X)
    return time.perf_counter() - started


def time_shell(X: np.ndarray, learner: str) -> float:
    command = [sys.executable, "-m", "metaod", "select", "--learner", learner]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        np.savetxt(path, X, delimiter=",", fmt="%.6g")
        times = []
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run([*command, str(path)], check=True, capture_output=True)
            times.append(time.perf_counter() - started)
    return median(times)


def time_imports() -> float:
    code = "import numpy, pandas, numba, pyod, metaod"
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="a million rows too")
    parser.add_argument("--learners", nargs="+", default=["default", "metaod"])
    parser.add_argument("--train-limit", type=float, default=120, help="seconds expected at most")
    given = parser.parse_args()
    time_picks(made_table(500, 5), "default", 1)  # compiles
    print(f"imports of numpy, pandas, numba and pyod in a fresh process: {time_imports():.2f} s\n")
    for learner in given.learners:
        time_picks(made_table(500, 5), learner, 1)
        print(f"learner {learner}\n")
        print("| rows × columns | pick | first (shell) | ADEngine | train | pick / train | pick |")
        print("|---|---|---|---|---|---|---|")
        shares = []
        for shape in (*SHAPES, LARGE) if given.large else SHAPES:
            X = made_table(*shape)
            seconds, selection = time_picks(X, learner, 3 if shape[0] > 50_000 else 7)
            first = f"{time_shell(X, learner):.2f} s" if shape[0] <= 10_000 else "–"
            trained = time_training(selection, given.train_limit)
            share = "–" if trained is None else f"{seconds / trained:.1%}"
            if trained is not None:
                shares.append(seconds / trained)
            shown = "–" if trained is None else f"{trained:.3g} s"
            print(
                f"| {shape[0]:,} × {shape[1]} | {seconds:.3g} s | {first} | "
                f"{time_rules(X):.2g} s | {shown} | {share} | {selection.best} |",
                flush=True,
            )
        print(f"\nmedian share of training: {median(shares):.1%} (the paper: 3.3 %)\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory of this process: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
