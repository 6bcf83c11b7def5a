"""Methods that are read from the performance matrix: Oracle, EUB and RS."""

import numpy as np
import pandas as pd

from metaod.errors import BadParameter

__all__ = ["empirical_upper_bound", "oracle", "random_selection"]


def oracle(P: pd.DataFrame) -> pd.DataFrame:
    """The best model of each dataset, known with hindsight alone.

    Parameters
    ----------
    P : DataFrame of shape (n_datasets, n_models)
        Performance; NaN where a model has none.

    Returns
    -------
    DataFrame
        ``pick`` and ``ap`` by dataset.

    Examples
    --------
    >>> oracle(pd.DataFrame({"a": [0.1, 0.5], "b": [0.3, None]}))["pick"].tolist()
    ['b', 'a']
    """
    return _picked(P, P)


def empirical_upper_bound(P: pd.DataFrame, mothersets: pd.Series) -> pd.DataFrame:
    """EUB: for a childset the model with the best mean performance over its siblings.

    Parameters
    ----------
    P : DataFrame of shape (n_datasets, n_models)
        Performance; NaN where a model has none.
    mothersets : Series
        The motherset of each dataset.

    Returns
    -------
    DataFrame
        ``pick`` and ``ap`` by dataset. A model without performance on the childset itself cannot
        be picked for it.
    """
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
    """RS: the expected performance of a model drawn uniformly.

    Returns
    -------
    DataFrame
        ``ap`` by dataset, the mean over the models that have one.
    """
    return pd.DataFrame({"ap": P.mean(axis=1)})


def _picked(P: pd.DataFrame, estimate: pd.DataFrame) -> pd.DataFrame:
    """The usable model with the largest estimate, the first by id among equals."""
    order = sorted(P.columns)
    reached = P[order].to_numpy(dtype=np.float64)
    hoped = estimate[order].to_numpy(dtype=np.float64)
    hoped = np.where(np.isnan(hoped) | np.isnan(reached), -np.inf, hoped)
    first = hoped.argmax(axis=1)
    rows = np.arange(len(P))
    found = np.isfinite(hoped[rows, first])
    picks = np.where(found, np.array(order, dtype=object)[first], "")
    values = np.where(found, reached[rows, first], np.nan)
    return pd.DataFrame({"pick": picks, "ap": values}, index=P.index)
