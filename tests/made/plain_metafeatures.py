"""The paper's features computed slowly and obviously: NumPy, SciPy, scikit-learn, PyOD, loops.

The tests and ``benchmarks/metafeatures.py`` compare the library's values with these.
"""

import warnings
from itertools import combinations

import numpy as np
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.loda import LODA
from scipy import stats
from sklearn.decomposition import PCA

SUMMARIES = ("min", "max", "mean", "std", "skewness", "kurtosis")


KINDS_OF_A_MATRIX = {
    "numeric_column_share": 1.0, "category_column_share": 0.0, "text_column_share": 0.0,
    "date_column_share": 0.0, "gap_share": 0.0, "column_with_gaps_share": 0.0,
    "gap_share_max": 0.0, "log_levels_mean": 0.0, "log_levels_max": 0.0,
    "rare_level_row_share": 0.0,
}  # fmt: skip


def plain_features(X, seeds=(0, 1, 2), categorical_share=0.0):
    """All features of the paper's schema, by name."""
    with warnings.catch_warnings():
        # SciPy warns of constant columns, for which features are undefined
        warnings.simplefilter("ignore")
        return {
            **size_features(X, categorical_share),
            **sample_features(X),
            **column_features(X),
            **pair_features(X),
            **landmarker_features(X, seeds),
            **KINDS_OF_A_MATRIX,
        }


def summaries(stem, values):
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    if values.size == 0:
        return {f"{stem}_{name}": np.nan for name in SUMMARIES}
    numbers = (
        values.min(), values.max(), values.mean(), values.std(), stats.skew(values),
        stats.kurtosis(values, fisher=False),
    )  # fmt: skip
    return {f"{stem}_{name}": number for name, number in zip(SUMMARIES, numbers, strict=True)}


def size_features(X, categorical_share):
    n, p = X.shape
    return {
        "n_rows": n,
        "n_columns": p,
        "columns_per_row": p / n,
        "log_n_rows": np.log(n),
        "log_rows_per_column": np.log(n / p),
        "log_n_columns": np.log(p),
        "categorical_share": categorical_share,
    }


def gini(x):
    x = np.sort(x.ravel())
    if x[0] < 0:
        x = x - x[0]
    n = len(x)
    return np.sum((2 * np.arange(1, n + 1) - n - 1) * x) / (n * x.sum())


def sample_features(X):
    x = X.ravel()
    q1, q25, q75, q99 = np.percentile(x, [1, 25, 75, 99])
    iqr, mean, std, median = q75 - q25, x.mean(), x.std(), np.median(x)
    outside = {
        "1_99": (x < q1) | (x > q99),
        "3_std": np.abs(x - mean) > 3 * std,
        "1_5_iqr": (x < q25 - 1.5 * iqr) | (x > q75 + 1.5 * iqr),
        "3_iqr": (x < q25 - 3 * iqr) | (x > q75 + 3 * iqr),
    }
    return {
        "sample_mean": mean,
        "sample_median": median,
        "sample_var": x.var(),
        "sample_min": x.min(),
        "sample_max": x.max(),
        "sample_std": std,
        "sample_q1": q1,
        "sample_q25": q25,
        "sample_q75": q75,
        "sample_q99": q99,
        "sample_iqr": iqr,
        "normalized_mean": mean / x.max(),
        "normalized_median": median / x.max(),
        "sample_range": np.ptp(x),
        "sample_gini": gini(x),
        "median_absolute_deviation": np.median(np.abs(x - median)),
        "average_absolute_deviation": np.mean(np.abs(x - median)),
        "quantile_coefficient_dispersion": iqr / (q75 + q25),
        "coefficient_of_variance": std / mean,
        **{f"outside_{name}": np.mean(values) for name, values in outside.items()},
        **{f"has_outside_{name}": float(np.any(values)) for name, values in outside.items()},
    }


def column_features(X):
    n, p = X.shape
    columns = [X[:, j] for j in range(p)]
    normality = [stats.normaltest(x).pvalue if n >= 8 else np.nan for x in columns]
    tested = [p_value for p_value in normality if not np.isnan(p_value)]
    values = summaries("normality_p", normality)
    values["not_normal_share"] = np.mean(np.array(tested) < 0.05) if tested else np.nan
    for level in (5, 1):
        flags = [float(p_value < level / 100) for p_value in tested] or [np.nan]
        values[f"not_normal_{level}_min"] = min(flags)
        values[f"not_normal_{level}_max"] = max(flags)
        values["not_normal_1_mean"] = np.mean(flags)
    for order in range(5, 11):
        values |= summaries(f"moment_{order}", [stats.moment(x, order) for x in columns])
    values |= summaries("skewness", [stats.skew(x) for x in columns])
    values |= summaries("kurtosis", [stats.kurtosis(x, fisher=False) for x in columns])
    values |= summaries("sparsity", [len(np.unique(x)) / n for x in columns])
    values |= summaries("coefficient_of_variation", [x.std() / x.mean() for x in columns])
    counts = [np.unique(x, return_counts=True)[1] for x in columns]
    values |= summaries("entropy", [stats.entropy(c, base=2) / np.log2(n) for c in counts])
    return values


def pair_features(X):
    correlations, covariances, p_values = [], [], []
    for i, j in combinations(range(X.shape[1]), 2):
        x, y = X[:, i], X[:, j]
        varying = np.ptp(x) > 0 and np.ptp(y) > 0
        correlations.append(stats.pearsonr(x, y).statistic if varying else np.nan)
        covariances.append(np.cov(x, y)[0, 1])
        # of two equal columns SciPy's sum of squares between them may be negative by rounding
        same = varying and np.array_equal(x, y)
        p_values.append(1.0 if same else stats.f_oneway(x, y).pvalue)
    # the other solvers lose digits where means are large
    pca = PCA(svd_solver="full").fit(X)
    along = pca.transform(X)[:, 0]
    return {
        **summaries("correlation", correlations),
        **summaries("covariance", covariances),
        **summaries("anova_p", p_values),
        "first_pc_share": pca.explained_variance_ratio_[0],
        "first_pc_std": along.std(),
        "first_pc_skewness": abs(stats.skew(along)),
        "first_pc_kurtosis": stats.kurtosis(along, fisher=False),
    }


def landmarker_features(X, seeds):
    X = np.ascontiguousarray(X[:, np.ptp(X, axis=0) > 0])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    forests = [iforest_features(Z, seed) for seed in seeds]
    lodas = [loda_features(Z, seed) for seed in seeds]
    return {
        **{name: np.nanmean([values[name] for values in forests]) for name in forests[0]},
        **hbos_features(Z),
        **{name: np.nanmean([values[name] for values in lodas]) for name in lodas[0]},
        **pca_features(Z),
    }


def score_features(stem, scores):
    scaled = (scores - scores.min()) / np.ptp(scores)
    return {
        f"{stem}_score_mean": scaled.mean(),
        f"{stem}_score_std": scaled.std(),
        f"{stem}_score_skewness": stats.skew(scaled),
        f"{stem}_score_kurtosis": stats.kurtosis(scaled, fisher=False),
        f"{stem}_score_largest_gap": np.diff(np.sort(scaled)).max(),
        f"{stem}_score_outside_3_std": np.mean(scaled > scaled.mean() + 3 * scaled.std()),
    }


def iforest_features(Z, seed):
    forest = IForest(random_state=seed).fit(Z)
    trees = [
        tree_features(
            tree.tree_.children_left, tree.tree_.children_right, tree.tree_.feature, Z.shape[1]
        )
        for tree in forest.estimators_
    ]
    values = score_features("iforest", forest.decision_scores_)
    for name in trees[0]:
        values |= summaries(f"iforest_{name}", [tree[name] for tree in trees])
    return values


def tree_features(left, right, feature, n_columns, root=0):
    """Describe one tree; children of a leaf are -1."""
    horizontal, vertical, used = [], [], []

    def walk(node):
        if left[node] == -1:
            return 1, 0
        used.append(feature[node])
        leaves_left, height_left = walk(left[node])
        leaves_right, height_right = walk(right[node])
        leaves = leaves_left + leaves_right
        horizontal.append(abs(leaves_left - leaves_right) / leaves)
        vertical.append(abs(height_left - height_right) / max(height_left, height_right, 1))
        return leaves, 1 + max(height_left, height_right)

    leaves, depth = walk(root)
    if not used:
        horizontal = vertical = [np.nan]
    importance = [used.count(column) / len(used) if used else np.nan for column in range(n_columns)]
    return {
        "depth": depth,
        "leaves": leaves,
        "horizontal_imbalance": np.mean(horizontal),
        "vertical_imbalance": np.mean(vertical),
        "importance_mean": np.mean(importance),
        "importance_max": np.max(importance),
    }


def hbos_features(Z):
    detector = HBOS().fit(Z)
    return {
        **summaries("hbos_mean", detector.hist_.mean(axis=0)),
        **summaries("hbos_max", detector.hist_.max(axis=0)),
        **summaries("hbos_min", detector.hist_.min(axis=0)),
        **score_features("hbos", detector.decision_scores_),
    }


def loda_features(Z, seed):
    detector = LODA(random_state=seed).fit(Z)
    projections = [Z @ weights for weights in detector.projections_]
    return projection_features(projections, detector.histograms_, detector.decision_scores_)


def projection_features(projections, histograms, scores):
    entropies = [stats.entropy(histogram, base=10) for histogram in histograms]
    return {
        **summaries("loda_projection_mean", [along.mean() for along in projections]),
        **summaries("loda_projection_max", [along.max() for along in projections]),
        **summaries("loda_histogram_mean", [histogram.mean() for histogram in histograms]),
        **summaries("loda_histogram_max", [histogram.max() for histogram in histograms]),
        **summaries("loda_histogram_entropy", entropies),
        **summaries("loda_bin_mean", np.mean(histograms, axis=0)),
        **summaries("loda_bin_max", np.max(histograms, axis=0)),
        **score_features("loda", scores),
    }


def pca_features(Z):
    pca = PCA(svd_solver="full").fit(Z)
    ratios = np.full(3, np.nan)
    singular = np.full(3, np.nan)
    found = min(3, len(pca.singular_values_))
    ratios[:found] = pca.explained_variance_ratio_[:3]
    singular[:found] = pca.singular_values_[:3]
    kept = min(3, np.linalg.matrix_rank(Z) - 1)
    rebuilt = np.zeros_like(Z)
    if kept > 0:
        few = PCA(n_components=kept).fit(Z)
        rebuilt = few.inverse_transform(few.transform(Z))
    values = score_features("pca", np.sum((Z - rebuilt) ** 2, axis=1))
    for i in range(3):
        values[f"pca_explained_{i + 1}"] = ratios[i]
        values[f"pca_singular_value_{i + 1}"] = singular[i]
    return values
