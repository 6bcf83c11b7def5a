"""The paper's landmarker features: structure and scores of iForest, HBOS, LODA and PCA.

Landmarkers run with default parameters on z-scored columns; all features are scale-free. Features
of iForest and LODA are averaged over seeds.
"""

from operator import itemgetter
from typing import Any

import numpy as np

from metaod.metafeatures._landmarkers import N_COMPONENTS, FeatureInputs
from metaod.metafeatures._schema import ROUNDING, averaged, computes, declared, summaries, summarise
from metaod.models import Scores

N_BINS = 10  # of a histogram of LODA


def _trees(inputs: FeatureInputs) -> list[Any]:
    return [forest.describe() for forest in inputs.runs.of_seeds("IForest")]


def _histograms(inputs: FeatureInputs) -> list[Any]:
    return [inputs.runs.run("HBOS")]


def _projections(inputs: FeatureInputs) -> list[Any]:
    return inputs.runs.of_seeds("LODA")


_IFOREST = summaries(
    "iforest",
    _trees,
    *map(itemgetter, range(6)),
    uses_landmarkers=True,
)

_HBOS = summaries(
    "hbos",
    _histograms,
    lambda run: run.density_.mean(axis=0),
    lambda run: run.density_.max(axis=0),
    lambda run: run.density_.min(axis=0),
    uses_landmarkers=True,
)

_LODA = summaries(
    "loda",
    _projections,
    lambda run: np.zeros_like(run.largest_),  # the mean of projected z-scores
    lambda run: run.largest_,
    lambda run: run.shares_.mean(axis=1),
    lambda run: run.shares_.max(axis=1),
    lambda run: -(run.shares_ * np.log(run.shares_)).sum(axis=1) / np.log(N_BINS),
    uses_landmarkers=True,
)


@computes(*declared("pca"), uses_landmarkers=True)
def _pca(inputs: FeatureInputs) -> list[float]:
    run = inputs.runs.pca
    return [*run.explained[:N_COMPONENTS], *run.singular_values[:N_COMPONENTS]]


@computes(*declared("score_summaries"), uses_landmarkers=True)
def _score_summaries(inputs: FeatureInputs) -> Scores:
    runs = inputs.runs
    landmarkers = (
        runs.of_seeds("IForest"), [runs.run("HBOS")], runs.of_seeds("LODA"), [runs.pca]
    )  # fmt: skip
    return np.concatenate(
        [averaged([score_summary(run.decision_scores_) for run in of]) for of in landmarkers]
    )


_LODA_BINS = summaries(
    "loda_bins",
    _projections,
    lambda run: run.shares_.mean(axis=0),
    lambda run: run.shares_.max(axis=0),
    uses_landmarkers=True,
)

LANDMARKER_FEATURES = (_IFOREST, _HBOS, _LODA, _pca, _score_summaries, _LODA_BINS)


def score_summary(scores: Scores) -> Scores:
    """Mean, std, skewness, kurtosis, largest gap, outliers' share; NaN if all scores are equal."""
    ordered = np.sort(scores)
    low, high = ordered[0], ordered[-1]
    if high - low <= ROUNDING * max(abs(low), abs(high)):
        return np.full(6, np.nan)
    ordered = (ordered - low) / (high - low)
    _, _, mean, std, skewness, kurtosis = summarise(ordered)
    outside = np.mean(ordered > mean + 3 * std)
    return np.array([mean, std, skewness, kurtosis, np.diff(ordered).max(), outside])
