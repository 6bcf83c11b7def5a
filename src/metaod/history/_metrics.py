"""Measures of how well scores rank the labelled outliers."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from metaod.errors import BadParameter
from metaod.models import Scores, njit

MEASURES = ("ap", "roc_auc", "precision_at_n")
"""The measures of performance: average precision, ROC AUC, precision at the number of outliers."""

Labels = npt.NDArray[np.int8]

_DIGITS = 9


class Measures(NamedTuple):
    """The three measures of one ranking.

    Parameters
    ----------
    ap : float
        Average precision, as scikit-learn's ``average_precision_score``; ties count as one step.
    roc_auc : float
        Area under the ROC curve, as scikit-learn's ``roc_auc_score``.
    precision_at_n : float
        Share of outliers among the n top rows, where n is the number of outliers; a tie across
        the border counts with the share expected if it is broken at random.
    """

    ap: float
    roc_auc: float
    precision_at_n: float


def round_scores(scores: Scores) -> Scores:
    """Round scores to nine significant digits, so rounding errors do not decide a rank.

    Values near zero are rounded as if they had the size of the median absolute score, because
    after a cancellation they are only noise.

    Examples
    --------
    >>> round_scores(np.array([1.00000000049, 1.0, 2e-17, 0.0])).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    size = np.abs(scores)
    if size.size == 0:
        return scores
    size = np.maximum(size, np.median(size))
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(size))
    factor = 10.0 ** (_DIGITS - 1 - np.clip(exponent, -290, 300))
    rounded: Scores = np.rint(scores * factor) / factor
    # adding 0 turns -0 into 0
    return rounded + 0.0


def measure(y: npt.ArrayLike, scores: npt.ArrayLike) -> Measures:
    """Compute all three measures of finite scores, after rounding these.

    Parameters
    ----------
    y : array-like of {0, 1}
        1 for an outlier; both values must occur.
    scores : array-like of float
        Higher is more outlying.

    Examples
    --------
    >>> measure([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    Measures(ap=0.83..., roc_auc=0.75, precision_at_n=0.5)
    """
    labels, values = _checked(y, scores)
    rounded = round_scores(values)
    return Measures(*_measure(labels, np.argsort(-rounded), rounded))


def _checked(y: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[Labels, Scores]:
    values = np.ascontiguousarray(scores, dtype=np.float64)
    given = np.asarray(y)
    if values.ndim != 1 or given.shape != values.shape:
        legal = f"a vector of {given.shape} values as y"
        raise BadParameter("measure", "scores", legal, values.shape)
    if not np.isfinite(values).all():
        raise BadParameter("measure", "scores", "finite", "NaN or infinite values")
    found = np.unique(given)
    if found.tolist() != [0, 1]:
        raise BadParameter("measure", "y", "both 0 and 1", found)
    return given.astype(np.int8), values


@njit(cache=True)
def _measure(y: Labels, order: npt.NDArray[np.intp], scores: Scores) -> tuple[float, float, float]:
    n = len(order)
    total = 0
    for label in y:
        total += int(label)
    ap = 0.0
    below_pairs = 0.0
    at_n = -1.0
    hits = 0
    start = 0
    while start < n:
        # one step takes a whole tie
        stop = start + 1
        gained = int(y[order[start]])
        while stop < n and scores[order[stop]] == scores[order[start]]:
            gained += int(y[order[stop]])
            stop += 1
        width = stop - start
        # each outlier of the tie beats the inliers below it, and half of those within it
        inliers_above = start - hits
        inliers_within = width - gained
        inliers_below = (n - total) - inliers_above - inliers_within
        below_pairs += gained * (inliers_below + 0.5 * inliers_within)
        if at_n < 0 and stop >= total:
            at_n = (hits + gained * ((total - start) / width)) / total
        hits += gained
        ap += gained * (hits / stop)
        start = stop
    return ap / total, below_pairs / (total * (n - total)), at_n
