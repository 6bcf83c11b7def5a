"""Supervised Surrogates: scikit-learn's forest on cleaned meta-features."""

import numpy as np
from made_history import frame
from sklearn.ensemble import RandomForestRegressor

from metaod.learners import Cleaning
from research.learners.supervised_surrogates import SupervisedSurrogates


def test_supervised_surrogates_equal_scikit_learns_forest():
    rng = np.random.default_rng(0)
    P, M, new = rng.uniform(size=(40, 5)), rng.normal(size=(40, 6)), rng.normal(size=(7, 6))
    params = {"n_estimators": 8, "min_samples_leaf": 3, "max_features": 0.5, "random_state": 4}
    scores = SupervisedSurrogates(**params).fit(frame(P), frame(M)).predict(frame(new))
    cleaning = Cleaning.fit(M)
    forest = RandomForestRegressor(**params).fit(cleaning.transform(M), P)
    # leaves are kept in single precision
    expected = forest.predict(cleaning.transform(new))
    np.testing.assert_allclose(scores, expected, rtol=1e-7)


def test_supervised_surrogates_put_a_model_without_values_last():
    rng = np.random.default_rng(0)
    P, M = rng.uniform(size=(30, 4)), rng.normal(size=(30, 2))
    P[:, 1] = np.nan
    scores = SupervisedSurrogates(n_estimators=5).fit(frame(P), frame(M)).predict(frame(M))
    assert (scores.idxmin(axis=1) == "m1").all()
