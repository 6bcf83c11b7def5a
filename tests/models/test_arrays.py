"""A matrix product whose rows do not depend on each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.models._arrays import product


@pytest.mark.parametrize("n_columns", [1, 2, 7, 20, 64, 65, 300])
@settings(max_examples=5)
@given(data=st.data())
def test_a_row_has_the_same_product_among_other_rows(n_columns, data):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(700, n_columns)), rng.normal(size=(n_columns, n_columns))
    whole = product(X, weights)
    np.testing.assert_allclose(whole, X @ weights, rtol=1e-12, atol=1e-12)
    some = np.sort(rng.choice(700, data.draw(st.integers(1, 699)), replace=False))
    np.testing.assert_array_equal(product(X[some], weights), whole[some])


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 1, 4), (1, 5, 1)])
def test_shapes(shape):
    n_rows, n_columns, n_products = shape
    result = product(np.ones((n_rows, n_columns)), np.ones((n_columns, n_products)))
    np.testing.assert_array_equal(result, np.full((n_rows, n_products), float(n_columns)))
