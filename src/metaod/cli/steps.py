"""Progress of long work: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from typing import TYPE_CHECKING, Self

from metaod.cli.screen import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Steps"]

_LINE_EVERY = 15.0
"""Seconds between plain lines."""


class Steps:
    """Shows what is being done and how much of it is.

    Parameters
    ----------
    lines : bool, default=True
        Whether plain lines are written where standard error is no terminal.
    """

    def __init__(self, *, lines: bool = True) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._lines = lines
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on_step(self, what: str, done: int, total: int) -> None:
        """Tell what is being done, how many steps of it are done and how many there are."""
        if self._bar is not None:
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(visible(what)[:40])
            self._bar.update(self._tasks[what], completed=done, total=total)
            return
        now = time.monotonic()
        if self._lines and (now - self._last >= _LINE_EVERY or done == total):
            self._last = now
            print(f"{what}: {done}/{total}", file=sys.stderr, flush=True)  # noqa: T201 - progress is for people, not for pipes
