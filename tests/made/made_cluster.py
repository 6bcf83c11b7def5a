"""A Dask cluster of real processes for tests: a scheduler, and workers that can be killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, get_worker

from metaod.store._tasks import OutOfMemory, run_task


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Cluster:
    """A scheduler and workers, each a process of its own; ``with`` ends them all."""

    def __init__(self, folder, n_workers=2, *, protocol="tcp", **options):
        self.folder, self.port, self.protocol = Path(folder), free_port(), protocol
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.workers = []
        self.scheduler = None
        self.start_scheduler()
        try:
            for _ in range(n_workers):
                self.add_worker(**options)
            self.wait_for(n_workers)
        except BaseException:
            self.__exit__()
            raise

    def _start(self, *arguments, cwd=None):
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(Path(__file__).parent)]),
            "OMP_NUM_THREADS": "1",
        }
        with (self.folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
                stdout=log, stderr=log, cwd=cwd, env=environment, start_new_session=True,
            )  # fmt: skip

    def start_scheduler(self):
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard",
            "--no-jupyter", "--no-show", "--protocol", self.protocol,
        )  # fmt: skip

    def add_worker(self, *, nanny=True, memory="2GiB", threads=1, resources=None, cwd=None):
        """Start a worker, with a nanny that starts its process again when it ends."""
        options = ["--nanny"] if nanny else ["--no-nanny"]
        if resources:
            options += ["--resources", resources]
        worker = self._start(
            "worker", self.address, "--nthreads", str(threads), "--memory-limit", memory,
            "--no-dashboard", "--local-directory", str(self.folder), "--protocol", self.protocol,
            *options, cwd=cwd,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def client(self):
        return Client(self.address, set_as_default=False, timeout=20)

    def wait_for(self, n_workers):
        with self.client() as client:
            if n_workers:
                client.wait_for_workers(n_workers, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self.workers, self.scheduler):
            kill(process)


def kill(process):
    """Kill a process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Running:
    """An executor that runs another function than the build's."""

    def __init__(self, executor, function):
        self._executor, self._function = executor, function

    def run(self, _, tasks):
        return self._executor.run(self._function, tasks)


# functions that tests run on workers


def nothing(task):
    return task


@dataclass(frozen=True)
class Fake:
    """A task that sleeps, and states what memory it needs."""

    number: int
    seconds: float = 0.3
    n_bytes: int = 0


def times_of(task):
    """Return the worker, when the task started and ended there, and the memory it states."""
    start = time.monotonic()
    time.sleep(task.seconds)
    return get_worker().address, start, time.monotonic(), task.n_bytes


def busy_keys(dask_worker):
    """Return the tasks that run on a worker."""
    return [str(task.key) for task in dask_worker.state.executing]


def n_picks_received(dask_worker):
    """Return how many times a worker has received a pick from another."""
    received = dask_worker.transfer_incoming_log
    return sum("metaod-pick" in str(key) for item in received for key in item["keys"])


def run_or_kill_worker(task):
    """Run a task of a build; on the dataset called killer, end the process as a crash would."""
    if task.entry.name == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    return run_task(task)


def run_or_lack_memory(task):
    """Run a task of a build; on the dataset called killer, fail for lack of memory."""
    if task.entry.name == "killer":
        raise OutOfMemory("no memory")
    return run_task(task)


def run_slowly(task):
    time.sleep(0.2)
    return run_task(task)
