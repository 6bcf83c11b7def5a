"""The shape of a landmarker's scores: tails, gaps and concentration.

None of these changes when scores are shifted or multiplied by a positive number.
"""

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._score_ranking import Ranking
from metaod.models import Scores

__all__ = ["SHAPES", "gini", "shape_values"]

SHAPES = {
    "l_skewness": (
        "skewness of the scores by L-moments: from -1 to 1, and hardly moved by a single row",
        "l3 / l2 = mean over triples (s_3 - 2 s_2 + s_1) / 3 / mean over pairs (s_2 - s_1) / 2",
    ),
    "gini": (
        "Gini coefficient of the scores above their minimum",
        "G(s - min s), G(x) = sum_i (2i - n - 1) x_(i) / (n sum_i x_i)",
    ),
    "tail_gini": (
        "Gini coefficient of the excess over the 90 % quantile: 1/2 if exponential, more if heavy",
        "G(s - q90 for s > q90); NaN if there is none",
    ),
    "tail_ratio": (
        "how soon the upper tail sets in",
        "(q90 - q50) / (q99 - q50); NaN if q99 = q50",
    ),
    "extreme_ratio": (
        "how far the 99 % quantile goes towards the highest score",
        "(q99 - q50) / (max - q50); NaN if max = q50",
    ),
    "gap": (
        "largest gap between neighbouring scores from the median upwards, as a share of the range",
        "max_{i >= (n + 1) // 2} (s_(i+1) - s_(i)) / (max - min)",
    ),
    "split": (
        "share of the variance that the best cut into low and high scores explains",
        "max_i (i/n) (1 - i/n) (mean s_(>i) - mean s_(<=i))^2 / var s",
    ),
    "split_share": (
        "share of the rows above that cut; the smaller share where two cuts are as good",
        "1 - i/n for the i of the best cut",
    ),
}
"""Definition and formula of each, for sorted scores s_(1) <= ... <= s_(n) with quantiles q."""


_ROUNDING = 1e-9  # quantiles interpolate between scores of range one; less is no difference


def shape_values(ranking: Ranking | None) -> npt.NDArray[np.float64]:
    """The values of ``SHAPES``; NaN where the scores rank nothing.

    Examples
    --------
    >>> from metaod.metafeatures._score_ranking import rank_scores
    >>> shape_values(rank_scores(np.array([0.0, 1.0, 2.0, 3.0, 10.0])))[:2].round(3)
    array([0.545, 0.55 ])
    """
    if ranking is None:
        return np.full(len(SHAPES), np.nan)
    s = ranking.ascending
    # the range is one from here on
    s = (s - s[0]) / (s[-1] - s[0])
    n = len(s)
    centred = s - s.mean()
    variance = centred @ centred / n
    q50, q90, q99 = np.quantile(s, (0.5, 0.9, 0.99))
    exceeding = s[s > q90 + _ROUNDING] - q90
    gaps = np.diff(s)
    split, share = _best_cut(centred, gaps, float(variance))
    return np.array(
        [
            _l_skewness(centred),
            gini(s),
            gini(exceeding) if exceeding.size else np.nan,
            _ratio(q90 - q50, q99 - q50),
            _ratio(q99 - q50, 1.0 - q50),
            gaps[(n + 1) // 2 - 1 :].max(),
            split,
            share,
        ]
    )


def gini(ascending: Scores) -> float:
    """Gini coefficient of sorted numbers of which none is negative; NaN if all are zero.

    Examples
    --------
    >>> gini(np.array([0.0, 0.0, 0.0, 1.0]))
    0.75
    """
    n = len(ascending)
    total = ascending.sum()
    if total == 0:
        return float("nan")
    return float(np.arange(1 - n, n, 2) @ ascending / (n * total))


def _l_skewness(centred: Scores) -> float:
    """Third over second L-moment of sorted numbers with mean zero; NaN for fewer than three."""
    n = len(centred)
    if n < 3:
        return float("nan")
    # probability-weighted moments: how often a number is the largest of two, and of three
    lower = np.arange(n)
    of_two = lower @ centred / (n * (n - 1))
    of_three = (lower * (lower - 1.0)) @ centred / (n * (n - 1) * (n - 2))
    return float((6 * of_three - 6 * of_two) / (2 * of_two))


def _ratio(inner: float, outer: float) -> float:
    return inner / outer if outer > _ROUNDING else float("nan")


def _best_cut(centred: Scores, gaps: Scores, variance: float) -> tuple[float, float]:
    """Otsu's cut between two scores that differ: variance explained, share of rows above."""
    n = len(centred)
    below = np.arange(1, n)
    # with the mean at zero, the sum below a cut is minus the sum above it
    explained = np.cumsum(centred)[:-1] ** 2 / (below * (n - below) * variance)
    explained[gaps == 0] = 0.0
    best = explained.max()
    last = int(np.flatnonzero(explained >= best * (1 - _ROUNDING))[-1])
    return float(min(best, 1.0)), (n - 1 - last) / n
