"""Features of the scores of cheap landmarkers: the `scores` schema, which is not in the paper.

Landmarkers run on z-scores, so features do not change when columns are shifted or multiplied by
positive numbers, apart from rounding. Ties are resolved independently of the order of rows. kNN and
LOF, and every comparison with them, use the rows that were searched for neighbours; others use all
rows of the runs. iForest and LODA scores are means over seeds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, cast

import numpy as np

from metaod.metafeatures._landmarkers import FeatureInputs
from metaod.metafeatures._schema import computes, declared
from metaod.models import Matrix, Scores, family

N_GLOBAL = 5
"""Number of landmarkers that use the whole table; they come first."""
RANDOM_LANDMARKERS = ("iforest", "loda")

_TIED = 1e-9  # scores closer than this share of their range differ by rounding alone
_TIGHT = 1e-12  # and so do all scores in a range below this


@dataclass(frozen=True)
class Ranking:
    """The rows by score."""

    ascending: Scores  # sorted scores; those that differ by rounding alone are made equal
    ranks: Scores  # rank of each row, 1 for the lowest score; equal scores share their mean rank
    top: Scores  # membership in the top 5 %: 1, 0, or a share for rows tied at the border


@dataclass(frozen=True)
class LandmarkerRankings:
    """Rankings by all landmarkers; None for one whose scores are all equal."""

    of_all_rows: list[Ranking | None]  # kNN and LOF rank only rows searched for neighbours
    of_searched: list[Ranking | None]
    by_seed: dict[str, list[Scores]]  # scores of the random landmarkers
    Z: Matrix  # z-scores of the searched rows
    found: Any  # their nearest neighbours


def rank_landmarkers(inputs: FeatureInputs) -> LandmarkerRankings:
    """Run all landmarkers of the `scores` schema and rank the rows."""
    runs = inputs.runs
    Z = cast("Matrix", runs.Z)  # None only where features that use landmarkers are not computed
    by_seed = {
        name.lower(): [run.decision_scores_ for run in runs.of_seeds(name)]
        for name in ("IForest", "LODA")
    }
    scores = [
        np.mean(by_seed["iforest"], axis=0),
        runs.run("HBOS").decision_scores_,
        np.mean(by_seed["loda"], axis=0),
        runs.pca.decision_scores_,
        runs.run("ECOD").decision_scores_,
    ]
    neighbours = runs.neighbours
    searched = neighbours.rows
    by_neighbours = [
        rank_scores(neighbours.scores(family(name).load(), k))
        for name, k in (("KNN", 5), ("LOF", 20))
    ]
    of_all = of_searched = [rank_scores(of_rows) for of_rows in scores]
    if len(searched) < len(Z):
        of_searched = [rank_scores(of_rows[searched]) for of_rows in scores]
        Z = Z[searched]
    rankings = [*of_all, *by_neighbours], [*of_searched, *by_neighbours]
    return LandmarkerRankings(*rankings, by_seed, Z, neighbours)


def top_count(n_rows: int) -> int:
    """Number of rows in the top 5 %, rounded up."""
    return (n_rows + 19) // 20


def rank_scores(scores: Scores) -> Ranking | None:
    """Rank the rows; None where the scores are all equal, or not all finite.

    Scores count as equal if they differ by less than 1e-9 of their range, and all do if the range
    is below 1e-9 of the largest magnitude.
    """
    order = np.argsort(scores)
    ascending = scores[order]
    low, high = float(ascending[0]), float(ascending[-1])
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    spread = high - low
    if not _TIED * max(abs(low), abs(high)) + _TIGHT < spread < np.inf:
        return None
    n_rows = len(scores)
    starts = np.ones(n_rows, dtype=bool)
    np.greater(np.diff(ascending), _TIED * spread, out=starts[1:])
    group = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    after = np.append(first[1:], n_rows)
    size = after - first
    within = np.clip(after - (n_rows - top_count(n_rows)), 0, size) / size
    ranks, top = np.empty(n_rows), np.empty(n_rows)
    ranks[order] = ((first + 1 + after) / 2)[group]
    top[order] = within[group]
    return Ranking(ascending[first][group], ranks, top)


def spearman(left: Matrix, right: Matrix) -> Matrix:
    """Spearman correlations of each row of ranks on the left with each on the right."""
    return np.clip(_standardised(left) @ _standardised(right).T, -1, 1)


def _standardised(ranks: Matrix) -> Matrix:
    centred: Matrix = ranks - ranks.mean(axis=1, keepdims=True)
    centred /= np.sqrt(np.einsum("ij,ij->i", centred, centred))[:, np.newaxis]
    return centred


def overlap(left: Scores, right: Scores) -> float:
    """Share of the top rows of one ranking that are top in the other; 0.05 by chance."""
    return float(np.minimum(left, right).sum() / left.sum())


def compare(one: Ranking | None, other: Ranking | None) -> tuple[float, float]:
    """Spearman correlation and top overlap of two rankings; NaN where one is None."""
    if one is None or other is None:
        return np.nan, np.nan
    correlation = spearman(one.ranks[np.newaxis], other.ranks[np.newaxis])
    return float(correlation[0, 0]), overlap(one.top, other.top)


def gini(ascending: Scores) -> float:
    """Gini coefficient of sorted numbers that are not negative; NaN if all are zero."""
    n = len(ascending)
    total = ascending.sum()
    if total == 0:
        return np.nan
    return float(np.arange(1 - n, n, 2) @ ascending / (n * total))


_ROUNDING = 1e-9  # a smaller difference of quantiles of scores in 0 ... 1 is rounding


# for sorted scores s_(1) <= ... <= s_(n) with quantiles q
@computes(*declared("shapes"), uses_landmarkers=True)
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


@computes(*declared("pair_agreement"), uses_landmarkers=True)
def _pair_agreement(inputs: FeatureInputs) -> list[float]:
    correlations, overlaps = inputs.shared(_compared_pairs)
    return [*_above_diagonal(correlations), *_above_diagonal(overlaps)]


@computes(*declared("overall_agreement"), uses_landmarkers=True)
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
@computes(*declared("top_rows"), uses_landmarkers=True)
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


@computes(*declared("stability"), uses_landmarkers=True)
def stability(inputs: FeatureInputs) -> Scores:
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


SCORE_FEATURES = (_shapes, _pair_agreement, _overall_agreement, _top_rows)
