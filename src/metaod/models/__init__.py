"""Models (detector, hyperparameters, scaling), model spaces, and scoring of many models at once."""

from typing import TYPE_CHECKING

from metaod._lazy import exports
from metaod.models._arrays import Matrix, Scores, compilation, njit
from metaod.models._costs import Cost, expected_costs, expected_scoring
from metaod.models._family import ALL_ROWS_UP_TO, Family
from metaod.models._registry import (
    family,
    find_family,
    register_family,
    registered_families,
    unregister_family,
)
from metaod.models._scaling import ScoreScale, fit_scaling
from metaod.models._scoring import Budget, CellState, Scored, score_models
from metaod.models._spec import (
    COMMITTEE,
    SPACES,
    ModelSpec,
    average_of,
    candidate_averages,
    member_ids,
    model_space,
)

if TYPE_CHECKING:
    from metaod.models._detector import AverageDetector, SpecDetector
    from metaod.models._isolation_forests import uniform

__all__ = [
    "ALL_ROWS_UP_TO", "COMMITTEE", "SPACES", "AverageDetector", "Budget", "CellState", "Cost",
    "Family", "Matrix", "ModelSpec", "ScoreScale", "Scored", "Scores", "SpecDetector",
    "average_of", "candidate_averages", "compilation",
    "expected_costs", "expected_scoring", "family", "find_family", "fit_scaling", "member_ids",
    "model_space", "njit", "register_family", "registered_families", "score_models",
    "uniform", "unregister_family",
]  # fmt: skip

# needs PyOD, which is slow to import
__getattr__ = exports(__name__)
