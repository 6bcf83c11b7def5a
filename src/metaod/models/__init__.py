"""Models (detector, hyperparameters, scaling), model spaces, and scoring of many models at once."""

from typing import TYPE_CHECKING, Any

from metaod.models._arrays import Matrix, Scores
from metaod.models._averages import (
    COMMITTEE,
    REPRESENTATIVES,
    average_of,
    candidate_averages,
    is_average,
    member_ids,
    members_of,
    title_of,
)
from metaod.models._compiled import Compilation, compilation, njit
from metaod.models._costs import (
    Cost,
    CostLaw,
    expected_costs,
    expected_scoring,
    learned_rows,
    total_cost,
    why_too_costly,
)
from metaod.models._family import (
    ALL_ROWS_UP_TO,
    FEW_ROWS,
    MANY_ROWS,
    Family,
    Settings,
    family,
    register_family,
    registered_families,
    unregister_family,
)
from metaod.models._isolation_trees import grow_trees, leaf_numbers
from metaod.models._model_id import DEFAULT_SCALING, Value
from metaod.models._neighbours import NeighbourRun, NeighbourScores, run_neighbours
from metaod.models._parameters import check_contamination, check_n_jobs
from metaod.models._scaling import fit_scaling
from metaod.models._score_scale import REPAIRABLE, ScoreScale
from metaod.models._scoring import Budget, CellState, Mode, Scored, SharedScorer, score_models
from metaod.models._search import Neighbours
from metaod.models._spaces import SPACES, model_space, specs_of
from metaod.models._spec import ModelSpec
from metaod.models.families.ecod import ECODRun, run_ecod
from metaod.models.families.hbos import HBOSRun, run_hbos
from metaod.models.families.iforest import IForestRun, run_iforest
from metaod.models.families.knn import run_knn
from metaod.models.families.loda import N_BINS, N_CUTS, LODARun, run_loda
from metaod.models.families.lof import lof_scores, run_lof
from metaod.models.families.pca import N_COMPONENTS, PCARun, leading_components, run_pca

if TYPE_CHECKING:
    from metaod.models._detector import AverageDetector, SpecDetector, UndefinedScores

__all__ = [
    "ALL_ROWS_UP_TO", "COMMITTEE", "DEFAULT_SCALING", "FEW_ROWS", "MANY_ROWS", "N_BINS",
    "N_COMPONENTS", "N_CUTS", "REPAIRABLE", "REPRESENTATIVES", "SPACES", "AverageDetector",
    "Budget", "CellState", "Compilation", "Cost", "CostLaw", "ECODRun", "Family", "HBOSRun",
    "IForestRun", "LODARun", "Matrix", "Mode", "ModelSpec", "NeighbourRun", "NeighbourScores",
    "Neighbours", "PCARun", "ScoreScale", "Scored", "Scores", "Settings", "SharedScorer",
    "SpecDetector", "UndefinedScores", "Value", "average_of", "candidate_averages",
    "check_contamination", "check_n_jobs", "compilation", "expected_costs", "expected_scoring",
    "family", "fit_scaling", "grow_trees", "is_average", "leading_components", "leaf_numbers",
    "learned_rows", "lof_scores", "member_ids", "members_of", "model_space", "njit",
    "register_family", "registered_families", "run_ecod", "run_hbos", "run_iforest", "run_knn",
    "run_loda", "run_lof", "run_neighbours", "run_pca", "score_models", "specs_of", "title_of",
    "total_cost", "unregister_family", "why_too_costly",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("AverageDetector", "SpecDetector", "UndefinedScores"):
        from metaod.models import _detector  # noqa: PLC0415 - needs PyOD, which is slow to import

        return getattr(_detector, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
