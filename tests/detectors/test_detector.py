"""The detector a user gets: PyOD's interface, the spec's scaling inside."""

import numpy as np
import pytest
from pyod.models.base import BaseDetector
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from metaod.detectors import ModelSpec, families, specs_of
from metaod.errors import BadParameter, UserError

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(140, 4)), RNG.normal(6, 1, size=(8, 4))]) * [1, 100, 1e-3, 5] + 7


@pytest.mark.parametrize("name", list(families()))
def test_one_of_each_family_equals_pyod_on_zscores(name):
    spec = specs_of(families()[name])[-1]
    detector = spec.to_pyod(random_state=3, contamination=0.05).fit(X)
    assert isinstance(detector, BaseDetector)
    seed = {"random_state": 3} if spec.is_random else {}
    plain = families()[name].load()(**dict(spec.params), **seed, contamination=0.05)
    plain.fit(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(detector.decision_scores_, plain.decision_scores_, rtol=1e-6)
    assert detector.threshold_ == pytest.approx(plain.threshold_, rel=1e-6)
    assert detector.labels_.tolist() == plain.labels_.tolist()
    assert detector.predict(X).shape == (148,)
    assert detector.predict_proba(X).shape == (148, 2)


def test_new_rows_are_scaled_by_the_training_table():
    detector = ModelSpec.parse("IForest(n_estimators=50, max_features=0.5)").to_pyod(random_state=0)
    detector.fit(X)
    np.testing.assert_allclose(detector.decision_function(X), detector.decision_scores_)
    assert detector.decision_function(X[:1] + 1e6)[0] > np.median(detector.decision_scores_)


def test_cloneable_with_scikit_learns_parameters():
    detector = ModelSpec.parse("COF(n_neighbors=5)").to_pyod(random_state=1, contamination=0.2)
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert copy.spec == detector.spec


def test_a_model_that_does_not_apply_says_why():
    with pytest.raises(UserError, match="needs at least 101 rows, the table has 20"):
        ModelSpec.parse("KNN(n_neighbors=100, method=mean)").to_pyod().fit(X[:20])


@pytest.mark.parametrize("contamination", [0, 0.6, -1, "auto", None])
def test_contamination_out_of_range_is_refused(contamination):
    with pytest.raises(BadParameter, match="contamination"):
        ModelSpec("LOF").to_pyod(contamination=contamination)


def test_missing_values_are_refused_not_scored():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ModelSpec("LOF").to_pyod().fit(bad)


def test_a_constant_table_says_so():
    with pytest.raises(UserError, match="constant"):
        ModelSpec("LOF").to_pyod().fit(np.ones((30, 3)))
