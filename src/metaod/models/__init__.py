"""Models (detector, hyperparameters, scaling), model spaces, and scoring of many models at once."""

from typing import TYPE_CHECKING, Any

from metaod.models._averages import average_of, is_average, member_ids, members_of, title_of
from metaod.models._base import Budget, CellState, Matrix, Mode, Scored, Scores
from metaod.models._components import leading_components
from metaod.models._contamination import check_contamination
from metaod.models._costs import Cost, expected_costs, together, why_too_costly
from metaod.models._family import (
    Family,
    family,
    register_family,
    registered_families,
    unregister_family,
)
from metaod.models._representatives import COMMITTEE, REPRESENTATIVES, candidate_averages
from metaod.models._scaling import fit_scaling
from metaod.models._scoring import score_models
from metaod.models._search import Neighbours
from metaod.models._spaces import SPACES, model_space, specs_of
from metaod.models._spec import DEFAULT_SCALING, ModelSpec, Value
from metaod.models._standardising import CLIP, ScoreScale
from metaod.models.families.ecod_landmarker import ECODRun, run_ecod
from metaod.models.families.hbos_landmarker import HBOSRun, run_hbos
from metaod.models.families.iforest_landmarker import IForestRun, run_iforest
from metaod.models.families.loda_landmarker import N_BINS, N_CUTS, LODARun, run_loda
from metaod.models.families.lof import lof_scores
from metaod.models.families.neighbours_landmarker import (
    KNNRun,
    LOFRun,
    NeighbourRun,
    run_knn,
    run_lof,
    run_neighbours,
)
from metaod.models.families.pca_landmarker import N_COMPONENTS, PCARun, run_pca

if TYPE_CHECKING:
    from metaod.models._averaging import AverageDetector
    from metaod.models._detector import SpecDetector, UndefinedScores, check_n_jobs

__all__ = [
    "CLIP",
    "COMMITTEE",
    "DEFAULT_SCALING",
    "N_BINS",
    "N_COMPONENTS",
    "N_CUTS",
    "REPRESENTATIVES",
    "SPACES",
    "AverageDetector",
    "Budget",
    "CellState",
    "Cost",
    "ECODRun",
    "Family",
    "HBOSRun",
    "IForestRun",
    "KNNRun",
    "LODARun",
    "LOFRun",
    "Matrix",
    "Mode",
    "ModelSpec",
    "NeighbourRun",
    "Neighbours",
    "PCARun",
    "ScoreScale",
    "Scored",
    "Scores",
    "SpecDetector",
    "UndefinedScores",
    "Value",
    "average_of",
    "candidate_averages",
    "check_contamination",
    "check_n_jobs",
    "expected_costs",
    "family",
    "fit_scaling",
    "is_average",
    "leading_components",
    "lof_scores",
    "member_ids",
    "members_of",
    "model_space",
    "register_family",
    "registered_families",
    "run_ecod",
    "run_hbos",
    "run_iforest",
    "run_knn",
    "run_loda",
    "run_lof",
    "run_neighbours",
    "run_pca",
    "score_models",
    "specs_of",
    "title_of",
    "together",
    "unregister_family",
    "why_too_costly",
]


def __getattr__(name: str) -> Any:
    # these names need PyOD, which is slow to import
    if name == "AverageDetector":
        from metaod.models import _averaging  # noqa: PLC0415 - needs PyOD

        return getattr(_averaging, name)
    if name in ("SpecDetector", "UndefinedScores", "check_n_jobs"):
        from metaod.models import _detector  # noqa: PLC0415 - needs PyOD

        return getattr(_detector, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
