"""Executors run the tasks of a build: in this process, in several, or on a Dask cluster.

An executor is a class with the method ``run``, listed in ``EXECUTORS``.

Dask places the tasks, repeats those of a lost worker elsewhere, and ends a worker whose memory runs
out. A task during which several workers ended is run again alone at the end, because Dask blames
every task of an ended worker; if workers end again, it is recorded as failed.
"""

import logging
import math
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from metaod.artifacts import library_versions
from metaod.errors import BadFile, BadParameter, UserError, required
from metaod.models import CellState
from metaod.store._tasks import USE_LESS, BuildTask, OutOfMemory, while_evaluating

Task = TypeVar("Task")
Result = TypeVar("Result")

PER_THREAD = 2
"""Tasks that are submitted for each thread of the workers: one that runs, and the next."""

RETRIES = 2
"""Times that a task is repeated after an error, perhaps on another worker."""

_SECONDS_TO_CONNECT = 10.0
_SECONDS_BETWEEN_LOOKS = 1.0

_log = logging.getLogger("metaod.store")


class Executor(Protocol):
    """Run one function over many tasks.

    Parameters
    ----------
    n_jobs : int
        Number of tasks that may run at the same time; -1 for one per core.
    """

    def __init__(self, n_jobs: int) -> None: ...

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield each result as soon as it is ready, in any order.

        The function and its tasks can be pickled: they hold paths and specs, not tables. Tasks
        are taken from the iterable when there is room for them, a few ahead of those that run. An
        exception of the function ends the run.
        """


class SerialExecutor:
    """Run the tasks one after the other in this process."""

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        yield from map(function, tasks)


class JoblibExecutor:
    """Run the tasks in several processes of this machine with joblib."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        from joblib import Parallel, delayed  # noqa: PLC0415 - only a parallel build needs it
        from joblib.externals.loky.process_executor import TerminatedWorkerError  # noqa: PLC0415 - as above

        # one task at a time a process: a large table must not delay the small ones behind it
        parallel = Parallel(
            n_jobs=self.n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
        )
        try:
            yield from parallel(delayed(function)(task) for task in tasks)
        except TerminatedWorkerError as error:
            what = "a process of the build was killed, probably because memory ran out"
            raise UserError(what, remedy=USE_LESS) from error


class DaskExecutor:
    """Run the tasks on the workers of a Dask cluster.

    Parameters
    ----------
    n_jobs : int
        Number of processes of a cluster on this machine, if no scheduler is named.
    scheduler : str, optional
        The address of a scheduler; by default Dask's own setting ``scheduler-address``, which the
        environment variable ``DASK_SCHEDULER_ADDRESS`` sets. TLS is set up by Dask's settings
        ``distributed.comm.tls``.
    """

    def __init__(self, n_jobs: int, scheduler: str | None = None) -> None:
        required("distributed", extra="cluster", needed_for="the executor dask")
        import dask  # noqa: PLC0415 - an extra

        self.n_jobs = n_jobs
        if scheduler is None:
            scheduler = dask.config.get("scheduler-address", None)
        self.scheduler = scheduler
        if scheduler is not None:
            # before the datasets are read, which takes long
            _check_scheduler(scheduler)

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield each result as soon as it is ready."""
        with _connected(self.scheduler, self.n_jobs) as client:
            run = _Run(client, function)
            try:
                yield from run.results(iter(tasks))
            finally:
                run.cancel()


class _Run:
    """One run of a function over tasks."""

    def __init__(self, client: Any, function: Callable[[Any], Any]) -> None:
        from distributed import as_completed  # noqa: PLC0415 - an extra

        self._client, self._function = client, function
        self._tasks: dict[Any, Any] = {}
        self._suspects: list[Any] = []
        self._completed = as_completed(loop=client.loop)
        self._looked = -math.inf
        self._room, self._memory = 1, 0.0

    def results(self, tasks: Iterator[Any]) -> Iterator[Any]:
        """Yield each result as soon as it is ready; those of suspects at the end."""
        while True:
            for task in islice(tasks, self._n_free()):
                yield from self._submit(task)
            if not self._tasks:
                break
            yield from self._collect()
        while self._suspects:
            yield from self._submit(self._suspects.pop())
            while self._tasks:
                yield from self._collect(is_alone=True)

    def cancel(self) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._tasks), force=True)

    def _n_free(self) -> int:
        """Return how many tasks may be submitted, by the workers that there are at the moment."""
        if time.monotonic() - self._looked > _SECONDS_BETWEEN_LOOKS:
            with self._connection():
                # not `scheduler_info`, which may return what another thread asked for: no workers
                known = self._client.sync(self._client.scheduler.identity, n_workers=-1)
            workers = known["workers"].values()
            if not workers and self._looked < 0.0:
                _log.warning("the scheduler at %s has no worker; waiting for one", known["address"])
            self._looked = time.monotonic()
            self._room = max(1, PER_THREAD * sum(item["nthreads"] for item in workers))
            # what workers declare with: dask worker --resources "memory=8e9"
            declared = (item["resources"].get("memory", 0.0) for item in workers)
            self._memory = max(declared, default=0.0)
        return max(0, self._room - len(self._tasks))

    def _submit(self, task: Any, content: bytes | None = None) -> Iterator[Any]:
        """Submit a task; yield its result if no worker has the memory for it."""
        needed = task.n_bytes if self._memory and hasattr(task, "n_bytes") else 0
        if needed > self._memory:
            reason = f"would take about {needed / 2**20:.3g} MiB of memory, "
            reason += f"the largest worker has {self._memory / 2**20:.3g} MiB"
            yield _lost(task, reason, CellState.OVER_BUDGET)
            return
        with self._connection():
            future = self._client.submit(
                _work,
                self._function,
                task,
                content,
                versions(),
                resources={"memory": needed} if needed else None,
                retries=RETRIES,
                pure=False,
            )
        self._tasks[future] = task
        self._completed.add(future)

    def _collect(self, *, is_alone: bool = False) -> Iterator[Any]:
        """Wait for a task; yield its result, if it has one."""
        from distributed.comm.core import CommClosedError  # noqa: PLC0415 - an extra
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - as above

        future = next(self._completed)
        task = self._tasks.pop(future)
        if future.cancelled():
            raise self._connection_lost()
        try:
            outcome = future.result()
        except CommClosedError as error:
            raise self._connection_lost() from error
        except KilledWorker:
            if is_alone:
                reason = "workers ended during this task; memory ran out, or a library crashed"
                yield _lost(task, reason)
            else:
                self._suspects.append(task)
        except OutOfMemory as error:
            yield _lost(task, str(error.what))
        except ImportError as error:
            what = f"a worker cannot run metaod ({_first_line(error)})"
            remedy = "install the same metaod-next[cluster] on every worker"
            raise UserError(what, where=self._client.scheduler.address, remedy=remedy) from error
        else:
            if outcome is _FileNeeded:
                yield from self._submit(task, _content_of(task))
            else:
                yield outcome

    @contextmanager
    def _connection(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise self._connection_lost() from error

    def _connection_lost(self) -> UserError:
        what = "the connection to the Dask scheduler was lost"
        remedy = "start the scheduler, then the same command: finished tasks are kept"
        return UserError(what, where=self._client.scheduler.address, remedy=remedy)


def _lost(task: Any, reason: str, state: CellState = CellState.FAILED) -> Any:
    if not isinstance(task, BuildTask):
        raise UserError(reason, where="Dask", remedy="check the workers' logs")
    return task.lost(reason, state)


def _content_of(task: BuildTask) -> bytes:
    try:
        return task.entry.path.read_bytes()
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        remedy = "put it back, and start the build again"
        raise BadFile(task.entry.path, what, remedy=remedy) from error


# what runs on a worker


class _FileNeeded:
    """The outcome of a task whose file the worker does not have: it must be sent."""


class _Cancelled(BaseException):
    """The task was cancelled while it ran; no error of a detector is caught as this."""


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    own = {name: version(name) for name in ("dask", "distributed")}
    return library_versions() | own | {"python": ".".join(platform.python_version_tuple()[:2])}


def _work(
    function: Callable[[Any], Any], task: Any, content: bytes | None, wanted: dict[str, str]
) -> Any:
    """Run a task on this worker; its file is here, or its content is sent."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    worker = get_worker()
    for name, there in wanted.items():
        if versions()[name] != there:
            what = f"the worker has {name} {versions()[name]}, the build has {there}"
            remedy = "install the same versions: results must be equal bit for bit"
            raise UserError(what, where=worker.address, remedy=remedy)
    key = worker.get_current_task()

    def check() -> None:
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise _Cancelled

    with while_evaluating(check):
        if not isinstance(task, BuildTask):
            return function(task)
        if content is None:
            try:
                return function(task) if task.entry.path.is_file() else _FileNeeded
            except BadFile:
                # perhaps another file of the same name on a machine of its own
                return _FileNeeded
        with tempfile.TemporaryDirectory(dir=worker.local_directory) as folder:
            copy = Path(folder) / task.entry.path.name
            copy.write_bytes(content)
            return function(replace(task, copy=copy))


# the connection


def _check_scheduler(address: str) -> None:
    """Refuse an address at which no scheduler can be reached.

    The connection is tried without a client: one that fails while it is made cannot be closed.
    """
    from distributed import Security  # noqa: PLC0415 - an extra
    from distributed.comm.addressing import parse_host_port  # noqa: PLC0415 - as above
    from distributed.comm.core import connect  # noqa: PLC0415 - as above
    from distributed.utils import LoopRunner  # noqa: PLC0415 - as above

    scheme, _, place = address.rpartition("://")
    try:
        host, _ = parse_host_port(place)
    except ValueError:
        host = ""
    if not host or scheme == "inproc":
        remedy = "name it as tcp://HOST:PORT or tls://HOST:PORT"
        what = "is not the address of a Dask scheduler"
        raise UserError(what, where=repr(address), remedy=remedy)

    async def try_it() -> None:
        settings = Security().get_connection_args("client")
        comm = await connect(address, timeout=_SECONDS_TO_CONNECT, **settings)
        await comm.close()

    runner = LoopRunner()
    runner.start()
    try:
        runner.run_sync(try_it)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        what = f"no Dask scheduler answers ({_first_line(error)})"
        remedy = "check the address, or start one with: dask scheduler"
        raise UserError(what, where=address, remedy=remedy) from error
    finally:
        runner.stop()


@contextmanager
def _connected(scheduler: str | None, n_jobs: int) -> Iterator[Any]:
    """Give a client of a scheduler, or of a new cluster of so many processes."""
    import dask  # noqa: PLC0415 - an extra
    from distributed import Client, LocalCluster  # noqa: PLC0415 - as above
    from distributed.utils import silence_logging_cmgr  # noqa: PLC0415 - as above

    # the content of a file that a worker does not have is sent with its task
    settings = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    with silence_logging_cmgr(logging.CRITICAL), dask.config.set(settings):
        if scheduler is None:
            with (
                LocalCluster(
                    n_workers=None if n_jobs == -1 else n_jobs,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                ) as cluster,
                Client(cluster, set_as_default=False) as client,
            ):
                yield client
            return
        client = Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        try:
            yield client
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=2)


def _first_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


EXECUTORS: dict[str, type[Executor]] = {
    "serial": SerialExecutor,
    "joblib": JoblibExecutor,
    "dask": DaskExecutor,
}
"""Executors by name: what ``metaod build --executor`` takes."""


def make_executor(
    n_jobs: int = 1, name: str | None = None, scheduler: str | None = None
) -> Executor:
    """Make an executor.

    Parameters
    ----------
    n_jobs : int, default=1
        Number of tasks that run at the same time; -1 for one per core.
    name : str, optional
        A name in ``EXECUTORS``; by default dask if a scheduler is named, else serial for one job,
        and joblib for more.
    scheduler : str, optional
        The address of a Dask scheduler, such as ``tcp://host:8786``.

    Examples
    --------
    >>> list(make_executor(1).run(abs, [-1, 2]))
    [1, 2]
    """
    if n_jobs < -1 or n_jobs == 0:
        raise BadParameter("make_executor", "n_jobs", "-1 or an int in the range [1, inf)", n_jobs)
    if scheduler is not None:
        if name not in (None, "dask"):
            raise BadParameter("make_executor", "name", "dask if a scheduler is named", name)
        return DaskExecutor(n_jobs, scheduler)
    if name is None:
        name = "serial" if n_jobs == 1 else "joblib"
    if name not in EXECUTORS:
        raise BadParameter("make_executor", "name", EXECUTORS, name)
    return EXECUTORS[name](n_jobs)
