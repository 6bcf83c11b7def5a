"""Evaluation of models on one labelled table: score, then measure against the labels."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from metaod._version import __version__
from metaod.errors import BadParameter
from metaod.history._metrics import MEASURES, measure
from metaod.history._references import AverageScores, Reference, ReferenceMean
from metaod.models import Budget, CellState, Matrix, ModelSpec, Scored, score_models

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
        for name in MEASURES:
            value = getattr(self, name)
            ok = self.state == CellState.OK
            if not (0.0 <= value <= 1.0 if ok else math.isnan(value)):
                legal = "in [0, 1]" if ok else "NaN, as there is no such figure"
                raise BadParameter("Evaluation", name, legal, value)


def evaluate_models(
    X: Matrix,
    y: npt.NDArray[np.int8],
    specs: Iterable[ModelSpec],
    *,
    trials: int = 5,
    budget: Budget | None = None,
    references: Sequence[Reference] = (),
    keep: Callable[[Scored], None] | None = None,
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
    references : sequence of Reference, optional
        Reference models, evaluated from the same scores.
    keep : callable, optional
        Called with each model's scores before they are dropped.
    fixed : ndarray of bool, optional
        Columns in fixed units: ``PreparedTable.fixed``.

    Yields
    ------
    Evaluation
        One for each model and trial, in any order.
    """
    labels = np.ascontiguousarray(y, dtype=np.int8)
    wanted = dict.fromkeys(specs)
    others = [ReferenceMean(item, trials) for item in references if not item.spec.is_average]
    candidates = [*wanted, *(item.spec for item in references)]
    averages = AverageScores((spec for spec in candidates if spec.is_average), trials)
    models = [spec for spec in wanted if not spec.is_average]
    members = [*chain.from_iterable(item.reference.members for item in others)]
    members += sorted(averages.members)
    everything = list(dict.fromkeys([*models, *members]))
    limits = budget or Budget()
    for scored in score_models(X, everything, trials=trials, budget=limits, fixed=fixed):
        averages.add(scored)
        for item in others:
            item.add(scored)
        if scored.spec in wanted:
            if keep is not None:
                keep(scored)
            yield evaluation_of(scored, labels, seeded=scored.spec.is_random)
    combined = chain(
        ((scored, item.reference.is_random) for item in others for scored in item.scored()),
        ((scored, scored.spec.is_random) for scored in averages.scored()),
    )
    for scored, seeded in combined:
        if keep is not None:
            keep(scored)
        yield evaluation_of(scored, labels, seeded=seeded)


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
