"""The learned ranking of rows."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from metaod.artifacts import BadArtifact, read_container, write_container
from metaod.learners import FlatForest
from metaod.review import FEATURES, STATE_FEATURES, Ranker, predict, shipped_ranker


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(500, 5)).astype(np.float32)
    X[:, 0] = np.round(X[:, 0])  # values on thresholds
    return X, X[:, 0] * X[:, 1] + generator.normal(size=500) > 0


def test_flattened_boosting_gives_the_log_odds_of_scikit_learn(data):
    X, y = data
    model = HistGradientBoostingClassifier(max_iter=20, early_stopping=False).fit(X, y)
    forest = FlatForest.from_boosting(model)
    np.testing.assert_allclose(forest.predict(X)[:, 0], model.decision_function(X), rtol=1e-9)


def test_several_models_are_the_outputs_of_one_forest(data):
    X, y = data
    models = [
        HistGradientBoostingRegressor(max_iter=n, early_stopping=False).fit(X, y * n + X[:, 2])
        for n in (5, 8)
    ]
    expected = np.column_stack([model.predict(X) for model in models])
    np.testing.assert_allclose(FlatForest.from_boosting(*models).predict(X), expected, rtol=1e-9)


def test_compiled_predictions_are_those_of_the_forest(data):
    X, y = data
    forest = FlatForest.fit(X, np.column_stack([y, ~y]), n_estimators=7, max_depth=4)
    np.testing.assert_allclose(predict(forest, X), forest.predict(X), rtol=1e-12)


def test_the_shipped_ranker_knows_the_features():
    ranker = shipped_ranker()
    assert ranker.rows.n_features == len(FEATURES)
    assert ranker.left.n_features == len(STATE_FEATURES)


def test_a_written_ranker_is_read_as_it_was(tmp_path):
    ranker = shipped_ranker()
    ranker.write(tmp_path / "a.review")
    again = Ranker.read(tmp_path / "a.review")
    X = np.random.default_rng(0).normal(size=(50, len(FEATURES))).astype(np.float32)
    np.testing.assert_array_equal(predict(again.rows, X), predict(ranker.rows, X))


def test_a_ranker_of_other_features_is_refused(tmp_path):
    shipped_ranker().write(tmp_path / "a.review")
    content = read_container(tmp_path / "a.review", "review")
    write_container(tmp_path / "a.review", "review", content | {"features": ["x"]})
    with pytest.raises(BadArtifact, match="other features"):
        Ranker.read(tmp_path / "a.review")
