"""Scores of averages, from the scores of their members on one table.

A few members make hundreds of averages: kept are the members' standardised scores, and an average
lives no longer than it takes to measure it.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from metaod.models import CLIP, CellState, ModelSpec, Scored, ScoreScale, members_of

__all__ = ["Averaging"]

Scores = npt.NDArray[np.float64]


class Averaging:
    """Keeps the members' scores as they pass by, and then averages them.

    Scores are those of :class:`~metaod.models.AverageDetector` with the same seed.
    Memory: 8 bytes a row, member and trial.

    Parameters
    ----------
    averages : iterable of ModelSpec
        The averages.
    trials : int
        Trials of a random member.
    """

    def __init__(self, averages: Iterable[ModelSpec], trials: int) -> None:
        self._averages = tuple(dict.fromkeys(averages))
        self._trials = trials
        self.members = frozenset(
            member for average in self._averages for member in members_of(average)
        )
        """Every model whose scores are needed."""
        self._kept: dict[tuple[ModelSpec, int], Scores] = {}
        self._missing: dict[tuple[ModelSpec, int], Scored] = {}
        self._seconds: dict[ModelSpec, float] = {}

    def take(self, scored: Scored) -> None:
        """Keep one member's scores, standardised and cut; any other model's are of no concern."""
        if scored.spec not in self.members:
            return
        key = (scored.spec, scored.trial)
        if scored.trial == 0:
            self._seconds[scored.spec] = scored.seconds
        if scored.state != CellState.OK or scored.scores is None:
            self._missing[key] = scored
            return
        scale = ScoreScale.of(scored.scores, where=scored.spec.id)
        self._kept[key] = np.clip(scale.standardised(scored.scores), *CLIP)

    def scored(self) -> Iterator[Scored]:
        """The averages' scores, one by one, once all members have passed by."""
        for average in self._averages:
            for trial in range(self._trials if average.is_random else 1):
                yield self._finish(average, trial)

    def _finish(self, average: ModelSpec, trial: int) -> Scored:
        members = members_of(average)
        keys = [(member, trial if member.is_random else 0) for member in members]
        seconds = sum(self._seconds[member] for member in members)
        for key in keys:
            if key in self._missing:
                lost = self._missing[key]
                reason = f"{lost.spec}: {lost.reason}"
                return Scored(average, trial, lost.state, None, seconds, reason)
        total = self._kept[keys[0]].copy()
        for key in keys[1:]:
            total += self._kept[key]
        return Scored(average, trial, CellState.OK, total / len(members), seconds)
