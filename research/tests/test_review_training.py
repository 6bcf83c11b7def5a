"""Boosted trees become the forests of reviews."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from research.review_training import flat_boosting


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(500, 5)).astype(np.float32)
    X[:, 0] = np.round(X[:, 0])  # values on thresholds
    return X, X[:, 0] * X[:, 1] + generator.normal(size=500) > 0


def test_flattened_boosting_gives_the_log_odds_of_scikit_learn(data):
    X, y = data
    model = HistGradientBoostingClassifier(max_iter=20, early_stopping=False).fit(X, y)
    forest = flat_boosting(model)
    np.testing.assert_allclose(forest.predict(X)[:, 0], model.decision_function(X), rtol=1e-9)


def test_several_models_are_the_outputs_of_one_forest(data):
    X, y = data
    models = [
        HistGradientBoostingRegressor(max_iter=n, early_stopping=False).fit(X, y * n + X[:, 2])
        for n in (5, 8)
    ]
    expected = np.column_stack([model.predict(X) for model in models])
    np.testing.assert_allclose(flat_boosting(*models).predict(X), expected, rtol=1e-9)
