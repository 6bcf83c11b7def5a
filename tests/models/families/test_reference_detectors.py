"""Every detector against its reference: PyOD's class, or the definition where PyOD differs."""

import warnings

import numpy as np
import pyod.models.abod
import pyod.models.cblof
import pyod.models.cof
import pyod.models.copod
import pyod.models.ecod
import pyod.models.hbos
import pyod.models.iforest
import pyod.models.knn
import pyod.models.loda
import pyod.models.lof
import pyod.models.ocsvm
import pyod.models.pca
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

from metaod.models import fit_scaling
from metaod.models.families.abod import ABOD
from metaod.models.families.cblof import CBLOF
from metaod.models.families.cof import COF
from metaod.models.families.ecod import COPOD, ECOD
from metaod.models.families.hbos import HBOS
from metaod.models.families.iforest import IForest
from metaod.models.families.knn import KNN
from metaod.models.families.loda import LODA
from metaod.models.families.lof import LOF
from metaod.models.families.ocsvm import OCSVM
from metaod.models.families.pca import PCA
from metaod.testing.detectors import tables

RNG = np.random.default_rng(0)
PLAIN = np.vstack([RNG.normal(size=(200, 4)), RNG.normal(0, 5, size=(10, 4))])
NEW = np.vstack([RNG.normal(0, 2, size=(20, 4)), np.full((1, 4), 40.0)])
UNTIED = ["plain", "constant column", "wide", "tiny"]
UNTIED_ONLY = pytest.mark.parametrize("X", UNTIED, indirect=True)


def scores(detector, X):
    with warnings.catch_warnings():
        # PyOD divides by zero where rows are equal
        warnings.simplefilter("ignore")
        return detector.fit(X).decision_scores_


def assert_same(ours, pyods, X, rtol=1e-9, atol=1e-12):
    np.testing.assert_allclose(scores(ours, X), scores(pyods, X), rtol=rtol, atol=atol)


def assert_same_new_rows(ours, pyods, rtol=1e-9):
    ours.fit(PLAIN)
    pyods.fit(PLAIN)
    expected = pyods.decision_function(NEW)
    np.testing.assert_allclose(ours.decision_function(NEW), expected, rtol=rtol)


def sizes(X, *wanted):
    return [k for k in wanted if k < len(X)]


# neighbours


@pytest.mark.parametrize("method", ["largest", "mean", "median"])
def test_knn(X, method):
    for k in sizes(X, 1, 5, 100):
        assert_same(KNN(k, method), pyod.models.knn.KNN(n_neighbors=k, method=method), X)


@pytest.mark.parametrize("method", ["largest", "mean", "median"])
def test_knn_of_many_rows_and_of_new_ones(method):
    X = RNG.normal(size=(2_100, 4))
    ours, pyods = KNN(20, method), pyod.models.knn.KNN(n_neighbors=20, method=method)
    assert_same(ours, pyods, X)
    np.testing.assert_allclose(ours.decision_function(NEW), pyods.decision_function(NEW), rtol=1e-5)
    assert_same_new_rows(KNN(20, method), pyods)


# with ties, the rows that PyOD takes depend on its search
@UNTIED_ONLY
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "minkowski"])
def test_lof(X, metric):
    for k in sizes(X, 1, 5, 20):
        assert_same(LOF(k, metric), pyod.models.lof.LOF(n_neighbors=k, metric=metric), X)
    assert_same_new_rows(LOF(5, metric), pyod.models.lof.LOF(n_neighbors=5, metric=metric))


def test_lof_of_more_equal_rows_than_neighbours_is_finite():
    found = scores(LOF(3), np.vstack([np.zeros((10, 2)), np.ones((1, 2))]))
    np.testing.assert_allclose(found[:10], 1.0)
    assert found[10] > 1e9


@UNTIED_ONLY
def test_cof(X):
    for k in sizes(X, 3, 20, 50):
        assert_same(COF(k), pyod.models.cof.COF(n_neighbors=k), X)


def plain_cof(X, row, k, skip=None):
    """The chaining distance of a row through its nearest rows, and these rows, by definition."""
    order = [i for i in np.argsort(np.linalg.norm(X - row, axis=1)) if i != skip][:k]
    path = np.vstack([row, X[order]])
    lengths = cdist(path, path)
    costs = [lengths[t + 1, : t + 1].min() for t in range(k)]
    return sum(2 * (k - t) / (k * (k + 1)) * cost for t, cost in enumerate(costs)), order


@pytest.mark.parametrize("k", [2, 7])
def test_cof_of_a_new_row_is_defined_as_in_training(k):
    X, row = RNG.normal(size=(30, 3)), RNG.normal(size=3)
    own, near = plain_cof(X, row, k)
    expected = own / np.mean([plain_cof(X, X[i], k, skip=i)[0] for i in near])
    assert COF(k).fit(X).decision_function(row[None])[0] == pytest.approx(expected)


def test_cof_without_chaining_distances_scores_as_in_pyod():
    found = scores(COF(3), np.vstack([np.zeros((8, 2)), [[1.0, 0.0]]]))
    assert found[:8].tolist() == [0.0] * 8
    assert found[8] == np.finfo(np.float64).max


@UNTIED_ONLY
def test_abod(X):
    # PyOD's own takes long with more neighbours
    for k in sizes(X, 3, 5, 10):
        assert_same(ABOD(k), pyod.models.abod.ABOD(n_neighbors=k), X, atol=1e-25)
    assert_same_new_rows(ABOD(7), pyod.models.abod.ABOD(n_neighbors=7))


def test_abod_keeps_the_digits_of_a_variance_far_below_the_mean():
    # all neighbours lie in nearly the same direction at nearly the same distance
    X = np.vstack([np.zeros((1, 3)), [1.0, 1.0, 1.0] + 1e-4 * RNG.normal(size=(60, 3))])
    away = X[1:] - X[0]
    cosines = [a @ b / (a @ a) / (b @ b) for t, b in enumerate(away) for a in away[:t]]
    assert scores(ABOD(61), X)[0] == pytest.approx(-np.var(cosines), rel=1e-9)


def test_abod_of_rows_with_too_many_copies_is_undefined():
    found = scores(ABOD(5), np.vstack([np.zeros((6, 2)), RNG.normal(size=(20, 2))]))
    assert np.isnan(found).tolist() == [True] * 6 + [False] * 20


# histograms


def test_hbos(X):
    for n_bins, alpha in ((5, 0.1), (10, 0.5), (100, 0.2)):
        assert_same(HBOS(n_bins, alpha), pyod.models.hbos.HBOS(n_bins, alpha), X, atol=1e-9)
    assert_same_new_rows(HBOS(), pyod.models.hbos.HBOS())


@pytest.mark.parametrize("n_bins", [5, 10, 20, 50])
def test_hbos_looks_values_on_the_edges_up_one_bin_lower_as_pyod(n_bins):
    X = np.column_stack([np.arange(101.0), np.arange(101.0) % 11])
    assert_same(HBOS(n_bins), pyod.models.hbos.HBOS(n_bins), X)


def test_hbos_of_values_beyond_the_table():
    near, far = HBOS(10).fit(PLAIN), pyod.models.hbos.HBOS(10).fit(PLAIN)
    low, high = PLAIN.min(axis=0), PLAIN.max(axis=0)
    width = (high - low) / 10
    beyond = np.array([low - 0.4 * width, low - 0.6 * width, high + 0.4 * width, high + width])
    np.testing.assert_allclose(near.decision_function(beyond), far.decision_function(beyond))


def test_hbos_refuses_a_range_that_is_too_narrow_for_its_bins():
    X = np.column_stack([np.arange(61.0), 1 + np.finfo(float).eps * np.arange(61)])
    assert np.isfinite(scores(HBOS(5), X)).all()
    with pytest.raises(ValueError, match="100 bins"):
        HBOS(100).fit(X)


# random detectors have other random numbers than PyOD's


def assert_same_distribution(ours, pyods, X, trials):
    found = np.array([scores(ours(seed), X) for seed in range(trials)])
    expected = np.array([scores(pyods(1000 + seed), X) for seed in range(trials)])
    # few rows have few different scores, which must not differ by rounding alone
    found, expected = found.round(9), expected.round(9)
    for row in range(0, len(X), max(1, len(X) // 7)):
        assert ks_2samp(found[:, row], expected[:, row]).pvalue > 1e-4
    assert ks_2samp(found.mean(axis=1), expected.mean(axis=1)).pvalue > 1e-4
    assert ks_2samp(found.std(axis=1), expected.std(axis=1)).pvalue > 1e-4


@pytest.mark.parametrize("n_bins", [5, 30])
def test_loda(X, n_bins):
    def pyods(seed):
        return pyod.models.loda.LODA(n_bins=n_bins, n_random_cuts=10, random_state=seed)

    assert_same_distribution(lambda seed: LODA(n_bins, 10, random_state=seed), pyods, X, 80)


@pytest.mark.parametrize("max_features", [0.4, 1.0])
def test_iforest(X, max_features):
    class Unshifted(pyod.models.iforest.IForest):
        def fit(self, X):
            super().fit(X)
            self.decision_scores_ = -self.detector_.score_samples(X)
            return self

    def pyods(seed):
        return Unshifted(n_estimators=4, max_features=max_features, random_state=seed)

    assert_same_distribution(
        lambda seed: IForest(4, max_features, random_state=seed), pyods, X, 120
    )


# others


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_ocsvm(X, kernel):
    for nu in (0.1, 0.9):
        assert_same(OCSVM(kernel, nu), pyod.models.ocsvm.OCSVM(kernel=kernel, nu=nu), X)
    assert_same_new_rows(OCSVM(), pyod.models.ocsvm.OCSVM())


@pytest.mark.parametrize("name", list(tables()))
@pytest.mark.parametrize("ours", [ECOD, COPOD])
def test_tails(ours, name):
    reference = {ECOD: pyod.models.ecod.ECOD, COPOD: pyod.models.copod.COPOD}[ours]
    X = fit_scaling("zscore", tables()[name]).transform(tables()[name])
    assert_same(ours(), reference(), X, atol=1e-9)


@pytest.mark.parametrize("ours", [ECOD, COPOD])
def test_values_beyond_the_table_are_as_rare_as_its_outermost_rows(ours):
    far, farther = ours().fit(PLAIN).decision_function([[1e3] * 4, [1e9] * 4])
    assert far == farther
    assert np.isfinite(far)


@pytest.mark.parametrize("weighted", [True, False])
def test_pca(weighted):
    assert_same(PCA(weighted), pyod.models.pca.PCA(weighted=weighted, standardization=False), PLAIN)


def test_pca_of_columns_that_add_up_is_finite():
    found = scores(PCA(), np.column_stack([PLAIN, PLAIN[:, 0] + PLAIN[:, 1]]))
    assert np.isfinite(found).all()
    assert found[200:].mean() > found[:200].mean()


def test_cblof():
    assert_same(CBLOF(random_state=0), pyod.models.cblof.CBLOF(n_clusters=8, random_state=0), PLAIN)


def test_cblof_of_clusters_that_are_all_large_is_defined():
    blobs = np.repeat(np.eye(4) * 50, 25, axis=0) + RNG.normal(size=(100, 4))
    with pytest.raises(ValueError, match="valid cluster separation"):
        pyod.models.cblof.CBLOF(n_clusters=4, random_state=0).fit(blobs)
    detector = CBLOF(n_clusters=4, random_state=0).fit(blobs)
    assert np.isfinite(detector.decision_scores_).all()
    assert detector.decision_function([[0.0] * 4])[0] > detector.decision_scores_.max()
