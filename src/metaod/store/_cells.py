"""The rule by which trials become a cell."""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from metaod.history import MEASURES, Evaluation
from metaod.models import CellState
from metaod.store._records import Cell

__all__ = ["aggregate"]

# where trials end in different ways, the first of these that occurs is the cell's state
_GRAVEST_FIRST = (
    CellState.FAILED,
    CellState.OVER_BUDGET,
    CellState.NOT_APPLICABLE,
    CellState.OK,
)


def aggregate(evaluations: Iterable[Evaluation]) -> list[Cell]:
    """Aggregate one dataset's evaluations over trials, into one cell per model and mode.

    A cell is ok only if all its trials are; then it holds the mean and the standard deviation
    (n - 1 in the denominator; NaN for a single trial) of each measure, and the mean time. Any
    other cell holds no figures at all: its state is the gravest of its trials' (failed, over
    budget, not applicable, in this order), and its reason that of the first trial in that state.
    Sums are correctly rounded, so that the order of the trials does not matter.

    Examples
    --------
    >>> from metaod.models import Mode
    >>> good = Evaluation("HBOS()", 0, Mode.FAST, CellState.OK, 0.25, 0.75, 0.25)
    >>> bad = Evaluation("HBOS()", 1, Mode.FAST, CellState.FAILED, reason="no histogram")
    >>> aggregate([good])[0].ap
    0.25
    >>> aggregate([good, bad])[0].state
    <CellState.FAILED: 'failed'>
    """
    groups: defaultdict[tuple[str, str], list[Evaluation]] = defaultdict(list)
    for evaluation in evaluations:
        groups[evaluation.mode, evaluation.model].append(evaluation)
    return [
        _aggregate_trials(sorted(trials, key=lambda item: item.trial))
        for _, trials in sorted(groups.items())
    ]


def _aggregate_trials(trials: list[Evaluation]) -> Cell:
    states = {trial.state for trial in trials}
    state = next(state for state in _GRAVEST_FIRST if state in states)
    reason = next((item.reason for item in trials if item.state == state and item.reason), "")
    figures: dict[str, Any] = {}
    if state == CellState.OK:
        for name in MEASURES:
            values = [getattr(trial, name) for trial in trials]
            figures[name] = math.fsum(values) / len(values)
            figures[f"{name}_std"] = _standard_deviation(values, figures[name])
        figures["seconds"] = math.fsum(trial.seconds for trial in trials) / len(trials)
    first = trials[0]
    return Cell(first.model, first.mode, len(trials), state, reason=reason, **figures)


def _standard_deviation(values: list[float], mean: float) -> float:
    if len(values) == 1:
        return math.nan
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
