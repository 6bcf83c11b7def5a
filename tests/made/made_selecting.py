"""Small learners for the tests of picking: real models, real meta-features, made-up performance."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from metaod.history import TrainingData, train
from metaod.learners import make_learner
from metaod.metafeatures import extract, schema
from metaod.models import ModelSpec, average_of

MODELS = (
    "ABOD(n_neighbors=3)",
    "HBOS(n_bins=10, alpha=0.1)",
    "IForest(n_estimators=20, max_features=0.5)",
    "KNN(n_neighbors=5, method=largest)",
    "KNN(n_neighbors=5, method=mean)",
    "LODA(n_bins=10, n_random_cuts=5)",
    "LOF(n_neighbors=5, metric=euclidean)",
    "LOF(n_neighbors=50, metric=euclidean)",
)

AVERAGES = tuple(
    average_of(*(ModelSpec.parse(MODELS[place]) for place in places)).id
    for places in ((1, 3, 6), (2, 3), (1, 2), (3, 7), (0, 5, 6))
)
"""Averages of them, of which the first did best."""


def table(n_rows=80, n_columns=4, seed=0):
    """A cloud with a few rows far away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    X[: max(1, n_rows // 20)] += rng.normal(0, 5, size=n_columns)
    return X


@cache
def training_data(n=30):
    """Datasets of two an origin, of which small ones suit other models than large ones."""
    rng = np.random.default_rng(5)
    names = list(schema("paper").names)
    index = pd.Index([f"fp1:{number:032x}" for number in range(n)], name="dataset")
    shapes = np.column_stack([rng.integers(40, 160, n), rng.integers(2, 7, n)])
    features = [
        extract(table(rows, columns, seed)).to_dict() for seed, (rows, columns) in enumerate(shapes)
    ]
    M = pd.DataFrame([[row[name] for name in names] for row in features], index, names)
    size = (shapes[:, :1] - 100) / 60
    P = 1 / (1 + np.exp(-(size * np.linspace(-2, 2, len(MODELS)) + rng.normal(size=(n, 1)))))
    P += 0.02 * rng.random(P.shape)
    P[rng.random(P.shape) < 0.05] = np.nan
    datasets = pd.DataFrame(
        {
            "name": [f"table <{number}>" for number in range(n)],
            "origin": [f"origin {number // 2}" for number in range(n)],
            "n_rows": shapes[:, 0],
            "n_columns": shapes[:, 1],
        },
        index=index,
    )
    return TrainingData.from_frames(
        pd.DataFrame(np.clip(P, 0, 1), index, list(MODELS)),
        {"paper": M},
        datasets,
        reference=pd.Series(rng.random(n), index),
    )


@cache
def averages_data():
    """The same datasets with averages among the models: better than any single one."""
    data = training_data()
    P = data.P.fillna(0.0)
    extra = {name: 0.9 + 0.1 * P.mean(axis=1) - 0.02 * n for n, name in enumerate(AVERAGES)}
    return replace(data, P=data.P.assign(**extra))


@cache
def averages_artifact(name="made_best", *, calibrate=5):
    """A learner that knows averages."""
    return train(averages_data(), make_learner(name), calibrate=calibrate)


@cache
def artifact(name="made_nearest", *, calibrate=5):
    """A learner trained on them."""
    return train(training_data(), make_learner(name), calibrate=calibrate)
