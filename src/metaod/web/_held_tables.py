"""The tables that the server holds: their files, processes and jobs, until they are deleted."""

import asyncio
import contextlib
import math
import secrets
import shutil
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from metaod.web._limits import Limits
from metaod.web._problems import Problem, problem_of, refused
from metaod.web._process import WorkerProcess
from metaod.web._uploads import MARKS_FILE, shown_name, stored_ending

Kind = Literal["inspection", "detection"]
_STEM = "uploaded-table"  # of the stored file; messages show the client's name
_MAY_GIVE_WAY = 300.0  # seconds without a request, after which a table gives way to a new one


@dataclass
class Job:
    """A long computation."""

    kind: Kind
    state: Literal["running", "done", "failed", "cancelled"] = "running"
    started: float = field(default_factory=time.monotonic)
    progress: dict[str, Any] = field(default_factory=dict)
    reported: float = 0.0  # when the progress was
    problem: Problem | None = None
    seconds: float = 0.0

    def report(self, progress: dict[str, Any]) -> None:
        """Keep a report of progress."""
        self.progress, self.reported = progress, time.monotonic()

    def document(self) -> dict[str, Any]:
        """Describe the job as plain data."""
        now = time.monotonic()
        left = self.progress.get("seconds_left")
        if left is not None:
            left -= now - self.reported
        return {
            "kind": self.kind,
            "state": self.state,
            "seconds": round(now - self.started if self.state == "running" else self.seconds, 1),
            "stage": self.progress.get("stage", "starting"),
            "done": self.progress.get("done"),
            # an estimate that has passed is not shown
            "seconds_left": None if left is None or left < 0 else round(left, 1),
            "problem": None if self.problem is None else self.problem.document(),
        }


class HeldTable:
    """A table with its file, its process, the job that runs and what jobs have found.

    Parameters
    ----------
    folder : Path
        A new folder of its own.
    name : str
        The name that the client gave.
    limits : Limits
        How much it may use.
    """

    def __init__(self, folder: Path, name: str, limits: Limits) -> None:
        self.id = folder.name
        self.folder = folder
        self.name = shown_name(name)
        self.file = _STEM + stored_ending(self.name)
        self.n_bytes = 0
        self.made = self.used = time.monotonic()
        self.job: Job | None = None
        self.found: dict[Kind, dict[str, Any]] = {}
        self.given: dict[str, Any] = {}  # reading and roles of the last job
        self._worker = WorkerProcess(folder, self.file, self.name, limits)
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a job runs."""
        return self.job is not None and self.job.state == "running"

    @property
    def may_give_way(self) -> bool:
        """Whether a new table may take its place: it is unused, and has no answers."""
        is_idle = not self.is_running and time.monotonic() - self.used > _MAY_GIVE_WAY
        return is_idle and not (self.folder / MARKS_FILE).exists()

    def document(self) -> dict[str, Any]:
        """Describe the table as plain data."""
        return {
            "id": self.id,
            "name": self.name,
            "n_bytes": self.n_bytes,
            "is_inspected": "inspection" in self.found,
            "is_scored": self._is_scored,
            "job": None if self.job is None else self.job.document(),
        }

    @property
    def _is_scored(self) -> bool:
        return "detection" in self.found and self._worker.is_alive

    async def receive(self, chunks: AsyncIterator[bytes], limits: Limits) -> None:
        """Write the file; stop where it is too large or the client is too slow."""
        begun = time.monotonic()
        end = begun + 60 * limits.max_minutes
        with (self.folder / self.file).open("xb") as stream:
            while True:
                try:
                    async with asyncio.timeout(min(limits.pause_seconds, end - time.monotonic())):
                        chunk = await anext(chunks, None)
                except TimeoutError:
                    raise refused("slow-client") from None
                if chunk is None:
                    break
                self.n_bytes += len(chunk)
                late = time.monotonic() - begun - limits.pause_seconds
                if self.n_bytes < late * limits.least_rate:
                    raise refused("slow-client")
                if self.n_bytes > limits.max_mb * 2**20:
                    raise too_large(limits)
                stream.write(chunk)

    def start(self, kind: Kind, arguments: dict[str, Any]) -> None:
        """Start a job; what an earlier one of its kind has found is forgotten."""
        self.found.pop("detection", None)
        if kind == "inspection":
            self.found.pop("inspection", None)
        self.given = {name: arguments[name] for name in ("reading", "roles")}
        self.job = Job(kind)
        self._task = asyncio.create_task(self._run(self.job, arguments))

    async def _run(self, job: Job, arguments: dict[str, Any]) -> None:
        try:
            found = await self._worker.call(job.kind, arguments, job.report)
            self.found[job.kind] = found
            job.state = "done"
        except Problem as problem:
            job.problem, job.state = problem, "failed"
        except asyncio.CancelledError:
            job.state = "cancelled"
        except Exception as error:
            traceback.print_exception(error)  # for the operator of the server
            job.problem, job.state = problem_of(error), "failed"
        finally:
            job.seconds = time.monotonic() - job.started
            self.used = time.monotonic()

    async def cancel(self) -> None:
        """Cancel the job that runs, if any."""
        if self.job is not None and self._task is not None and self.is_running:
            job = self.job
            self._task.cancel()
            await asyncio.wait([self._task])
            if job.state == "running":  # it had not begun
                job.state = "cancelled"

    async def ask(self, command: str, **arguments: Any) -> Any:
        """Run a short command about the scored table."""
        self.refuse_while_running()
        return await self._worker.call(command, arguments, check=self._refuse_unless_scored)

    def _refuse_unless_scored(self) -> None:
        if not self._is_scored:
            raise refused("not-scored")

    def refuse_while_running(self) -> None:
        """Raise a Problem if a job runs."""
        if self.is_running:
            raise refused("job-running")

    async def delete(self) -> None:
        """End the process and remove the folder."""
        await self.cancel()
        await self._worker.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class HeldTables:
    """All tables, by their ids; an id cannot be guessed, and there is no list of them.

    Parameters
    ----------
    folder : Path
        A private folder.
    limits : Limits
        How much clients may use.
    on_delete : callable, optional
        Takes the id of each table that is deleted.
    """

    def __init__(
        self, folder: Path, limits: Limits, on_delete: Callable[[str], None] = lambda _: None
    ) -> None:
        self.limits = limits
        self._folder = folder
        self._on_delete = on_delete
        self._tables: dict[str, HeldTable] = {}
        self._coming = Counter[str]()  # uploads by client

    def get(self, table_id: str) -> HeldTable:
        """Return a table; Problem if there is none."""
        table = self._tables.get(table_id)
        if table is None:
            raise refused("no-table")
        table.used = time.monotonic()
        return table

    async def add(self, name: str, chunks: AsyncIterator[bytes], client: str = "") -> HeldTable:
        """Store an upload of a client."""
        if self._coming[client] >= self.limits.max_uploads:
            raise _busy("uploads are coming")
        await self._make_room()
        self._coming[client] += 1
        try:
            folder = self._folder / secrets.token_urlsafe(16)
            folder.mkdir(mode=0o700)
            table = HeldTable(folder, name, self.limits)
            try:
                await table.receive(chunks, self.limits)
                await self._make_room()  # others may have come in the meantime
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._tables[table.id] = table
        finally:
            self._coming -= Counter([client])
        return table

    def start(self, table: HeldTable, kind: Kind, arguments: dict[str, Any]) -> None:
        """Start a job of a table."""
        table.refuse_while_running()
        if sum(held.is_running for held in self._tables.values()) >= self.limits.max_jobs:
            raise _busy("jobs are running")
        table.start(kind, arguments)

    async def delete(self, table: HeldTable) -> None:
        """Delete a table with everything that belongs to it."""
        if self._tables.pop(table.id, None) is not None:
            await table.delete()
            self._on_delete(table.id)

    async def delete_all(self) -> None:
        """Delete all tables."""
        for table in list(self._tables.values()):
            await self.delete(table)

    async def delete_expired(self) -> None:
        """Delete the tables that were not used for a long time."""
        now, longest = time.monotonic(), self.limits.delete_minutes or math.inf
        for table in list(self._tables.values()):
            is_unused = now - table.used > 60 * self.limits.keep_minutes and not table.is_running
            if is_unused or now - table.made > 60 * longest:
                await self.delete(table)

    async def keep_deleting_expired(self) -> None:
        """Delete expired tables until this is cancelled."""
        while True:
            shortest = min(1.0, self.limits.keep_minutes, self.limits.delete_minutes or 1.0)
            await asyncio.sleep(60 * shortest)
            with contextlib.suppress(OSError):
                await self.delete_expired()

    async def _make_room(self) -> None:
        """Delete the table that was unused for longest if there are too many; or refuse."""
        await self.delete_expired()
        if len(self._tables) < self.limits.max_tables:
            return
        idle = [held for held in self._tables.values() if held.may_give_way]
        oldest = min(idle, key=lambda held: held.used, default=None)
        if oldest is None:
            raise _busy("tables are open")
        await self.delete(oldest)


def too_large(limits: Limits) -> Problem:
    """Return the problem of a file that is too large."""
    return refused("large-upload", where="the file", most=limits.max_mb)


def _busy(things: str) -> Problem:
    return refused("busy", things=things, headers={"Retry-After": "30"})
