"""Evaluation of models on one labelled table: score, then measure against the labels.

Reference models are compared with picks, and never picked. The scores of the members of the Mega
Ensemble are summed as they come; those of averages are kept, because a few members form hundreds.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from metaod._version import __version__
from metaod.errors import BadParameter
from metaod.history._metrics import MEASURES, measure
from metaod.models import (
    Budget,
    CellState,
    Matrix,
    ModelSpec,
    Scored,
    Scores,
    ScoreScale,
    average_of,
    score_models,
)

ENGINE_VERSION = f"metaod {__version__}"
"""The version that is stored with an evaluation."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Performance of one model on one dataset in one trial.

    Parameters
    ----------
    model : str
        The model's id.
    trial : int
        Number of the trial, from 0.
    state : CellState
        How the trial ended.
    ap, roc_auc, precision_at_n : float
        The measures, each in [0, 1]; NaN unless the state is ok.
    seconds : float
        The time that the model alone would have taken.
    seed : int or None
        The seed; None for a model that is not random.
    reason : str
        Why the state is not ok, or how the scores were repaired.
    engine_version : str
        Version of the package that computed it.
    """

    model: str
    trial: int
    state: CellState
    ap: float = math.nan
    roc_auc: float = math.nan
    precision_at_n: float = math.nan
    seconds: float = 0.0
    seed: int | None = None
    reason: str = ""
    engine_version: str = ENGINE_VERSION

    def __post_init__(self) -> None:
        if self.trial < 0:
            raise BadParameter("Evaluation", "trial", "at least 0", self.trial)
        if not 0.0 <= self.seconds < math.inf:
            raise BadParameter("Evaluation", "seconds", "finite and at least 0", self.seconds)
        check_figures(self, MEASURES, 1.0, expected=self.state == CellState.OK)


def check_figures(record: Any, names: Iterable[str], largest: float, *, expected: bool) -> None:
    """Refuse figures of a record that are not in [0, largest], or not NaN if none are expected."""
    for name in names:
        value = getattr(record, name)
        if not (0.0 <= value <= largest if expected else math.isnan(value)):
            legal = f"in [0, {largest:g}]" if expected else "NaN, as there is no such figure"
            raise BadParameter(type(record).__name__, name, legal, value)


DEFAULT_FOREST = "IForest()"
"""The id of PyOD's default isolation forest, which picks are measured against."""

_IFOREST_200 = ModelSpec("IForest", {"n_estimators": 200})

REFERENCE_MODELS = (
    ModelSpec.parse(DEFAULT_FOREST),
    ModelSpec("LOF"),
    _IFOREST_200,
    average_of(_IFOREST_200, ModelSpec("KNN", {"n_neighbors": 50, "method": "largest"})),
    average_of(
        _IFOREST_200,
        ModelSpec("KNN", {"n_neighbors": 100, "method": "largest"}),
        ModelSpec("OCSVM", {"kernel": "rbf", "nu": 0.9}),
    ),
)
"""PyOD's default iForest and LOF, a larger forest, and two fixed averages."""


@dataclass(frozen=True)
class MegaEnsemble:
    """The paper's Mega Ensemble: the mean of the standardised scores of all models of a space.

    Members without scores are left out of the mean.
    """

    space: str
    members: tuple[ModelSpec, ...]

    @property
    def spec(self) -> ModelSpec:
        """Its id, as of a model."""
        return ModelSpec("MegaEnsemble", {"space": self.space})

    @property
    def is_random(self) -> bool:
        """Whether any member needs a seed."""
        return any(member.is_random for member in self.members)


class _MemberScores(ABC):
    """What is made of members' scores, which are added as they come."""

    def __init__(self, members: Iterable[ModelSpec], trials: int) -> None:
        self.members = frozenset(members)
        self._trials = trials
        self._missing: dict[tuple[ModelSpec, int], Scored] = {}
        self._seconds: dict[ModelSpec, float] = {}

    def add(self, scored: Scored) -> None:
        """Add one member's scores in one trial, or that it has none; ignore any other model's."""
        if scored.spec not in self.members:
            return
        if scored.trial == 0:
            self._seconds[scored.spec] = scored.seconds
        if scored.scores is None:
            self._missing[scored.spec, scored.trial] = scored
            return
        scale = ScoreScale.of(scored.scores, where=scored.spec.id)
        self._keep(scored.spec, scored.trial, scored.scores, scale)

    @abstractmethod
    def _keep(self, spec: ModelSpec, trial: int, scores: Scores, scale: ScoreScale) -> None:
        """Keep what is needed of a member's scores."""


class MegaScores(_MemberScores):
    """The scores of a Mega Ensemble, whose members' scores are summed as they come.

    The order in which they come changes the last bits of the sum; measures round scores.
    """

    def __init__(self, ensemble: MegaEnsemble, trials: int) -> None:
        super().__init__(ensemble.members, trials if ensemble.is_random else 1)
        self._ensemble = ensemble
        self._sums: dict[int | None, Scores] = {}  # by trial; None: members that are not random

    def _keep(self, spec: ModelSpec, trial: int, scores: Scores, scale: ScoreScale) -> None:
        key = trial if spec.is_random else None
        self._sums[key] = self._sums.get(key, 0.0) + scale.standardised(scores)

    def scored(self) -> Iterator[Scored]:
        """Yield its scores, after all members were added."""
        spec, members = self._ensemble.spec, self._ensemble.members
        seconds = sum(self._seconds.values())
        for trial in range(self._trials):
            missing = self._missing.values()
            lost = [s for s in missing if not s.spec.is_random or s.trial == trial]
            parts = [self._sums[key] for key in (None, trial) if key in self._sums]
            if not parts:
                first = min(lost, key=lambda item: members.index(item.spec))
                reason = f"{first.spec}: {first.reason}"
                yield Scored(spec, trial, first.state, None, seconds, reason)
                continue
            reason = f"without {len(lost)} of {len(members)} models" if lost else ""
            scores: Scores = np.sum(parts, axis=0) / (len(members) - len(lost))
            yield Scored(spec, trial, CellState.OK, scores, seconds, reason)


class AverageScores(_MemberScores):
    """Keeps the members' scores and averages them as :class:`~metaod.models.AverageDetector`."""

    def __init__(self, averages: Iterable[ModelSpec], trials: int) -> None:
        self._averages = tuple(dict.fromkeys(averages))
        super().__init__(chain.from_iterable(item.members for item in self._averages), trials)
        self._kept: dict[tuple[ModelSpec, int], Scores] = {}

    def _keep(self, spec: ModelSpec, trial: int, scores: Scores, scale: ScoreScale) -> None:
        self._kept[spec, trial] = scale.tempered(scores)

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


def evaluate_models(
    X: Matrix,
    y: npt.NDArray[np.int8],
    specs: Iterable[ModelSpec],
    *,
    trials: int = 5,
    budget: Budget | None = None,
    ensemble: MegaEnsemble | None = None,
    fixed: npt.NDArray[np.bool_] | None = None,
) -> Iterator[Evaluation]:
    """Score the models on one table and measure each against the labels.

    Parameters
    ----------
    X : ndarray of float
        The prepared table.
    y : ndarray of {0, 1}
        Its labels; both values must occur.
    specs : iterable of ModelSpec
        The models, and averages of models; members of averages need not be among them.
    trials : int, default=5
        Trials of a random model; trial t uses seed t.
    budget : Budget, optional
        The time and memory that one cell may take.
    ensemble : MegaEnsemble, optional
        Evaluated from the same scores.
    fixed : ndarray of bool, optional
        Columns in fixed units: ``PreparedTable.fixed``.

    Yields
    ------
    Evaluation
        One for each model and trial, in any order.
    """
    labels = np.ascontiguousarray(y, dtype=np.int8)
    wanted = dict.fromkeys(specs)
    averages = AverageScores((spec for spec in wanted if spec.is_average), trials)
    mega = None if ensemble is None else MegaScores(ensemble, trials)
    members = (*(ensemble.members if ensemble else ()), *sorted(averages.members))
    models = dict.fromkeys([*(spec for spec in wanted if not spec.is_average), *members])
    limits = budget or Budget()
    for scored in score_models(X, models, trials=trials, budget=limits, fixed=fixed):
        averages.add(scored)
        if mega is not None:
            mega.add(scored)
        if scored.spec in wanted:
            yield evaluation_of(scored, labels, seeded=scored.spec.is_random)
    for scored in averages.scored():
        yield evaluation_of(scored, labels, seeded=scored.spec.is_random)
    if ensemble is not None and mega is not None:
        for scored in mega.scored():
            yield evaluation_of(scored, labels, seeded=ensemble.is_random)


def evaluation_of(scored: Scored, y: npt.NDArray[np.int8], *, seeded: bool) -> Evaluation:
    """Measure a model's scores in one trial against the labels."""
    measures = {}
    if scored.state == CellState.OK and scored.scores is not None:
        measures = measure(y, scored.scores)._asdict()
    return Evaluation(
        scored.spec.id,
        scored.trial,
        scored.state,
        **measures,
        seconds=scored.seconds,
        seed=scored.trial if seeded else None,
        reason=scored.reason,
    )
