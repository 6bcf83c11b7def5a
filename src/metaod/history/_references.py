"""Reference models: what selections are compared with and what can never be picked.

Some are single models, some averages as :mod:`metaod.models._averages` has them, and one is the
mean over a whole space. What is no average of a few is added up while the scores of the members
pass by, so that no score matrix is ever held.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from metaod.models import CellState, ModelSpec, Scored, ScoreScale, average_of, members_of

__all__ = ["FIXED_REFERENCES", "Gathering", "Reference", "mega_ensemble", "standardise"]

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """A mean of the standardised scores of its members.

    Parameters
    ----------
    spec : ModelSpec
        Its name. An average's scores are those of the average.
    members : tuple of ModelSpec
        The models whose scores are averaged.
    all_needed : bool
        Whether one member without scores leaves the reference without; else the others do.
    """

    spec: ModelSpec
    members: tuple[ModelSpec, ...]
    all_needed: bool = True

    @property
    def is_random(self) -> bool:
        """Whether any member needs a seed."""
        return any(member.is_random for member in self.members)


def _reference(spec: ModelSpec) -> Reference:
    return Reference(spec, members_of(spec))


_IFOREST_200 = ModelSpec("IForest", {"n_estimators": 200})

FIXED_REFERENCES = (
    _reference(ModelSpec("IForest")),
    _reference(ModelSpec("LOF")),
    _reference(_IFOREST_200),
    _reference(
        average_of(_IFOREST_200, ModelSpec("KNN", {"n_neighbors": 50, "method": "largest"}))
    ),
    _reference(
        average_of(
            _IFOREST_200,
            ModelSpec("KNN", {"n_neighbors": 100, "method": "largest"}),
            ModelSpec("OCSVM", {"kernel": "rbf", "nu": 0.9}),
        )
    ),
)
"""PyOD's default iForest and LOF, a larger forest, and two fixed averages."""


def mega_ensemble(space: Sequence[ModelSpec], name: str) -> Reference:
    """The average of all models of a space: the paper's Mega Ensemble."""
    spec = ModelSpec("MegaEnsemble", {"space": name})
    return Reference(spec, tuple(space), all_needed=False)


def standardise(scores: Scores) -> Scores:
    """Scores with mean 0 and standard deviation 1; all 0 where they are all the same.

    Examples
    --------
    >>> standardise(np.array([1.0, 3.0])).tolist(), standardise(np.array([2.0, 2.0])).tolist()
    ([-1.0, 1.0], [0.0, 0.0])
    """
    return ScoreScale.of(scores, where="scores").standardised(scores)


@dataclass
class _Sum:
    """What has passed by of one reference."""

    fixed: Scores | None = None
    by_trial: dict[int, Scores] = field(default_factory=dict)
    missing: list[Scored] = field(default_factory=list)
    seconds: float = 0.0


class Gathering:
    """Adds up the members' scores of several references as they pass by.

    Parameters
    ----------
    references : sequence of Reference
        What to gather; averages are not among them.
    trials : int
        Trials of a random member.
    """

    def __init__(self, references: Sequence[Reference], trials: int) -> None:
        self._references = tuple(references)
        self._trials = trials
        self._sums = [_Sum() for _ in self._references]
        self._parts: dict[ModelSpec, list[int]] = {}
        for position, reference in enumerate(self._references):
            for member in reference.members:
                self._parts.setdefault(member, []).append(position)

    @property
    def members(self) -> tuple[ModelSpec, ...]:
        """Every model whose scores are needed."""
        return tuple(self._parts)

    def take(self, scored: Scored) -> None:
        """Add one member's scores to every reference that it belongs to."""
        positions = self._parts.get(scored.spec, ())
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
        """The references' own scores, once all members have passed by."""
        for reference, sums in zip(self._references, self._sums, strict=True):
            trials = self._trials if reference.is_random else 1
            for trial in range(trials):
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
