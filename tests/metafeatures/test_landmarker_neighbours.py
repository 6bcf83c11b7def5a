"""ECOD, kNN and LOF as landmarkers: their scores equal PyOD's."""

import numpy as np
import pytest
from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from scipy.spatial.distance import cdist

from metaod.models import run_ecod, run_knn, run_lof, run_neighbours
from metaod.models._neighbours import DEPTH, MAX_NEIGHBOUR_ROWS


def tables():
    random = np.random.default_rng(0)
    yield "normal", random.standard_normal((300, 5))
    yield "one column", random.exponential(size=(90, 1))
    yield "wide", random.standard_normal((25, 60))
    yield "heavy", random.standard_t(1.5, size=(150, 3))
    yield "integers", random.poisson(2.0, size=(200, 4)).astype(float)
    yield "repeated rows", np.repeat(random.standard_normal((60, 3)), 2, axis=0)


TABLES = dict(tables())


@pytest.mark.parametrize("name", TABLES)
def test_ecod_scores_equal_pyods(name):
    Z = TABLES[name]
    np.testing.assert_allclose(run_ecod(Z).scores, ECOD().fit(Z).decision_scores_, rtol=1e-12)


def test_ecod_takes_the_longer_tail_of_a_symmetric_column():
    # PyOD adds up both tails where the skewness comes out as exactly zero
    Z = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    np.testing.assert_allclose(run_ecod(Z).scores, np.log(2))


def test_ecod_does_not_depend_on_the_block_size(monkeypatch):
    Z = TABLES["wide"]
    whole = run_ecod(Z).scores
    monkeypatch.setattr("metaod.models.families.ecod._BLOCK", 7 * len(Z))
    np.testing.assert_array_equal(run_ecod(Z).scores, whole)


@pytest.mark.parametrize("name", TABLES)
def test_knn_scores_equal_pyods(name):
    Z = TABLES[name]
    expected = KNN(n_neighbors=5).fit(Z).decision_scores_
    np.testing.assert_allclose(run_knn(run_neighbours(Z)).scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "integers"])
def test_lof_scores_equal_pyods(name):
    Z = TABLES[name]
    expected = LOF(n_neighbors=20).fit(Z).decision_scores_
    np.testing.assert_allclose(run_lof(run_neighbours(Z)).scores, expected, rtol=1e-6)


@pytest.mark.parametrize("name", TABLES)
def test_neighbours_are_the_nearest(name):
    Z = TABLES[name]
    run = run_neighbours(Z, 12)
    np.testing.assert_array_equal(run.rows, np.arange(len(Z)))
    distances = cdist(Z, Z)
    np.fill_diagonal(distances, np.inf)
    expected = np.sort(distances, axis=1)[:, :12]
    np.testing.assert_allclose(run.found.distances, expected, atol=1e-9)
    listed = np.take_along_axis(distances, run.found.indices.astype(int), axis=1)
    np.testing.assert_allclose(listed, expected, atol=1e-9)


@pytest.mark.parametrize("n_rows", [2, 3, 6, 21])
def test_fewer_rows_than_neighbours(n_rows):
    Z = np.random.default_rng(1).standard_normal((n_rows, 3))
    run = run_neighbours(Z)
    assert run.depth == min(DEPTH, n_rows - 1)
    k = min(5, n_rows - 1)
    np.testing.assert_allclose(run_knn(run).scores, np.sort(cdist(Z, Z), axis=1)[:, k])
    assert np.isfinite(run_lof(run).scores).all()


def test_wide_table_has_a_smaller_sample():
    Z = np.random.default_rng(2).standard_normal((900, 1600))
    assert len(run_neighbours(Z, 3).rows) == 790
    assert len(run_neighbours(Z, 3, max_rows=100).rows) == 100


def test_long_table_is_sampled():
    Z = np.random.default_rng(2).standard_normal((MAX_NEIGHBOUR_ROWS + 100, 2))
    run = run_neighbours(Z, 3)
    assert len(run.rows) == MAX_NEIGHBOUR_ROWS
    assert (np.diff(run.rows) > 0).all()
    np.testing.assert_array_equal(run.rows, run_neighbours(Z, 3).rows)
    assert (run.rows != run_neighbours(Z, 3, random_state=1).rows).any()
    within = run_neighbours(Z[run.rows], 3)
    np.testing.assert_array_equal(within.found.indices, run.found.indices)
    np.testing.assert_array_equal(run_knn(run).rows, run.rows)
    np.testing.assert_array_equal(run_lof(run).rows, run.rows)
