"""Conformal p-values: valid for exchangeable rows, with ties, and for every promised share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import beta, false_discovery_control

from metaod.detection._conformal import CONFIDENCE, Calibration, discovery_limit

SHARES = st.floats(0.001, 0.5)
FEW_VALUES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])  # so that there are ties


def statistics(n_rows, values=FEW_VALUES):
    shapes = st.tuples(n_rows, st.integers(1, 2))
    return shapes.flatmap(lambda shape: arrays.arrays(np.float64, shape, elements=values))


def p_values(held_out, later):
    return Calibration(held_out, 1).p_values(later).min(axis=1)


@given(statistics(st.integers(2, 12)))
def test_of_exchangeable_rows_no_more_than_the_share_are_as_unusual(rows):
    """Each row in turn is the later one: of n rows at most k have a p-value of k / n or less."""
    n_rows = len(rows)
    found = [p_values(np.delete(rows, i, axis=0), rows[i : i + 1])[0] for i in range(n_rows)]
    places = np.round(np.array(found) * n_rows)
    assert all((places <= k).sum() <= k for k in range(1, n_rows + 1))


@given(statistics(st.integers(1, 30)), st.integers(0, 1), st.floats(0, 3))
def test_a_more_unusual_row_has_no_larger_p_value(rows, kind, more):
    later = rows.copy()
    later[:, min(kind, rows.shape[1] - 1)] += more
    assert (p_values(rows, later) <= p_values(rows, rows)).all()


def test_a_row_beyond_all_has_the_smallest_p_value_by_either_statistic():
    rng = np.random.default_rng(0)
    calibration = Calibration(np.column_stack([rng.normal(size=99), rng.uniform(size=99)]), 1)
    found = calibration.p_values(np.array([[9.0, 0.0], [-9.0, 2.0], [-9.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.02, 1], [1, 0.01], [1, 1]])  # in turn, errors first


def test_probabilities_of_zero_take_no_place_from_scores():
    scores = np.arange(100.0)
    alone = Calibration(scores[:, np.newaxis], 1)
    beside = Calibration(np.column_stack([scores, np.zeros(100)]), 1)
    later = np.column_stack([scores + 0.5, np.zeros(100)])
    difference = beside.p_values(later).min(axis=1) - alone.p_values(later[:, :1])[:, 0]
    assert np.abs(difference).max() <= 1 / 101 + 1e-12


@given(st.integers(1, 3000), SHARES, SHARES)
def test_the_limit_is_the_largest_that_keeps_the_promise_with_confidence(n_rows, share, other):
    calibration = Calibration(np.zeros((n_rows, 1)), 1)
    limit = calibration.limit(share)
    place = round(limit * (n_rows + 1))
    if place:
        assert beta.cdf(share, place, n_rows + 1 - place) >= CONFIDENCE - 1e-9
    if place < n_rows:
        assert beta.cdf(share, place + 1, n_rows - place) < CONFIDENCE + 1e-9
    assert (limit > 0) == (share >= calibration.least_share)
    low, high = sorted((share, other))
    assert calibration.limit(low) <= calibration.limit(high)


def test_the_promise_is_kept_by_nearly_every_table():
    """The true share of flagged rows, over tables: more than promised in 5 % of them."""
    rng = np.random.default_rng(1)

    def drawn(n_rows):
        scores = rng.normal(size=n_rows)
        return np.column_stack([scores, np.clip(rng.normal(scores, 1) - 1, 0, None)])

    shares = []
    for _ in range(300):
        calibration = Calibration(drawn(400), 1)
        found = calibration.p_values(drawn(20_000)).min(axis=1)
        shares.append((found <= calibration.limit(0.05)).mean())
    n_broken = np.count_nonzero(np.array(shares) > 0.05)
    assert 2 <= n_broken <= 26  # binomial, in all but 1 of 1,000 runs
    assert np.mean(shares) == pytest.approx(0.034, abs=0.004)  # and not for nothing


def test_many_unusual_rows_are_improbable_and_few_are_not():
    rng = np.random.default_rng(2)
    chances = []
    for _ in range(300):
        calibration = Calibration(rng.normal(size=(500, 1)), 1)
        found = calibration.p_values(rng.normal(size=(300, 1)))[:, 0]
        chances.append(calibration.chance(found, calibration.limit(0.05)))
        found[:10] = 1 / 501
        assert calibration.chance(found, calibration.limit(0.05)) < 0.01
    assert np.mean(np.array(chances) < 0.05) <= 0.08


@given(
    arrays.arrays(
        np.float64, st.integers(1, 40), elements=st.integers(1, 100).map(lambda k: k / 100)
    ),
    SHARES,
)
def test_discoveries_are_those_of_benjamini_and_hochberg(found, share):
    flagged = found <= discovery_limit(found, share)
    adjusted = false_discovery_control(found)
    far = np.abs(adjusted - share) > 1e-9  # rounding
    assert (flagged == (adjusted <= share))[far].all()


def test_improbable_errors_are_alike():
    held_out = np.column_stack([np.arange(100.0), np.zeros(100)])
    later = np.array([[5.0, 0.0], [5.0, 0.15], [5.0, 0.5]])
    found = Calibration(held_out, 1).p_values(later).min(axis=1)
    assert found[0] == found[1] > found[2]
