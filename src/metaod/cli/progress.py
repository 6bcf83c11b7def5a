"""How a build shows its progress: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from metaod.store import Plan, TaskResult

__all__ = ["BuildProgress"]

_LINE_EVERY = 10.0  # seconds between plain lines


class BuildProgress:
    """Shows which dataset was done and how much time is left, by the cost of what remains."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._done = 0
        self._spent = 0.0
        self._total = 0
        self._cost = 0.0
        self._start = 0.0
        self._last_line = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on_read(self, done: int, total: int) -> None:
        """Tell how many datasets have been read for the plan."""
        if done == total:
            self._line(f"read {total} datasets")

    def on_plan(self, plan: "Plan") -> None:
        """Tell what is missing, and start the bar."""
        self._total, self._cost = len(plan.tasks), plan.cost
        self._start = time.monotonic()
        for name, other in plan.duplicates:
            self._line(f"{name} has the content of {other} and is left out")
        finished = len(plan.datasets) - len(plan.tasks)
        self._line(f"{self._total} datasets to do, {finished} finished before")
        if sys.stderr.isatty() and plan.tasks:
            self._bar = _make_bar()
            self._task = self._bar.add_task("building", total=plan.cost)
            self._bar.start()

    def on_task(self, result: "TaskResult") -> None:
        """Tell that a dataset is finished and stored."""
        self._done += 1
        self._spent += result.task.cost
        name = result.task.entry.full_name
        if self._bar is not None and self._task is not None:
            label = f"{self._done}/{self._total} {name}"
            self._bar.update(self._task, completed=self._spent, description=label[:40])
            return
        now = time.monotonic()
        if now - self._last_line >= _LINE_EVERY or self._done == self._total:
            self._last_line = now
            elapsed = now - self._start
            left = elapsed * (self._cost - self._spent) / self._spent
            self._line(f"{self._done}/{self._total} {name}, {_clock(left)} left")

    def _line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - progress is for people, not for pipes


def _make_bar() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
