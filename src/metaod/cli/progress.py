"""Progress of a command: one line on a terminal, from its third second on, gone when it is done.

Nothing is shown if standard error is a pipe or a file.
"""

import math
import sys
import time
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Self

from metaod.cli.screen import visible

if TYPE_CHECKING:
    from rich.live import Live

    from metaod.selection import ProgressReport

_STARTED = time.monotonic()  # this module is imported when the command begins
_QUIET_SECONDS = 2.0  # of the command, in which nothing is shown
_LEAST_QUIET = 0.3  # of one piece of work: a line that disappears at once disturbs
_OVERDUE_SECONDS = 5.0  # after which a time that was expected is no longer shown
_WIDTH = 80
_BAR_WIDTH = 16
_LONGEST_TEXT = 42  # beside the bar, the percentage and the time
_OVERDUE = "longer than expected"
_COMPILING = "compiling for the first time, about 8 s, once"


class ProgressLine:
    """Shows on a terminal what a command does, how far it has come, and the time left.

    Parameters
    ----------
    text : str
        What the command does; reports replace it.
    seconds : float, optional
        Expected time.
    """

    def __init__(self, text: str = "working", *, seconds: float | None = None) -> None:
        self._lock = Lock()
        self._timer: Timer | None = None
        self._live: Live | None = None
        self._has_ended = False
        self._text = text
        self._fraction: float | None = None
        self._next: float | None = None  # the fraction of the next report
        self._left = seconds
        self._shown_fraction = 0.0
        self._began = time.monotonic()
        self._since = self._updated = _working_time()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            quiet = _STARTED + _QUIET_SECONDS - self._began
            self._timer = Timer(max(quiet, _LEAST_QUIET), self._begin)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._has_ended = True
            if self._timer is not None:
                self._timer.cancel()
            if self._live is not None:
                self._live.stop()

    def show(self, report: "ProgressReport") -> None:
        """Show a report of the library."""
        self.update(report.text, report.fraction, report.seconds_left, report.next_fraction)

    def count(self, what: str, done: float, total: float) -> None:
        """Show how many of a number of steps are done."""
        self.update(f"{what} {done}/{total}", done / total if total else None)

    def update(
        self,
        text: str,
        fraction: float | None = None,
        seconds_left: float | None = None,
        next_fraction: float | None = None,
    ) -> None:
        """Show a text and a fraction; the time left follows from the pace if it is not given."""
        now = _working_time()
        if fraction is None or fraction < (self._fraction or 0.0):
            self._since, self._shown_fraction = self._updated, 0.0  # other work has begun
        if seconds_left is None and fraction:
            seconds_left = (now - self._since) * (1 - fraction) / fraction
        self._text, self._fraction, self._next = text, fraction, next_fraction
        self._left, self._updated = seconds_left, now

    def _begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        out = Console(stderr=True, highlight=False, markup=False, emoji=False)
        out.width = min(out.width, _WIDTH)
        with self._lock:
            if self._has_ended:
                return
            # what is printed to stdout may be a table in a pipe
            self._live = Live(
                get_renderable=self._line,
                console=out,
                transient=True,
                redirect_stdout=False,
                vertical_overflow="crop",
            )
            self._live.start(refresh=True)

    def _line(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        fraction, left = self._now()
        text = visible(self._text)
        compilation = _compilation()
        if compilation is not None and compilation.is_running:
            fraction, left, text = None, clock(compilation.seconds), _COMPILING
        line = Table.grid(padding=(0, 2, 0, 0))
        cells: list[Any] = []
        if fraction is None:
            line.add_column(max_width=_WIDTH - len(left) - 4, no_wrap=True, overflow="ellipsis")
        else:
            line.add_column(max_width=_LONGEST_TEXT, no_wrap=True, overflow="ellipsis")
            bar = ProgressBar(1.0, fraction, width=_BAR_WIDTH, complete_style="cyan")
            cells = [bar, Text(f"{fraction:4.0%}")]
        line.add_row(Text(text), *cells, Text(left, no_wrap=True))
        return line

    def _now(self) -> tuple[float | None, str]:
        """Return the fraction and the time left at this moment, between two reports."""
        elapsed = time.monotonic() - self._began
        since = _working_time() - self._updated
        fraction, left = self._fraction, self._left
        if left is not None and since > left + _OVERDUE_SECONDS:
            return None, f"{clock(elapsed)}, {_OVERDUE}"
        if fraction is not None:
            if left:
                fraction += (1 - fraction) * min(since / left, 1.0)
            most = 0.99 if self._next is None else self._next
            self._shown_fraction = max(self._shown_fraction, min(fraction, most))
            fraction = self._shown_fraction
        if left is None or left <= since:
            return fraction, clock(elapsed)
        return fraction, f"{clock(math.ceil(left - since))} left"


def _compilation() -> Any:
    # importing the models takes longer than some commands, which need none
    return getattr(sys.modules.get("metaod.models"), "compilation", None)


def _working_time() -> float:
    """Return the seconds of a clock that stands still while functions are compiled."""
    compilation = _compilation()
    return time.monotonic() - (compilation.seconds if compilation else 0.0)


def clock(seconds: float) -> str:
    """Write a time as minutes and seconds, or with hours.

    >>> clock(75), clock(4000)
    ('1:15', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
