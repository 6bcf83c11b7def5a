"""The `scores` schema: what the scores of cheap landmarkers tell about a table.

Beyond the paper. The features are meant to tell which kind of detector suits: whether outliers lie
apart from everything or only from their neighbours, in clumps or scattered, on one side or all
around, how heavy the tails of scores are, and where families agree.

Landmarkers run on z-scores, so that no feature changes when columns are shifted or multiplied by
positive numbers, but for rounding: where many values are equal, it decides between neighbours at
equal distances (LOF, hubness) and between bins on whose edge a value lies (HBOS, LODA).

The scores of the random landmarkers, iForest and LODA, are means over all seeds of the runs. kNN
and LOF, and all that compares with them, are of the rows that were searched for neighbours; the
other landmarkers are compared with each other on all rows of the runs.
"""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from metaod.metafeatures._landmarker_runs import LandmarkerRuns
from metaod.metafeatures._schema import Feature
from metaod.metafeatures._score_agreement import (
    SUMMARIES,
    TOPS,
    agreement,
    pair_values,
    summary_values,
    top_values,
)
from metaod.metafeatures._score_distributions import SHAPES, shape_values
from metaod.metafeatures._score_neighbourhoods import (
    DIMENSIONS,
    HUBS,
    NEIGHBOURHOODS,
    SCALES,
    dimension_values,
    hub_values,
    neighbourhood_values,
    scale_values,
)
from metaod.metafeatures._score_ranking import rank_scores
from metaod.metafeatures._score_stability import STABILITIES, stability_values

__all__ = ["SCORE_FEATURES", "SCORE_LANDMARKERS", "score_values"]

SCORE_LANDMARKERS = {
    "iforest": "iForest",
    "hbos": "HBOS",
    "loda": "LODA",
    "pca": "PCA",
    "ecod": "ECOD",
    "knn": "kNN",
    "lof": "LOF",
}
"""Landmarkers by the name that features carry; the last two see neighbours alone."""

_RANDOM = ("iforest", "loda")
_N_GLOBAL = 5


def _listed(
    group: str, features: Mapping[str, tuple[str, str]], landmarker: str = ""
) -> list[Feature]:
    prefix = f"{landmarker}_" if landmarker else ""
    of = f"{SCORE_LANDMARKERS[landmarker]}: " if landmarker else ""
    return [
        Feature(prefix + name, group, of + definition, formula, in_paper=False, scale_free=True)
        for name, (definition, formula) in features.items()
    ]


def _pairs(name: str, group: str, definition: str, formula: str) -> list[Feature]:
    return [
        Feature(
            f"{name}_{a}_{b}",
            group,
            definition.format(SCORE_LANDMARKERS[a], SCORE_LANDMARKERS[b]),
            formula,
            in_paper=False,
            scale_free=True,
        )
        for a, b in combinations(SCORE_LANDMARKERS, 2)
    ]


SCORE_FEATURES = (
    *(
        feature
        for landmarker, title in SCORE_LANDMARKERS.items()
        for feature in _listed(
            f"{title} scores",
            {f"score_{name}": shape for name, shape in SHAPES.items()},
            landmarker,
        )
    ),
    *_pairs(
        "spearman",
        "rank agreement",
        "Spearman correlation of the scores of {} and {}",
        "pearson(ranks a, ranks b)",
    ),
    *_pairs(
        "overlap",
        "top agreement",
        "share of the 5 % of rows with the highest scores that {} and {} have in common",
        "sum_r min(w_ar, w_br) / m, m = ceil(n / 20)",
    ),
    *_listed("agreement overall", SUMMARIES),
    *(
        feature
        for landmarker in SCORE_LANDMARKERS
        for feature in _listed("top rows", TOPS, landmarker)
    ),
    *_listed("intrinsic dimension", DIMENSIONS),
    *_listed("hubness", HUBS),
    *_listed("neighbourhoods", NEIGHBOURHOODS),
    *_listed("neighbourhood size", SCALES),
    *(
        feature
        for landmarker in _RANDOM
        for feature in _listed("stability", STABILITIES, landmarker)
    ),
)
"""The features, in the order of a vector."""


def score_values(runs: LandmarkerRuns) -> npt.NDArray[np.float64]:
    """Compute the values of ``SCORE_FEATURES``; never infinite, NaN where undefined.

    All are NaN where every column is constant. All about a landmarker are NaN where its scores are
    equal, as nothing is ranked then; ``definition`` and ``formula`` state the rest.

    Examples
    --------
    >>> X = np.append(np.arange(39.0), 99.0)[:, np.newaxis]
    >>> values = score_values(LandmarkerRuns(X))
    >>> names = [feature.name for feature in SCORE_FEATURES]
    >>> float(values[names.index("knn_score_split_share")])
    0.025
    """
    Z = runs.Z
    if Z is None:
        return np.full(len(SCORE_FEATURES), np.nan)
    seeded = {
        "iforest": [runs.iforest(seed).scores for seed in runs.seeds],
        "loda": [runs.loda(seed).scores for seed in runs.seeds],
    }
    everywhere = [
        np.mean(seeded["iforest"], axis=0),
        runs.hbos().scores,
        np.mean(seeded["loda"], axis=0),
        runs.pca().scores,
        runs.ecod().scores,
    ]
    searched, found = runs.neighbours().rows, runs.neighbours().found
    whole = [rank_scores(scores) for scores in everywhere]
    near = [rank_scores(scores) for scores in (runs.knn().scores, runs.lof().scores)]
    sampled, Z_sampled = whole, Z
    if len(searched) < len(Z):
        sampled = [rank_scores(scores[searched]) for scores in everywhere]
        Z_sampled = Z[searched]
    correlations, overlaps = agreement([*sampled, *near])
    if sampled is not whole:
        known = agreement(whole)
        correlations[:_N_GLOBAL, :_N_GLOBAL], overlaps[:_N_GLOBAL, :_N_GLOBAL] = known
    return np.concatenate(
        [
            *(shape_values(ranking) for ranking in (*whole, *near)),
            pair_values(correlations),
            pair_values(overlaps),
            summary_values(correlations, overlaps, _N_GLOBAL, [*sampled, *near]),
            *(top_values(ranking, Z_sampled, found) for ranking in (*sampled, *near)),
            dimension_values(Z_sampled, found),
            hub_values(found),
            neighbourhood_values(Z_sampled, found),
            scale_values(found),
            *(stability_values(seeded[landmarker]) for landmarker in _RANDOM),
        ]
    )
