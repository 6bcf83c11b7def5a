"""Several builders of one store on a server: each task is computed by one of them.

A builder claims a task before it computes it: the row of the dataset in the table ``claims`` gets
its name and a lease. The lease is renewed while the task is computed, and ends some minutes after a
builder was killed: another one then claims the task. Results are only written by the builder that
has the claim, in the transaction that ends it. So nothing is computed twice as long as builders
live, and nothing is written twice or lost when they do not.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import chain

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from metaod.errors import MetaODError
from metaod.store._executors import Executor
from metaod.store._schema import claims
from metaod.store._store import First, Store
from metaod.store._tasks import BuildTask, TaskResult, run_task

LEASE, RENEWAL = 180.0, 30.0
"""Seconds that a claim lasts, and after which it is renewed."""

_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between looks at what other builders have not finished; the last is repeated."""

_WINDOW = 256  # tasks in one query for the next one


class ClaimLost(MetaODError):
    """Another builder claimed the task, because the lease had ended."""


class SharedWork:
    """The tasks that one of several builders of a store computes.

    It is made before the plan: tasks that another builder finishes later are planned again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = f"{os.getpid()}@{socket.gethostname()}#{uuid.uuid4().hex[:12]}"
        self._lock = threading.Lock()  # executors take tasks from other threads
        self._pending: dict[str, BuildTask] = {}
        self._held: set[str] = set()
        self._busy: set[str] = set()
        self._error: Exception | None = None
        self._start: datetime = store.repeat(self._now)

    def _now(self) -> datetime:
        with self._store.reading() as connection:
            now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
            return now

    def run(
        self,
        executor: Executor,
        tasks: Sequence[BuildTask],
        retry: Collection[str],
        replan: Callable[[BuildTask, Collection[str]], BuildTask | None],
        record: Callable[[TaskResult, First], None],
        on_others: Callable[[int], None],
    ) -> Iterator[TaskResult]:
        """Compute the tasks that no other builder computes; yield each result that is written.

        At the end it waits for the tasks of other builders, and claims those whose lease ends.

        Parameters
        ----------
        executor : Executor
            What runs the tasks.
        tasks : sequence of BuildTask
            The plan.
        retry : collection of str
            States of trials that this builder computes again.
        replan : callable
            Returns what remains of a task after a builder that retried the given states.
        record : callable
            Writes a result; its second argument is called first in the transaction.
        on_others : callable
            Called with the number of tasks that other builders have claimed.
        """
        self._replan, self._retry = replan, ",".join(sorted(retry))
        self._pending = {task.fingerprint: task for task in tasks}
        self._store.repeat(partial(self._add, tasks))
        n_waits = 0
        with self._renewed():
            while self._pending:
                self._busy.clear()
                first = self._next()
                if first is not None:
                    n_waits = 0
                    for result in executor.run(run_task, chain([first], self._more())):
                        if self._finish(result, record):
                            yield result
                    if self._error is not None:
                        raise self._error
                elif self._pending:
                    on_others(len(self._pending))
                    time.sleep(_WAITS[min(n_waits, len(_WAITS) - 1)])
                    n_waits += 1

    def _add(self, tasks: Sequence[BuildTask]) -> None:
        rows = sorted((task.fingerprint, task.cost) for task in tasks)
        if rows:
            values = [{"fingerprint": name, "cost": cost} for name, cost in rows]
            with self._store.writing() as connection:
                connection.execute(postgresql.insert(claims).on_conflict_do_nothing(), values)

    def _more(self) -> Iterator[BuildTask]:
        # an error in a thread of an executor would be lost: it is raised by `run`
        try:
            while (task := self._next()) is not None:
                yield task
        except Exception as error:
            self._error = error

    def _next(self) -> BuildTask | None:
        """Claim the most costly task that is free; None if there is none at the moment."""
        with self._lock:
            while True:
                taken = self._held | self._busy
                window = [name for name in self._pending if name not in taken][:_WINDOW]
                if not window:
                    return None
                found = self._store.repeat(partial(self._claim, window))
                if found is None:
                    self._busy.update(window)
                    continue
                name, finished, retried = found
                task: BuildTask | None = self._pending[name]
                if task is not None and finished is not None and finished >= self._start:
                    task = self._replan(task, retried.split(","))
                if task is not None:
                    self._held.add(name)
                    return task
                self._store.repeat(partial(self._release, claims.c.fingerprint == name))
                del self._pending[name]

    def _claim(self, window: Sequence[str]) -> tuple[str, datetime | None, str] | None:
        now = sa.func.clock_timestamp()
        # its own: the connection was lost while an earlier claim ended
        is_own = claims.c.owner == self._owner
        free = claims.c.owner.is_(None) | (claims.c.expires <= now) | is_own
        query = (
            sa.select(claims.c.fingerprint, claims.c.finished, claims.c.retried)
            .where(claims.c.fingerprint.in_(window), free)
            .order_by(claims.c.cost.desc(), claims.c.fingerprint)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._store.writing(lock="none") as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            values = {"owner": self._owner, "expires": now + timedelta(seconds=LEASE)}
            is_row = claims.c.fingerprint == row.fingerprint
            connection.execute(sa.update(claims).where(is_row).values(values))
            return row.fingerprint, row.finished, row.retried

    def _release(self, which: sa.ColumnElement[bool]) -> None:
        own = which & (claims.c.owner == self._owner)
        with self._store.writing(lock="none") as connection:
            connection.execute(sa.update(claims).where(own).values(owner=None, expires=None))

    def _finish(self, result: TaskResult, record: Callable[[TaskResult, First], None]) -> bool:
        """Write a result; return False if the claim was lost, so that another builder writes it."""
        name = result.task.fingerprint
        try:
            record(result, partial(self._end, name))
        except ClaimLost:
            # it may also have been written, if the connection was lost when it ended
            with self._lock:
                self._held.discard(name)
            return False
        with self._lock:
            self._held.discard(name)
            del self._pending[name]
        return True

    def _end(self, name: str, connection: sa.Connection) -> None:
        own = (claims.c.fingerprint == name) & (claims.c.owner == self._owner)
        ended = {"owner": None, "expires": None, "finished": sa.func.clock_timestamp()}
        query = sa.update(claims).where(own).values(ended | {"retried": self._retry})
        if connection.execute(query).rowcount != 1:
            raise ClaimLost

    @contextmanager
    def _renewed(self) -> Iterator[None]:
        """Renew all claims from time to time; give up those that are left at the end."""
        stop = threading.Event()
        thread = threading.Thread(target=self._renew, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            # without a server the leases end by themselves
            with suppress(Exception):
                self._release(sa.true())

    def _renew(self, stop: threading.Event) -> None:
        lease = sa.func.clock_timestamp() + timedelta(seconds=LEASE)
        query = sa.update(claims).where(claims.c.owner == self._owner).values(expires=lease)
        while not stop.wait(RENEWAL):
            # after a failure it is tried again: a lease is longer than several renewals
            with suppress(Exception), self._store.writing(lock="none") as connection:
                connection.execute(query)
