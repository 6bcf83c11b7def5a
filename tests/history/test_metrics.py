"""Measures against scikit-learn's, ties included; and the rounding before them."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from metaod.errors import BadParameter
from metaod.history import measure
from metaod.history._metrics import round_scores

PROFILE = settings(derandomize=True, deadline=None, max_examples=200)

ranked = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 1), min_size=n, max_size=n),
        st.one_of(
            st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n),
            st.lists(
                st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=n, max_size=n
            ),
        ),
    )
)


@PROFILE
@given(ranked)
def test_all_measures_of_rounded_scores(case):
    y, scores = np.array(case[0]), np.array(case[1])
    assume(0 < y.sum() < len(y))
    rounded = round_scores(scores)
    found = measure(y, scores)
    assert found.ap == pytest.approx(average_precision_score(y, rounded), abs=1e-12)
    assert found.roc_auc == pytest.approx(roc_auc_score(y, rounded), abs=1e-12)
    # the definition, literally: the mean over ways to break ties, by sampling none of them
    n = int(y.sum())
    border = np.sort(rounded)[-n]
    above, at = rounded > border, rounded == border
    expected = (y[above].sum() + y[at].mean() * (n - above.sum())) / n
    assert found.precision_at_n == pytest.approx(expected, abs=1e-12)


@PROFILE
@given(ranked)
def test_rounding_keeps_order_and_forgets_noise(case):
    scores = np.array(case[1])
    rounded = round_scores(scores)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(rounded[order]) >= 0).all()
    assert np.isfinite(rounded).all()
    np.testing.assert_allclose(rounded, scores, rtol=1e-8, atol=1e-8 * np.median(np.abs(scores)))
    assert np.array_equal(round_scores(rounded), rounded)


def test_last_bits_do_not_decide():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 50, 1000) / 7
    y = (rng.random(1000) < 0.1).astype(int)
    noisy = scores * (1 + rng.uniform(-1e-13, 1e-13, 1000))
    assert measure(y, scores) == measure(y, noisy)
    assert average_precision_score(y, scores) != average_precision_score(y, noisy)


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        ([0, 0], [1, 2]),
        ([1, 1], [1, 2]),
        ([0, 2], [1, 2]),
        ([0, 1], [1, np.nan]),
        ([0, 1], [1, np.inf]),
        ([0, 1, 1], [1, 2]),
        ([[0, 1]], [[1, 2]]),
    ],
)
def test_what_has_no_measure_is_refused(y, scores):
    with pytest.raises(BadParameter):
        measure(y, scores)
