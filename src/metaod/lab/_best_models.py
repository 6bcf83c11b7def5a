"""Which model, counted from the best of each dataset, a method is as good as."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaod.lab._statistics import LEVEL, Alternative, wilcoxon_p

__all__ = ["MatchingModel", "best_first", "matching_model"]


@dataclass(frozen=True)
class MatchingModel:
    """The q-th best model of each dataset that a method does not significantly differ from.

    Parameters
    ----------
    q : int or None
        1 is the best model of each dataset; None where the method differs from all.
    p : float
        The p-value there.
    mean : float
        Mean performance of the q-th best models.
    """

    q: int | None
    p: float
    mean: float


def best_first(P: pd.DataFrame) -> pd.DataFrame:
    """Every dataset's performances, the best first: column q is the q-th best, from 1.

    Examples
    --------
    >>> best_first(pd.DataFrame({"a": [0.1], "b": [0.3], "c": [float("nan")]})).iloc[0].tolist()
    [0.3, 0.1, nan]
    """
    values = P.to_numpy(dtype=np.float64)
    ordered = -np.sort(-values, axis=1)  # NaN stays last
    return pd.DataFrame(ordered, index=P.index, columns=range(1, values.shape[1] + 1))


def matching_model(
    performance: npt.ArrayLike, ordered: pd.DataFrame, alternative: Alternative = "two-sided"
) -> MatchingModel:
    """Find the smallest q whose q-th best models do not differ significantly from a method.

    Parameters
    ----------
    performance : array-like of shape (n_datasets,)
        The method's.
    ordered : DataFrame of shape (n_datasets, n_models)
        What :func:`best_first` gives, for the same datasets.
    alternative : {"two-sided", "less"}, default="two-sided"
        "two-sided" as in the paper; "less" asks whether the method is worse, and nothing else.

    Notes
    -----
    Datasets with fewer than q models that have a performance take no part at q.
    """
    method = np.asarray(performance, dtype=np.float64)
    for q in ordered.columns:
        model = ordered[q].to_numpy(dtype=np.float64)
        there = ~np.isnan(model)
        if not there.any():
            break
        p = wilcoxon_p(method[there], model[there], alternative)
        if p >= LEVEL:
            return MatchingModel(int(q), p, float(model[there].mean()))
    return MatchingModel(None, float("nan"), float("nan"))
