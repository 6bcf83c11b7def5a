"""Progress of long work: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from metaod.cli.screen import message, visible
from metaod.errors import counted

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

    from metaod.store import Plan, TaskResult

_SECONDS_BETWEEN_STEPS = 15.0
_SECONDS_BETWEEN_DATASETS = 10.0


class Steps:
    """Shows the progress of work in steps; without `lines`, on a terminal only."""

    def __init__(self, *, lines: bool = True) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._lines = lines
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = _make_bar(transient=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def on_step(self, what: str, done: int, total: int) -> None:
        """Show the name of the work, and how many of its steps are done."""
        if self._bar is not None:
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(visible(what)[:40])
            self._bar.update(self._tasks[what], completed=done, total=total)
            return
        now = time.monotonic()
        is_due = now - self._last_line >= _SECONDS_BETWEEN_STEPS or done == total
        if self._lines and is_due:
            self._last_line = now
            message(f"{what}: {done}/{total}")


class BuildProgress:
    """Shows the last dataset of a build that is done, and the time left."""

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
        """Show that all datasets have been read for the plan."""
        if done == total:
            message(f"read {counted(total, 'dataset')}")

    def on_plan(self, plan: "Plan") -> None:
        """Show how much is left to do, and start the bar."""
        self._total, self._cost = len(plan.tasks), plan.cost
        self._start = time.monotonic()
        for note in plan.placed.notes:
            message(note)
        for name, other in plan.duplicates:
            message(f"{name} has the same content as {other} and is left out")
        finished = len(plan.datasets) - len(plan.tasks)
        message(f"{counted(self._total, 'dataset')} to evaluate, {finished} finished before")
        if sys.stderr.isatty() and plan.tasks:
            from rich import progress as rich

            self._bar = _make_bar(
                rich.TextColumn("{task.description}"),
                rich.BarColumn(bar_width=16),
                rich.TaskProgressColumn(),
                rich.TimeElapsedColumn(),
                rich.TimeRemainingColumn(),
            )
            self._task = self._bar.add_task("building", total=plan.cost)

    def on_task(self, result: "TaskResult") -> None:
        """Show that a dataset is finished and stored."""
        self._done += 1
        self._spent += result.task.cost
        name = result.task.entry.full_name
        if self._bar is not None and self._task is not None:
            label = f"{self._done}/{self._total} {name}"
            self._bar.update(self._task, completed=self._spent, description=label[:40])
            return
        now = time.monotonic()
        if now - self._last_line >= _SECONDS_BETWEEN_DATASETS or self._done == self._total:
            self._last_line = now
            left = (now - self._start) * (self._cost - self._spent) / self._spent
            message(f"{self._done}/{self._total} {name}, {_clock(left)} left")


def _make_bar(*columns: "ProgressColumn", **settings: Any) -> "Progress":
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(*columns, console=Console(stderr=True), **settings)
    bar.start()
    return bar


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
