"""The average of standardised scores, on the training table and on new rows."""

import numpy as np
import pytest
from sklearn.base import clone

from metaod.errors import BadParameter, UserError
from metaod.models import (
    AverageDetector,
    ModelSpec,
    ScoreScale,
    SpecDetector,
    register_family,
    unregister_family,
)

RNG = np.random.default_rng(1)
X = np.vstack([RNG.normal(size=(90, 3)), RNG.normal(7, 1, size=(5, 3))])
NEW = np.vstack([RNG.normal(size=(4, 3)), [[9.0, 9.0, -9.0]]])
SPECS = (
    ModelSpec("KNN", {"n_neighbors": 10, "method": "largest"}),
    ModelSpec("HBOS", {"n_bins": 10, "alpha": 0.1}),
    ModelSpec("LOF", {"n_neighbors": 10, "metric": "euclidean"}),
)


def standardise(scores):
    return (scores - scores.mean()) / scores.std()


@pytest.mark.parametrize("factor", [1.0, 1e-300, 1e300])
def test_the_scale_standardises_in_every_unit(factor):
    plain = RNG.normal(size=50)
    scale = ScoreScale.of(plain * factor, where="model")
    np.testing.assert_allclose(scale.standardised(plain * factor), standardise(plain))


def test_scores_that_are_not_finite_are_repaired_by_the_training_scores():
    scale = ScoreScale.of(np.array([*np.arange(1.0, 401), np.nan, np.inf]), where="model")
    repaired = scale.repaired(np.array([np.nan, np.inf, -np.inf, 7.0]))
    assert repaired.tolist() == [200.5, 400.0, 1.0, 7.0]


@pytest.mark.parametrize("value", [0.0, 0.3, 7.0, 1e200])
def test_a_constant_has_no_spread(value):
    nearly = value + np.where(np.arange(20) == 3, 1e-16, 0.0) * (value == 0.3)
    scale = ScoreScale.of(nearly, where="model")
    assert scale.standardised(np.array([value, value + 1])).tolist() == [0.0, 0.0]


def test_weights_count_by_their_ratio():
    parts = [AverageDetector([spec]).fit(X) for spec in SPECS]
    detector = AverageDetector(SPECS, weights=[1, 2, 5]).fit(X)
    expected = sum(
        weight / 8 * part.decision_function(NEW)
        for weight, part in zip([1, 2, 5], parts, strict=True)
    )
    np.testing.assert_allclose(detector.decision_function(NEW), expected)
    assert detector.weights_.tolist() == [0.125, 0.25, 0.625]


def test_new_rows_are_standardised_by_the_training_table():
    detector = AverageDetector(SPECS).fit(X)
    alone = np.concatenate([detector.decision_function(row[None]) for row in NEW])
    np.testing.assert_allclose(alone, detector.decision_function(NEW))
    assert detector.predict(NEW).tolist() == [0, 0, 0, 0, 1]
    assert detector.predict_proba(NEW).shape == (5, 2)


def test_taking_fitted_detectors_is_fitting():
    fitted = [SpecDetector(spec).fit(X) for spec in SPECS]
    taken = AverageDetector(SPECS, contamination=0.2).take(fitted)
    np.testing.assert_array_equal(
        taken.decision_scores_, AverageDetector(SPECS).fit(X).decision_scores_
    )
    assert taken.labels_.sum() == 19
    assert clone(taken).get_params() == taken.get_params()


@pytest.mark.parametrize("weights", [[1.0], [1, 1, 0], [1, 1, -1], [1, 1, np.nan]])
def test_weights_that_make_no_average_are_refused(weights):
    with pytest.raises(BadParameter, match="weights"):
        AverageDetector(SPECS, weights=weights).fit(X)


class SomeNaN:
    """NaN for the first ``n`` rows; the others' scores are their first column."""

    def __init__(self, n=1):
        self.n = n

    def fit(self, X):
        self.decision_scores_ = self.decision_function(X)
        return self

    def decision_function(self, X):
        scores = X[:, 0].copy()
        scores[: self.n] = np.nan
        return scores


@pytest.fixture
def some_nan():
    register_family("SomeNaN", SomeNaN)
    yield lambda n: ModelSpec("SomeNaN", {"n": n})
    unregister_family("SomeNaN")


@pytest.mark.filterwarnings("ignore:SomeNaN")
def test_a_few_undefined_scores_become_the_median(some_nan):
    wide = np.vstack([X, X])
    detector = AverageDetector([some_nan(1)]).fit(wide)
    column = detector.detectors_[0].scaling_.transform(wide)[:, 0]
    expected = column.copy()
    expected[0] = np.median(column[1:])
    standard = standardise(expected)
    ordinary = np.abs(standard) < 6  # an average changes the others
    np.testing.assert_allclose(detector.decision_scores_[ordinary], standard[ordinary])
    assert np.isfinite(detector.decision_function(wide[:3])).all()


@pytest.mark.filterwarnings("ignore:SomeNaN")
def test_many_undefined_scores_fail_the_average(some_nan):
    with pytest.raises(UserError, match="9 of 95") as caught:
        AverageDetector([SPECS[0], some_nan(9)]).fit(X)
    assert caught.value.where == "SomeNaN(n=9)"
