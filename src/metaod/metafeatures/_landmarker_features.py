"""The paper's landmarker features: structure and scores of iForest, HBOS, LODA and PCA.

Landmarkers run with default parameters on z-scored columns; all features are scale-free. Features
of iForest and LODA are averaged over seeds.
"""

from typing import Any

import numpy as np

from metaod.metafeatures._landmarkers import N_COMPONENTS, FeatureInputs
from metaod.metafeatures._schema import (
    ROUNDING,
    SUMMARIES,
    Feature,
    Statistic,
    averaged,
    computes,
    summaries,
    summarise,
)
from metaod.models import Scores

N_BINS = 10  # of a histogram of LODA


def _trees(inputs: FeatureInputs) -> list[Any]:
    return [forest.describe() for forest in inputs.runs.of_seeds("IForest")]


def _histograms(inputs: FeatureInputs) -> list[Any]:
    return [inputs.runs.run("HBOS")]


def _projections(inputs: FeatureInputs) -> list[Any]:
    return inputs.runs.of_seeds("LODA")


_IFOREST = summaries(
    "trees", _trees,
    Statistic("iforest_depth", "iForest", "depth", "splits to the deepest leaf",
              lambda run: run.depths),
    Statistic("iforest_leaves", "iForest", "number of leaves", "leaves", lambda run: run.leaves),
    Statistic("iforest_horizontal_imbalance", "iForest", "horizontal imbalance",
              "mean over splits of |leaves left - leaves right| / (leaves left + leaves right)",
              lambda run: run.horizontal),
    Statistic(
        "iforest_vertical_imbalance", "iForest", "vertical imbalance",
        "mean over splits of |height left - height right| / max(height left, height right, 1)",
        lambda run: run.vertical,
    ),
    Statistic("iforest_importance_mean", "iForest", "mean feature importance (share of splits)",
              "mean over columns of splits on the column / splits = 1 / p",
              lambda run: run.importance_mean, constant=SUMMARIES),
    Statistic("iforest_importance_max", "iForest", "largest feature importance (share of splits)",
              "max over columns of splits on the column / splits", lambda run: run.importance_max),
    uses_landmarkers=True,
)  # fmt: skip

_HBOS = summaries(
    "columns", _histograms,
    Statistic("hbos_mean", "HBOS", "mean density of the bins",
              "mean over 10 bins of count / (n width)", lambda run: run.density_.mean(axis=0)),
    Statistic("hbos_max", "HBOS", "largest density of a bin",
              "max over 10 bins of count / (n width)", lambda run: run.density_.max(axis=0)),
    Statistic("hbos_min", "HBOS", "smallest density of a bin",
              "min over 10 bins of count / (n width)", lambda run: run.density_.min(axis=0),
              n_in_paper=0),
    uses_landmarkers=True,
)  # fmt: skip

_LODA = summaries(
    "projections", _projections,
    Statistic("loda_projection_mean", "LODA", "mean of the projected rows",
              "mean(Z w) = 0, w = random weights of floor(sqrt(p)) columns",
              lambda run: np.zeros_like(run.largest_), constant=SUMMARIES),
    Statistic("loda_projection_max", "LODA", "largest projected row", "max(Z w)",
              lambda run: run.largest_),
    Statistic("loda_histogram_mean", "LODA", "mean share of the bins",
              "mean over 10 bins of count / n = 1 / 10", lambda run: run.shares_.mean(axis=1),
              constant=SUMMARIES),
    Statistic("loda_histogram_max", "LODA", "largest share of a bin",
              "max over 10 bins of count / n", lambda run: run.shares_.max(axis=1)),
    Statistic("loda_histogram_entropy", "LODA", "normalised entropy of the histogram",
              "-sum(c/n log(c/n)) / log(10) over 10 bins",
              lambda run: -(run.shares_ * np.log(run.shares_)).sum(axis=1) / np.log(N_BINS)),
    uses_landmarkers=True,
)  # fmt: skip


@computes(
    *(
        Feature(f"pca_{name}_{i}", "PCA",
                f"{what} of principal component {i} of the z-scores; undefined where there is none",
                formula.format(i=i), scale_free=True)
        for name, what, formula in (
            ("explained", "explained variance ratio", "lambda_{i} / sum(lambda)"),
            ("singular_value", "singular value", "sqrt(n lambda_{i})"),
        )
        for i in range(1, N_COMPONENTS + 1)
    ),
    uses_landmarkers=True,
)  # fmt: skip
def _pca(inputs: FeatureInputs) -> list[float]:
    run = inputs.runs.pca
    return [*run.explained[:N_COMPONENTS], *run.singular_values[:N_COMPONENTS]]


@computes(
    *(
        Feature(f"{landmarker}_score_{name}", f"{title} scores",
                f"{what} of the {scores}, scaled to 0 ... 1", formula, scale_free=True)
        for landmarker, title, scores in (
            ("iforest", "iForest", "iForest scores"), ("hbos", "HBOS", "HBOS scores"),
            ("loda", "LODA", "LODA scores"), ("pca", "PCA", "squared reconstruction errors"),
        )
        for name, what, formula in (
            ("mean", "mean", "mean(s), s = (score - min) / (max - min)"),
            ("std", "dispersion: standard deviation", "sigma_s"),
            ("skewness", "skewness", "mu_3 / sigma_s^3"),
            ("kurtosis", "kurtosis", "mu_4 / sigma_s^4"),
            ("largest_gap", "largest gap in sorted order", "max(s_(i+1) - s_(i))"),
            ("outside_3_std", "share of rows more than 3 standard deviations above the mean",
             "mean(s > mean(s) + 3 sigma_s)"),
        )
    ),
    uses_landmarkers=True,
)  # fmt: skip
def _score_summaries(inputs: FeatureInputs) -> Scores:
    runs = inputs.runs
    landmarkers = (
        runs.of_seeds("IForest"), [runs.run("HBOS")], runs.of_seeds("LODA"), [runs.pca]
    )  # fmt: skip
    return np.concatenate(
        [averaged([score_summary(run.decision_scores_) for run in of]) for of in landmarkers]
    )


_LODA_BINS = summaries(
    f"the {N_BINS} bins", _projections,
    Statistic("loda_bin_mean", "LODA", "mean share of a bin",
              "mean over projections of count / n", lambda run: run.shares_.mean(axis=0),
              n_in_paper=0, constant=("mean",)),  # the shares of a projection add up to 1
    Statistic("loda_bin_max", "LODA", "largest share of a bin", "max over projections of count / n",
              lambda run: run.shares_.max(axis=0), n_in_paper=0),
    uses_landmarkers=True,
)  # fmt: skip

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
