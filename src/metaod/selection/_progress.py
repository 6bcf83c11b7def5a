"""Reports of progress, for the caller of long work. The library itself prints nothing."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metaod.models import ModelSpec, compilation, expected_costs, expected_scoring

STAGES = {
    "read": "reading the table",
    "prepare": "preparing the table",
    "check": "looking for wrong cells",
    "measure": "measuring the table",
    "pick": "picking a model",
    "fit": "fitting",
    "score": "scoring rows",
    "explain": "explaining rows",
    "write": "writing rows",
}
"""Stages of work in words: ``measure`` extracts meta-features, and not every pick needs them."""

_FIT_SHARE = 0.95  # of the work, once the pick is known; the rest is scoring
_LEAST_TIMED = 0.5  # expected seconds of a model from which its time tells the machine's speed
_MOST_FACTOR = 4.0  # by which a machine is taken to be slower or faster than the cost laws say


@dataclass(frozen=True)
class ProgressReport:
    """How far work has come.

    Parameters
    ----------
    stage : str
        ``read``, ``prepare``, ``check``, ``measure``, ``pick``, ``fit``, ``score``, ``explain`` or
        ``write``.
    fraction : float or None
        The part of the work that is done, from 0 to 1; None before it is known. It never falls, and
        the last report of a call has 1.
    seconds_left : float or None
        Expected time until the end of the call; None if it is not known.
    detail : str
        What the stage works on, such as ``3 of 7, KDE``; may be empty.
    next_fraction : float or None
        The fraction that the next report is expected to have: a bar that moves on between two
        reports stays below it.
    """

    stage: str
    fraction: float | None = None
    seconds_left: float | None = None
    detail: str = ""
    next_fraction: float | None = None

    @property
    def text(self) -> str:
        """The stage in words, and what it works on."""
        return f"{STAGES.get(self.stage, self.stage)} {self.detail}".strip()


OnProgress = Callable[[ProgressReport], None]
"""Receives reports. What it raises stops the work and reaches the caller."""


class Tracker:
    """Turns the steps of a pick into reports.

    Parameters
    ----------
    on_progress : callable or None
        Receives the reports.
    """

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self._fraction: float | None = None
        self._expected: list[float] = []  # seconds, of fitting the models in turn
        self._scoring = 0.0  # expected seconds of scoring other rows
        self._n_begun = 0
        self._begun_at = 0.0
        self._timed = [0.0, 0.0]  # seconds that were expected, and seconds that it took

    def stage(
        self,
        stage: str,
        detail: str = "",
        *,
        fraction: float | None = None,
        seconds_left: float | None = None,
        next_fraction: float | None = None,
    ) -> None:
        """Report that a stage begins, or how far it has come."""
        if self._on_progress is None:
            return
        if fraction is not None:
            self._fraction = max(fraction, self._fraction or 0.0)
        report = ProgressReport(stage, self._fraction, seconds_left, detail, next_fraction)
        self._on_progress(report)

    def plan_fits(
        self,
        models: Sequence[ModelSpec],
        shape: tuple[int, int],
        n_new: int = 0,
        n_threads: int = 1,
    ) -> None:
        """Announce models that will be fitted to that shape, and then score so many other rows."""
        if self._on_progress is None:
            return
        self._expected += _known([cost.seconds for cost in expected_costs(models, *shape)])
        if n_new:
            expected = expected_scoring(models, n_new, shape[1], n_learned=shape[0])
            self._scoring = sum(_known(expected)) / n_threads

    def fit(self, model: ModelSpec) -> None:
        """Report that the next of the announced models is fitted."""
        if self._on_progress is None:
            return
        self._note_time()
        self._n_begun += 1
        done = sum(self._expected[: self._n_begun - 1])
        left = sum(self._expected) - done + self._scoring
        expected, taken = self._timed
        if expected:
            left *= min(max(taken / expected, 1 / _MOST_FACTOR), _MOST_FACTOR)
        detail = f"{self._n_begun} of {len(self._expected)}, {model.detector}"
        share = _FIT_SHARE / (sum(self._expected) + self._scoring)
        self.stage(
            "fit",
            detail,
            fraction=share * done,
            seconds_left=left,
            next_fraction=share * (done + self._expected[self._n_begun - 1]),
        )

    def scoring(self, n_rows: int) -> Callable[[int], None]:
        """Report that rows are scored; return what receives how many of them are done."""
        fitting = sum(self._expected)
        start = _FIT_SHARE * fitting / (fitting + self._scoring) if fitting else 0.0
        return self.counting("score", n_rows, start, _FIT_SHARE)

    def counting(
        self, stage: str, n_rows: int, start: float = 0.0, stop: float = 1.0
    ) -> Callable[[int], None]:
        """Report that a stage begins; return what receives how many of its rows are done."""
        since = time.monotonic()
        self.stage(stage, fraction=start)

        def report(n_done: int) -> None:
            part = n_done / n_rows
            left = (time.monotonic() - since) / part * (1.0 - part)
            fraction = start + (stop - start) * part
            self.stage(stage, f"{n_done:,} of {n_rows:,}", fraction=fraction, seconds_left=left)

        return report

    def finish(self, stage: str) -> None:
        """Report that all is done; `stage` was the last."""
        self.stage(stage, fraction=1.0, seconds_left=0.0)

    def _note_time(self) -> None:
        # compiling happens once and tells nothing about the models that follow
        now = time.monotonic() - compilation.seconds
        if self._n_begun and self._expected[self._n_begun - 1] >= _LEAST_TIMED:
            self._timed[0] += self._expected[self._n_begun - 1]
            self._timed[1] += now - self._begun_at
        self._begun_at = now


def _known(seconds: Sequence[float]) -> list[float]:
    """Replace unknown times by the mean of the others: a family of the user may have no law."""
    known = [value for value in seconds if not math.isnan(value)]
    usual = sum(known) / len(known) if known else 1.0
    return [usual if math.isnan(value) else value for value in seconds]


def part_of(on_progress: OnProgress | None, start: float, stop: float) -> OnProgress | None:
    """Return what receives the reports of a part of the work, which reaches from start to stop.

    Examples
    --------
    >>> reports = []
    >>> part_of(reports.append, 0.5, 1.0)(ProgressReport("fit", 0.5))
    >>> reports[0].fraction
    0.75
    """
    if on_progress is None:
        return None

    def within(part: float | None) -> float | None:
        return None if part is None else start + (stop - start) * part

    def receive(report: ProgressReport) -> None:
        known = 0.0 if report.fraction is None and start > 0 else report.fraction
        left = report.seconds_left if stop == 1.0 or report.fraction != 1.0 else None
        following = within(report.next_fraction)
        on_progress(ProgressReport(report.stage, within(known), left, report.detail, following))

    return receive
