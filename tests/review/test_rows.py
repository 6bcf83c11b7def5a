"""What is known of rows before any mark."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from metaod.review import RowSpace
from metaod.review._rows import tail


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40))
def test_tail_is_the_logarithm_of_the_rank_from_above(values):
    scores = np.array(values, dtype=float)
    shares = (len(scores) + 1 - rankdata(scores)) / len(scores)
    np.testing.assert_allclose(tail(np.sort(scores), scores), -np.log(shares))


def test_new_scores_outside_the_training_range_have_finite_tails():
    ends = tail(np.array([1.0, 2.0]), np.array([-np.inf, np.inf]))
    assert np.isfinite(ends).all()
    assert ends[0] < ends[1]


def test_training_rows_are_described_as_new_rows_are(made, members, space):
    again = space.describe(made[0], members.mean(axis=1), members)
    for name, values in vars(space.rows).items():
        np.testing.assert_array_equal(getattr(again, name), values, err_msg=name)


def test_rows_of_the_same_values_share_all_leaves(made, members, space):
    twice = space.describe(made[0][[3, 3]], members.mean(axis=1)[[3, 3]], members[[3, 3]])
    np.testing.assert_array_equal(twice.leaves[0], twice.leaves[1])


@pytest.mark.parametrize("n_rows", [2, 3, 5, 40])
def test_tables_of_few_rows_and_constant_columns_are_described(n_rows):
    X = np.column_stack([np.arange(n_rows), np.ones(n_rows)]).astype(float)
    space = RowSpace(X, X[:, 0], X[:, :1], seed=0)
    assert np.isfinite(space.rows.values).all()
    assert np.isfinite(space.rows.prior).all()
    assert space.usual_distance > 0


def test_constant_scores_have_a_constant_prior():
    X = np.arange(10.0)[:, None]
    space = RowSpace(X, np.ones(10), np.ones((10, 2)), seed=0)
    np.testing.assert_array_equal(space.rows.prior, np.zeros(10))
