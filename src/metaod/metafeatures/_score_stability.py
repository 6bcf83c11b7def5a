"""How stable a random landmarker is between two seeds."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._score_ranking import overlap, rank_scores, spearman
from metaod.models import Scores

__all__ = ["STABILITIES", "stability_values"]

STABILITIES = {
    "seed_spearman": (
        "mean Spearman correlation between the scores of two seeds",
        "mean_{s<t} spearman(scores_s, scores_t)",
    ),
    "seed_overlap": (
        "mean top overlap between two seeds",
        "mean_{s<t} sum_r min(w_rs, w_rt) / m",
    ),
    "seed_noise": (
        "spread of a row's score between seeds, against the spread between rows",
        "sqrt(mean_r var_s(scores_rs)) / std_r(mean_s scores_rs), var_s with divisor seeds - 1",
    ),
}
"""Definition and formula of each."""


def stability_values(runs: Sequence[Scores]) -> npt.NDArray[np.float64]:
    """The values of ``STABILITIES`` for the scores of several seeds.

    NaN for a single seed, and where the scores of one, or their mean over seeds, rank nothing.

    Examples
    --------
    >>> stability_values([np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])]).round(3)
    array([0.5  , 0.   , 0.816])
    """
    rankings = [rank_scores(scores) for scores in runs]
    known = [ranking for ranking in rankings if ranking is not None]
    mean = np.mean(runs, axis=0)
    if len(runs) < 2 or len(known) < len(runs) or rank_scores(mean) is None:
        return np.full(len(STABILITIES), np.nan)
    ranks = np.stack([ranking.ranks for ranking in known])
    correlations = spearman(ranks, ranks)[np.triu_indices(len(known), 1)]
    overlaps = [overlap(one.top, other.top) for one, other in combinations(known, 2)]
    between = np.sqrt(np.var(runs, axis=0, ddof=1).mean())
    return np.array([correlations.mean(), np.mean(overlaps), between / mean.std()])
