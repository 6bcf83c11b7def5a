"""Where landmarkers agree, and where the rows lie that each puts on top.

Families that look for the same kind of outlier agree on a table that has this kind; a table where
local methods point elsewhere than global ones asks for a choice.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._score_ranking import Ranking, overlap, spearman, top_count
from metaod.models import Matrix, Neighbours

__all__ = ["SUMMARIES", "TOPS", "agreement", "pair_values", "summary_values", "top_values"]

SUMMARIES = {
    "spearman_mean": (
        "mean Spearman correlation over all pairs of landmarkers",
        "mean_{a<b} spearman_a_b",
    ),
    "spearman_global": (
        "mean Spearman correlation among the landmarkers that look at the whole table",
        "mean spearman_a_b, a < b in {iforest, hbos, loda, pca, ecod}",
    ),
    "spearman_global_local": (
        "mean Spearman correlation of those with the neighbour-based ones",
        "mean spearman_a_b, a in {iforest, hbos, loda, pca, ecod}, b in {knn, lof}",
    ),
    "overlap_mean": (
        "mean top overlap over all pairs of landmarkers",
        "mean_{a<b} overlap_a_b",
    ),
    "overlap_global": (
        "mean top overlap among the landmarkers that look at the whole table",
        "mean overlap_a_b, a < b in {iforest, hbos, loda, pca, ecod}",
    ),
    "overlap_global_local": (
        "mean top overlap of those with the neighbour-based ones",
        "mean overlap_a_b, a in {iforest, hbos, loda, pca, ecod}, b in {knn, lof}",
    ),
    "top_union": (
        "rows on top for any landmarker, among all places on top: 1 / landmarkers if all agree",
        "sum_r max_a w_ar / sum_r sum_a w_ar",
    ),
    "top_core": (
        "share of the top rows that are on top for every landmarker",
        "sum_r min_a w_ar / m",
    ),
}
"""Definition and formula of each; means are over the pairs that are defined."""

TOPS = {
    "top_remoteness": (
        "how far the top rows lie from the mean of the table, against all rows: 1 if no farther",
        "(sum_r w_r |z_r|^2 / m) / (sum_r |z_r|^2 / n)",
    ),
    "top_one_sided": (
        "whether the top rows lie on one side of the mean: 1 if in one place, 0 if all around",
        "|sum_r w_r z_r / m|^2 / (sum_r w_r |z_r|^2 / m)",
    ),
    "top_clumped": (
        "share of the 10 nearest others of top rows that are on top too: 0.05 if scattered",
        "sum_r w_r mean_{q in N10(r)} w_q / m",
    ),
}
"""Definition and formula of each, for z-scored rows z and memberships w of the top 5 %."""


def agreement(rankings: Sequence[Ranking | None]) -> tuple[Matrix, Matrix]:
    """Spearman correlations and top overlaps of all pairs; NaN for one that ranks nothing."""
    count = len(rankings)
    correlations, overlaps = np.full((2, count, count), np.nan)
    known = [(a, ranking) for a, ranking in enumerate(rankings) if ranking is not None]
    if known:
        where = [a for a, _ in known]
        ranks = np.stack([ranking.ranks for _, ranking in known])
        correlations[np.ix_(where, where)] = spearman(ranks, ranks)
    for (a, one), (b, other) in combinations(known, 2):
        overlaps[a, b] = overlaps[b, a] = overlap(one.top, other.top)
    return correlations, overlaps


def pair_values(pairs: Matrix) -> npt.NDArray[np.float64]:
    """The values above the diagonal, row by row."""
    return pairs[np.triu_indices(len(pairs), 1)]


def summary_values(
    correlations: Matrix, overlaps: Matrix, n_global: int, rankings: Sequence[Ranking | None]
) -> npt.NDArray[np.float64]:
    """The values of ``SUMMARIES``; the first ``n_global`` landmarkers look at the whole table."""
    means = [
        _mean(values)
        for pairs in (correlations, overlaps)
        for values in (
            pair_values(pairs),
            pair_values(pairs[:n_global, :n_global]),
            pairs[:n_global, n_global:],
        )
    ]
    union = core = np.nan
    tops = [ranking.top for ranking in rankings if ranking is not None]
    if tops:
        count = top_count(len(tops[0]))
        union = np.maximum.reduce(tops).sum() / (len(tops) * count)
        core = np.minimum.reduce(tops).sum() / count
    return np.array([*means, union, core])


def top_values(ranking: Ranking | None, Z: Matrix, found: Neighbours) -> npt.NDArray[np.float64]:
    """The values of ``TOPS``; NaN where the scores rank nothing.

    Examples
    --------
    >>> from metaod.models._search import nearest
    >>> from metaod.metafeatures._score_ranking import rank_scores
    >>> Z = np.array([[-1.0], [-1.0], [2.0]])
    >>> top_values(rank_scores(Z[:, 0]), Z, nearest(Z, 1, "euclidean"))
    array([2., 1., 0.])
    """
    if ranking is None:
        return np.full(len(TOPS), np.nan)
    top = ranking.top
    count = top_count(len(Z))
    squares = np.einsum("ij,ij->i", Z, Z)
    distance = float(top @ squares) / count
    centre = top @ Z / count
    near = top[found.indices[:, :10]].mean(axis=1)
    return np.array(
        [
            distance / squares.mean(),
            centre @ centre / distance if distance > 0 else np.nan,
            top @ near / count,
        ]
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")
