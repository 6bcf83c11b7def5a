"""The threshold, from the scores alone or from a given share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metaod.detection._threshold import (
    automatic_share,
    check_contamination,
    clear_gap,
    threshold_of,
    ties_note,
)
from metaod.errors import BadParameter

RNG = np.random.default_rng(0)
FINITE = st.floats(-1e200, 1e200, allow_nan=False, allow_subnormal=False)


def test_the_threshold_is_that_of_pyod():
    scores = RNG.normal(size=237)
    assert threshold_of(scores, 0.07) == pytest.approx(np.percentile(scores, 93))
    assert np.mean(scores > threshold_of(scores, 0.07)) == pytest.approx(0.07, abs=1 / 237)


@pytest.mark.parametrize(("n_rows", "n_flagged"), [(60, 0), (600, 6), (9_999, 99), (50_000, 100)])
def test_few_rows_are_flagged_where_no_gap_tells_how_many(n_rows, n_flagged):
    scores = RNG.permutation(np.linspace(0, 1, n_rows))
    share = automatic_share(scores)
    assert np.count_nonzero(scores > threshold_of(scores, share)) == n_flagged


@pytest.mark.parametrize("n_above", [1, 2, 40, 90])
@pytest.mark.parametrize("spread", [0.1, 0.4])
def test_rows_above_a_clear_gap_are_flagged(n_above, spread):
    scores = np.concatenate([RNG.normal(0, spread, 1000 - n_above), RNG.normal(9, 0.1, n_above)])
    assert automatic_share(scores) == n_above / 1000
    flagged = scores > threshold_of(scores, n_above / 1000)
    assert flagged.tolist() == [False] * (1000 - n_above) + [True] * n_above


@given(arrays(np.float64, st.integers(1, 60), elements=FINITE))
@settings(max_examples=60)
def test_the_share_is_one_for_all_scores(scores):
    share = automatic_share(scores)
    assert 0 <= share <= 0.2
    flagged = scores > threshold_of(scores, share)
    assert flagged.sum() <= np.ceil(share * len(scores))
    n_above = clear_gap(scores)
    if n_above is not None:
        falling = np.sort(scores)[::-1]
        assert 1 <= n_above <= max(len(scores) // 10, min(2, len(scores) // 5))
        assert falling[n_above - 1] > falling[n_above]


@given(
    arrays(np.float64, 40, elements=st.floats(-1e3, 1e3, width=32)),
    st.sampled_from([2.0**-8, 4.0, 2.0**30]),
)
@settings(max_examples=40)
def test_the_unit_of_the_scores_does_not_matter(scores, factor):
    assert automatic_share(scores * factor) == automatic_share(scores)


@pytest.mark.parametrize("value", [0, 0.51, 1, True, None, "Auto", "60%", np.nan, [0.1]])
def test_illegal_shares_are_refused(value):
    with pytest.raises(BadParameter, match="'auto' or a number in the range"):
        check_contamination(value)


def test_a_row_far_above_the_next_one_is_a_gap_and_the_lowest_gap_counts():
    assert clear_gap(np.array([*np.linspace(-2, 2.3, 99), 6.0])) == 1
    assert clear_gap(np.array([*np.linspace(-2, 2.3, 98), 6.0, 60.0])) == 2


@pytest.mark.parametrize(
    ("n_rows", "found"), [(3, None), (4, None), (6, None), (9, None), (10, 2), (19, 2), (20, 2)]
)
def test_in_small_tables_no_more_than_a_fifth_is_above_a_gap(n_rows, found):
    assert clear_gap(np.array([*np.linspace(0, 1, n_rows - 2), 300.0, 310.0])) == found


@pytest.mark.parametrize(("kind", "most"), [("exponential", 0.1), ("standard_normal", 0.02)])
def test_smooth_tails_seldom_have_a_clear_gap(kind, most):
    draw = getattr(np.random.default_rng(7), kind)
    found = [clear_gap(draw(size=1000)) is not None for _ in range(400)]
    assert np.mean(found) <= most


def test_rounding_errors_are_no_gap():
    scores = np.zeros(1000)
    scores[:30] = 1e-15
    scores[:5] = np.linspace(0.5, 1, 5)
    assert clear_gap(scores) == 5


def test_a_note_if_far_fewer_rows_are_flagged_than_meant():
    assert ties_note(5, 100, 0.1) is None
    note = "4 of 100 rows are flagged instead of 10 (10.0%): too many rows share the score"
    assert ties_note(4, 100, 0.1).startswith(note)
