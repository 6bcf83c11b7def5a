"""The performance matrix: the obvious loop over PyOD's detectors against shared computation.

    python benchmarks/performance_matrix.py                      small generated tables
    python benchmarks/performance_matrix.py --data-dir DIR       real ones: .npz files of X and y
    python benchmarks/performance_matrix.py --sample 1           the whole loop, every seed
    python benchmarks/performance_matrix.py --growth             time and memory, 1k to 64k (Linux)

Both sides run in the same process, on one thread; seconds are those of the processor, which other
work on the machine disturbs least. With ``--sample`` below 1 the loop is timed on that share of
each grid with one seed, and extrapolated to the grid and to all trials. Agreement stands beside
speed: where the detector is not random, the largest difference of scores as a share of the largest
score, and the mean difference in average precision (AP) over the models compared; where it is
random, the difference in AP of its smallest model, averaged over 40 seeds on each side, with its
standard error.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
from pyod.models import abod, cof, hbos, iforest, knn, loda, lof, ocsvm
from sklearn.metrics import average_precision_score

from metaod.models import ModelSpec, fit_scaling, model_space, score_models

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SHAPES = ((300, 9), (1800, 21), (5800, 36))
LARGE = (11000, 6)
GROWTH_COLUMNS = 20
SEEDS = 40
PYOD = {
    "ABOD": abod.ABOD, "COF": cof.COF, "HBOS": hbos.HBOS, "IForest": iforest.IForest,
    "KNN": knn.KNN, "LODA": loda.LODA, "LOF": lof.LOF, "OCSVM": ocsvm.OCSVM,
}  # fmt: skip
HEAD = """\
| models | number | obvious, s | ours, s | times faster | largest difference | AP, ours - PyOD |
|---|---|---|---|---|---|---|"""


@dataclass
class Table:
    """A labelled table."""

    name: str
    X: np.ndarray
    y: np.ndarray


@dataclass
class Row:
    """One line of the result: a group of models, both ways."""

    group: str
    n_models: int
    obvious: float
    ours: float
    difference: str = ""
    ap: str = ""

    def __str__(self) -> str:
        ratio = self.obvious / self.ours
        times = f"{self.obvious:.2f} | {self.ours:.3f} | **{ratio:.0f}**"
        return f"| {self.group} | {self.n_models} | {times} | {self.difference} | {self.ap} |"


def generated(n_rows: int, n_columns: int, seed: int = 0) -> Table:
    """Three clusters of correlated columns, and 5 % outliers around and between them."""
    rng = np.random.default_rng(seed)
    n_out = max(2, n_rows // 20)
    centers = rng.normal(scale=3, size=(3, n_columns))
    mixing = rng.normal(size=(3, n_columns, n_columns)) / np.sqrt(n_columns)
    cluster = rng.integers(0, 3, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    for i in range(3):
        X[cluster == i] = X[cluster == i] @ mixing[i] + centers[i]
    X[:n_out] += rng.normal(scale=2, size=(n_out, n_columns))
    y = np.arange(n_rows) < n_out
    order = rng.permutation(n_rows)
    return Table(f"generated {n_rows} × {n_columns}", X[order], y[order].astype(int))


def tables(args: argparse.Namespace) -> Iterator[Table]:
    if args.data_dir is None:
        for n_rows, n_columns in SHAPES + ((LARGE,) if args.large else ()):
            if args.min_rows <= n_rows <= args.max_rows:
                yield generated(n_rows, n_columns)
        return
    for path in sorted(args.data_dir.rglob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            X, y = file["X"].astype(float), file["y"].astype(int)
        sized = args.min_rows <= len(X) <= args.max_rows
        if sized and np.isfinite(X).all() and 0 < y.sum() < len(y):
            yield Table(f"{path.stem} {X.shape[0]} × {X.shape[1]}", X, y)
        else:
            print(
                f"{path.name}: left out (not finite, one class, too few or too many rows)",
                flush=True,
            )


def group_of(spec: ModelSpec) -> str:
    if spec.detector != "OCSVM":
        return spec.detector
    # PyOD itself gives other scores for these three when rows change places
    return "OCSVM, rbf" if ("kernel", "rbf") in spec.params else "OCSVM, other kernels"


def grouped(specs: Sequence[ModelSpec]) -> dict[str, list[ModelSpec]]:
    groups: dict[str, list[ModelSpec]] = {}
    for spec in specs:
        groups.setdefault(group_of(spec), []).append(spec)
    return groups


def spread(specs: Sequence[ModelSpec], share: float) -> list[ModelSpec]:
    """Models at even distances through the grid, at least four."""
    count = min(len(specs), max(4, round(share * len(specs))))
    return [specs[int((i + 0.5) * len(specs) / count)] for i in range(count)]


def size_of(specs: Sequence[ModelSpec]) -> int:
    """What the loop's time is proportional to: trees or cuts; elsewhere the number of models."""
    return sum(
        dict(spec.params).get("n_estimators", dict(spec.params).get("n_random_cuts", 1))
        for spec in specs
    )


def pyod_scores(scaled: np.ndarray, spec: ModelSpec, seed: int) -> np.ndarray | None:
    """Fit the detector as anybody would, on the table that was scaled once for all."""
    given = dict(spec.params) | ({"random_state": seed} if spec.is_random else {})
    try:
        return np.asarray(PYOD[spec.detector](**given).fit(scaled).decision_scores_)
    except Exception as error:
        print(f"PyOD: {spec} failed: {type(error).__name__}: {error}", flush=True)
        return None


def average_precision(y: np.ndarray, scores: np.ndarray) -> float:
    # rounded, so that scores that differ by rounding alone rank alike on both sides
    unit = np.abs(scores).max() * 1e-9 or 1.0
    return float(average_precision_score(y, np.round(scores / unit)))


def compare(table: Table, group: str, specs: Sequence[ModelSpec], args: argparse.Namespace) -> Row:
    """Time and compare one group of models, both ways."""
    scaled = fit_scaling("zscore", table.X).transform(table.X)
    sample = spread(specs, args.sample)
    n_trials = args.trials if specs[0].is_random else 1
    n_timed = n_trials if args.sample >= 1 else 1
    ours: dict[ModelSpec, np.ndarray | None] = {}
    start = process_time()
    for item in score_models(table.X, specs, trials=args.trials):
        ours[item.spec] = item.scores
    took = process_time() - start
    theirs = {}
    start = process_time()
    for spec in sample:
        for seed in range(n_timed):
            theirs[spec] = pyod_scores(scaled, spec, seed)
    obvious = (process_time() - start) * size_of(specs) / size_of(sample) * n_trials / n_timed
    if specs[0].is_random:
        return Row(group, len(specs), obvious, took, ap=random_agreement(table, scaled, specs[0]))
    pairs = [(ours[spec], theirs[spec]) for spec in sample]
    both = [(a, b) for a, b in pairs if a is not None and b is not None and np.isfinite(b).all()]
    if not both:
        return Row(group, len(specs), obvious, took, "not comparable")
    largest = max(np.abs(a - b).max() / np.abs(b).max() for a, b in both)
    ap = np.mean([average_precision(table.y, a) - average_precision(table.y, b) for a, b in both])
    return Row(group, len(specs), obvious, took, f"{largest:.1e}", f"{ap:+.4f}")


def random_agreement(table: Table, scaled: np.ndarray, spec: ModelSpec) -> str:
    """Difference in mean AP of one random model over many seeds, with its standard error."""
    ours = [
        average_precision(table.y, item.scores)
        for item in score_models(table.X, [spec], trials=SEEDS)
        if item.scores is not None
    ]
    theirs = [
        average_precision(table.y, scores)
        for seed in range(1000, 1000 + SEEDS)
        if (scores := pyod_scores(scaled, spec, seed)) is not None
    ]
    error = np.sqrt((np.var(ours) + np.var(theirs)) / SEEDS)
    return f"{np.mean(ours) - np.mean(theirs):+.4f} ± {error:.4f}"


def run_table(table: Table, args: argparse.Namespace) -> list[Row]:
    space = [
        spec
        for spec in model_space("paper", detectors=args.families)
        if spec.applies(*table.X.shape)
    ]
    rows = [compare(table, group, specs, args) for group, specs in grouped(space).items()]
    totals = []
    for name, left_out in (("all", ""), ("all but ABOD", "ABOD")):
        chosen = [spec for spec in space if spec.detector != left_out]
        kept = [row for row in rows if row.group != left_out]
        if len(kept) > 1:
            start = process_time()
            for _ in score_models(table.X, chosen, trials=args.trials):
                pass
            took = process_time() - start
            n_models = sum(row.n_models for row in kept)
            totals.append(Row(name, n_models, sum(row.obvious for row in kept), took))
    return rows + totals


def warm_up(args: argparse.Namespace) -> None:
    """Import and compile everything on both sides before the clock starts."""
    table = generated(120, 5)
    space = model_space("paper", detectors=args.families)
    list(score_models(table.X, space, trials=1))
    for specs in grouped(space).values():
        pyod_scores(table.X, specs[0], 0)


def run_speed(args: argparse.Namespace) -> str:
    warm_up(args)
    whole = args.sample >= 1
    how = "the whole loop" if whole else f"the loop on {args.sample:.0%} of each grid, extrapolated"
    lines = [f"Processor time of one thread; {args.trials} trials of random models; {how}.", ""]
    summary = []
    for table in tables(args):
        rows = run_table(table, args)
        lines += [
            f"## {table.name}",
            "",
            HEAD,
            *map(str, rows),
            "",
        ]
        overall = {row.group: row.obvious / row.ours for row in rows}
        cells = [f"{overall[key]:.0f}" for key in ("all", "all but ABOD") if key in overall]
        summary.append(f"| {table.name} | " + " | ".join(cells) + " |")
        print("\n".join(lines[-len(rows) - 4 :]), flush=True)
    head = ["## Overall, times faster", "", "| table | all | all but ABOD |", "|---|---|---|"]
    return "\n".join([*lines, *head, *summary, ""])


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_one_size(args: argparse.Namespace) -> None:
    """Score the space on one generated table; print time and peak memory as JSON."""
    warm_up(args)
    table = generated(args.one_size, GROWTH_COLUMNS)
    space = model_space("paper", detectors=args.families)
    # forget the peak so far, which importing and compiling may have set; then the peak is now
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = peak_memory()
    states: Counter[str] = Counter()
    start = process_time()
    for item in score_models(table.X, space, trials=args.trials):
        states[str(item.state)] += 1
    seconds = process_time() - start
    grown = (peak_memory() - before) / 2**20
    print(json.dumps({"seconds": seconds, "MiB": grown, "states": states}))


def run_growth(args: argparse.Namespace) -> str:
    lines = [
        f"{GROWTH_COLUMNS} columns; {args.trials} trials of random models; processor time of one",
        "thread; memory beyond the interpreter and the table, each size in a process of its own.",
        "",
        "| rows | seconds | peak memory, MiB | cells |",
        "|---|---|---|---|",
    ]
    n_rows = 1000
    while n_rows <= args.max_rows:
        command = [
            sys.executable,
            __file__,
            "--one-size",
            str(n_rows),
            "--trials",
            str(args.trials),
        ]
        if args.families:
            command += ["--families", *args.families]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        result = json.loads(output.splitlines()[-1])
        states = ", ".join(f"{count} {state}" for state, count in result["states"].items())
        lines.append(f"| {n_rows} | {result['seconds']:.1f} | {result['MiB']:.0f} | {states} |")
        print(lines[-1], flush=True)
        n_rows *= 2
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, help="folder of .npz files with X and y")
    parser.add_argument("--min-rows", type=int, default=2, help="leave out smaller tables")
    parser.add_argument("--max-rows", type=int, help="leave out larger tables; end of the growth")
    parser.add_argument("--large", action="store_true", help="also a generated 11000 × 6 table")
    parser.add_argument(
        "--sample", type=float, default=0.15, help="share of each grid to loop over"
    )
    parser.add_argument("--trials", type=int, default=5, help="trials of random models")
    parser.add_argument("--families", nargs="+", help="only these families")
    parser.add_argument("--growth", action="store_true", help="time and memory by number of rows")
    parser.add_argument("--output", type=Path, help="write the Markdown here too")
    parser.add_argument("--one-size", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        # libraries read these when they are loaded, which is before now
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(THREADS, "1")
        )
    if args.max_rows is None:
        args.max_rows = 64000 if args.growth else 12000
    warnings.simplefilter("ignore")
    if args.one_size is not None:
        run_one_size(args)
        return
    text = run_growth(args) if args.growth else run_speed(args)
    if args.output is not None:
        args.output.write_text(text, encoding="utf-8")
    print("\n" + text)


if __name__ == "__main__":
    main()
