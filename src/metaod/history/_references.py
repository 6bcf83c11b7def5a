"""Reference models and averages: their scores, computed from the scores of their members.

Reference models are compared with picks, and never picked. Their members' scores are summed as
they come; those of averages are kept, because a few members form hundreds of averages.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from metaod.models import CellState, ModelSpec, Scored, Scores, ScoreScale, average_of


@dataclass(frozen=True)
class Reference:
    """The mean of the standardised scores of several models.

    Unless `all_needed`, members without scores are left out of the mean.
    """

    spec: ModelSpec
    members: tuple[ModelSpec, ...]
    all_needed: bool = True

    @property
    def is_random(self) -> bool:
        """Whether any member needs a seed."""
        return any(member.is_random for member in self.members)


_IFOREST_200 = ModelSpec("IForest", {"n_estimators": 200})

FIXED_REFERENCES = tuple(
    Reference(spec, spec.members)
    for spec in (
        ModelSpec("IForest"),
        ModelSpec("LOF"),
        _IFOREST_200,
        average_of(_IFOREST_200, ModelSpec("KNN", {"n_neighbors": 50, "method": "largest"})),
        average_of(
            _IFOREST_200,
            ModelSpec("KNN", {"n_neighbors": 100, "method": "largest"}),
            ModelSpec("OCSVM", {"kernel": "rbf", "nu": 0.9}),
        ),
    )
)
"""PyOD's default iForest and LOF, a larger forest, and two fixed averages."""


def mega_ensemble(space: Sequence[ModelSpec], name: str) -> Reference:
    """Return the average of all models of a space: the paper's Mega Ensemble."""
    spec = ModelSpec("MegaEnsemble", {"space": name})
    return Reference(spec, tuple(space), all_needed=False)


def standardise(scores: Scores) -> Scores:
    """Scale scores to mean 0 and standard deviation 1; to 0 if they are all the same."""
    return ScoreScale.of(scores, where="scores").standardised(scores)


class ReferenceMean:
    """The mean of the standardised scores of a reference's members, which are summed as they come.

    The order in which they come changes the last bits of the sum; measures round scores.
    """

    def __init__(self, reference: Reference, trials: int) -> None:
        self.reference = reference
        self._members = frozenset(reference.members)
        self._trials = trials if reference.is_random else 1
        self._sums: dict[int | None, Scores] = {}  # by trial; None: members that are not random
        self._missing: list[Scored] = []
        self._seconds = 0.0

    def add(self, scored: Scored) -> None:
        """Add one member's scores in one trial, or that it has none; ignore any other model's."""
        if scored.spec not in self._members:
            return
        if scored.trial == 0:
            self._seconds += scored.seconds
        if scored.state != CellState.OK or scored.scores is None:
            self._missing.append(scored)
            return
        trial = scored.trial if scored.spec.is_random else None
        self._sums[trial] = self._sums.get(trial, 0.0) + standardise(scored.scores)

    def scored(self) -> Iterator[Scored]:
        """Yield the reference's scores, after all members were added."""
        for trial in range(self._trials):
            yield self._finish(trial)

    def _finish(self, trial: int) -> Scored:
        spec, members = self.reference.spec, self.reference.members
        lost = [item for item in self._missing if not item.spec.is_random or item.trial == trial]
        parts = [self._sums[key] for key in (None, trial) if key in self._sums]
        if not parts or (lost and self.reference.all_needed):
            first = min(lost, key=lambda item: members.index(item.spec))
            reason = first.reason if len(members) == 1 else f"{first.spec}: {first.reason}"
            return Scored(spec, trial, first.state, None, self._seconds, reason)
        reason = f"without {len(lost)} of {len(members)} models" if lost else ""
        scores: Scores = np.sum(parts, axis=0) / (len(members) - len(lost))
        return Scored(spec, trial, CellState.OK, scores, self._seconds, reason)


class AverageScores:
    """Keeps the members' scores and averages them as :class:`~metaod.models.AverageDetector`."""

    def __init__(self, averages: Iterable[ModelSpec], trials: int) -> None:
        self._averages = tuple(dict.fromkeys(averages))
        self._trials = trials
        self.members = frozenset(chain.from_iterable(average.members for average in self._averages))
        self._kept: dict[tuple[ModelSpec, int], Scores] = {}
        self._missing: dict[tuple[ModelSpec, int], Scored] = {}
        self._seconds: dict[ModelSpec, float] = {}

    def add(self, scored: Scored) -> None:
        """Keep one member's scores, standardised and bounded; ignore any other model's."""
        if scored.spec not in self.members:
            return
        key = (scored.spec, scored.trial)
        if scored.trial == 0:
            self._seconds[scored.spec] = scored.seconds
        if scored.state != CellState.OK or scored.scores is None:
            self._missing[key] = scored
            return
        scale = ScoreScale.of(scored.scores, where=scored.spec.id)
        self._kept[key] = scale.bounded(scored.scores)

    def scored(self) -> Iterator[Scored]:
        """Yield the averages' scores, after all members were added."""
        for average in self._averages:
            for trial in range(self._trials if average.is_random else 1):
                yield self._finish(average, trial)

    def _finish(self, average: ModelSpec, trial: int) -> Scored:
        members = average.members
        keys = [(member, trial if member.is_random else 0) for member in members]
        seconds = sum(self._seconds[member] for member in members)
        for key in keys:
            if key in self._missing:
                member = self._missing[key]
                reason = f"{member.spec}: {member.reason}"
                return Scored(average, trial, member.state, None, seconds, reason)
        total = self._kept[keys[0]].copy()
        for key in keys[1:]:
            total += self._kept[key]
        return Scored(average, trial, CellState.OK, total / len(members), seconds)
