"""The published extractor's 200 features against ours: literal formulas of theirs, on a few tables.

``research/published_metafeatures.csv`` says for each whether ours is the same. Formulas are written
from its definitions with NumPy, SciPy, scikit-learn and PyOD.
"""

import csv
import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from pyod.models.iforest import IForest
from pyod.models.loda import LODA
from scipy import stats

from metaod.metafeatures import extract, schema

LIST = Path(__file__).parents[1] / "published_metafeatures.csv"
with LIST.open(encoding="utf-8", newline="") as file:
    PUBLISHED = list(csv.DictReader(file))
SAME = {row["published"]: row["ours"] for row in PUBLISHED if row["status"] == "same"}
EXCESS = {row["published"]: row["ours"] for row in PUBLISHED if "theirs + 3" in row["note"]}
SUMMARIES = {
    "min": np.min, "max": np.max, "mean": np.mean, "std": np.std, "skewness": stats.skew,
    "kurtosis": stats.kurtosis,
}  # fmt: skip


def tables():
    random = np.random.default_rng(7)
    normal = random.normal(size=(200, 6)) @ random.normal(size=(6, 6)) + 3
    yield "normal", normal
    yield "skewed", random.lognormal(size=(331, 4)) * [1, 10, 100, 0.1]
    yield "integers", random.integers(0, [3, 6, 9, 200, 40], size=(150, 5)).astype(float)
    yield "both", np.column_stack([normal[:, :3], random.integers(0, 4, size=(200, 2)) + 0.5])


TABLES = dict(tables())


def of_all(stem, values):
    return {f"{stem}_{name}": summary(values) for name, summary in SUMMARIES.items()}


def published(X):
    """Compute their features that are the same as ours, and those that are ours minus 3."""
    n, p = X.shape
    middle = np.median(X)
    p_values = stats.normaltest(X).pvalue
    pairs = list(combinations(range(p), 2))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    singular = np.linalg.svd(Z, compute_uv=False)[:3]
    counts = [np.unique(x, return_counts=True)[1] for x in X.T]
    forest = IForest(random_state=0).fit(X)
    values = {
        "n_samples": n,
        "n_features": p,
        "sample_mean": np.mean(X),
        "sample_median": middle,
        "sample_var": np.var(X),
        "sample_min": np.min(X),
        "sample_max": np.max(X),
        "sample_std": np.std(X),
        "normalized_mean": np.mean(X) / np.max(X),
        "normalized_median": middle / np.max(X),
        "sample_range": np.max(X) - np.min(X),
        "med_abs_dev": np.median(np.abs(X - middle)),
        "has_outliers_3std": int(np.any(np.abs(X - np.mean(X)) > 3 * np.std(X))),
        **of_all("normality_p", p_values),
        **of_all("is_normal_5", (p_values < 0.05).astype(int)),
        **of_all("is_normal_1", (p_values < 0.01).astype(int)),
        **of_all("skewness", stats.skew(X)),
        **of_all("kurtosis", stats.kurtosis(X)),
        **of_all("correlation", [np.corrcoef(X[:, i], X[:, j])[0, 1] for i, j in pairs]),
        **of_all("covariance", [np.cov(X[:, i], X[:, j])[0, 1] for i, j in pairs]),
        **of_all("sparsity", [len(np.unique(x)) / n for x in X.T]),
        **of_all("anova_p_value", [stats.f_oneway(X[:, i], X[:, j]).pvalue for i, j in pairs]),
        **of_all("entropy", [stats.entropy(count) / n for count in counts]),
        **of_all("IForest_fi_mean", [t.feature_importances_.mean() for t in forest.estimators_]),
        **of_all("LODA_n_hists_mean", LODA(random_state=0).fit(X).histograms_.mean(axis=0)),
        **of_all("LODA_n_cuts_mean", LODA(random_state=0).fit(X).histograms_.mean(axis=1)),
    }
    for order in range(5, 11):
        values |= of_all(f"moment_{order}", np.mean((X - X.mean(axis=0)) ** order, axis=0))
    for i in range(3):
        values[f"pca_expl_ratio_{i + 1}"] = singular[i] ** 2 / np.sum(Z**2)
        values[f"pca_sv_{i + 1}"] = singular[i]
    return values


def test_every_published_feature_is_listed_once():
    names = [row["published"] for row in PUBLISHED]
    assert len(names) == len(set(names)) == 200
    assert Counter(row["status"] for row in PUBLISHED).keys() == {"same", "differs", "absent"}
    for row in PUBLISHED:
        assert row["definition"], row
        assert bool(row["note"]) or row["status"] == "same", row
        assert (row["ours"] in schema("paper").names) == (row["status"] != "absent"), row
    ours = [row["ours"] for row in PUBLISHED if row["ours"]]
    assert len(ours) == len(set(ours))


@pytest.mark.parametrize("name", TABLES)
def test_features_listed_as_the_same_agree(name):
    with warnings.catch_warnings():
        # skewness of what is constant by definition
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs = published(TABLES[name])
    ours = extract(TABLES[name])
    for listed, add in ((SAME, 0), (EXCESS, 3)):
        for one, other in listed.items():
            np.testing.assert_allclose(
                ours[other], theirs[one] + add, rtol=1e-7, atol=1e-9, err_msg=one
            )


def test_features_listed_as_different_differ():
    theirs, ours = published_differing(TABLES["skewed"]), extract(TABLES["skewed"])
    listed = {row["published"]: row["ours"] for row in PUBLISHED if row["status"] == "differs"}
    for name, value in theirs.items():
        assert abs(ours[listed[name]] - value) > 1e-9 * abs(value), name


def published_differing(X):
    """Compute some of their features that the list says differ from ours."""
    n = len(X)
    q1, q25, q75, q99 = np.quantile(X, [0.0001, 0.0025, 0.0075, 0.0099])
    beyond = 1.5 * (q75 - q25)
    coordinates = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0))[2][:3].T
    return {
        "q1": q1,
        "q25": q25,
        "q75": q75,
        "q99": q99,
        "iqr": q75 - q25,
        "quant_coeff_disp": (q75 - q25) / (q75 + q25),
        "avg_abs_dev": np.mean(np.abs(X - np.mean(X))),
        "coeff_var": np.var(X) / np.mean(X),
        "percent_outliers_15iqr": np.sum((q25 - beyond > X) | (q75 + beyond < X)) / n,
        "percent_outliers_3std": np.sum(np.abs(X - X.mean()) > 3 * X.std()) / n,
        "first_pca_std": np.std(coordinates[0]),
    }
