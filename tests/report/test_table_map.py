import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import PCA

from metaod.report import map_table
from metaod.report._table_map import _components


def mapped(X):
    names = tuple(f"x{place}" for place in range(X.shape[1]))
    return map_table(X, names, np.arange(len(X)))


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 6)),
        elements=st.one_of(st.floats(-1e308, 1e308), st.sampled_from([0.0, 1.0])),
    )
)
def test_every_finite_table_has_a_map(X):
    found = mapped(X)
    assert len(found["x"]) == len(found["y"]) == len(found["rows"]) == len(X)
    assert all(0 <= value <= 1 for value in (*found["x"], *found["y"]))
    assert len(found["directions"]) == 2


@pytest.mark.parametrize("shape", [(60, 5), (8, 30)])
def test_the_directions_are_the_principal_components(shape):
    view = np.random.default_rng(1).normal(size=shape) @ np.diag(np.arange(shape[1], 0, -1))
    view -= view.mean(axis=0)
    expected = PCA(2).fit(view)
    axes, shares = _components(view)
    np.testing.assert_allclose(np.abs(axes), np.abs(expected.components_), atol=1e-9)
    np.testing.assert_allclose(shares, expected.explained_variance_ratio_)


def test_rows_that_are_alike_lie_close_together():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (50, 4)), rng.normal(8, 1, (10, 4))])
    found = mapped(X)
    near, far = np.array(found["x"][:50]), np.array(found["x"][50:])
    assert near.max() < far.min() or far.max() < near.min()


def test_a_large_table_keeps_its_most_outlying_rows_and_a_sample():
    order = np.random.default_rng(0).permutation(50_000)
    found = map_table(np.random.default_rng(1).normal(size=(50_000, 3)), ("a", "b", "c"), order)
    assert len(found["rows"]) == 3_000
    assert found["order"][:1000] == list(range(1000))
    assert list(found["order"]) == sorted(set(found["order"]))
    assert found["rows"] == order[found["order"]].tolist()


def test_one_huge_value_does_not_decide_the_view():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[7, 1] = 1e12
    found = mapped(X)
    assert np.ptp(np.sort(found["y"])[5:-5]) > 0.2
