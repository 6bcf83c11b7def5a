"""Meta-features: a plain implementation with SciPy, scikit-learn and PyOD against the extractor.

    python benchmarks/metafeatures.py                    generated tables, 5 to 274 columns
    python benchmarks/metafeatures.py --data-dir DIR     real ones: .npz files with an X
    python benchmarks/metafeatures.py --growth           time and memory to 1,000,000 × 20 (Linux)
    python benchmarks/metafeatures.py --sample           what the landmarkers' sample changes
    python benchmarks/metafeatures.py --start            a fresh process: first and second call

Both sides run in the same process, on one thread; times are processor seconds, which other work on
the machine affects least. The plain implementation is the one that the tests compare with; it is
timed once. Ours is the best of three calls after the first. The last column is the largest relative
difference among the features that are not random.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from metaod.metafeatures import LandmarkerRuns, MetaFeatures, extract, schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/made"))
from plain_metafeatures import plain_features

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SHAPES = ((300, 5), (1800, 21), (5800, 36), (10_000, 50), (7600, 100), (450, 274))
GROWTH = (1000, 10_000, 100_000, 300_000, 1_000_000)
GROWTH_COLUMNS = 20
SAMPLED = (50_000, 20)
BOTH = ("paper", "scores")


def generated(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    """Correlated columns of several shapes and units, with a few outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    X /= X.std(axis=0)
    X[: max(2, n_rows // 50)] *= 3
    X[:, ::3] = np.exp(X[:, ::3])
    X[:, 1::5] = np.round(X[:, 1::5] * 3)
    return X * rng.uniform(0.1, 20, size=n_columns) + rng.normal(size=n_columns)


def tables(folder: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    if folder is None:
        for n_rows, n_columns in SHAPES:
            yield f"generated {n_rows} × {n_columns}", generated(n_rows, n_columns)
        return
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            X = file["X"].astype(float)
        if np.isfinite(X).all():
            yield f"{path.stem} {X.shape[0]} × {X.shape[1]}", X


def timed(call: Callable[[], MetaFeatures]) -> float:
    times = []
    for _ in range(4):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times[1:])


def largest_difference(ours: MetaFeatures, theirs: dict[str, float]) -> float:
    differences = [0.0]
    for name in schema("paper").names:
        if name.startswith(("iforest", "loda")) or not np.isfinite(theirs[name]):
            continue
        differences.append(abs(ours[name] - theirs[name]) / max(abs(theirs[name]), 1e-9))
    # NaN if a feature is undefined on our side only
    return float(np.max(differences))


def compare(folder: Path | None) -> None:
    # PyOD compiles some of its code when it is first called
    plain_features(generated(60, 3))
    print("| table | plain, s | `paper`, ms | times faster | both schemas, ms | difference |")
    print("|---|---|---|---|---|---|")
    for name, X in tables(folder):
        start = process_time()
        theirs = plain_features(X)
        plain = process_time() - start
        ours = timed(lambda X=X: extract(X))
        both = timed(lambda X=X: extract(X, BOTH))
        difference = largest_difference(extract(X), theirs)
        print(
            f"| {name} | {plain:.2f} | {ours * 1e3:.1f} | **{plain / ours:.0f}** "
            f"| {both * 1e3:.1f} | {difference:.0e} |",
            flush=True,
        )


def grow() -> None:
    print(f"columns: {GROWTH_COLUMNS}; memory is what extraction adds to the table at its peak\n")
    print("| rows | data, MiB | `paper`, s | µs a row | both, s | memory, MiB | of the data |")
    print("|---|---|---|---|---|---|---|")
    for n_rows in GROWTH:
        figures = fresh("--one", str(n_rows))
        data = n_rows * GROWTH_COLUMNS * 8 / 2**20
        paper, both, memory = figures["paper"], figures["both"], figures["memory"]
        print(
            f"| {n_rows:,} | {data:.1f} | {paper:.3f} | {paper / n_rows * 1e6:.1f} | {both:.3f} "
            f"| {memory:.0f} | {memory / data:.2f} |",
            flush=True,
        )


def one(n_rows: int) -> None:
    # load and compile everything first, so that only the memory for the table counts
    extract(generated(1000, GROWTH_COLUMNS), BOTH)
    X = np.random.default_rng(0).normal(size=(n_rows, GROWTH_COLUMNS))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = process_time()
    extract(X)
    paper = process_time() - start
    start = process_time()
    extract(X, BOTH)
    both = process_time() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"paper": paper, "both": both, "memory": memory}))


def sample() -> None:
    X = generated(*SAMPLED)
    n_rows, n_columns = SAMPLED
    whole = LandmarkerRuns(X, max_rows=n_rows)
    print(f"{n_rows:,} rows × {n_columns} columns; differences as shares of the value\n")
    print("| landmarkers on | compared with | features | median | 90 % | largest, and of what |")
    print("|---|---|---|---|---|---|")
    reference = extract(X, BOTH, runs=whole)
    others = {
        "all rows, other seeds": LandmarkerRuns(X, max_rows=n_rows, random_state=1),
        "10,000 rows": LandmarkerRuns(X),
        "2,000 rows": LandmarkerRuns(X, max_rows=2000),
    }
    for name, runs in others.items():
        values = extract(X, BOTH, runs=runs)
        sizes = np.maximum(np.abs(reference.values), 1e-3)
        differences = np.abs(values.values - reference.values) / sizes
        changed = np.flatnonzero(differences > 0)
        worst = changed[np.argmax(differences[changed])]
        print(
            f"| {name} | all rows | {len(changed)} | {np.median(differences[changed]):.3f} "
            f"| {np.quantile(differences[changed], 0.9):.3f} "
            f"| {differences[worst]:.2f} `{reference.names[worst]}` |"
        )


def start() -> None:
    print("| process | import, s | first call, s | second call, ms |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("the very first: compiles", "a later one: compiled code from the cache"):
            figures = fresh("--first", NUMBA_CACHE_DIR=folder)
            print(
                f"| {name} | {figures['import']:.1f} | {figures['first']:.2f} "
                f"| {figures['second'] * 1e3:.0f} |"
            )


def first(imported: float) -> None:
    X = generated(2000, 20)
    times = []
    for _ in range(2):
        begun = perf_counter()
        extract(X, BOTH)
        times.append(perf_counter() - begun)
    print(json.dumps({"import": imported, "first": times[0], "second": times[1]}))


def fresh(*arguments: str, **variables: str) -> dict[str, float]:
    """Run this file in a process of its own and read the figures that it prints."""
    result = subprocess.run(
        [sys.executable, __file__, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, help="folder of .npz files with an X")
    parser.add_argument("--growth", action="store_true", help="time and memory by rows")
    parser.add_argument("--sample", action="store_true", help="what sampling changes")
    parser.add_argument("--start", action="store_true", help="first calls in fresh processes")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--first", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        # libraries read these variables when they are loaded, so start the process again
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1")
        )
    if args.one is not None:
        one(args.one)
    elif args.first:
        first(process_time())
    elif args.growth:
        grow()
    elif args.sample:
        sample()
    elif args.start:
        start()
    else:
        compare(args.data_dir)


if __name__ == "__main__":
    main()
