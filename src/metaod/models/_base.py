"""What a shared-computation kernel takes and gives.

A kernel serves many specs of one or more families from one computation on one scaled matrix: one
neighbour search for every kNN, LOF, COF and ABOD; one nested forest for every iForest size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from metaod.models._spec import ModelSpec

__all__ = ["Budget", "CellState", "Kernel", "Matrix", "Mode", "Scored", "Scores"]

Matrix = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float64]


class Mode(StrEnum):
    """How faithful to PyOD's own bits a kernel must be."""

    FAST = "fast"
    """Deterministic detectors as PyOD's; random ones equal to PyOD's in distribution."""
    EXACT = "exact"
    """What the PyOD detector with that seed gives, to 1e-9, where PyOD itself is reproducible."""


class CellState(StrEnum):
    """How the attempt to score one model on one table ended."""

    OK = "ok"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    OVER_BUDGET = "over budget"


@dataclass(frozen=True)
class Budget:
    """What one cell may cost; a model foreseen to cost more is skipped, not started.

    Parameters
    ----------
    seconds : float
        Time for one model on one table, one trial, on one core.
    bytes : int
        Memory beyond the table itself.
    """

    seconds: float = 60.0
    bytes: int = 2 * 2**30


@dataclass(frozen=True)
class Scored:
    """The scores of one model in one trial, or why there are none.

    Parameters
    ----------
    spec : ModelSpec
        The model.
    trial : int
        Trial t uses seed t; a model that is not random has the one trial 0.
    state : CellState
        How it ended.
    scores : ndarray of float or None
        Scores of the rows, higher is more outlying; None unless the state is ok.
    seconds : float
        What the model alone would have taken here: the shared step once, and its own.
    reason : str
        Why there are no scores; or a repair that was made to them, or what they were computed from
        where that is not the whole table.
    """

    spec: ModelSpec
    trial: int
    state: CellState
    scores: Scores | None = None
    seconds: float = 0.0
    reason: str = ""


class Kernel(Protocol):
    """Serves many specs from one computation on one scaled matrix."""

    families: frozenset[str]

    def serves(self, spec: ModelSpec) -> bool:
        """Whether the kernel computes that very spec, all hyperparameters considered."""

    def score(
        self,
        X: Matrix,
        specs: Sequence[ModelSpec],
        *,
        trials: int,
        mode: Mode,
        budget: Budget,
    ) -> Iterator[Scored]:
        """Score the specs, all of which it serves and which apply to the table's size.

        ``X`` is scaled already: finite, float64, C-ordered, no constant column. A random model
        comes out ``trials`` times, one with each seed 0 ... trials - 1; any other once. Scores are
        given out one by one, so that the caller can drop each before the next is made.
        """
