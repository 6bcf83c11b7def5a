"""The paper's landmarker features: structure and scores of iForest, HBOS, LODA and PCA.

Landmarkers run with default parameters on z-scored columns, so that all of these are free of scale.
Those of the random landmarkers, iForest and LODA, are averaged over seeds. Where every column is
constant nothing can run, and all of these are undefined.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

from metaod.metafeatures._landmarker_runs import LandmarkerRuns
from metaod.metafeatures._schema import Feature
from metaod.metafeatures._summaries import ROUNDING, named, summarise, summarised
from metaod.models import N_BINS, N_COMPONENTS, N_CUTS, HBOSRun, IForestRun, LODARun, PCARun

__all__ = ["LANDMARKER_FEATURES", "landmarker_values", "score_summary"]

Vector = npt.NDArray[np.float64]


def _structure(
    stem: str, group: str, what: str, formula: str, over: str, *, constant: bool = False
) -> tuple[Feature, ...]:
    return summarised(
        stem, group, what, formula, over=f"over {over}", scale_free=True, constant=constant
    )


def _of_scores(stem: str, group: str, scores: str = "") -> tuple[Feature, ...]:
    definitions = {
        "mean": ("mean", "mean(s), s = (score - min) / (max - min)"),
        "std": ("dispersion: standard deviation", "sigma_s"),
        "skewness": ("skewness", "mu_3 / sigma_s^3"),
        "kurtosis": ("kurtosis", "mu_4 / sigma_s^4"),
        "largest_gap": ("largest gap in sorted order", "max(s_(i+1) - s_(i))"),
        "outside_3_std": (
            "share of rows more than 3 standard deviations above the mean",
            "mean(s > mean(s) + 3 sigma_s)",
        ),
    }
    return tuple(
        Feature(
            f"{stem}_score_{name}",
            f"{group} scores",
            f"{what} of the {scores or f'{group} scores'}, scaled to 0 ... 1",
            formula,
            scale_free=True,
        )
        for name, (what, formula) in definitions.items()
    )


LANDMARKER_FEATURES: tuple[Feature, ...] = (
    *_structure("iforest_depth", "iForest", "depth", "splits to the deepest leaf", "trees"),
    *_structure("iforest_leaves", "iForest", "number of leaves", "leaves", "trees"),
    *_structure(
        "iforest_horizontal_imbalance",
        "iForest",
        "horizontal imbalance",
        "mean over splits of |leaves left - leaves right| / (leaves left + leaves right)",
        "trees",
    ),
    *_structure(
        "iforest_vertical_imbalance",
        "iForest",
        "vertical imbalance",
        "mean over splits of |height left - height right| / max(height left, height right, 1)",
        "trees",
    ),
    *_structure(
        "iforest_importance_mean",
        "iForest",
        "mean feature importance (share of splits)",
        "mean over columns of splits on the column / splits = 1 / p",
        "trees",
        constant=True,
    ),
    *_structure(
        "iforest_importance_max",
        "iForest",
        "largest feature importance (share of splits)",
        "max over columns of splits on the column / splits",
        "trees",
    ),
    *_structure(
        "hbos_mean",
        "HBOS",
        "mean density of the bins",
        "mean over 10 bins of count / (n width)",
        "columns",
    ),
    *_structure(
        "hbos_max",
        "HBOS",
        "largest density of a bin",
        "max over 10 bins of count / (n width)",
        "columns",
    ),
    *_structure(
        "loda_projection_mean",
        "LODA",
        "mean of the projected rows",
        "mean(Z w) = 0, w = random weights of floor(sqrt(p)) columns",
        "projections",
        constant=True,
    ),
    *_structure("loda_projection_max", "LODA", "largest projected row", "max(Z w)", "projections"),
    *_structure(
        "loda_histogram_mean",
        "LODA",
        "mean share of the bins",
        "mean over 10 bins of count / n = 1 / 10",
        "projections",
        constant=True,
    ),
    *_structure(
        "loda_histogram_max",
        "LODA",
        "largest share of a bin",
        "max over 10 bins of count / n",
        "projections",
    ),
    *_structure(
        "loda_histogram_entropy",
        "LODA",
        "normalised entropy of the histogram",
        "-sum(c/n log(c/n)) / log(10) over 10 bins",
        "projections",
    ),
    *(
        Feature(
            f"pca_{name}_{i}",
            "PCA",
            f"{what} of principal component {i} of the z-scores; undefined where there is none",
            formula.format(i=i),
            scale_free=True,
        )
        for name, what, formula in (
            ("explained", "explained variance ratio", "lambda_{i} / sum(lambda)"),
            ("singular_value", "singular value", "sqrt(n lambda_{i})"),
        )
        for i in range(1, N_COMPONENTS + 1)
    ),
    *_of_scores("iforest", "iForest"),
    *_of_scores("hbos", "HBOS"),
    *_of_scores("loda", "LODA"),
    *_of_scores("pca", "PCA", "squared reconstruction errors"),
)


def landmarker_values(runs: LandmarkerRuns) -> dict[str, float]:
    """Compute the landmarker features from the runs, which are made where they are not yet."""
    if runs.Z is None:
        return {feature.name: float("nan") for feature in LANDMARKER_FEATURES}
    return {
        **_averaged([_iforest(runs.iforest(seed)) for seed in runs.seeds]),
        **_hbos(runs.hbos()),
        **_averaged([_loda(runs.loda(seed)) for seed in runs.seeds]),
        **_pca(runs.pca()),
    }


def score_summary(scores: Vector) -> Vector:
    """Mean, std, skewness, kurtosis, largest gap and share of outliers of scaled scores.

    Scores are scaled to 0 ... 1. Where they are all the same, all of it is undefined.

    Examples
    --------
    >>> score_summary(np.array([1.0, 2.0, 2.0, 5.0]))[[0, 4]]
    array([0.375, 0.75 ])
    """
    ordered = np.sort(scores)
    low, high = ordered[0], ordered[-1]
    if high - low <= ROUNDING * max(abs(low), abs(high)):
        return np.full(6, np.nan)
    ordered = (ordered - low) / (high - low)
    _, _, mean, std, skewness, kurtosis = summarise(ordered)
    outside = np.mean(ordered > mean + 3 * std)
    return np.array([mean, std, skewness, kurtosis, np.diff(ordered).max(), outside])


def _scores(stem: str, scores: Vector) -> dict[str, float]:
    names = ("mean", "std", "skewness", "kurtosis", "largest_gap", "outside_3_std")
    return {
        f"{stem}_score_{name}": float(value)
        for name, value in zip(names, score_summary(scores), strict=True)
    }


def _iforest(run: IForestRun) -> dict[str, float]:
    return {
        **named("iforest_depth", run.depths),
        **named("iforest_leaves", run.leaves),
        **named("iforest_horizontal_imbalance", run.horizontal),
        **named("iforest_vertical_imbalance", run.vertical),
        **named("iforest_importance_mean", run.importance_mean),
        **named("iforest_importance_max", run.importance_max),
        **_scores("iforest", run.scores),
    }


def _hbos(run: HBOSRun) -> dict[str, float]:
    return {
        **named("hbos_mean", run.density.mean(axis=0)),
        **named("hbos_max", run.density.max(axis=0)),
        **_scores("hbos", run.scores),
    }


def _loda(run: LODARun) -> dict[str, float]:
    entropy = -(run.shares * np.log(run.shares)).sum(axis=1) / np.log(N_BINS)
    return {
        **named("loda_projection_mean", np.zeros(N_CUTS)),
        **named("loda_projection_max", run.projection_max),
        **named("loda_histogram_mean", run.shares.mean(axis=1)),
        **named("loda_histogram_max", run.shares.max(axis=1)),
        **named("loda_histogram_entropy", entropy),
        **_scores("loda", run.scores),
    }


def _pca(run: PCARun) -> dict[str, float]:
    values = _scores("pca", run.scores)
    for i in range(N_COMPONENTS):
        values[f"pca_explained_{i + 1}"] = float(run.explained[i])
        values[f"pca_singular_value_{i + 1}"] = float(run.singular_values[i])
    return values


def _averaged(of_seeds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over the seeds for which a feature is defined."""
    table = np.array([list(values.values()) for values in of_seeds])
    return dict(zip(of_seeds[0], _defined_means(table).tolist(), strict=True))


@njit(cache=True)
def _defined_means(table: npt.NDArray[np.float64]) -> Vector:
    means = np.empty(table.shape[1])
    for column in range(table.shape[1]):
        means[column] = np.nanmean(table[:, column])
    return means
