"""Models (detector, hyperparameters, scaling), model spaces, and scoring of many models at once."""

from typing import TYPE_CHECKING, Any

import metaod.models.families  # noqa: F401 - registers the package's own families
from metaod.models._arrays import Compilation, Matrix, Scores, compilation, njit
from metaod.models._costs import Cost, expected_costs, expected_scoring
from metaod.models._estimator import check_contamination, check_n_jobs
from metaod.models._family import (
    family,
    register_family,
    registered_families,
    unregister_family,
)
from metaod.models._model_id import DEFAULT_SCALING, Value
from metaod.models._scaling import ScoreScale, fit_scaling
from metaod.models._scoring import Budget, CellState, Mode, Scored, score_models
from metaod.models._spec import (
    COMMITTEE,
    SPACES,
    ModelSpec,
    average_of,
    candidate_averages,
    member_ids,
    model_space,
    specs_of,
)

if TYPE_CHECKING:
    from metaod.models._detector import AverageDetector, SpecDetector

REPAIRABLE = ScoreScale.REPAIRABLE
total_cost = Cost.total
why_too_costly = Cost.why_over
learned_rows = ModelSpec.learned_rows


def is_average(spec: ModelSpec) -> bool:
    """Return whether the model is an average of others."""
    return spec.is_average


def members_of(spec: ModelSpec) -> tuple[ModelSpec, ...]:
    """Return the models that an average combines; any other model is its own only member."""
    return spec.members


def title_of(model: str) -> str:
    """Return the ids of an average's members joined by " + "; of any other model, its own id."""
    return " + ".join(member_ids(model))


__all__ = [
    "COMMITTEE", "DEFAULT_SCALING", "REPAIRABLE", "SPACES", "AverageDetector", "Budget",
    "CellState", "Compilation", "Cost", "Matrix", "Mode", "ModelSpec", "ScoreScale", "Scored",
    "Scores", "SpecDetector", "Value", "average_of", "candidate_averages", "check_contamination",
    "check_n_jobs", "compilation", "expected_costs", "expected_scoring", "family", "fit_scaling",
    "is_average", "learned_rows", "member_ids", "members_of", "model_space", "njit",
    "register_family", "registered_families", "score_models", "specs_of", "title_of", "total_cost",
    "unregister_family", "why_too_costly",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("AverageDetector", "SpecDetector"):
        from metaod.models import _detector  # noqa: PLC0415 - needs PyOD, which is slow to import

        return getattr(_detector, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
