"""The neighbour search against plain brute force; the scorer's budgets and what it serves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from metaod.models import Budget, CellState, Mode, ModelSpec, family, score_models, specs_of
from metaod.models import _neighbours as neighbours
from metaod.models import _search as search
from metaod.models._neighbours import NEIGHBOURS
from metaod.models._search import METRICS, nearest

SCORER = NEIGHBOURS
GRID = [spec for name in ("KNN", "LOF", "COF", "ABOD") for spec in specs_of(family(name))]
RNG = np.random.default_rng(11)


def score(X, specs, mode=Mode.FAST, budget=None):
    return list(SCORER.score(X, specs, trials=5, mode=mode, budget=budget or Budget()))


def brute_force(X, k, metric):
    """All distances, sorted by distance and then by index, without the row itself."""
    distances = cdist(X, X, "euclidean" if metric == "euclidean" else "cityblock")
    np.fill_diagonal(distances, np.inf)
    order = np.lexsort((np.broadcast_to(np.arange(len(X)), distances.shape), distances))[:, :k]
    return np.take_along_axis(distances, order, axis=1), order


@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_are_those_of_plain_brute_force(table, scaled, metric):
    X = scaled(table)
    for k in sorted({1, min(30, len(X) - 1), len(X) - 1}):
        found = nearest(X, k, metric)
        distances, _ = brute_force(X, k, metric)
        np.testing.assert_allclose(found.distances, distances, rtol=1e-12, atol=1e-15)
        for i, row in enumerate(found.indices):
            assert len(set(row)) == k
            assert i not in row
            own = cdist(X[i : i + 1], X[row], "euclidean" if metric == "euclidean" else "cityblock")
            np.testing.assert_allclose(found.distances[i], own[0], rtol=1e-12, atol=1e-15)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    arrays(
        np.float64, st.tuples(st.integers(2, 40), st.integers(1, 6)), elements=st.integers(0, 3)
    ),
    st.sampled_from(METRICS),
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
    monkeypatch.setattr(search, "_suits_tree", lambda n_rows, n_columns: True)
    monkeypatch.setattr(search, "_TREE_ROWS", 300)
    found = nearest(X, 25, metric)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-12)
    assert not (found.indices == np.arange(len(X))[:, np.newaxis]).any()


def test_a_long_narrow_table_is_searched_with_a_tree():
    X = np.round(RNG.normal(size=(6000, 2)), 2)
    assert search._suits_tree(*X.shape)
    rows = RNG.integers(0, len(X), size=50)
    found = nearest(X, 10, "manhattan")
    expected = np.sort(cdist(X[rows], X, "cityblock"), axis=1)[:, 1:11]
    np.testing.assert_allclose(found.distances[rows], expected, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_distances_beyond_floating_point_are_refused(metric):
    X = np.array([[1e200 if metric == "euclidean" else 1e308], [0.0], [-1e308]])
    with pytest.raises(OverflowError, match="range of floating-point"):
        nearest(X, 1, metric)


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("KNN()", True),
        ("KNN(n_neighbors=7, method=median)", True),
        ("KNN(n_neighbors=7, metric=manhattan)", False),
        ("KNN(n_neighbors=7.0)", False),
        ("KNN(n_neighbors=true)", False),
        ("KNN(n_neighbors=0)", False),
        ("KNN(method=smallest)", False),
        ("LOF(n_neighbors=3, metric=minkowski)", True),
        ("LOF(n_neighbors=3, metric=minkowski, p=2)", True),
        ("LOF(n_neighbors=3, metric=minkowski, p=1)", False),
        ("LOF(n_neighbors=3, metric=cosine)", False),
        ("LOF(n_neighbors=3, algorithm=brute)", False),
        ("COF(n_neighbors=3)", True),
        ("COF(n_neighbors=3, method=memory)", False),
        ("ABOD(n_neighbors=3)", True),
        ("ABOD(method=default)", False),
    ],
)
def test_only_what_is_computed_faithfully_is_served(text, served):
    assert SCORER.serves(ModelSpec.parse(text)) is served


def test_every_model_of_the_grids_is_served():
    assert all(SCORER.serves(spec) for spec in GRID)


def test_two_searches_serve_everything(monkeypatch):
    calls = []

    def counted(X, k, metric):
        calls.append((k, metric))
        return nearest(X, k, metric)

    monkeypatch.setattr(neighbours, "nearest", counted)
    results = score(RNG.normal(size=(120, 4)), GRID)
    assert sorted(calls) == [(100, "euclidean"), (100, "manhattan")]
    assert {item.spec for item in results} == set(GRID)
    assert len(results) == len(GRID)
    assert all(item.state == CellState.OK and item.trial == 0 for item in results)
    assert all(item.seconds > 0 for item in results)


def test_a_default_that_needs_more_rows_does_not_apply():
    [result] = score_models(RNG.normal(size=(12, 2)), [ModelSpec("LOF")])
    assert result.state == CellState.NOT_APPLICABLE
    assert result.reason == "n_neighbors=20 needs at least 21 rows, the table has 12"


@pytest.mark.parametrize("mode", list(Mode))
def test_a_model_expected_to_exceed_the_budget_is_not_started(mode):
    X = RNG.normal(size=(200, 5))
    for budget in (Budget(seconds=1e-6), Budget(bytes=1000)):
        results = score(X, GRID, mode, budget)
        assert {item.state for item in results} == {CellState.OVER_BUDGET}
        assert all("the limit is" in item.reason for item in results)


def test_a_budget_holds_for_each_model_alone():
    # enough for small numbers of neighbours, not for large ones
    n_rows, n_columns = 2000, 3
    middle = search.expected_bytes(n_rows, 50)
    results = score(RNG.normal(size=(n_rows, n_columns)), GRID, budget=Budget(bytes=middle))
    for item in results:
        k = dict(item.spec.params)["n_neighbors"] - (item.spec.detector == "ABOD")
        assert (item.state == CellState.OK) == (k <= 50)


def test_expected_costs_grow_with_the_table():
    seconds = [search.expected_seconds(n, 20, 100) for n in (1000, 10_000, 100_000)]
    assert seconds[0] < seconds[1] / 10 < seconds[2] / 100
    # a tree makes the long narrow tables of the testbeds affordable
    assert search.expected_seconds(245_057, 3, 100) < 60
