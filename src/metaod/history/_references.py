"""Reference models and averages: their scores, computed from the scores of their members.

Reference models are compared with picks, and never picked. Their members' scores are summed as
they come; those of averages are kept, because a few members form hundreds of averages.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

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


def _bits(n_rows: int) -> int:
    # a standardised score is at most sqrt(n_rows), and 4096 of them fit 62 bits
    return 50 - math.ceil(math.log2(n_rows) / 2)


@dataclass
class ReferenceSum:
    """The sum of the standardised scores of some members of a reference, by trial.

    Scores are added as whole multiples of a small unit, because sums of integers do not depend on
    their order.
    """

    members: list[ModelSpec] = field(default_factory=list)
    fixed: npt.NDArray[np.int64] | None = None
    by_trial: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)
    missing: list[Scored] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, scored: Scored, units: npt.NDArray[np.int64] | None) -> None:
        """Add one member's scores in one trial, or that it has none."""
        if scored.trial == 0:
            self.members.append(scored.spec)
            self.seconds += scored.seconds
        if units is None:
            self.missing.append(scored)
        elif scored.spec.is_random:
            self._add_trial(scored.trial, units)
        else:
            self.fixed = units if self.fixed is None else self.fixed + units

    def _add_trial(self, trial: int, units: npt.NDArray[np.int64]) -> None:
        before = self.by_trial.get(trial)
        self.by_trial[trial] = units if before is None else before + units

    def finish(self, reference: Reference, trial: int) -> Scored:
        """Return the reference's scores, after all members were added."""
        position = {member: k for k, member in enumerate(reference.members)}
        lost = [item for item in self.missing if not item.spec.is_random or item.trial == trial]
        lost.sort(key=lambda item: position[item.spec])
        parts = [part for part in (self.fixed, self.by_trial.get(trial)) if part is not None]
        spec, seconds = reference.spec, self.seconds
        if not parts or (lost and reference.all_needed):
            first = lost[0]
            alone = len(reference.members) == 1
            reason = first.reason if alone else f"{first.spec}: {first.reason}"
            return Scored(spec, trial, first.state, None, seconds, reason)
        reason = f"without {len(lost)} of {len(reference.members)} models" if lost else ""
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        # the sum ranks as the mean does; dividing keeps the size of a standardised score
        present = len(reference.members) - len(lost)
        scores = np.ldexp(total.astype(np.float64), -_bits(len(total))) / present
        return Scored(spec, trial, CellState.OK, scores, seconds, reason)


class ReferenceScores:
    """Sums the members' scores of several references, none of them an average."""

    def __init__(self, references: Sequence[Reference], trials: int) -> None:
        self._references = tuple(references)
        self._trials = trials
        self.sums = [ReferenceSum() for _ in self._references]
        self._positions: dict[ModelSpec, list[int]] = {}
        for position, reference in enumerate(self._references):
            for member in reference.members:
                self._positions.setdefault(member, []).append(position)

    @property
    def members(self) -> tuple[ModelSpec, ...]:
        return tuple(self._positions)

    def add(self, scored: Scored) -> None:
        """Add one member's scores to every reference that it belongs to."""
        positions = self._positions.get(scored.spec, ())
        if not positions:
            return
        units = None
        if scored.state == CellState.OK and scored.scores is not None:
            standard = standardise(scored.scores)
            units = np.rint(np.ldexp(standard, _bits(len(standard)))).astype(np.int64)
        for position in positions:
            self.sums[position].add(scored, units)

    def scored(self) -> Iterator[tuple[Reference, Scored]]:
        """Yield the references' scores, after all members were added."""
        for reference, sums in zip(self._references, self.sums, strict=True):
            for trial in range(self._trials if reference.is_random else 1):
                yield reference, sums.finish(reference, trial)


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
