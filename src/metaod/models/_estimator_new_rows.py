"""What every detector of ours demands of rows that it was not fitted on."""

from typing import Any

import numpy as np
import numpy.typing as npt
from pyod.models.base import BaseDetector
from sklearn.utils.validation import check_array, check_is_fitted

from metaod.errors import BadParameter

__all__ = ["check_new_rows"]


def check_new_rows(detector: BaseDetector, X: Any) -> npt.NDArray[np.float64]:
    """The rows as a C-ordered matrix, with as many columns as the detector was fitted on."""
    check_is_fitted(detector, ["decision_scores_", "n_features_in_"])
    rows: npt.NDArray[np.float64] = check_array(X, dtype=np.float64, order="C")
    if rows.shape[1] != detector.n_features_in_:
        legal = f"a matrix of {detector.n_features_in_} columns"
        raise BadParameter(type(detector).__name__, "X", legal, f"one of {rows.shape[1]} columns")
    return rows
