"""PyOD 3's rule: kNN for small, narrow tables, iForest for all others."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.learners import Learner, OnStep, Shape
from metaod.learners._training import Training
from metaod.models import Matrix, ModelSpec
from research.learners.performance import mean_performance

_ROWS, _COLUMNS = 5_000, 20
# PyOD's defaults of the hyperparameters in model ids
_DEFAULTS: dict[str, dict[str, Any]] = {
    "KNN": {"n_neighbors": 5, "method": "largest", "metric": "minkowski", "p": 2},
    "IForest": {"n_estimators": 100, "max_features": 1.0, "max_samples": "auto"},
}


@dataclass
class PyODRule(Learner):
    """Picks as PyOD 3's ``ADEngine`` does for tabular data without a priority.

    With fewer than 20 columns and 5,000 rows the pick is ``KNN()`` (5 neighbours, the largest
    distance), otherwise, or if a size is unknown, ``IForest()`` (100 trees, all features in each,
    at most 256 rows for each). Sizes are the meta-features ``n_rows`` and ``n_columns``.

    Only a column of P with a value can be picked. If ``KNN()`` or ``IForest()`` has none, the pick
    is the column of that detector with the nearest hyperparameters: the smallest sum of
    ``|log(value / default)|`` for numbers and 1 for other differences (in the paper's 302,
    ``IForest(n_estimators=100, max_features=0.9)``). Columns of another scaling come last. If P has
    no column of the detector, the model with the best mean performance is picked.

    The pick scores 1; the other models are ordered by their mean performance within [0, 1).
    """

    name: ClassVar[str] = "pyod_rule"
    title: ClassVar[str] = "PyOD rule"
    summary: ClassVar[str] = "PyOD 3's rule: kNN below 20 columns and 5,000 rows, else iForest"
    learned: ClassVar[Mapping[str, Any]] = {
        "small": Shape("m"),
        "other": Shape("m"),
    }

    def _fit(self, training: Training, progress: OnStep) -> None:  # noqa: ARG002 - protocol
        for feature in ("n_rows", "n_columns"):
            if feature not in training.features:
                legal = "meta-features that include n_rows and n_columns"
                raise BadParameter("PyODRule", "M", legal, f"no {feature}")
        from scipy.stats import rankdata  # noqa: PLC0415 - slow to import; only for fitting

        known = np.asarray(~np.isnan(training.P).all(axis=0))
        means = np.where(known, mean_performance(training.P), -np.inf)
        others = (rankdata(means) - 1) / len(means)
        self.small_ = _with_pick(others, _pick("KNN", training.models, known))
        self.other_ = _with_pick(others, _pick("IForest", training.models, known))

    def _predict(self, M: Matrix) -> Matrix:
        n_rows, n_columns = (M[:, self.features_.index(name)] for name in ("n_rows", "n_columns"))
        # comparisons with NaN are false
        small = (n_columns < _COLUMNS) & (n_rows < _ROWS)
        return np.where(small[:, None], self.small_, self.other_)

    def _check_learned(self) -> None:
        if not {"n_rows", "n_columns"} <= set(self.features_):
            raise ValueError("n_rows or n_columns is not among the features")


def _with_pick(others: Matrix, pick: int | None) -> Matrix:
    scores = others.copy()
    if pick is not None:
        scores[pick] = 1.0
    return scores


def _pick(detector: str, models: tuple[str, ...], known: npt.NDArray[np.bool_]) -> int | None:
    """Return the index of the model nearest to PyOD's default, or None without such a detector."""
    found = []
    for index in np.flatnonzero(known):
        try:
            spec = ModelSpec.parse(models[index])
        except BadParameter:
            # columns of P need not be model ids
            continue
        if spec.detector == detector:
            found.append((spec.scaling != "zscore", _distance(spec), models[index], index))
    return int(min(found)[-1]) if found else None


def _distance(spec: ModelSpec) -> float:
    defaults = _DEFAULTS[spec.detector]
    total = 0.0
    for name, value in spec.equivalence.params:
        default = defaults.get(name)
        if isinstance(value, int | float) and isinstance(default, int | float) and value > 0:
            total += abs(log(value / default))
        elif value != default:
            total += 1.0
    return total
