import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metaod.report import Axis, sketch_scores

FINITE = st.floats(-1e300, 1e300, allow_nan=False)
SCORES = st.one_of(
    arrays(np.float64, st.integers(1, 60), elements=FINITE),
    arrays(np.float64, st.integers(1, 60), elements=st.sampled_from([0.0, 1.0, 1.5, 2e9])),
)


def sketched(scores, n_flagged=0):
    return sketch_scores(scores, n_flagged=n_flagged, threshold=float(scores.max()))


@given(SCORES)
def test_every_threshold_flags_as_many_rows_as_it_says(scores):
    for n_flagged, threshold in sketched(scores)["cuts"]:
        assert np.count_nonzero(scores > threshold) == n_flagged


@given(SCORES)
def test_the_thresholds_go_from_no_row_to_all_rows(scores):
    numbers = [n for n, _ in sketched(scores)["cuts"]]
    assert numbers[0] == 0
    assert numbers[-1] == len(scores)
    assert numbers == sorted(set(numbers))


@given(SCORES)
def test_the_bins_hold_every_row_and_all_places_are_on_the_axis(scores):
    sketch = sketched(scores)
    assert sketch["n_rows"] == len(scores)
    assert all(0 <= place <= 1 for place in sketch["places"])
    assert sketch["places"] == sorted(sketch["places"], reverse=True)
    json.dumps([sketch["places"], sketch["ticks"]], allow_nan=False)


@given(SCORES)
def test_ticks_lie_on_the_axis_apart_from_each_other(scores):
    axis = Axis.of(scores)
    ticks = axis.ticks()
    assert len(ticks) <= 9
    if axis.high > axis.low:
        assert all(axis.low <= tick <= axis.high for tick in ticks)
        assert np.all(np.diff(axis.place(np.array(ticks))) > 0.1)


def test_a_given_number_may_divide_rows_that_share_a_score():
    sketch = sketch_scores(np.array([3.0, 2, 2, 2, 1]), n_flagged=2, threshold=2.0)
    assert [n for n, _ in sketch["cuts"]] == [0, 1, 2, 4, 5]
    assert sketch["n_flagged"] == 2


def test_every_number_is_offered_first_and_a_million_rows_need_few_cuts():
    scores = np.random.default_rng(0).normal(size=1_000_000)
    sketch = sketch_scores(scores, n_flagged=100_000, threshold=1.28, gap=77_777)
    numbers = [n for n, _ in sketch["cuts"]]
    assert numbers[:401] == list(range(401))
    assert len(numbers) < 1_000
    assert 77_777 in numbers
    assert max(b / a for a, b in pairwise(numbers[400:])) < 1.03


def test_few_far_scores_compress_the_axis():
    near = np.random.default_rng(0).normal(size=500)
    assert Axis.of(near).is_linear
    axis = Axis.of(np.append(near, 1e6))
    assert not axis.is_linear
    low, high = axis.place(np.array([-1.0, 1.0]))
    assert high - low > 0.05


@pytest.mark.parametrize("is_linear", [True, False])
def test_backward_undoes_forward(is_linear):
    axis = Axis(-3.0, 90.0, 1.0, 2.0, is_linear)
    scores = np.linspace(-3, 90, 20)
    np.testing.assert_allclose(axis.backward(axis.forward(scores)), scores)


def test_a_compressed_axis_far_from_0_has_numbers():
    axis = Axis.of(np.r_[np.random.default_rng(0).normal(350, 1, 1000), 390.0])
    assert not axis.is_linear
    assert len(axis.ticks()) >= 2
