"""New rows against a training table in single precision, beside scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from metaod.models._new_rows import TrainingRows
from metaod.models._spec import REPRESENTATIVES

RNG = np.random.default_rng(0)
TRAINING = RNG.normal(size=(1500, 7)) @ RNG.normal(size=(7, 7))
NEW = np.vstack([RNG.normal(0, 2, size=(40, 7)), TRAINING[:5], [[1e9] * 7, [1e25] * 7]])
EXPECTED = {"largest": lambda near: near[:, -1], "mean": lambda near: near.mean(axis=1)}
EXPECTED["median"] = lambda near: np.median(near, axis=1)


@pytest.mark.parametrize("k", [1, 2, 20, 300, 1499])
@pytest.mark.parametrize("method", EXPECTED)
def test_distances_to_the_nearest(k, method):
    near = np.sort(cdist(NEW, TRAINING), axis=1)[:, :k]
    found = TrainingRows.of(TRAINING).kth_distances(NEW, k, method)
    np.testing.assert_allclose(found, EXPECTED[method](near), rtol=1e-5, atol=1e-12)


values = st.floats(-1e3, 1e3, width=16) | st.sampled_from([0.0, 1.0, 1e6])


@settings(deadline=None)
@given(arrays(float, (30, 3), elements=values), arrays(float, (4, 3), elements=values))
def test_any_values(training, new):
    near = np.sort(cdist(new, training), axis=1)
    rows = TrainingRows.of(training)
    for k in (1, 5, 30):
        found = rows.kth_distances(new, k, "largest")
        np.testing.assert_allclose(found, near[:, k - 1], rtol=1e-3, atol=1e-9)
    gamma = 1.0 / max(float(training.var()), 1e-3)
    expected = logsumexp(-gamma * near**2, axis=1)
    tolerance = 1e-5 * (1 + gamma * 1e6)  # of values that differ by less than their rounding
    np.testing.assert_allclose(rows.log_sums(new, gamma), expected, rtol=1e-4, atol=tolerance)


def test_close_rows_far_from_the_others_are_told_apart():
    training = np.vstack([RNG.normal(size=(1200, 3)), 1e4 + RNG.normal(0, 1e-3, size=(50, 3))])
    new = 1e4 + RNG.normal(0, 1e-3, size=(20, 3))
    near = np.sort(cdist(new, training), axis=1)
    found = TrainingRows.of(training).kth_distances(new, 5, "largest")
    np.testing.assert_allclose(found, near[:, 4], rtol=1e-6)


def test_sums_of_exponentials():
    gamma = 0.05
    expected = logsumexp(-gamma * cdist(NEW, TRAINING, "sqeuclidean"), axis=1)
    found = TrainingRows.of(TRAINING).log_sums(NEW, gamma)
    np.testing.assert_allclose(found[:-1], expected[:-1], rtol=1e-6, atol=1e-5)
    assert TrainingRows.of(TRAINING).log_sums(np.full((1, 7), 1e200), gamma)[0] == -np.inf


@pytest.mark.parametrize("spec", REPRESENTATIVES, ids=str)
@pytest.mark.parametrize("n_columns", [2, 20])
def test_the_score_of_a_row_does_not_depend_on_the_other_rows(spec, n_columns):
    X, new = RNG.normal(size=(2_000, n_columns)), RNG.normal(size=(300, n_columns))
    detector = spec.to_pyod(random_state=0).fit(X)
    whole = detector.decision_function(new)
    for some in (np.arange(101, 300), np.arange(0, 300, 7), np.array([5])):
        np.testing.assert_array_equal(detector.decision_function(new[some]), whole[some])
