"""Missing performance is estimated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.learners.performance import below_known, completed


def test_an_additive_matrix_is_completed_exactly():
    rng = np.random.default_rng(0)
    whole = rng.uniform(size=(30, 1)) + rng.uniform(size=(1, 8))
    P = np.where(rng.random(whole.shape) < 0.2, np.nan, whole)
    inside = np.clip(whole, np.nanmin(P), np.nanmax(P))
    np.testing.assert_allclose(completed(P), inside, atol=1e-6)


def test_known_cells_and_the_input_are_not_changed():
    P = np.array([[0.1, np.nan], [0.4, 0.3]])
    before = P.copy()
    known = ~np.isnan(P)
    np.testing.assert_array_equal(completed(P)[known], P[known])
    np.testing.assert_array_equal(P, before)


def test_missing_on_hard_datasets_gains_nothing():
    # a has the same performance as b, and is missing where both would be low
    P = np.array([[0.9, 0.9, 0.8], [0.8, 0.8, 0.7], [np.nan, 0.1, 0.0], [np.nan, 0.2, 0.1]])
    a, b, _ = completed(P).mean(axis=0)
    assert a == pytest.approx(b, abs=0.01)


@given(st.integers(0, 10_000))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_a_model_without_values_is_below_all(seed):
    rng = np.random.default_rng(seed)
    P = rng.choice([0.0, 0.5, 1.0, -3.0], size=(5, 4))
    P[:, 2] = np.nan
    P[rng.random(P.shape) < 0.2] = np.nan
    P[:, 0] = 0.25
    whole = completed(P)
    others = np.delete(whole, [2, *np.flatnonzero(np.isnan(P).all(axis=0))], axis=1)
    assert (whole[:, 2] < others.min(axis=1)).all()


def test_below_known_does_not_change_known_scores():
    scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.2, 0.2]])
    known = np.array([[False, True, True], [False, False, True]])
    capped = below_known(scores, known)
    np.testing.assert_array_equal(capped[known], scores[known])
    assert capped.argmax(axis=1).tolist() == [1, 2]
