"""The process of a table: it gets commands in lines of JSON, and can be ended at any time."""

import asyncio
import contextlib
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from metaod.web._limits import Limits
from metaod.web._problems import Problem, refused

OnStage = Callable[[dict[str, Any]], None]

_LONGEST_LINE = 2**26  # bytes
_COMMAND = "from metaod.web._worker import main; main()"


class WorkerProcess:
    """A process that reads, scores and reviews one table; it starts when it is first needed.

    Parameters
    ----------
    folder : Path
        The folder of the table, in which the process runs.
    file : str
        The table's file in it.
    name : str
        The table's name in messages.
    limits : Limits
        How much it may use.
    """

    def __init__(self, folder: Path, file: str, name: str, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._start = {"file": file, "name": name, "limits": asdict(limits)}
        self._process: Process | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False

    @property
    def is_alive(self) -> bool:
        """Whether the process holds what was done before."""
        return self._process is not None and self._process.returncode is None

    async def call(
        self,
        command: str,
        arguments: dict[str, Any],
        on_progress: OnStage | None = None,
        *,
        check: Callable[[], None] = lambda: None,
    ) -> Any:
        """Run a command and return its result; Problem if it fails.

        The process is ended if the command takes too long, or if this call is cancelled.
        When the commands before it are done, `check` may refuse it with a Problem.
        """
        async with self._lock:
            self._refuse_if_closed()
            check()
            try:
                async with asyncio.timeout(60 * self._limits.max_minutes):
                    process = await self._started()
                    await _send(process, {"command": command, "arguments": arguments})
                    answer = await _receive(process, on_progress)
            except BaseException as error:
                await self.end()
                if isinstance(error, TimeoutError):
                    raise refused("slow-job", most=self._limits.max_minutes) from None
                if isinstance(error, Problem):
                    self._refuse_if_closed()
                raise
        if "problem" in answer:
            raise Problem(**answer["problem"])
        return answer["result"]

    async def close(self) -> None:
        """End the process, and start none any more."""
        self._is_closed = True
        await self.end()

    async def end(self) -> None:
        """End the process at once."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise refused("no-table") from None

    async def _started(self) -> Process:
        if self._process is not None and self.is_alive:
            return self._process
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # modules are not looked for in the folder of the table
            "-c",
            _COMMAND,
            cwd=self._folder,
            stdin=PIPE,
            stdout=PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C ends the server, which ends this
        )
        await _send(self._process, self._start)
        return self._process


async def _send(process: Process, message: dict[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101 - for the type checker
    with contextlib.suppress(ConnectionError):  # it has ended: seen when its answer is read
        process.stdin.write(json.dumps(message).encode() + b"\n")
        await process.stdin.drain()


async def _receive(process: Process, on_progress: OnStage | None) -> dict[str, Any]:
    """Wait for the answer to the last command."""
    assert process.stdout is not None  # noqa: S101 - for the type checker
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError:  # longer than the limit of the stream
            raise refused("long-answer") from None
        if not line:
            raise refused("process-ended")
        message: dict[str, Any] = json.loads(line)
        if "progress" not in message:
            return message
        if on_progress is not None:
            on_progress(message["progress"])
