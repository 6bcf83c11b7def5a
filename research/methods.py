"""The methods under comparison, and the bounds that are read from the performance matrix."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from metaod.errors import BadParameter

Category = Literal["no selection", "simple", "optimisation", "reference"]
Testbed = Literal["poc", "st"]


@dataclass(frozen=True)
class Method:
    """A way to choose a model, or a fixed model to compare with."""

    key: str  # in result files
    title: str  # in tables and figures
    category: Category  # the paper's; a reference uses information that no selection has
    learner: str | None = None  # name of the learner, if it is one
    reference: str | None = None  # id of the reference model, if it is one
    # id of the model used on datasets where `reference` has no performance, because a member of
    # the average does not apply or is over budget
    stand_in: str | None = None
    in_paper: bool = True
    testbed: Testbed | None = None  # the only testbed that it applies to; None for both


_KNN_50 = "KNN(n_neighbors=50, method=largest)"
_KNN_100 = "KNN(n_neighbors=100, method=largest)"
_FOREST = "IForest(n_estimators=200)"
_FOREST_KNN = f'ZAverage(members="{_FOREST} + {_KNN_50}")'
_THREE = f'ZAverage(members="{_FOREST} + {_KNN_100} + OCSVM(kernel=rbf, nu=0.9)")'

METHODS: tuple[Method, ...] = (
    Method("lof", "LOF", "no selection", reference="LOF()"),
    Method("iforest", "iForest", "no selection", reference="IForest()"),
    Method("mega_ensemble", "ME", "no selection", reference="MegaEnsemble(space=paper)"),
    Method("global_best", "GB", "simple", learner="global_best"),
    Method("isac", "ISAC", "simple", learner="isac"),
    Method("argosmart", "AS", "simple", learner="argosmart"),
    Method("supervised_surrogates", "SS", "optimisation", learner="supervised_surrogates"),
    Method("alors", "ALORS", "optimisation", learner="alors"),
    Method("metaod_c", "MetaOD_C", "optimisation", learner="metaod_c"),
    Method("metaod_f", "MetaOD_F", "optimisation", learner="metaod_f"),
    Method("metaod", "MetaOD", "optimisation", learner="metaod"),
    Method("eub", "EUB", "reference", testbed="poc"),
    Method("random_selection", "RS", "no selection", learner="random_selection", testbed="st"),
    # ours
    Method(
        "metaod_released", "MetaOD, released", "optimisation", "metaod_released", in_paper=False
    ),
    Method("global_best_rank", "GB-rank", "simple", learner="global_best_rank", in_paper=False),
    Method("squared_error", "SE-MF", "optimisation", learner="squared_error", in_paper=False),
    Method("pyod_rule", "PyOD rule", "no selection", learner="pyod_rule", in_paper=False),
    Method("forest_knn", "iF+kNN", "no selection", None, _FOREST_KNN, _FOREST, in_paper=False),
    Method(
        "forest_knn_ocsvm", "iF+kNN+SVM", "no selection", None, _THREE, _FOREST_KNN, in_paper=False
    ),
    Method("oracle", "Oracle", "reference", in_paper=False),
)
"""All methods, in the paper's order: its eleven, EUB (POC only), RS (ST only), then ours."""

_NEEDED = (name for item in METHODS for name in (item.reference, item.stand_in))
REFERENCE_MODELS = tuple(dict.fromkeys(name for name in _NEEDED if name is not None))

_BY_KEY = {item.key: item for item in METHODS}


def method(key: str) -> Method:
    if key not in _BY_KEY:
        raise BadParameter("method", "key", sorted(_BY_KEY), key)
    return _BY_KEY[key]


def paper_methods(keys: Iterable[str]) -> list[str]:
    """Return the keys of methods that the paper compares, in the order given."""
    return [key for key in keys if method(key).in_paper]


def oracle(P: pd.DataFrame) -> pd.DataFrame:
    """Return ``pick`` and ``ap`` of the best model of each dataset, known only with hindsight."""
    return _picked(P, P)


def empirical_upper_bound(P: pd.DataFrame, mothersets: pd.Series) -> pd.DataFrame:
    """Return ``pick`` and ``ap`` of EUB: of the best model on average over the siblings."""
    mothersets = mothersets.reindex(P.index)
    sizes = mothersets.map(mothersets.value_counts())
    if mothersets.isna().any() or (mothersets == "").any() or (sizes < 2).any():
        raise BadParameter(
            "empirical_upper_bound", "mothersets", "given for all, with siblings", mothersets.name
        )
    known = P.notna()
    total = P.fillna(0.0).groupby(mothersets).transform("sum") - P.fillna(0.0)
    count = known.groupby(mothersets).transform("sum") - known
    return _picked(P, total / count.where(count > 0))


def random_selection(P: pd.DataFrame) -> pd.DataFrame:
    """Return ``ap`` of RS: the expected performance of a model drawn uniformly."""
    return pd.DataFrame({"ap": P.mean(axis=1)})


def _picked(P: pd.DataFrame, estimate: pd.DataFrame) -> pd.DataFrame:
    """Pick the model with the largest estimate among those with a performance; ties go by id."""
    order = sorted(P.columns)
    reached = P[order].to_numpy(dtype=np.float64)
    expected = estimate[order].to_numpy(dtype=np.float64)
    expected = np.where(np.isnan(expected) | np.isnan(reached), -np.inf, expected)
    first = expected.argmax(axis=1)
    rows = np.arange(len(P))
    found = np.isfinite(expected[rows, first])
    picks = np.where(found, np.array(order, dtype=object)[first], "")
    values = np.where(found, reached[rows, first], np.nan)
    return pd.DataFrame({"pick": picks, "ap": values}, index=P.index)
