"""Specs that no shared scorer serves: the detector's own fit."""

import warnings

import numpy as np
import pytest

from metaod.models import (
    CellState,
    ModelSpec,
    register_family,
    score_models,
    unregister_family,
)

X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 100, 0.01]


class Distance:
    """Distance from the mean, noisy where a seed is given; warns, and fails when asked to."""

    def __init__(self, power=2, random_state=None):
        self.power = power
        self.random_state = random_state

    def fit(self, X):
        warnings.warn("of no interest", stacklevel=1)
        if self.power > 9:
            raise ArithmeticError("power\nis too high")
        noise = np.random.default_rng(self.random_state).normal(size=len(X))
        distance = (np.abs(X - X.mean(axis=0)) ** self.power).sum(axis=1)
        self.decision_scores_ = distance + (0 if self.random_state is None else noise)
        self.seen_ = X
        return self


@pytest.fixture
def distance(request):
    yield register_family("Distance", Distance, {"power": (1, 2)}, random=request.param)
    unregister_family("Distance")


@pytest.mark.parametrize("distance", [False], indirect=True)
def test_the_detectors_own_scores_on_columns_scaled_once(distance):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [result] = score_models(X, [ModelSpec("Distance", {"power": 1})], trials=4)
    assert (result.trial, result.state) == (0, CellState.OK)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(result.scores, np.abs(scaled).sum(axis=1))
    assert result.seconds > 0


@pytest.mark.parametrize("distance", [True], indirect=True)
def test_trial_t_uses_seed_t(distance):
    spec = ModelSpec("Distance", {"power": 2})
    results = list(score_models(X, [spec], trials=3))
    assert [item.trial for item in results] == [0, 1, 2]
    for item in results:
        with pytest.warns(UserWarning, match="no interest"):
            expected = spec.to_pyod(random_state=item.trial).fit(X).decision_scores_
        np.testing.assert_array_equal(item.scores, expected)


@pytest.mark.parametrize("distance", [False], indirect=True)
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (
            {"power": 10},
            "UserError: Distance(power=10): the detector failed with ArithmeticError: power is too",
        ),
        ({"strength": 1}, "BadParameter: The 'params' parameter of Distance"),
    ],
)
def test_an_exception_becomes_a_reason_of_one_line(distance, params, reason):
    [result] = score_models(X, [ModelSpec("Distance", params)], trials=2)
    assert result.state == CellState.FAILED
    assert result.scores is None
    assert result.reason.startswith(reason)
    assert "\n" not in result.reason


def test_a_spec_of_the_papers_families_that_no_scorer_serves():
    spec = ModelSpec("HBOS", {"n_bins": "auto"})
    [result] = score_models(X, [spec], trials=1)
    np.testing.assert_array_equal(result.scores, spec.to_pyod().fit(X).decision_scores_)
