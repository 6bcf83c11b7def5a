"""Features of the scores of cheap landmarkers: the `scores` schema, which is not in the paper.

Landmarkers run on z-scores, so features do not change when columns are shifted or multiplied by
positive numbers, apart from rounding. kNN and LOF, and every comparison with them, use the rows
that were searched for neighbours; others use all rows of the runs. iForest and LODA scores are
means over seeds.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np

from metaod.metafeatures._neighbourhood_features import NEIGHBOURHOOD_FEATURES
from metaod.metafeatures._rankings import (
    N_GLOBAL,
    RANDOM_LANDMARKERS,
    SCORE_LANDMARKERS,
    Ranking,
    gini,
    overlap,
    rank_landmarkers,
    rank_scores,
    score_features,
    spearman,
    top_count,
)
from metaod.metafeatures._schema import Feature, FeatureInputs, computes
from metaod.models import Matrix, Scores

_ROUNDING = 1e-9  # a smaller difference of quantiles of scores in 0 ... 1 is rounding


# for sorted scores s_(1) <= ... <= s_(n) with quantiles q
@score_features(
    "{} scores",
    ("score_l_skewness",
     "skewness of the scores by L-moments: from -1 to 1, and hardly moved by a single row",
     "l3 / l2 = mean over triples (s_3 - 2 s_2 + s_1) / 3 / mean over pairs (s_2 - s_1) / 2"),
    ("score_gini", "Gini coefficient of the scores above their minimum",
     "G(s - min s), G(x) = sum_i (2i - n - 1) x_(i) / (n sum_i x_i)"),
    ("score_tail_gini",
     "Gini coefficient of the excess over the 90 % quantile: 1/2 if exponential, more if heavy",
     "G(s - q90 for s > q90); NaN if there is none"),
    ("score_tail_ratio", "how soon the upper tail sets in",
     "(q90 - q50) / (q99 - q50); NaN if q99 = q50"),
    ("score_extreme_ratio", "how far the 99 % quantile goes towards the highest score",
     "(q99 - q50) / (max - q50); NaN if max = q50"),
    ("score_gap",
     "largest gap between neighbouring scores from the median upwards, as a share of the range",
     "max_{i >= (n + 1) // 2} (s_(i+1) - s_(i)) / (max - min)"),
    ("score_split", "share of the variance that the best cut into low and high scores explains",
     "max_i (i/n) (1 - i/n) (mean s_(>i) - mean s_(<=i))^2 / var s"),
    ("score_split_share",
     "share of the rows above that cut; the smaller share where two cuts are as good",
     "1 - i/n for the i of the best cut"),
    landmarkers=SCORE_LANDMARKERS,
)  # fmt: skip
def _shapes(inputs: FeatureInputs) -> Iterable[float]:
    return chain.from_iterable(map(_shape, inputs.shared(rank_landmarkers).of_all_rows))


def _shape(ranking: Ranking | None) -> list[float]:
    if ranking is None:
        return [np.nan] * 8
    s = ranking.ascending
    s = (s - s[0]) / (s[-1] - s[0])
    n = len(s)
    centred = s - s.mean()
    variance = centred @ centred / n
    q50, q90, q99 = np.quantile(s, (0.5, 0.9, 0.99))
    exceeding = s[s > q90 + _ROUNDING] - q90
    gaps = np.diff(s)
    split, share = _best_cut(centred, gaps, float(variance))
    tail_gini = gini(exceeding) if exceeding.size else np.nan
    ratios = _ratio(q90 - q50, q99 - q50), _ratio(q99 - q50, 1.0 - q50)
    gap = gaps[(n + 1) // 2 - 1 :].max()
    return [_l_skewness(centred), gini(s), tail_gini, *ratios, gap, split, share]


def _l_skewness(centred: Scores) -> float:
    """Third over second L-moment of sorted numbers with mean zero; NaN for fewer than three."""
    n = len(centred)
    if n < 3:
        return np.nan
    # probability-weighted moments: how often a number is the largest of two, and of three
    lower = np.arange(n)
    of_two = lower @ centred / (n * (n - 1))
    of_three = (lower * (lower - 1.0)) @ centred / (n * (n - 1) * (n - 2))
    return float((6 * of_three - 6 * of_two) / (2 * of_two))


def _ratio(inner: float, outer: float) -> float:
    return inner / outer if outer > _ROUNDING else np.nan


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


def _of_pairs(name: str, group: str, definition: str, formula: str) -> list[Feature]:
    return [
        Feature(f"{name}_{a}_{b}", group, definition.format(title_a, title_b), formula,
                in_paper=False, scale_free=True)
        for (a, title_a), (b, title_b) in combinations(SCORE_LANDMARKERS.items(), 2)
    ]  # fmt: skip


@computes(
    *_of_pairs("spearman", "rank agreement", "Spearman correlation of the scores of {} and {}",
               "pearson(ranks a, ranks b)"),
    *_of_pairs("overlap", "top agreement",
               "share of the 5 % of rows with the highest scores that {} and {} have in common",
               "sum_r min(w_ar, w_br) / m, m = ceil(n / 20)"),
    uses_landmarkers=True,
)  # fmt: skip
def _pair_agreement(inputs: FeatureInputs) -> list[float]:
    correlations, overlaps = inputs.shared(_compared_pairs)
    return [*_above_diagonal(correlations), *_above_diagonal(overlaps)]


@score_features(
    "agreement overall",
    ("spearman_mean", "mean Spearman correlation over all pairs of landmarkers",
     "mean_{a<b} spearman_a_b"),
    ("spearman_global",
     "mean Spearman correlation among the landmarkers that look at the whole table",
     "mean spearman_a_b, a < b in {iforest, hbos, loda, pca, ecod}"),
    ("spearman_global_local",
     "mean Spearman correlation of those with the neighbour-based ones",
     "mean spearman_a_b, a in {iforest, hbos, loda, pca, ecod}, b in {knn, lof}"),
    ("overlap_mean", "mean top overlap over all pairs of landmarkers",
     "mean_{a<b} overlap_a_b"),
    ("overlap_global", "mean top overlap among the landmarkers that look at the whole table",
     "mean overlap_a_b, a < b in {iforest, hbos, loda, pca, ecod}"),
    ("overlap_global_local", "mean top overlap of those with the neighbour-based ones",
     "mean overlap_a_b, a in {iforest, hbos, loda, pca, ecod}, b in {knn, lof}"),
    ("top_union",
     "rows on top for any landmarker, among all places on top: 1 / landmarkers if all agree",
     "sum_r max_a w_ar / sum_r sum_a w_ar"),
    ("top_core", "share of the top rows that are on top for every landmarker",
     "sum_r min_a w_ar / m"),
)  # fmt: skip
def _overall_agreement(inputs: FeatureInputs) -> list[float]:
    means = [
        _mean(values)
        for matrix in inputs.shared(_compared_pairs)
        for values in (
            _above_diagonal(matrix),
            _above_diagonal(matrix[:N_GLOBAL, :N_GLOBAL]),
            matrix[:N_GLOBAL, N_GLOBAL:],
        )
    ]
    rankings = inputs.shared(rank_landmarkers).of_searched
    tops = [ranking.top for ranking in rankings if ranking is not None]
    if not tops:
        return [*means, np.nan, np.nan]
    count = top_count(len(tops[0]))
    union = np.maximum.reduce(tops).sum() / (len(tops) * count)
    return [*means, union, np.minimum.reduce(tops).sum() / count]


def _compared_pairs(inputs: FeatureInputs) -> Matrix:
    rankings = inputs.shared(rank_landmarkers)
    pairs = _compare_pairs(rankings.of_searched)
    if len(rankings.Z) < len(inputs.runs.rows):
        pairs[:, :N_GLOBAL, :N_GLOBAL] = _compare_pairs(rankings.of_all_rows[:N_GLOBAL])
    return pairs


def _compare_pairs(rankings: Sequence[Ranking | None]) -> Matrix:
    """Two matrices: Spearman correlations and top overlaps of all pairs; NaN for None."""
    count = len(rankings)
    correlations, overlaps = pairs = np.full((2, count, count), np.nan)
    known = [(a, ranking) for a, ranking in enumerate(rankings) if ranking is not None]
    if known:
        where = [a for a, _ in known]
        ranks = np.stack([ranking.ranks for _, ranking in known])
        correlations[np.ix_(where, where)] = spearman(ranks, ranks)
    for (a, one), (b, other) in combinations(known, 2):
        overlaps[a, b] = overlaps[b, a] = overlap(one.top, other.top)
    return pairs


def _above_diagonal(matrix: Matrix) -> Scores:
    return matrix[np.triu_indices(len(matrix), 1)]


def _mean(values: Scores) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan


# for z-scored rows z and memberships w of the top 5 %
@score_features(
    "top rows",
    ("top_remoteness",
     "how far the top rows lie from the mean of the table, against all rows: 1 if no farther",
     "(sum_r w_r |z_r|^2 / m) / (sum_r |z_r|^2 / n)"),
    ("top_one_sided",
     "whether the top rows lie on one side of the mean: 1 if in one place, 0 if all around",
     "|sum_r w_r z_r / m|^2 / (sum_r w_r |z_r|^2 / m)"),
    ("top_clumped",
     "share of the 10 nearest others of top rows that are on top too: 0.05 if scattered",
     "sum_r w_r mean_{q in N10(r)} w_q / m"),
    landmarkers=SCORE_LANDMARKERS,
)  # fmt: skip
def _top_rows(inputs: FeatureInputs) -> Scores:
    rankings = inputs.shared(rank_landmarkers)
    return np.concatenate([_top(one, rankings.Z, rankings.found) for one in rankings.of_searched])


def _top(ranking: Ranking | None, Z: Matrix, found: Any) -> Scores:
    if ranking is None:
        return np.full(3, np.nan)
    top = ranking.top
    count = top_count(len(Z))
    squares = np.einsum("ij,ij->i", Z, Z)
    distance = float(top @ squares) / count
    centre = top @ Z / count
    near = top[found.indices[:, :10]].mean(axis=1)
    one_sided = centre @ centre / distance if distance > 0 else np.nan
    return np.array([distance / squares.mean(), one_sided, top @ near / count])


@score_features(
    "stability",
    ("seed_spearman", "mean Spearman correlation between the scores of two seeds",
     "mean_{s<t} spearman(scores_s, scores_t)"),
    ("seed_overlap", "mean top overlap between two seeds", "mean_{s<t} sum_r min(w_rs, w_rt) / m"),
    ("seed_noise", "spread of a row's score between seeds, against the spread between rows",
     "sqrt(mean_r var_s(scores_rs)) / std_r(mean_s scores_rs), var_s with divisor seeds - 1"),
    landmarkers=RANDOM_LANDMARKERS,
)  # fmt: skip
def _stability(inputs: FeatureInputs) -> Scores:
    by_seed = inputs.shared(rank_landmarkers).by_seed
    return np.concatenate([_seed_stability(by_seed[one]) for one in RANDOM_LANDMARKERS])


def _seed_stability(runs: Sequence[Scores]) -> Scores:
    """NaN for a single seed, and where the scores of a seed, or their mean, are all equal."""
    known = [ranking for ranking in map(rank_scores, runs) if ranking is not None]
    mean = np.mean(runs, axis=0)
    if len(runs) < 2 or len(known) < len(runs) or rank_scores(mean) is None:
        return np.full(3, np.nan)
    correlations, overlaps = _compare_pairs(known)
    noise = np.sqrt(np.var(runs, axis=0, ddof=1).mean()) / mean.std()
    return np.array([_mean(_above_diagonal(correlations)), _mean(_above_diagonal(overlaps)), noise])


SCORE_FEATURES = (_shapes, _pair_agreement, _overall_agreement, _top_rows,
                  *NEIGHBOURHOOD_FEATURES, _stability)  # fmt: skip
