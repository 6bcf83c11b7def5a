"""The build on one process, on several, and on Dask: efficiency, and overhead for each task.

    python benchmarks/build_scale.py                    1, 2 and 4 workers
    python benchmarks/build_scale.py --workers 1 2 8    other numbers

Three kinds of tasks, each by the serial executor, joblib and Dask in the same run:

empty     tasks that do nothing: what one task costs beyond its own work
asleep    tasks of the size of a build's that sleep: the overhead without competition for cores
computed  a build of generated tables: what the cores give

Efficiency is the time of one process divided by the time of n workers and by n; it cannot exceed
cores / n for computed tasks. Processor time counts this process and all workers: other work on the
machine disturbs it least. Workers have started, and have imported everything, before the clock
starts.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from distributed import Client, LocalCluster

from metaod.history import iter_folder
from metaod.store import BuildOptions, Store, build, make_executor
from metaod.store._executors import Executor

OPTIONS = BuildOptions(detectors=("KNN", "LOF", "IForest", "HBOS", "LODA"), trials=3)
HEAD = """\
| tasks | executor | workers | seconds | efficiency | overhead of a task, ms | processor, s |
|---|---|---|---|---|---|---|"""


def nothing(task: object) -> None:
    del task


def asleep(task: object) -> None:
    del task
    time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--empty", type=int, default=500, help="number of empty tasks")
    parser.add_argument("--asleep", type=int, default=60, help="number of tasks that sleep")
    parser.add_argument("--tables", type=int, default=12, help="number of tables of the build")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start\n")
    print(HEAD)
    with tempfile.TemporaryDirectory() as place:
        folder = make_tables(Path(place) / "tables", given.tables)
        task = first_task(folder, Path(place) / "plan.db")
        kinds: list[tuple[str, int, Callable[[Executor], None]]] = [
            ("empty", given.empty, lambda runner: drain(runner, nothing, range(given.empty))),
            ("asleep", given.asleep, lambda runner: drain(runner, asleep, [task] * given.asleep)),
            ("computed", given.tables, lambda runner: build_new(runner, folder, Path(place))),
        ]
        runners = [("serial", 1), *(("joblib", n) for n in given.workers if n > 1)]
        runners += [("dask", n) for n in given.workers]
        alone: dict[str, float] = {}
        for name, n_workers in runners:
            with executor(name, n_workers) as runner:
                build_new(runner, folder, Path(place))  # imports, and what is compiled
                for kind, n_tasks, run in kinds:
                    start, processor = time.perf_counter(), processor_seconds()
                    run(runner)
                    seconds = time.perf_counter() - start
                    processor = processor_seconds() - processor
                    alone.setdefault(kind, seconds)
                    share = "" if kind == "empty" else f"{alone[kind] / seconds / n_workers:.2f}"
                    extra = 1000 * (seconds - alone[kind] / n_workers) / n_tasks
                    cells = (kind, name, n_workers, f"{seconds:.2f}", share, f"{extra:.1f}")
                    print("|", *(f"{cell} |" for cell in cells), f"{processor:.1f} |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


def processor_seconds() -> float:
    """Processor time of this process and of those that it started and that still run."""
    total = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


@contextmanager
def executor(name: str, n_workers: int) -> Iterator[Executor]:
    if name != "dask":
        yield make_executor(n_workers, name)
        return
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        yield make_executor(scheduler=cluster.scheduler_address)


def drain(runner: Executor, function: Callable[[object], None], tasks: Sequence[object]) -> None:
    for _ in runner.run(function, iter(tasks)):
        pass


def first_task(folder: Path, path: Path) -> object:
    plans: list[Any] = []
    with Store(path, create=True) as store:
        build(store, iter_folder(folder), OPTIONS, on_plan=plans.append)
    return plans[0].tasks[0]


def build_new(runner: Executor, folder: Path, place: Path) -> None:
    path = place / f"{time.monotonic_ns()}.db"
    with Store(path, create=True) as store:
        build(store, iter_folder(folder), OPTIONS, executor=runner)


def make_tables(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(1500, 10))
        X[:30] += rng.normal(0, 3, size=(30, 10))
        np.savez(folder / f"table{number:03d}.npz", X=X, y=np.arange(len(X)) < 30)
    return folder


if __name__ == "__main__":
    main()
