"""The neighbour search against plain brute force, and how many searches serve the grids."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from metaod.models import CellState, model_space, score_models
from metaod.models import _neighbours as neighbours
from metaod.models._neighbours import nearest

METRICS = {"euclidean": "euclidean", "manhattan": "cityblock"}
RNG = np.random.default_rng(11)


def brute_force(X, k, metric):
    """All distances, sorted by distance and then by index, without the row itself."""
    distances = cdist(X, X, METRICS[metric])
    np.fill_diagonal(distances, np.inf)
    order = np.lexsort((np.broadcast_to(np.arange(len(X)), distances.shape), distances))[:, :k]
    return np.take_along_axis(distances, order, axis=1), order


@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_are_those_of_plain_brute_force(X, metric):
    for k in sorted({1, min(30, len(X) - 1), len(X) - 1}):
        found = nearest(X, k, metric)
        distances, _ = brute_force(X, k, metric)
        np.testing.assert_allclose(found.distances, distances, rtol=1e-12, atol=1e-15)
        for i, row in enumerate(found.indices):
            assert len(set(row)) == k
            assert i not in row
            own = cdist(X[i : i + 1], X[row], METRICS[metric])
            np.testing.assert_allclose(found.distances[i], own[0], rtol=1e-12, atol=1e-15)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    arrays(
        np.float64, st.tuples(st.integers(2, 40), st.integers(1, 6)), elements=st.integers(0, 3)
    ),
    st.sampled_from(list(METRICS)),
    st.data(),
)
def test_tied_neighbours_come_in_order_of_index(X, metric, data):
    k = data.draw(st.integers(1, len(X) - 1))
    found = nearest(X, k, metric)
    distances, indices = brute_force(X, k, metric)
    assert found.indices.tolist() == indices.tolist()
    np.testing.assert_allclose(found.distances, distances, rtol=1e-14)


def test_distances_of_near_copies_far_from_zero_keep_their_digits():
    # inner products alone would leave no digit right here
    X = 1e4 + np.repeat(RNG.normal(size=(30, 20)), 10, axis=0)
    X += 1e-9 * np.round(RNG.normal(size=X.shape) * 1e3)
    found = nearest(X, 9, "euclidean")
    np.testing.assert_allclose(found.distances, brute_force(X, 9, "euclidean")[0], rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_a_tree_finds_what_brute_force_finds(monkeypatch, metric):
    X = np.vstack([RNG.normal(size=(400, 3)), RNG.integers(0, 3, size=(400, 3))])
    expected = nearest(X, 25, metric)
    monkeypatch.setattr(neighbours, "_suits_tree", lambda n_rows, n_columns: True)
    monkeypatch.setattr(neighbours, "_TREE_ROWS", 300)
    found = nearest(X, 25, metric)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-12)
    assert not (found.indices == np.arange(len(X))[:, np.newaxis]).any()


def test_a_long_narrow_table_is_searched_with_a_tree():
    X = np.round(RNG.normal(size=(6000, 2)), 2)
    assert neighbours._suits_tree(*X.shape)
    rows = RNG.integers(0, len(X), size=50)
    found = nearest(X, 10, "manhattan")
    expected = np.sort(cdist(X[rows], X, "cityblock"), axis=1)[:, 1:11]
    np.testing.assert_allclose(found.distances[rows], expected, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_distances_beyond_floating_point_are_refused(metric):
    X = np.array([[1e200 if metric == "euclidean" else 1e308], [0.0], [-1e308]])
    with pytest.raises(OverflowError, match="range of floating-point"):
        nearest(X, 1, metric)


def test_two_searches_serve_all_grids(monkeypatch):
    calls = []

    def counted(X, k, metric):
        calls.append((k, metric))
        return nearest(X, k, metric)

    monkeypatch.setattr(neighbours, "nearest", counted)
    grid = model_space("paper", detectors=("KNN", "LOF", "COF", "ABOD"))
    results = list(score_models(RNG.normal(size=(120, 4)), grid))
    assert sorted(calls) == [(100, "euclidean"), (100, "manhattan")]
    assert {item.spec for item in results} == set(grid)
    assert {item.state for item in results} == {CellState.OK}
    assert all(item.seconds > 0 for item in results)
