"""The main function of a table's process: it reads commands and writes answers as JSON lines."""

import contextlib
import json
import os
import queue
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from metaod._memory import free_memory, used_memory
from metaod.web._problems import problem_of

_MOST_SHARE, _LEAST_BYTES = 0.8, 2**30  # of the free memory; less cannot score anything

if TYPE_CHECKING:
    from metaod.web._inspection import UploadedTable
    from metaod.web._table_work import TableWork


def main() -> None:
    """Run commands until the server closes the pipe; then end, also in the middle of work."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    os.dup2(2, 1)  # output of libraries is not taken for an answer
    warnings.simplefilter("ignore")
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, lines), daemon=True).start()
    start = json.loads(lines.get())
    limits = start["limits"]
    commands = _Commands(start, lambda made: _answer(answers, progress=made))
    while True:
        message = json.loads(lines.get())
        _limit_memory(limits["memory_bytes"], limits["max_jobs"])
        try:
            _answer(answers, result=commands.run(message["command"], message["arguments"]))
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                traceback.print_exception(error)  # for the operator of the server
            _answer(answers, problem=problem.members())
            continue
        with contextlib.suppress(Exception):  # the next command raises the same error
            commands.prepare()


class _Commands:
    """Runs commands; what only scoring needs is imported after the table was inspected."""

    def __init__(self, start: dict[str, Any], progress: Callable[[dict[str, Any]], None]) -> None:
        self._start = start
        self._progress = progress
        self._uploaded: UploadedTable | None = None
        self._work: TableWork | None = None

    def run(self, command: str, arguments: dict[str, Any]) -> Any:
        if self._uploaded is None:
            from metaod.web._inspection import UploadedTable  # noqa: PLC0415 - heavy

            self._uploaded = UploadedTable(**self._start, progress=self._progress)
        if command == "inspection":
            return self._uploaded.inspection(**arguments)
        self.prepare()
        return getattr(self._work, command)(**arguments)

    def prepare(self) -> None:
        if self._work is None and self._uploaded is not None:
            from metaod.web._table_work import TableWork  # noqa: PLC0415 - heavy

            self._work = TableWork(self._uploaded)


def _read(stream: Any, lines: "queue.SimpleQueue[str]") -> None:
    for line in stream:
        lines.put(line.decode())
    os._exit(0)


def _answer(answers: TextIO, **message: Any) -> None:
    line = json.dumps(message, allow_nan=False, ensure_ascii=False) + "\n"
    answers.write(line)
    answers.flush()


def _limit_memory(most: int, n_jobs: int) -> None:
    """Make allocations beyond a limit fail, where the system can; write no core files.

    The jobs that may run at the same time share the memory that is free when this one begins.
    """
    with contextlib.suppress(ImportError, LookupError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        own = used_memory() + _MOST_SHARE * free_memory() / n_jobs
        resource.setrlimit(resource.RLIMIT_DATA, (int(min(most, max(own, _LEAST_BYTES))), most))
