"""Injected outliers: each kind breaks what it says, and models recover it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaod.models import ModelSpec
from research.injection import KINDS, Injection, recovery

FOREST = ModelSpec("IForest", {"n_estimators": 100, "max_features": 1.0})
NEIGHBOURS = ModelSpec("KNN", {"n_neighbors": 5, "method": "largest"})
LOCAL = ModelSpec("LOF", {"n_neighbors": 20, "metric": "euclidean"})


def correlated(seed, n=500, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, d))


def outliers(X, kind, **params):
    table, y = Injection(**params).inject(X, kind)
    return table[y == 0], table[y == 1]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(list(KINDS)), st.integers(6, 300), st.integers(1, 6))
def test_shapes_labels_and_seeds(seed, kind, n, d):
    X = np.random.default_rng(seed).normal(size=(n, d))
    table, y = Injection(n_rows=100, seed=seed).inject(X, kind)
    again, _ = Injection(n_rows=100, seed=seed).inject(X, kind)
    n_drawn = min(n, 100)
    assert np.array_equal(table, again)
    assert len(table) == len(y) == n_drawn + max(5, round(0.05 * n_drawn))
    assert np.isfinite(table).all()
    assert set(y[:n_drawn]) == {0}
    assert set(y[n_drawn:]) == {1}


def test_every_kind_has_the_same_rows():
    X = correlated(0)
    first, *others = (outliers(X, kind, n_rows=200)[0] for kind in KINDS)
    assert all(np.array_equal(first, rows) for rows in others)


def test_dependency_keeps_the_margins_and_breaks_the_correlation():
    rows, made = outliers(correlated(0, n=2000), "dependency", n_rows=2000, share=0.5)
    for column in range(rows.shape[1]):
        assert np.isin(made[:, column], rows[:, column]).all()
        assert stats.ks_2samp(rows[:, column], made[:, column]).pvalue > 0.001
    assert np.corrcoef(rows.T)[0, 1] > 0.9
    assert abs(np.corrcoef(made.T)[0, 1]) < 0.2


def test_masked_rows_change_a_quarter_of_the_columns():
    rows, made = outliers(correlated(0, d=8), "masked")
    for row in made:
        assert (rows == row).sum(axis=1).max() == 6


def test_global_rows_stay_in_the_widened_box():
    rows, made = outliers(correlated(0), "global", share=1.0)
    width = np.ptp(rows, axis=0)
    assert (made >= rows.min(axis=0) - 0.1 * width).all()
    assert (made <= rows.max(axis=0) + 0.1 * width).all()
    assert (made < rows.min(axis=0)).any()


def test_a_cluster_is_narrow():
    rows, made = outliers(correlated(0), "cluster")
    assert made.std(axis=0).max() < 0.5 < rows.std(axis=0).min()


def test_columns_with_few_levels_keep_them():
    X = correlated(0)
    X[:, 0] = X[:, 0] > 0
    for kind in KINDS:
        rows, made = outliers(X, kind)
        assert set(made[:, 0]) <= set(rows[:, 0])


def test_models_recover_what_they_are_made_for():
    found = recovery(correlated(0), [FOREST, NEIGHBOURS, LOCAL])
    assert list(found.index) == list(KINDS)
    assert found.loc["global", FOREST.id] > 0.6
    # only distances see broken relations
    assert found.loc["dependency", NEIGHBOURS.id] > found.loc["dependency", FOREST.id] + 0.2
    # a dense clump of 25 rows is normal among its own 20 neighbours
    assert found.loc["cluster", LOCAL.id] < 0.3 < found.loc["local", LOCAL.id]


def test_a_model_that_does_not_apply_is_missing():
    many = ModelSpec("KNN", {"n_neighbors": 300, "method": "largest"})
    found = recovery(correlated(0, n=40), [NEIGHBOURS, many])
    assert found[many.id].isna().all()
    assert found[NEIGHBOURS.id].notna().all()


def test_an_unknown_kind_is_refused():
    with pytest.raises((KeyError, ValueError)):
        Injection().inject(correlated(0), "strange")
