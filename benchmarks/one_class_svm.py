"""The paper's 36 OCSVM models: our solver on a shared kernel matrix, or scikit-learn's on the same.

python benchmarks/one_class_svm.py
"""

import time
import warnings

import numpy as np
from sklearn.metrics.pairwise import (
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)
from sklearn.svm import OneClassSVM

from metaod.models import fit_scaling, model_space, score_models


def table(n_rows, n_columns):
    rng = np.random.default_rng(0)
    n_outliers = n_rows // 20
    inliers = rng.normal(size=(n_rows - n_outliers, n_columns))
    return np.vstack([inliers, rng.normal(2, 2, size=(n_outliers, n_columns))])


def ours(X, specs):
    return {scored.spec: scored.scores for scored in score_models(X, specs)}


def with_scikit_learn(X, specs):
    Z = fit_scaling("zscore", X).transform(X)
    gamma = 1 / (Z.shape[1] * Z.var())
    kernels = {
        "linear": linear_kernel(Z),
        "poly": polynomial_kernel(Z, degree=3, gamma=gamma, coef0=0),
        "rbf": rbf_kernel(Z, gamma=gamma),
        "sigmoid": sigmoid_kernel(Z, gamma=gamma, coef0=0),
    }
    scores = {}
    for spec in specs:
        params = dict(spec.params)
        kernel = kernels[params["kernel"]]
        fitted = OneClassSVM(kernel="precomputed", nu=params["nu"]).fit(kernel)
        scores[spec] = -fitted.decision_function(kernel)
    return scores


def timed(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - start


def main():
    warnings.simplefilter("ignore")
    specs = model_space("paper", detectors="OCSVM")
    ours(table(600, 5), specs)  # compiles
    print("| rows × columns | ours, s | scikit-learn, s | ratio | largest difference (rbf) |")
    print("|---|---|---|---|---|")
    for n_rows, n_columns in ((1800, 21), (5800, 36)):
        X = table(n_rows, n_columns)
        own, own_seconds = timed(ours, X, specs)
        theirs, their_seconds = timed(with_scikit_learn, X, specs)
        difference = max(
            float(np.abs(own[spec] - theirs[spec]).max() / np.abs(theirs[spec]).max())
            for spec in specs
            if dict(spec.params)["kernel"] == "rbf"
        )
        ratio = their_seconds / own_seconds
        print(
            f"| {n_rows} × {n_columns} | {own_seconds:.2f} | {their_seconds:.2f} | {ratio:.1f} "
            f"| {difference:.0e} |"
        )


if __name__ == "__main__":
    main()
