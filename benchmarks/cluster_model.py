"""What a build of 10,000 datasets × 1,000 models takes on 64 nodes, by a model that is checked.

    python benchmarks/cluster_model.py                     64 nodes of 16 cores
    python benchmarks/cluster_model.py --nodes 8 --cores 32

Measured in this run, by the processor's clock: what a task takes, by rows and columns (a power law
through builds of generated tables, checked on tables of other shapes), and what the one writer
takes to record a task, with the bytes that it adds. The overhead that Dask has for each task is
given by `--overhead`, from benchmarks/build_scale.py. The model: shapes are those of the shipped
datasets, drawn with replacement; time grows with the number of models; a dataset is one task; each
free core takes the next task, the largest first; results are recorded one after another. It is
checked against a whole serial build, and against one on two processes by the
clock.
"""

import argparse
import heapq
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from metaod.history import iter_folder
from metaod.store import BuildOptions, Store, build, make_executor
from metaod.store._tasks import run_task
from research.shipped import shipped_datasets

OPTIONS = BuildOptions()
FITTED = ((200, 5), (500, 20), (1000, 10), (2000, 5), (3000, 30), (6000, 10), (12_000, 20))
CHECKED = ((300, 12), (1500, 8), (4000, 15), (8000, 6))
MODELS = len(OPTIONS.specs())


def make_tables(folder: Path, shapes: tuple[tuple[int, int], ...]) -> Path:
    folder.mkdir()
    for number, (n_rows, n_columns) in enumerate(shapes):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(n_rows, n_columns))
        n_outliers = max(2, n_rows // 50)
        X[:n_outliers] += rng.normal(0, 3, size=(n_outliers, n_columns))
        np.savez(folder / f"table{number:03d}.npz", X=X, y=np.arange(n_rows) < n_outliers)
    return folder


def measure(folder: Path, place: Path) -> tuple[dict[tuple[int, int], float], float, float]:
    """Return seconds by shape, seconds of recording a task, and bytes of the whole store."""
    seconds: dict[tuple[int, int], float] = {}
    recorded = []
    with Store(place, create=True) as store:

        def run(task):
            started = time.process_time()
            result = run_task(task)
            shape = result.task.entry.load().X.shape
            seconds[shape] = seconds.get(shape, 0.0) + time.process_time() - started
            return result

        class Runner:
            n_jobs = 1

            def run(self, function, tasks):
                del function
                for task in tasks:
                    result = run(task)
                    started = time.process_time()
                    yield result  # the build records it, then asks for the next
                    recorded.append(time.process_time() - started)

        build(store, iter_folder(folder), OPTIONS, executor=Runner())
        size = store.summary()["size_bytes"]
    return seconds, float(np.median(recorded)), float(size)


class Law:
    """seconds = start + factor * rows ** a * columns ** b."""

    def __init__(self, seconds: dict[tuple[int, int], float]) -> None:
        from scipy.optimize import least_squares

        shapes = np.log(np.array(list(seconds), dtype=float))
        times = np.log(np.array(list(seconds.values())))

        def left(p):
            return np.logaddexp(p[0], p[1] + shapes @ p[2:]) - times

        self.p = least_squares(left, [-2, -8, 1, 0.3], loss="soft_l1").x

    def seconds(self, shapes: np.ndarray) -> np.ndarray:
        """Return the seconds of tables of these shapes."""
        return np.exp(np.logaddexp(self.p[0], self.p[1] + np.log(shapes) @ self.p[2:]))


def makespan(
    tasks: np.ndarray, n_cores: int, overhead: float, record: float
) -> tuple[float, float]:
    """Return when the last result is recorded, and how long the writer works."""
    free = [0.0] * n_cores
    done = []
    for seconds in np.sort(tasks)[::-1]:
        end = heapq.heappop(free) + seconds + overhead
        heapq.heappush(free, end)
        done.append(end)
    written = 0.0
    for end in sorted(done):
        written = max(written, end) + record
    return written, record * len(tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--datasets", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--overhead", type=float, default=10.0, help="ms a task, on Dask")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = make_tables(Path(name) / "warm", FITTED[:1])
        _, _, start = measure(folder, Path(name) / "warm.db")  # imports and compiles
        folder = make_tables(Path(name) / "fitted", FITTED)
        fitted, record, size = measure(folder, Path(name) / "f.db")
        size = (size - start) / (len(FITTED) - 1)  # bytes of a dataset
        law = Law(fitted)
        checked, _, _ = measure(make_tables(Path(name) / "checked", CHECKED), Path(name) / "c.db")
        print("| table | measured, s | by the law, s | ratio |\n|---|---|---|---|")
        for shape, seconds in checked.items():
            [expected] = law.seconds(np.array([shape]))
            print(f"| {shape[0]:,} × {shape[1]} | {seconds:.2f} | {expected:.2f} |", end="")
            print(f" {expected / seconds:.2f} |")
        print()
        check_builds(law, Path(name), record)
    predict(law, given, record, size)


def check_builds(law: Law, place: Path, record: float) -> None:
    """Compare whole builds with the model: processor seconds of one, the clock's of two."""
    print("| build of the four tables | measured, s | by the model, s |\n|---|---|---|")
    for n_jobs, clock in ((1, time.process_time), (2, time.perf_counter)):
        runner = make_executor(n_jobs)
        for name in ("warm", "checked"):  # processes start and compile
            with Store(place / f"{name}{n_jobs}.db", create=True) as store:
                started = clock()
                build(store, iter_folder(place / name), OPTIONS, executor=runner)
                taken = clock() - started
        expected, _ = makespan(law.seconds(np.array(CHECKED, dtype=float)), n_jobs, 0.0, record)
        kind = "processor" if n_jobs == 1 else f"wall, load {os.getloadavg()[0]:.1f}"
        print(f"| {n_jobs} process(es), {kind} | {taken:.1f} | {expected:.1f} |")
    print()


def predict(law: Law, given: argparse.Namespace, record: float, size: float) -> None:
    datasets = shipped_datasets()
    shapes = datasets[["n_rows", "n_columns"]].to_numpy(float)
    drawn = shapes[np.random.default_rng(0).integers(0, len(shapes), given.datasets)]
    factor = given.models / MODELS
    whole = law.seconds(drawn) * factor
    n_cores = given.nodes * given.cores
    taken, writing = makespan(whole, n_cores, given.overhead / 1000, record * factor)
    most = whole.sum() / writing
    store_size = size * factor * given.datasets / 2**30
    rows = {
        f"{given.datasets:,} datasets × {given.models:,} models": f"{len(whole):,} tasks",
        "processor hours": f"{whole.sum() / 3600:,.0f}",
        f"hours on one node of {given.cores} cores": f"{whole.sum() / 3600 / given.cores:,.1f}",
        f"hours on {given.nodes} nodes": f"{taken / 3600:.2f}",
        "efficiency of the cores": f"{whole.sum() / (taken * n_cores):.0%}",
        "the writer works": f"{writing / 3600:.2f} h, {writing / taken:.0%} of the time",
        "size of the store": f"{store_size:.1f} GiB",
        "the writer cannot follow beyond": f"{most:,.0f} cores",
        "the largest task": f"{whole.max() / 60:.1f} min",
    }
    print("| | |\n|---|---|")
    for what, value in rows.items():
        print(f"| {what} | {value} |")


if __name__ == "__main__":
    main()
