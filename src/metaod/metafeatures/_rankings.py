"""How the landmarkers rank the rows, with ties resolved independently of the order of rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from metaod.metafeatures._schema import Compute, Feature, FeatureFunction, FeatureInputs, computes
from metaod.models import Matrix, Scores

SCORE_LANDMARKERS = {
    "iforest": "iForest", "hbos": "HBOS", "loda": "LODA", "pca": "PCA", "ecod": "ECOD",
    "knn": "kNN", "lof": "LOF",
}  # fmt: skip
"""Titles of the landmarkers, by their names in features; the last two use neighbours only."""
N_GLOBAL = 5
"""Number of landmarkers that use the whole table; they come first."""
RANDOM_LANDMARKERS = ("iforest", "loda")

_TIED = 1e-9  # scores closer than this share of their range differ by rounding alone
_TIGHT = 1e-12  # and so do all scores in a range below this


def score_features(
    group: str, *declarations: tuple[str, str, str], landmarkers: Iterable[str] = ("",)
) -> Callable[[Compute], FeatureFunction]:
    """Declare features of the `scores` schema: names, definitions and formulas.

    Each landmarker has all features; its name comes first in theirs. ``{}`` in the group is its
    title.
    """
    features = []
    for landmarker in landmarkers:
        title = SCORE_LANDMARKERS.get(landmarker, "")
        prefix, of = (f"{landmarker}_", f"{title}: ") if landmarker else ("", "")
        for name, definition, formula in declarations:
            features.append(Feature(prefix + name, group.format(title), of + definition, formula,
                                    in_paper=False, scale_free=True))  # fmt: skip
    return computes(*features, uses_landmarkers=True)


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
        rank_scores(neighbours.scores("KNN", 5)), rank_scores(neighbours.scores("LOF", 20))
    ]  # fmt: skip
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
