"""The executor on a Dask cluster: what goes to which worker, and what happens when one is lost.

This process places the tasks itself, a few ahead of those that run: a worker never holds tasks
that need more memory together than it has, and a task that was on a worker when the worker ended
runs alone from then on, so that it is known which task ends its worker.
"""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from metaod.errors import BadFile, MissingExtra, UserError
from metaod.models import CellState
from metaod.store._dask_client import check_scheduler, connected, first_line
from metaod.store._dask_worker import FileNeeded, MemoryNeeded, keep_file, versions, work
from metaod.store._tasks import BuildTask, TaskResult

Task = TypeVar("Task")
Result = TypeVar("Result")

PER_THREAD = 2
"""Tasks that a worker holds for each of its threads: one that runs, and the next."""

MOST_DEATHS = 3
"""Times that the worker of a task may end before the task is given up."""

_PROCESS_BYTES = 400 * 2**20  # a worker without any task, once it has imported everything
_PART_BYTES = 64 * 2**20  # of a file that is sent, in one message
_SECONDS_BETWEEN_LOOKS = 1.0

_ENDED = "the worker process ended {} on this task; probably memory ran out, or a library crashed"
_NO_MEMORY = "the worker ran out of memory, {} on this task"

_log = logging.getLogger("metaod.store")


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
        try:
            import dask  # noqa: PLC0415 - an extra
            import distributed  # noqa: F401, PLC0415 - as above
        except ImportError as error:
            name = error.name or "distributed"
            raise MissingExtra(name, extra="cluster", needed_for="the executor dask") from error
        self.n_jobs = n_jobs
        if scheduler is None:
            scheduler = dask.config.get("scheduler-address", None)
        self.scheduler = scheduler
        if scheduler is not None:
            # before the datasets are read, which takes long
            check_scheduler(scheduler)

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield each result as soon as it is ready."""
        with connected(self.scheduler, self.n_jobs) as client:
            yield from _Run(client, function, iter(tasks)).results()


@dataclass(eq=False)
class _Job:
    """A task, and what has happened to it."""

    task: Any
    number: int
    deaths: int = 0
    most_deaths: int = MOST_DEATHS
    worker: "_Worker | None" = None
    future: Any = None
    submitted: int = 0
    moment: int = 0
    whole: "_Halved | None" = None

    @property
    def n_bytes(self) -> int:
        return int(getattr(self.task, "n_bytes", 0))

    @property
    def alone(self) -> bool:
        return self.deaths > 0 or self.most_deaths < MOST_DEATHS


@dataclass(eq=False)
class _Halved:
    """A job that was too much for the workers, and the results of its halves so far."""

    job: _Job
    results: list[TaskResult] = field(default_factory=list)


@dataclass(eq=False)
class _Worker:
    """A worker, and the jobs that it holds; `reserved` is the one that waits for room.

    `sent` has the files that it was sent, and when; `is_missed` is true if the scheduler did not
    know it at the last look.
    """

    address: str
    n_threads: int
    n_bytes: float
    is_open: bool = True
    jobs: set[_Job] = field(default_factory=set)
    reserved: _Job | None = None
    sent: dict[tuple[str, str], int] = field(default_factory=dict)
    is_missed: bool = False

    def has_room(self, job: _Job) -> bool:
        if not self.is_open or not self.jobs:
            return self.is_open
        if job.alone or any(other.alone for other in self.jobs):
            return False
        needed = job.n_bytes + sum(other.n_bytes for other in self.jobs)
        return len(self.jobs) < PER_THREAD * self.n_threads and needed <= self.n_bytes

    @property
    def load(self) -> float:
        return len(self.jobs) / self.n_threads


class _Run:
    """One run of a function over tasks."""

    def __init__(self, client: Any, function: Callable[[Any], Any], tasks: Iterator[Any]) -> None:
        self._client, self._function, self._tasks = client, function, tasks
        self._address = client.scheduler.address
        self._numbers, self._moments = count(), count()
        self._name = f"metaod-{client.id}"
        self._workers: dict[str, _Worker] = {}
        self._running: dict[str, _Job] = {}
        self._waiting: deque[_Job] = deque()
        self._too_large: list[_Job] = []
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._is_exhausted = False
        self._is_without_workers = False
        self._looked = -math.inf
        self._versions = versions()

    def results(self) -> Iterator[Any]:
        """Yield each result as soon as it is ready."""
        try:
            while True:
                yield from self._look_at_workers()
                self._place_all()
                if not self._running and not self._waiting and self._is_exhausted:
                    if not self._too_large:
                        return
                    yield from self._give_up_too_large()
                    continue
                try:
                    future = self._done.get(timeout=_SECONDS_BETWEEN_LOOKS)
                except Empty:
                    continue
                job = self._running.get(future.key)
                if job is not None and job.future is future:
                    yield from self._collect(job)
        finally:
            self._cancel()

    def _cancel(self) -> None:
        futures = [job.future for job in self._running.values()]
        self._running.clear()
        if futures:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel(futures, force=True)

    # workers

    def _look_at_workers(self) -> Iterator[Any]:
        """Learn which workers there are; yield the results of tasks that are given up."""
        if time.monotonic() - self._looked < _SECONDS_BETWEEN_LOOKS:
            return
        if self._client.status != "running":
            raise self._connection_lost()
        try:
            # not `scheduler_info`, which may return what another thread asked for: no workers
            identity = self._client.sync(self._client.scheduler.identity, n_workers=-1)
        except OSError as error:
            raise self._connection_lost() from error
        found = identity["workers"]
        if not found and not self._is_without_workers:
            _log.warning("the scheduler at %s has no worker; waiting for one", self._address)
        self._is_without_workers = not found
        self._looked = time.monotonic()
        for address, worker in list(self._workers.items()):
            if address in found:
                worker.is_missed = False
            elif worker.is_missed:
                yield from self._lose(self._workers.pop(address))
            else:
                worker.is_missed = True
        new = [address for address in found if address not in self._workers]
        for address in self._of_same_versions(new):
            facts = found[address]
            declared = facts["resources"].get("memory")
            limit = facts["memory_limit"] or math.inf
            n_bytes = declared if declared is not None else max(limit - _PROCESS_BYTES, limit / 2)
            self._workers[address] = _Worker(address, facts["nthreads"], n_bytes)
        for address, worker in self._workers.items():
            # a worker that is about to close takes no more tasks
            status = None if worker.is_missed else found[address]["status"]
            worker.is_open = status in ("running", "paused")

    def _of_same_versions(self, addresses: list[str]) -> Iterator[str]:
        if not addresses:
            return
        answers = self._run(versions, addresses)
        for address, answer in answers.items():
            if isinstance(answer, OSError):
                continue  # it ended meanwhile
            if isinstance(answer, BaseException):
                what = f"the worker cannot run metaod ({first_line(answer)})"
                remedy = "install the same metaod-next[cluster] on every worker"
                raise UserError(what, where=address, remedy=remedy)
            for name, here in self._versions.items():
                if answer.get(name) != here:
                    what = f"the worker has {name} {answer.get(name)}, this process has {here}"
                    remedy = "install the same versions: results must be equal bit for bit"
                    raise UserError(what, where=address, remedy=remedy)
            yield address

    def _run(
        self, function: Callable[..., Any], addresses: list[str], *args: Any, **kw: Any
    ) -> Any:
        """Call a function on workers; return the answer or the exception of each."""
        try:
            return self._client.run(function, *args, workers=addresses, on_error="return", **kw)
        except OSError as error:
            raise self._connection_lost() from error

    def _lose(self, worker: _Worker) -> Iterator[Any]:
        if worker.reserved is not None:
            worker.reserved.worker = None
        for job in sorted(worker.jobs, key=lambda job: job.number):
            self._running.pop(job.future.key, None)
            with suppress(Exception):
                job.future.cancel()
            job.worker = job.future = None
            yield from self._died(job, _ENDED)

    def _died(self, job: _Job, what: str, times: int = 1) -> Iterator[Any]:
        job.deaths += times
        if job.deaths < job.most_deaths:
            self._waiting.append(job)
        # which model is it? Each half is given up, or halved, at its first death
        elif not self._halve(job, most_deaths=1):
            often = "once" if job.deaths == 1 else f"{job.deaths} times"
            yield from self._lost(job, what.format(often), CellState.FAILED)

    def _halve(self, job: _Job, most_deaths: int) -> bool:
        """Replace a job by its halves, if there are any."""
        halves = job.task.halves() if isinstance(job.task, BuildTask) else ()
        whole = _Halved(job)
        for half in halves:
            number = next(self._numbers)
            self._waiting.append(_Job(half, number, most_deaths=most_deaths, whole=whole))
        return bool(halves)

    def _lost(self, job: _Job, reason: str, state: CellState) -> Iterator[Any]:
        if not isinstance(job.task, BuildTask):
            raise UserError(reason, where=self._address, remedy="check the workers' logs")
        if job.task.schemas:
            name, schemas = job.task.entry.full_name, ", ".join(job.task.schemas)
            _log.warning(
                "%s: no meta-features (%s), which the next build tries again: %s",
                name, schemas, reason,
            )  # fmt: skip
        yield from self._finished(job, job.task.lost(reason, state))

    def _finished(self, job: _Job, result: Any) -> Iterator[Any]:
        """Yield the result of a job; of a half, that of the whole after the other half."""
        whole = job.whole
        if whole is None:
            yield result
            return
        whole.results.append(result)
        if len(whole.results) == 2:
            yield from self._finished(whole.job, whole.job.task.joined(whole.results))

    def _connection_lost(self) -> UserError:
        what = "the connection to the Dask scheduler was lost"
        remedy = "start the scheduler, then the same command: finished tasks are kept"
        return UserError(what, where=self._address, remedy=remedy)

    # tasks

    def _place_all(self) -> None:
        for _ in range(len(self._waiting)):
            job = self._waiting.popleft()
            if not self._place(job):
                self._waiting.append(job)
        while not self._is_exhausted and self._has_slot():
            try:
                task = next(self._tasks)
            except StopIteration:
                self._is_exhausted = True
                return
            job = _Job(task, next(self._numbers))
            if not self._place(job):
                self._waiting.append(job)

    def _has_slot(self) -> bool:
        return any(
            worker.is_open
            and worker.reserved is None
            and len(worker.jobs) < PER_THREAD * worker.n_threads
            and not any(job.alone for job in worker.jobs)
            for worker in self._workers.values()
        )

    def _place(self, job: _Job) -> bool:
        """Submit a job if a worker has room for it; else reserve a worker for it."""
        if job.worker is not None:
            if job.worker.has_room(job):
                job.worker.reserved = None
                self._submit(job, job.worker)
                return True
            return False
        fitting = [worker for worker in self._workers.values() if job.n_bytes <= worker.n_bytes]
        if not fitting and self._workers:
            self._too_large.append(job)
            return True
        free = [worker for worker in fitting if worker.reserved is None]
        with_room = [worker for worker in free if worker.has_room(job)]
        if with_room:
            self._submit(job, min(with_room, key=lambda worker: worker.load))
            return True
        if free:
            job.worker = min(free, key=lambda worker: worker.load)
            job.worker.reserved = job
        return False

    def _submit(self, job: _Job, worker: _Worker) -> None:
        job.worker, job.submitted, job.moment = worker, job.submitted + 1, next(self._moments)
        worker.jobs.add(job)
        job.future = self._client.submit(
            work,
            self._function,
            job.task,
            key=f"{self._name}-{job.number}-{job.submitted}",
            workers=[worker.address],
            allow_other_workers=False,
            pure=False,
        )
        self._running[job.future.key] = job
        job.future.add_done_callback(self._done.put)

    def _collect(self, job: _Job) -> Iterator[Any]:
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - an extra

        while True:
            try:
                outcome = job.future.result(timeout=5.0)
                break
            except KilledWorker as error:
                self._release(job)
                yield from self._died(job, _ENDED, error.allowed_failures + 1)
                return
            except TimeoutError:
                if job.future.status == "error":  # it is the function's own
                    raise
                # the worker ended before its result was fetched
                yield from self._look_at_workers()
                if job.future is None:
                    return
            except BaseException:
                if job.future.status in ("cancelled", "lost"):
                    raise self._connection_lost() from None
                raise
        worker = self._release(job)
        if isinstance(outcome, FileNeeded):
            self._send(job, worker)
            self._submit(job, worker)
        elif isinstance(outcome, MemoryNeeded):
            yield from self._died(job, _NO_MEMORY)
        elif isinstance(outcome, TaskResult):
            yield from self._finished(job, replace(outcome, task=job.task))
        else:
            yield outcome

    def _send(self, job: _Job, worker: _Worker) -> None:
        """Send a job's file to a worker, unless it was sent after the job was submitted."""
        key = (job.task.fingerprint, str(job.task.path))
        if worker.sent.get(key, -1) > job.moment:
            return
        sending = f"{self._client.id}-{next(self._moments)}"
        try:
            parts = _parts_of(job.task.path)
            for part, is_last in parts:
                facts = {"is_last": is_last, "sending": sending}
                answers = self._run(keep_file, [worker.address], job.task, part, **facts)
                answer = answers.get(worker.address)
                if isinstance(answer, BaseException):
                    return  # the worker ended, which the next look finds
                if answer:
                    what = f"the worker cannot keep a copy of {job.task.path.name} ({answer})"
                    remedy = "free some space there, or let it see the tables by the same path"
                    raise UserError(what, where=worker.address, remedy=remedy)
        except OSError as error:
            what = f"cannot be read ({error.strerror})"
            remedy = "put it back, and start the build again"
            raise BadFile(job.task.path, what, remedy=remedy) from error
        worker.sent[key] = next(self._moments)

    def _release(self, job: _Job) -> _Worker:
        worker = job.worker
        if worker is None:
            raise AssertionError("a job that runs has a worker")
        self._running.pop(job.future.key, None)
        worker.jobs.discard(job)
        job.worker = job.future = None
        return worker

    def _give_up_too_large(self) -> Iterator[Any]:
        jobs, self._too_large = self._too_large, []
        largest = max((worker.n_bytes for worker in self._workers.values()), default=0.0)
        for job in jobs:
            if job.n_bytes <= largest or not self._workers:
                self._waiting.append(job)  # a larger worker has joined
                continue
            if self._halve(job, most_deaths=job.most_deaths):
                continue
            reason = f"would take about {job.n_bytes / 2**20:.3g} MiB of memory, "
            reason += f"the largest worker has {largest / 2**20:.3g} MiB"
            yield from self._lost(job, reason, CellState.OVER_BUDGET)


def _parts_of(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield the parts of a file, and whether each is the last."""
    with path.open("rb") as file:
        part = file.read(_PART_BYTES)
        while True:
            following = file.read(_PART_BYTES)
            yield part, not following
            if not following:
                return
            part = following
