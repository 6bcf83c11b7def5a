"""Made-up history for the tests of learners."""

import numpy as np
import pandas as pd

MODELS = [
    "LOF(n_neighbors=5, metric=euclidean)", "KNN(n_neighbors=10, method=largest)",
    "IForest(n_estimators=50)", "HBOS(n_bins=10)", "ABOD(n_neighbors=3)", "COF(n_neighbors=3)",
]  # fmt: skip
FEATURES = ["n_rows", "n_columns", "sample_mean", "sample_std", "odd"]


def history(n=24, *, seed=0, missing=0.1):
    """P, M and origins of n datasets, with what real ones have: gaps, NaN, huge values."""
    rng = np.random.default_rng(seed)
    M = pd.DataFrame(rng.normal(size=(n, len(FEATURES))), columns=FEATURES)
    M["n_rows"] = rng.integers(50, 5000, n).astype(float)
    M["n_columns"] = rng.integers(2, 60, n).astype(float)
    M["odd"] = np.where(rng.random(n) < 0.3, np.nan, 10.0 ** rng.uniform(-3, 9, n))
    slopes = rng.normal(size=(2, len(MODELS)))
    P = 1 / (1 + np.exp(-M[["sample_mean", "sample_std"]].to_numpy() @ slopes))
    P[rng.random(P.shape) < missing] = np.nan
    index = pd.Index([f"fp1:{number:032x}" for number in range(n)], name="dataset")
    origins = pd.Series([f"origin {number // 2}" for number in range(n)], index=index)
    M.index = index
    return pd.DataFrame(P, index=index, columns=MODELS), M, origins


def frame(values, names=None):
    """A frame of numbers with columns m0, m1, ..."""
    values = np.asarray(values, dtype=float)
    return pd.DataFrame(values, columns=names or [f"m{j}" for j in range(values.shape[1])])


def planted(n=60, m=12, seed=0):
    """Models of four kinds; two directions of the meta-features decide which kind does well."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    M = Z @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(n, 8))
    suits = np.stack([Z[:, 0], -Z[:, 0], Z[:, 1], -Z[:, 1]], axis=1)[:, np.arange(m) % 4]
    P = 1 / (1 + np.exp(-suits + 0.1 * rng.normal(size=(n, m))))
    models = [f"model {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"[:m]]
    return pd.DataFrame(P, columns=models), pd.DataFrame(M).rename(columns=str)
