"""How many outliers are left."""

import numpy as np

from metaod.review import STATE_FEATURES, state_features
from metaod.review._left import left_of


def test_the_expected_share_is_the_mean_probability():
    odds = np.log([0.5 / 0.5, 0.1 / 0.9])
    found = dict(zip(STATE_FEATURES, state_features(odds, [True, False], (4, 3))[0], strict=True))
    assert found["log expected share"] == np.log((0.5 + 0.1) / 2)
    assert (found["marks"], found["marked outliers"], found["share of outliers"]) == (2, 1, 0.5)
    assert found["log rows"] == np.log(4)


def test_huge_scores_and_no_marks_have_finite_features():
    assert np.isfinite(state_features(np.array([1e9, -1e9]), [], (2, 1))).all()


def test_an_estimate_is_within_its_interval_and_the_rows():
    left = left_of(np.log([0.02, 0.01, 3.0]), 200)
    assert (left.low, left.estimate, left.high) == (1.0, 3.5, 200.0)
