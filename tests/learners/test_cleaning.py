"""Cleaning of meta-features: any numbers become finite numbers on a common scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metaod._state import decode, encode
from metaod.learners import Cleaning

HUGE = np.finfo(np.float64).max

ANY = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 5e-324, -5e-324, HUGE, -HUGE, 1e308, np.inf, -np.inf, np.nan]),
)


def matrices(most_columns=4):
    shapes = st.tuples(st.integers(1, 8), st.integers(1, most_columns))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=ANY))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(data=st.data())
@pytest.mark.filterwarnings("error")
def test_everything_becomes_finite(data):
    M = data.draw(matrices())
    cleaning = Cleaning.fit(M)
    new = data.draw(arrays(np.float64, (3, M.shape[1]), elements=ANY))
    for matrix in (M, new):
        clean = cleaning.transform(matrix)
        assert clean.shape == (len(matrix), cleaning.n_features)
        assert np.isfinite(clean).all()
    # what was learned can be saved and read back
    back = decode(Cleaning, encode(cleaning), sizes={"d": M.shape[1]})
    np.testing.assert_array_equal(back.transform(new), cleaning.transform(new))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_cleaning_keeps_the_order_of_values(data):
    """A larger value never becomes a smaller one."""
    M = data.draw(matrices(1))
    cleaning = Cleaning.fit(M)
    pair = np.sort(data.draw(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2)))
    low, high = cleaning.transform(np.array(pair)[:, None])
    assert (low <= high).all()


@settings(derandomize=True, deadline=None, max_examples=50)
@given(data=st.data())
def test_the_order_of_datasets_does_not_matter(data):
    M = np.array(data.draw(st.lists(st.tuples(*[st.integers(-99, 99)] * 2), min_size=2,
                                    max_size=9)), dtype=float)  # fmt: skip
    order = data.draw(st.permutations(range(len(M))))
    one, other = Cleaning.fit(M).transform(M), Cleaning.fit(M[order]).transform(M)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_ordinary_feature_is_standardised():
    M = np.random.default_rng(0).normal(5, 3, size=(200, 2))
    clean = Cleaning.fit(M).transform(M)
    np.testing.assert_allclose(clean.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(clean.std(axis=0), 1)


def test_constant_features_are_left_out():
    M = np.array([[1.0, 5.0, np.nan, np.inf, 2.0, np.nan], [2.0, 5.0, np.nan, -np.inf, np.nan, 1.0],
                  [3.0, 5.0, np.nan, np.nan, 2.0, 3.0]])  # fmt: skip
    assert Cleaning.fit(M).kept.tolist() == [0, 5]


def test_one_dataset_leaves_no_feature():
    cleaning = Cleaning.fit(np.array([[1.0, np.nan]]))
    assert cleaning.n_features == 0
    assert cleaning.transform(np.array([[3.0, 4.0]])).shape == (1, 0)


def test_missing_values_become_the_median():
    M = np.array([[1.0], [2.0], [3.0], [50.0], [60.0]])
    cleaning = Cleaning.fit(M)
    expected = cleaning.transform(np.array([[3.0]]))
    for value in (np.nan, np.inf, -np.inf):
        np.testing.assert_array_equal(cleaning.transform(np.array([[value]])), expected)


def test_values_outside_the_training_range_are_clipped():
    M = np.random.default_rng(0).uniform(size=(50, 1))
    cleaning = Cleaning.fit(M)
    clean = cleaning.transform(M)
    far = cleaning.transform(np.array([[1e6], [-1e300]]))[:, 0]
    assert far.tolist() == [clean.max() + 1, clean.min() - 1]


def test_huge_values_leave_the_others_distinct():
    M = np.array([[1.0], [2.0], [3.0], [4.0], [1e308], [-1e308]])
    clean = Cleaning.fit(M).transform(M)[:, 0]
    assert np.isfinite(clean).all()
    assert (np.diff(clean[:4]) > 0).all()
    assert len(set(np.round(clean, 12))) == 6


def test_a_rare_value_is_kept():
    M = np.array([[0.0]] * 20 + [[7.0]])
    clean = Cleaning.fit(M).transform(M)[:, 0]
    assert clean[-1] > clean[0]


@pytest.mark.parametrize(
    "change",
    [
        {"kept": np.array([0, 5])}, {"kept": np.array([-1, 0])}, {"kept": np.array([0.0, 1.0])},
        {"spread": np.array([1.0, 0.0])}, {"scale": np.array([1.0, -1.0])},
        {"median": np.array([1.0, np.nan])}, {"mean": np.array([1.0])}, {"low": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_state_is_refused(change):
    M = np.random.default_rng(0).normal(size=(9, 2))
    state = {**encode(Cleaning.fit(M)), **change}
    with pytest.raises(ValueError, match=r"state|spread"):
        decode(Cleaning, state, sizes={"d": 2})
