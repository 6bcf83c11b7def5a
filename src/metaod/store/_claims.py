"""Run and record the tasks of a build: one builder on a file, or several on a server.

On a server a builder claims a task before it computes it: the row of the task in the table
``claims`` gets its name and a lease. The lease is renewed while the task is computed, and ends some
minutes after a builder was killed: another one then claims the task. Results are only written by
the builder that has the claim, in the transaction that ends it. So nothing is computed twice as
long as builders live, and nothing is written twice or lost when they do not.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from metaod.errors import MetaODError
from metaod.history import Evaluation
from metaod.metafeatures import schema
from metaod.store._executors import Executor
from metaod.store._locking import Holder
from metaod.store._queries import missing, written_trials
from metaod.store._schema import claims
from metaod.store._store import First, Store
from metaod.store._sums import SlicedReferences
from metaod.store._tasks import BuildTask, TaskKey, TaskResult, run_task

LEASE, RENEWAL = 600.0, 120.0
"""Seconds that a claim lasts, and after which it is renewed."""

_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between looks at what other builders have not finished; the last is repeated."""

_WINDOW = 256  # tasks in one query for the next one


@dataclass(frozen=True)
class Others:
    """Tasks of a plan that other builders have finished meanwhile, and those they have claimed."""

    finished: int
    claimed: int


Record = Callable[[TaskResult, First | None], list[Evaluation]]
"""Writes a finished task; what it gets besides is done first in the transaction."""


class ClaimLost(MetaODError):
    """Another builder claimed the task, because the lease had ended."""


class FileWork:
    """The tasks of the only builder of a store."""

    def run(
        self,
        executor: Executor,
        tasks: Sequence[BuildTask],
        references: SlicedReferences,  # noqa: ARG002 - the plan is right until the end
        record: Record,
        on_others: Callable[[Others], None],  # noqa: ARG002 - there are none
    ) -> Iterator[tuple[TaskResult, list[Evaluation]]]:
        """Compute the tasks; yield each result when it is written, with what is written."""
        for result in executor.run(run_task, iter(tasks)):
            yield result, record(result, None)


class SharedWork:
    """The tasks that one of several builders of a store on a server computes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = _name_of(Holder.this_process())
        self._lock = threading.Lock()  # executors take tasks from other threads
        self._pending: dict[TaskKey, BuildTask] = {}
        self._held: set[TaskKey] = set()
        self._busy: set[TaskKey] = set()
        self._n_finished = 0
        self._error: Exception | None = None
        self._start = store.repeat(self._prepare)

    def _prepare(self) -> datetime:
        """Return the server's time; make the table if an older version made the store."""
        with self._store.writing() as connection:
            claims.create(connection, checkfirst=True)
            now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
            return now

    def _release_ended(self) -> None:
        """Release the claims of builders that have ended, as far as this machine can tell."""
        query = sa.select(claims.c.owner).where(claims.c.owner.is_not(None)).distinct()
        with self._store.writing(lock="none") as connection:
            ended = [owner for owner in connection.scalars(query) if _has_ended(owner)]
            _release(connection, claims.c.owner.in_(ended))

    def run(
        self,
        executor: Executor,
        tasks: Sequence[BuildTask],
        references: SlicedReferences,
        record: Record,
        on_others: Callable[[Others], None],
    ) -> Iterator[tuple[TaskResult, list[Evaluation]]]:
        """Compute the tasks that no other builder computes, as :meth:`FileWork.run` does.

        At the end it waits for the tasks of other builders, and claims those whose lease ends.
        """
        self._references = references
        self._pending = {task.key: task for task in tasks}
        self._store.repeat(partial(self._add, tasks))
        n_waits = 0
        with self._renewed():
            while self._pending:
                self._busy.clear()
                self._store.repeat(self._release_ended)
                first = self._next()
                if first is not None:
                    n_waits = 0
                    for result in executor.run(run_task, chain([first], self._more())):
                        written = self._finish(result, record)
                        if written is not None:
                            yield result, written
                    if self._error is not None:
                        raise self._error
                elif self._pending:
                    on_others(Others(self._n_finished, len(self._pending)))
                    time.sleep(_WAITS[min(n_waits, len(_WAITS) - 1)])
                    n_waits += 1
        on_others(Others(self._n_finished, 0))

    def _add(self, tasks: Sequence[BuildTask]) -> None:
        rows = [
            {"fingerprint": task.fingerprint, "slice": task.slice, "cost": task.cost}
            for task in sorted(tasks, key=lambda task: task.key)
        ]
        if rows:
            with self._store.writing() as connection:
                connection.execute(postgresql.insert(claims).on_conflict_do_nothing(), rows)

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
                candidates = [key for key in self._pending if key not in taken]
                if not candidates:
                    return None
                for start in range(0, len(candidates), _WINDOW):
                    window = candidates[start : start + _WINDOW]
                    found = self._store.repeat(partial(self._claim, window))
                    if found is not None:
                        break
                    self._busy.update(window)
                else:
                    return None
                key, finished = found
                task: BuildTask | None = self._pending[key]
                if task is not None and finished is not None and finished >= self._start:
                    task = self._store.repeat(partial(self._still_lacking, task))
                if task is not None:
                    self._held.add(key)
                    return task
                self._store.repeat(partial(self._give_back, key))
                del self._pending[key]
                self._n_finished += 1

    def _claim(self, window: Sequence[TaskKey]) -> tuple[TaskKey, datetime | None] | None:
        now = sa.func.clock_timestamp()
        # its own: the connection was lost while an earlier claim ended
        is_own = claims.c.owner == self._owner
        free = claims.c.owner.is_(None) | (claims.c.expires <= now) | is_own
        query = (
            sa.select(claims.c.fingerprint, claims.c.slice, claims.c.finished)
            .where(sa.tuple_(claims.c.fingerprint, claims.c.slice).in_(window), free)
            .order_by(claims.c.cost.desc(), claims.c.fingerprint, claims.c.slice)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._store.writing(lock="none") as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            key = (row.fingerprint, row.slice)
            lease = now + timedelta(seconds=LEASE)
            values = {"owner": self._owner, "expires": lease}
            connection.execute(sa.update(claims).where(_is(key)).values(values))
            return key, row.finished

    def _give_back(self, key: TaskKey) -> None:
        with self._store.writing(lock="none") as connection:
            _release(connection, _is(key) & (claims.c.owner == self._owner))

    def _finish(self, result: TaskResult, record: Record) -> list[Evaluation] | None:
        """Write a result; None if the claim was lost, so that another builder writes it."""
        key = result.task.key
        try:
            written = record(result, partial(self._end, key))
        except ClaimLost:
            # it may also have been written, if the connection was lost when it ended
            with self._lock:
                self._held.discard(key)
            return None
        with self._lock:
            self._held.discard(key)
            del self._pending[key]
        return written

    def _still_lacking(self, task: BuildTask) -> BuildTask | None:
        return still_lacking(self._store, self._references, task)

    def _end(self, key: TaskKey, connection: sa.Connection, _dataset: int) -> None:
        own = _is(key) & (claims.c.owner == self._owner)
        ended = {"owner": None, "expires": None, "finished": sa.func.clock_timestamp()}
        if connection.execute(sa.update(claims).where(own).values(ended)).rowcount != 1:
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
            with suppress(Exception), self._store.writing(lock="none") as connection:
                _release(connection, claims.c.owner == self._owner)

    def _renew(self, stop: threading.Event) -> None:
        lease = sa.func.clock_timestamp() + timedelta(seconds=LEASE)
        query = sa.update(claims).where(claims.c.owner == self._owner).values(expires=lease)
        while not stop.wait(RENEWAL):
            # after a failure it is tried again: a lease is longer than several renewals
            with suppress(Exception), self._store.writing(lock="none") as connection:
                connection.execute(query)


Work = FileWork | SharedWork


@contextmanager
def builder_of(store: Store) -> Iterator[Work]:
    """Become a builder of a store: the only one of a file, or one of several on a server."""
    if store.location.is_postgresql:
        yield SharedWork(store)
    else:
        with store.writer_lock():
            yield FileWork()


def _is(key: TaskKey) -> sa.ColumnElement[bool]:
    return (claims.c.fingerprint == key[0]) & (claims.c.slice == key[1])


def _release(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    connection.execute(sa.update(claims).where(which).values(owner=None, expires=None))


def _name_of(process: Holder) -> str:
    """Return a new name for a builder in a process."""
    about = (process.host, process.system, process.started, uuid.uuid4().hex[:12])
    return f"{process.pid}@{'#'.join(about)}"


def _has_ended(owner: str) -> bool:
    """Return whether a builder is known to have ended."""
    pid, _, rest = owner.partition("@")
    about = rest.rsplit("#", 3)
    if not pid.isdecimal() or len(about) != 4:
        return False
    host, system, started, _ = about
    return Holder(int(pid), host, "", system, started).has_ended


def still_lacking(store: Store, references: SlicedReferences, task: BuildTask) -> BuildTask | None:
    """Return what remains of a task after another builder finished one of the same key."""
    # sums are read first: they are deleted when their reference is written
    done = references.members(task.fingerprint) if task.summed else {}
    trials: dict[str, int] = {}
    for model, trial in task.lacking:
        trials[model] = max(trials.get(model, 0), trial + 1)
    for item in task.summed:
        trials[item.spec.id] = task.trials if item.is_random else 1
    found = missing(store, [task.fingerprint], trials, task.mode).get(task.fingerprint, {})
    # trials that are computed again, and that nobody has written since the plan
    old = task.replaced and task.replaced & written_trials(store, task.fingerprint, task.mode)
    unchanged = {(model, trial) for model, trial, _ in old}
    lacking = {
        pair for pair in task.lacking if pair[1] in found.get(pair[0], ()) or pair in unchanged
    }
    models = {model for model, _ in lacking}
    for item in task.references:
        # as in the plan: an average of the available members changes with them
        if not item.all_needed and any(member.id in models for member in item.members):
            lacking |= {pair for pair in task.lacking if pair[0] == item.spec.id}
    models = {model for model, _ in lacking}
    known = {(item.schema, item.version) for item in store.metafeatures(task.fingerprint)}
    schemas = tuple(name for name in task.schemas if (name, schema(name).version) not in known)
    sums = [
        replace(item, members=tuple(m for m in item.members if m not in done.get(item.spec.id, ())))
        for item in task.summed
        if item.spec.id in found or any(model == item.spec.id for model, _ in unchanged)
    ]
    rest = replace(
        task,
        specs=tuple(spec for spec in task.specs if spec.id in models),
        references=tuple(item for item in task.references if item.spec.id in models),
        lacking=frozenset(lacking),
        schemas=schemas,
        summed=tuple(item for item in sums if item.members),
    )
    return rest if rest.lacking or rest.schemas or rest.summed else None
