"""HBOS from shared histograms: PyOD's scores, value by value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import UserError
from metaod.models import Budget, CellState, Mode, ModelSpec, family, specs_of
from metaod.models._binning import bin_of, has_bins
from metaod.models.families.hbos import HBOSScorer

SCORER = HBOSScorer()
BUDGET = Budget()
GRID = specs_of(family("HBOS"))


def score(X, specs, budget=BUDGET):
    return list(SCORER.score(X, specs, trials=5, mode=Mode.FAST, budget=budget))


def test_every_model_of_the_grid_equals_pyod(table, scaled):
    results = {item.spec: item for item in score(scaled(table), GRID)}
    assert set(results) == set(GRID)
    for spec in GRID:
        assert results[spec].state == CellState.OK
        assert results[spec].seconds > 0
        np.testing.assert_allclose(
            results[spec].scores, spec.to_pyod().fit(table).decision_scores_, rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("n_bins", [5, 10, 20, 50])
def test_values_on_the_edges_are_looked_up_one_bin_lower_as_in_pyod(n_bins):
    X = np.column_stack([np.arange(101.0), np.arange(101.0) % 11])
    spec = ModelSpec("HBOS", {"n_bins": n_bins, "alpha": 0.2}, scaling="none")
    [result] = score(X, [spec])
    expected = spec.to_pyod().fit(X).decision_scores_
    np.testing.assert_allclose(result.scores, expected, rtol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=60).filter(lambda v: len(set(v)) > 1),
    st.integers(1, 40),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-9, 12345.678]),
)
def test_bins_are_those_of_numpys_histogram(whole, n_bins, factor):
    values = np.array(whole) * factor
    counts, edges = np.histogram(values, bins=n_bins)
    low, high = edges[0], edges[-1]
    step = (high - low) / n_bins
    ours = [int(bin_of(value, low, high, step, n_bins)) for value in values]
    assert np.bincount(ours, minlength=n_bins).tolist() == counts.tolist()


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.floats(-1e300, 1e300), st.floats(0, 1e3), st.integers(1, 300))
def test_a_range_has_bins_where_numpy_says_so(low, relative, n_bins):
    high = low + abs(low) * relative * 1e-14
    if low == high:
        high = np.nextafter(low, np.inf)
    try:
        np.histogram(np.array([low, high]), bins=n_bins)
    except ValueError:
        assert not has_bins(low, high, n_bins)
    else:
        assert has_bins(low, high, n_bins)


def test_where_pyod_raises_the_model_has_failed_with_its_words():
    X = np.column_stack([np.arange(61.0), 1 + np.finfo(float).eps * np.arange(61)])
    few, many = (
        ModelSpec("HBOS", {"n_bins": n_bins, "alpha": 0.1}, scaling="none") for n_bins in (5, 100)
    )
    results = {item.spec: item for item in score(X, [few, many])}
    assert results[few].state == CellState.OK
    assert results[many].state == CellState.FAILED
    with pytest.raises(UserError, match="Too many bins") as caught:
        many.to_pyod().fit(X)
    assert results[many].reason == f"ValueError: {caught.value.__cause__}"


def test_only_numbers_of_bins_and_alpha_are_served():
    assert all(SCORER.serves(spec) for spec in GRID)
    assert SCORER.serves(ModelSpec("HBOS"))
    for params in (
        {"n_bins": "auto"},
        {"tol": 0.2},
        {"alpha": 2.0},
        {"n_bins": 1},
        {"n_bins": True},
    ):
        assert not SCORER.serves(ModelSpec("HBOS", params))


def test_over_budget_is_skipped_and_said():
    results = score(np.arange(40.0).reshape(20, 2), GRID[:3], Budget(bytes=10))
    assert [item.state for item in results] == [CellState.OVER_BUDGET] * 3
    assert "MiB" in results[0].reason
