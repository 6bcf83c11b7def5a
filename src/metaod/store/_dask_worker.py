"""What runs on a worker of a Dask cluster: one task, on the worker's own copy of its file."""

import hashlib
import platform
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
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


class Cancelled(BaseException):
    """The task was cancelled while it ran; no error of a detector is caught as this."""


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"metaod": __version__, "Python": python} | {name: version(name) for name in _LIBRARIES}


def work(function: Callable[[Any], Any], task: Any, content: bytes | None) -> Any:
    """Run a task; return :class:`FileNeeded` if its file is not here and no content was sent.

    The task itself checks the fingerprint of what it reads.
    """
    with while_evaluating(_stop_if_cancelled()):
        path = getattr(task, "path", None)
        if path is None:
            return function(task)
        outcome = _on_own_file(function, task, path, content)
        if isinstance(outcome, TaskResult):
            # the process that sent the task has it, and puts it back
            outcome = replace(outcome, task=None)  # type: ignore[arg-type]  # on the way only
        return outcome


def _on_own_file(
    function: Callable[[Any], Any], task: Any, path: Path, content: bytes | None
) -> Any:
    if content is None and path.is_file():
        try:
            return function(task)
        except BadFile:
            # perhaps another file of the same name on a machine of its own: the copy decides
            return FileNeeded()
    with _FILES.use(task, path, content) as copy:
        if copy is None:
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

    @contextmanager
    def use(self, task: Any, path: Path, content: bytes | None) -> Any:
        """Give the path of the copy, which is kept while it is used; None if there is none."""
        name = hashlib.sha256(f"{task.fingerprint} {path}".encode()).hexdigest()[:16]
        copy = _folder() / f"{name}-{path.name}"
        with self._lock:
            if content is not None:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
                self._sizes[copy] = len(content)
            known = copy in self._sizes
            if known:
                self._sizes.move_to_end(copy)
                self._users[copy] += 1
                self._delete_oldest()
        try:
            yield copy if known else None
        finally:
            if known:
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


def _folder() -> Path:
    from distributed import get_worker  # noqa: PLC0415 - an extra

    return Path(get_worker().local_directory) / "metaod-files"


def _stop_if_cancelled() -> Callable[[], None]:
    from distributed import get_worker  # noqa: PLC0415 - an extra

    worker = get_worker()
    key = worker.get_current_task()

    def check() -> None:
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise Cancelled

    return check
