"""The middle and the spread of numbers in groups, small ones drawn to the whole."""

import warnings

import numpy as np
import numpy.typing as npt
import pandas as pd

FEWEST_VALUES = 5
"""Distinct numbers of a column that is compared in context, and rows of a group with a spread."""

_ENOUGH = 10  # rows of a group whose middle is its own, and as which the whole counts for a spread
_MEDIAN_NOISE = 1.57  # variance of a median, in that of a mean
_LEAST_SPREAD = 0.05  # of the whole, if all groups hold a constant
_SKEW = 3.0
_MORE_EVEN = 0.7  # how much more alike groups must be on logarithms

Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def usual_size(values: Values) -> Values:
    """Return the usual size of numbers with the middle 0, by column; NaN for a column of gaps."""
    if not len(values):
        return np.ones(values.shape[1:])
    sizes = np.abs(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy warns of a column of gaps
        middle, outer = np.nanquantile(sizes, [0.5, 0.9], axis=0)
    return np.asarray(np.maximum(middle * 1.4826, outer / 1.645 * 0.5))


def fit_groups(values: Values, codes: Codes, n_groups: int) -> tuple[Values, Values, bool]:
    """Return the middle and spread of a column in each group and in the whole, on its scale."""
    finite = np.isfinite(values)
    own, codes = values[finite], codes[finite]
    raw = _fit_groups(own, codes, n_groups)
    if own.min() <= 0:
        return *raw[:2], False
    low, high = np.quantile((own - raw[0][codes]), [0.05, 0.95])
    log = _fit_groups(np.log(own), codes, n_groups)
    is_skewed = high > _SKEW * -low and n_groups == 1
    is_more_even = n_groups > 1 and log[2] < _MORE_EVEN * raw[2]
    return (*log[:2], True) if is_skewed or is_more_even else (*raw[:2], False)


def _fit_groups(values: Values, codes: Codes, n_groups: int) -> tuple[Values, Values, float]:
    """Return middles and spreads, and how much spreads of groups differ (of their logarithms)."""
    series = pd.Series(values)
    counts = np.bincount(codes, minlength=n_groups).astype(np.float64)
    whole = float(np.median(values))
    total = float(usual_size(values - whole)) or float(np.std(values)) or 1.0
    middles = series.groupby(codes).median().reindex(range(n_groups)).fillna(whole).to_numpy()
    left = values - middles[codes]
    within = float(usual_size(left)) or _LEAST_SPREAD * total
    noise = _MEDIAN_NOISE * within**2 / np.maximum(counts, 1)
    between = max((1.4826 * float(np.median(np.abs(middles - whole)))) ** 2 - noise.mean(), 0.0)
    weights = np.where(counts >= _ENOUGH, 1.0, between / (between + noise))
    spreads = 1.4826 * series.sub(middles[codes]).abs().groupby(codes).median()
    own = spreads.reindex(range(n_groups)).fillna(within).to_numpy()
    known = own[(counts >= FEWEST_VALUES) & (own > 0)]
    uneven = float(np.std(np.log(known))) if len(known) > 1 else 0.0
    middles = whole + weights * (middles - whole)
    pooled = np.sqrt((counts * own**2 + _ENOUGH * within**2) / (counts + _ENOUGH))
    return np.append(middles, whole), np.append(pooled, total), uneven
