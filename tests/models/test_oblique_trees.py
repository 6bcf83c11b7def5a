"""Oblique isolation trees against a plain rendition of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_oblique import path_lengths

from metaod.models._hyperplanes import _sort
from metaod.models._isolation_forests import below, normal, seed_tree, uniform
from metaod.models._oblique_trees import add_path_lengths, grow_trees

_RNG = np.random.default_rng(0)

TABLES = {
    "plain": _RNG.normal(size=(80, 4)),
    "tied": _RNG.integers(0, 4, size=(40, 3)).astype(float),
    "duplicated": np.repeat(_RNG.normal(size=(12, 3)), 5, axis=0),
    "nearly constant column": np.column_stack(
        [_RNG.normal(size=60), np.where(_RNG.random(60) < 0.9, 0.0, 1.0)]
    ),
    "one column": _RNG.normal(size=(40, 1)),
    "all rows the same": np.ones((40, 2)),
    "heavy tails": _RNG.standard_t(1, size=(70, 3)),
}


def summed(X, rows, seed=3, first=0, last=6, n_dims=2, n_trials=4, n_samples=32, depth=99):
    trees = grow_trees(X, seed, first, last, min(n_dims, X.shape[1]), n_trials, n_samples, depth)
    sums = np.zeros(len(rows))
    add_path_lengths(np.ascontiguousarray(rows), trees, sums)
    return sums


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.parametrize(
    ("n_dims", "n_trials", "depth"),
    [(1, 3, 99), (2, 4, 5), (2, 4, 99), (3, 1, 99), (1, 0, 5), (2, 0, 5), (9, 0, 5)],
)
def test_path_lengths_are_those_of_a_plain_rendition(name, n_dims, n_trials, depth):
    X = TABLES[name]
    # new rows too, some of them far outside
    rows = np.vstack([X, X[:5] * 1.7 + 0.013, X[:5] * 31.3 + 0.7])
    # a row of a lattice that is not in the sample may lie on a threshold, where rounding decides
    n_samples = len(X) if name == "tied" else 32
    parameters = {
        "n_dims": min(n_dims, X.shape[1]),
        "n_trials": n_trials,
        "n_samples": n_samples,
        "depth": depth,
    }
    expected = path_lengths(X, rows, seed=3, trees=range(6), **parameters)
    actual = summed(X, rows, **parameters)
    np.testing.assert_allclose(actual, expected, atol=1e-9)


def test_a_far_row_takes_steps_that_do_not_count():
    X = TABLES["plain"]
    near, far = X[:1] * 0.01, X[:1] * 1e6
    # beyond every acceptable range no step counts at all: what is left is what leaves add
    assert summed(X, far)[0] <= 6 < summed(X, near)[0]


def test_scale_of_a_column_does_not_matter_to_gain_guided_splits():
    X = TABLES["plain"]
    # powers of two: rounding is the same
    scaled = X * np.array([2.0**300, 2.0**-300, 1.0, 2.0**20])
    np.testing.assert_array_equal(summed(X, X), summed(scaled, scaled))


@pytest.mark.parametrize("n_trials", [0, 5])
def test_rounding_errors_are_no_data(n_trials):
    X = np.column_stack([_RNG.normal(size=60), 1.0 + 1e-16 * np.arange(60)])
    X[0, 1] = 2.0
    # all but one row have the same second column, up to rounding: two rows alike get equal lengths
    rows = np.vstack([X[5], X[5]])
    rows[1, 1] = X[50, 1]
    first, second = summed(X, rows, n_trials=n_trials, n_samples=60)
    assert first == second


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.lists(st.floats(-1e-3, 1e-3), max_size=400),
)
def test_values_are_sorted_also_if_most_are_in_one_bin(spread, crowded):
    values = np.array(spread + crowded)
    ordered = np.empty(len(values))
    _sort(values, ordered, np.empty(len(values) + 1, np.int32))
    np.testing.assert_array_equal(ordered, np.sort(values))


def test_draws_have_their_distributions():
    state = np.empty(1, np.uint64)
    seed_tree(state, 1, 2, 3)
    normals = np.array([normal(state) for _ in range(4000)])
    assert abs(normals.mean()) < 0.06
    assert abs(normals.std() - 1) < 0.04
    numbers = np.array([uniform(state, -1.0, 3.0) for _ in range(2000)])
    assert numbers.min() >= -1
    assert numbers.max() < 3
    assert abs(numbers.mean() - 1) < 0.1
    assert set(np.bincount([below(state, 3) for _ in range(300)]) > 70) == {True}
