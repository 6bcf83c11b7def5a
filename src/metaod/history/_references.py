"""Reference models and averages: their scores, computed from the scores of their members.

Reference models are compared with picks, and never picked. Their members' scores are summed as
they come; those of averages are kept, because a few members form hundreds of averages.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from metaod.models import (
    CellState,
    ModelSpec,
    Scored,
    Scores,
    ScoreScale,
    average_of,
    members_of,
)


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
    Reference(spec, members_of(spec))
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


@dataclass
class _Sum:
    fixed: Scores | None = None
    by_trial: dict[int, Scores] = field(default_factory=dict)
    missing: list[Scored] = field(default_factory=list)
    seconds: float = 0.0


class ReferenceScores:
    """Sums the members' scores of several references, none of them an average."""

    def __init__(self, references: Sequence[Reference], trials: int) -> None:
        self._references = tuple(references)
        self._trials = trials
        self._sums = [_Sum() for _ in self._references]
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
        standard = None
        if scored.state == CellState.OK and scored.scores is not None:
            standard = standardise(scored.scores)
        for position in positions:
            sums = self._sums[position]
            if scored.trial == 0:
                sums.seconds += scored.seconds
            if standard is None:
                sums.missing.append(scored)
                continue
            if scored.spec.is_random:
                before = sums.by_trial.get(scored.trial)
                sums.by_trial[scored.trial] = standard if before is None else before + standard
            else:
                sums.fixed = standard if sums.fixed is None else sums.fixed + standard

    def scored(self) -> Iterator[tuple[Reference, Scored]]:
        """Yield the references' scores, after all members were added."""
        for reference, sums in zip(self._references, self._sums, strict=True):
            for trial in range(self._trials if reference.is_random else 1):
                yield reference, _finish(reference, sums, trial)


def _finish(reference: Reference, sums: _Sum, trial: int) -> Scored:
    lost = [item for item in sums.missing if not item.spec.is_random or item.trial == trial]
    parts = [part for part in (sums.fixed, sums.by_trial.get(trial)) if part is not None]
    if not parts or (lost and reference.all_needed):
        first = lost[0]
        reason = first.reason if len(reference.members) == 1 else f"{first.spec}: {first.reason}"
        return Scored(reference.spec, trial, first.state, None, sums.seconds, reason)
    reason = f"without {len(lost)} of {len(reference.members)} models" if lost else ""
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    # the sum ranks as the mean does; dividing keeps the size of a standardised score
    present = len(reference.members) - len(lost)
    return Scored(reference.spec, trial, CellState.OK, total / present, sums.seconds, reason)


class AverageScores:
    """Keeps the members' scores and averages them as :class:`~metaod.models.AverageDetector`."""

    def __init__(self, averages: Iterable[ModelSpec], trials: int) -> None:
        self._averages = tuple(dict.fromkeys(averages))
        self._trials = trials
        self.members = frozenset(chain.from_iterable(map(members_of, self._averages)))
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
        members = members_of(average)
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
