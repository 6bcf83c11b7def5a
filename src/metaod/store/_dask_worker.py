"""What runs on a worker of a Dask cluster: one task, on the worker's own copy of its file."""

import asyncio
import hashlib
import platform
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from metaod._version import __version__
from metaod.errors import BadFile, UserError
from metaod.store._tasks import TaskResult, while_evaluating

MOST_BYTES = 4 * 2**30
"""Size of the files that a worker keeps because it cannot see the originals."""

_LIBRARIES = (
    "dask", "distributed", "numpy", "scipy", "scikit-learn", "pyod", "numba", "pandas",
)  # fmt: skip


class FileNeeded:
    """The outcome of a task whose file the worker cannot see: it must be sent."""


class MemoryNeeded:
    """The outcome of a task for which the worker had too little memory."""


class Cancelled(BaseException):
    """The task was cancelled while it ran; no error of a detector is caught as this."""


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"metaod": __version__, "Python": python} | {name: version(name) for name in _LIBRARIES}


def work(function: Callable[[Any], Any], task: Any) -> Any:
    """Run a task; return :class:`FileNeeded` if its file is not here.

    The task itself checks the fingerprint of what it reads.
    """
    with while_evaluating(_stop_if_cancelled()):
        path = getattr(task, "path", None)
        try:
            outcome = function(task) if path is None else _on_own_file(function, task, path)
        except MemoryError:
            return MemoryNeeded()
        except UserError as error:
            if isinstance(error.__cause__, MemoryError):
                return MemoryNeeded()
            raise
        if isinstance(outcome, TaskResult):
            # the process that sent the task has it, and puts it back
            outcome = replace(outcome, task=None)  # type: ignore[arg-type]  # on the way only
        return outcome


async def keep_file(
    task: Any, part: bytes, sending: str, *, is_last: bool, dask_worker: Any
) -> str:
    """Keep a file that is sent in parts; return what is wrong, or nothing."""
    copy = _copy_of(task, dask_worker)
    try:
        await asyncio.to_thread(_FILES.add, copy, part, sending, is_last=is_last)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _on_own_file(function: Callable[[Any], Any], task: Any, path: Path) -> Any:
    if _is_file(path):
        try:
            return function(task)
        except BadFile:
            # perhaps another file of the same name on a machine of its own: the copy decides
            pass
    from distributed import get_worker  # noqa: PLC0415 - an extra

    copy = _copy_of(task, get_worker())
    with _FILES.use(copy) as is_known:
        if not is_known:
            return FileNeeded()
        try:
            outcome = function(task.at(copy))
        except UserError as error:
            for name, value in vars(error).items():
                if isinstance(value, str):
                    setattr(error, name, value.replace(str(copy), str(path)))
            raise
        if isinstance(outcome, TaskResult):
            evaluations = (
                replace(item, reason=item.reason.replace(str(copy), str(path)))
                for item in outcome.evaluations
            )
            outcome = replace(outcome, evaluations=tuple(evaluations))
        return outcome


class _Files:
    """Copies of files that this machine cannot see, the oldest deleted if they grow too large."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sizes: OrderedDict[Path, int] = OrderedDict()
        self._users: Counter[Path] = Counter()

    def add(self, copy: Path, part: bytes, sending: str, *, is_last: bool) -> None:
        """Write a part of a file under another name; the last part makes it known."""
        with self._lock:
            unfinished = copy.with_name(f"{copy.name}.{sending}.tmp")
            try:
                copy.parent.mkdir(parents=True, exist_ok=True)
                with unfinished.open("ab") as file:
                    file.write(part)
                if is_last:
                    # another task may read an older copy, which stays whole
                    unfinished.replace(copy)
                    self._sizes[copy] = copy.stat().st_size
            except OSError:
                with suppress(OSError):
                    unfinished.unlink()
                raise

    @contextmanager
    def use(self, copy: Path) -> Iterator[bool]:
        """Keep a copy while it is used; tell whether there is one."""
        with self._lock:
            is_known = copy in self._sizes
            if is_known:
                self._sizes.move_to_end(copy)
                self._users[copy] += 1
                self._delete_oldest()
        try:
            yield is_known
        finally:
            if is_known:
                with self._lock:
                    self._users[copy] -= 1

    def _delete_oldest(self) -> None:
        for copy in list(self._sizes):
            if sum(self._sizes.values()) <= MOST_BYTES:
                return
            if not self._users[copy]:
                del self._sizes[copy]
                with suppress(OSError):
                    copy.unlink()


_FILES = _Files()


def _copy_of(task: Any, worker: Any) -> Path:
    """Return where a worker keeps its copy of a task's file."""
    name = hashlib.sha256(f"{task.fingerprint} {task.path}".encode()).hexdigest()[:16]
    return Path(worker.local_directory) / "metaod-files" / f"{name}-{task.path.name}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be read, before Python 3.14
        return False


def _stop_if_cancelled() -> Callable[[], None]:
    from distributed import get_worker  # noqa: PLC0415 - an extra

    worker = get_worker()
    key = worker.get_current_task()

    def check() -> None:
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise Cancelled

    return check
