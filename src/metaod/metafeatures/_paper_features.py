"""The schema of the paper: its table of meta-features, and its four landmarkers."""

import math

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._column_statistics import COLUMN_FEATURES, column_values, describe_columns
from metaod.metafeatures._landmarker_features import LANDMARKER_FEATURES, landmarker_values
from metaod.metafeatures._landmarker_runs import LandmarkerRuns
from metaod.metafeatures._pair_statistics import PAIR_FEATURES, pair_values
from metaod.metafeatures._sample_statistics import SAMPLE_FEATURES, sample_values
from metaod.metafeatures._schema import Feature

__all__ = ["PAPER_FEATURES", "paper_values"]

_SIZE_FEATURES = (
    Feature("n_rows", "size", "number of rows", "n", scale_free=True),
    Feature("n_columns", "size", "number of columns, prepared", "p", scale_free=True),
    Feature("columns_per_row", "size", "columns over rows", "p / n", scale_free=True),
    Feature("log_n_rows", "size", "logarithm of the number of rows", "log(n)", scale_free=True),
    Feature(
        "log_rows_per_column", "size", "logarithm of rows over columns", "log(n / p)",
        scale_free=True,
    ),
    Feature(
        "log_n_columns", "size", "logarithm of the number of columns", "log(p)", scale_free=True
    ),
    Feature(
        "categorical_share", "size",
        "share of the columns, before preparation, that hold categories or text; 0 for a matrix",
        "categorical columns / columns", scale_free=True,
    ),
)  # fmt: skip

PAPER_FEATURES: tuple[Feature, ...] = (
    *_SIZE_FEATURES,
    *SAMPLE_FEATURES,
    *COLUMN_FEATURES,
    *PAIR_FEATURES,
    *LANDMARKER_FEATURES,
)


def paper_values(runs: LandmarkerRuns, categorical_share: float) -> npt.NDArray[np.float64]:
    """Compute the paper's features of a table, in the order of `PAPER_FEATURES`.

    What does not fit into a floating-point number is NaN, as is what is undefined.

    Parameters
    ----------
    runs : LandmarkerRuns
        The table, and what landmarkers have been run on it.
    categorical_share : float
        Share of the columns that held categories or text before preparation.
    """
    X = runs.X
    n, p = X.shape
    columns = describe_columns(X)
    by_name = {
        "n_rows": n,
        "n_columns": p,
        "columns_per_row": p / n,
        "log_n_rows": math.log(n),
        "log_rows_per_column": math.log(n / p),
        "log_n_columns": math.log(p),
        "categorical_share": categorical_share,
        **sample_values(X),
        **column_values(columns),
        **pair_values(X, columns),
        **landmarker_values(runs),
    }
    values = np.array([by_name[feature.name] for feature in PAPER_FEATURES], dtype=np.float64)
    values[np.isinf(values)] = np.nan
    return values
