"""Landmarker runs, compared with plain code on the same trees, projections and neighbours."""

import math
from itertools import islice

import numpy as np
import plain_metafeatures as plain
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from metaod.errors import BadParameter
from metaod.metafeatures import LandmarkerRuns, extract, schema
from metaod.metafeatures import _landmarkers as runs_module
from metaod.metafeatures._landmarkers import run_pca
from metaod.models import _neighbours as neighbours
from metaod.models import family, fit_scaling
from metaod.models._isolation_forests import grow_trees
from metaod.models.families.iforest import IForest
from metaod.models.families.loda import LODA, _cuts

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(400, 5)) @ RANDOM.normal(size=(5, 5))
X[:12] += 6
Z = fit_scaling("zscore", X).transform(X)
TIED = RANDOM.integers(0, 3, size=(60, 3)).astype(float)


def landmarker_values(runs):
    return extract(runs.X, runs=runs).to_dict()


@pytest.mark.parametrize("table", [Z, TIED, Z[:2], Z[:30, :1]])
def test_tree_statistics_equal_those_of_a_plain_walk(table):
    run = IForest(random_state=4).fit(table).describe()
    n_samples = min(256, len(table))
    depth = math.ceil(math.log2(n_samples))
    narrow = table.astype(np.float32)
    features, thresholds, _ = grow_trees(narrow, 4, 0, 100, table.shape[1], n_samples, depth)
    inner = 2**depth
    nodes = np.arange(2 * inner)
    for t in range(100):
        splits = np.zeros(2 * inner, dtype=bool)
        splits[:inner] = np.isfinite(thresholds[t])
        left, right = np.where(splits, 2 * nodes, -1), np.where(splits, 2 * nodes + 1, -1)
        want = plain.tree_features(left, right, features[t], table.shape[1], root=1)
        got = (
            run.depths[t], run.leaves[t], run.horizontal[t], run.vertical[t],
            run.importance_mean[t], run.importance_max[t],
        )  # fmt: skip
        assert_allclose(got, list(want.values()), rtol=1e-12)


def test_a_forest_without_splits_has_no_imbalance():
    # one row differs from 300 equal ones: trees that do not draw it cannot split
    table = np.zeros((1000, 2))
    table[7] = 1.0
    run = IForest(random_state=0).fit(fit_scaling("zscore", table).transform(table)).describe()
    assert set(run.leaves) == {1.0, 2.0}
    assert_array_equal(np.isnan(run.horizontal), run.leaves == 1)
    values = landmarker_values(LandmarkerRuns(table))
    assert values["iforest_depth_min"] == 0
    assert values["iforest_importance_max_mean"] == 1


@pytest.mark.filterwarnings("ignore:Precision loss")  # depths are all the same
def test_random_landmarkers_have_pyods_distribution():
    seeds = range(12)
    names = [
        feature.name
        for feature in schema("paper").features
        if feature.name.startswith(("iforest", "loda")) and not feature.constant
    ]
    ours = [landmarker_values(LandmarkerRuns(X, random_state=seed, n_seeds=1)) for seed in seeds]
    theirs = [{**plain.iforest_features(Z, seed), **plain.loda_features(Z, seed)} for seed in seeds]
    a, b = (
        np.array([[values[name] for name in names] for values in side]) for side in (ours, theirs)
    )
    # all trees are as deep as they may be, so that depths have no skewness on either side
    assert_array_equal(np.isnan(a), np.isnan(b))
    errors = np.sqrt((a.var(axis=0) + b.var(axis=0)) / (len(seeds) - 1))
    for name, difference, error in zip(names, a.mean(axis=0) - b.mean(axis=0), errors, strict=True):
        assert np.isnan(difference) or abs(difference) <= 5 * error + 1e-12, name


@pytest.mark.parametrize("table", [Z, TIED, Z[:2], Z[:30, :1]])
def test_loda_histograms_equal_numpys(table):
    run = LODA(random_state=2).fit(table)
    for i, cut in enumerate(islice(_cuts(table.shape[1], 2), 100)):
        along = cut.project(table)
        histogram = np.histogram(along, bins=10)[0] + 1e-12
        assert_allclose(run.shares_[i], histogram / histogram.sum(), rtol=1e-9)
        assert run.largest_[i] == along.max()


def test_projections_of_z_scores_have_mean_0():
    assert_allclose([cut.project(Z).mean() for cut in islice(_cuts(5, 0), 100)], 0, atol=1e-12)
    assert landmarker_values(LandmarkerRuns(X))["loda_projection_mean_max"] == 0


@pytest.mark.parametrize(("n", "p"), [(60, 2), (300, 5), (6, 40), (300, 250), (250, 400)])
def test_components_and_reconstruction_errors(n, p):
    table = np.random.default_rng(n + p).normal(size=(n, p)) * np.linspace(1, 3, p)
    table = table - table.mean(axis=0)
    run = run_pca(table)
    _, singular, directions = np.linalg.svd(table, full_matrices=False)
    found = min(3, len(singular))
    assert_allclose(run.singular_values[:found], singular[:3], rtol=1e-7)
    assert_allclose(run.explained[:found], singular[:3] ** 2 / np.sum(singular**2), rtol=1e-7)
    assert np.isnan(run.explained[found:]).all()
    kept = directions[: min(3, np.linalg.matrix_rank(table) - 1)]
    errors = np.sum((table - table @ kept.T @ kept) ** 2, axis=1)
    assert_allclose(run.decision_scores_, errors, rtol=1e-6, atol=1e-9 * errors.max())


def test_runs_are_made_once_and_seeds_differ():
    runs = LandmarkerRuns(X)
    assert runs.run("IForest", 0) is runs.run("IForest", 0)
    assert runs.pca is runs.pca
    assert runs.neighbours is runs.neighbours
    one, other, _ = runs.of_seeds("IForest")
    assert (one.decision_scores_ != other.decision_scores_).any()
    assert LandmarkerRuns(X, random_state=2).seeds == (6, 7, 8)


def test_large_tables_are_sampled_from_the_seed(monkeypatch):
    assert_array_equal(LandmarkerRuns(X).rows, np.arange(400))
    runs = LandmarkerRuns(X, max_rows=100)
    assert runs.Z.shape == (100, 5)
    assert_array_equal(runs.rows, np.unique(runs.rows))
    assert_array_equal(runs.rows, LandmarkerRuns(X, max_rows=100).rows)
    other = LandmarkerRuns(X, max_rows=100, random_state=1)
    assert (runs.rows != other.rows).any()
    assert_allclose(runs.Z, fit_scaling("zscore", X[runs.rows]).transform(X[runs.rows]))
    monkeypatch.setattr(runs_module, "MAX_VALUES", 1500)
    assert len(LandmarkerRuns(X).rows) == 300


@pytest.mark.parametrize("wrong", [-1, True])
def test_the_seed_is_checked(wrong):
    with pytest.raises(BadParameter, match="random_state"):
        LandmarkerRuns(X, random_state=wrong)


def test_the_largest_seed_is_accepted():
    runs = LandmarkerRuns(X, random_state=2**32 - 1)
    assert all(0 <= seed < 2**32 for seed in runs.seeds)
    assert np.isfinite(list(landmarker_values(runs).values())).any()


# ECOD and neighbours


def test_ecod_takes_the_longer_tail_of_a_symmetric_column():
    # PyOD adds up both tails where the skewness comes out as exactly zero
    runs = LandmarkerRuns(np.array([[-1.0], [-1.0], [1.0], [1.0]]))
    assert_allclose(runs.run("ECOD").decision_scores_, np.log(2))


def test_ecod_does_not_depend_on_the_block_size(monkeypatch):
    whole = LandmarkerRuns(X).run("ECOD").decision_scores_
    monkeypatch.setattr("metaod.models.families.ecod._BLOCK", 2 * len(X))
    assert_array_equal(LandmarkerRuns(X).run("ECOD").decision_scores_, whole)


@pytest.mark.parametrize("name", ["KNN", "LOF"])
@pytest.mark.parametrize("n_rows", [2, 6, 21, 400])
def test_neighbours_give_the_scores_of_the_models(name, n_rows):
    runs = LandmarkerRuns(X[:n_rows])
    assert_array_equal(runs.neighbours.rows, np.arange(n_rows))
    assert runs.neighbours.indices.shape == (n_rows, min(50, n_rows - 1))
    k = min(20, n_rows - 1)
    model = family(name).load()(n_neighbors=k).fit(runs.Z)
    assert_allclose(
        runs.neighbours.scores(family(name).load(), 20), model.decision_scores_, rtol=1e-9
    )


def test_long_and_wide_tables_are_searched_in_a_sample(monkeypatch):
    monkeypatch.setattr(neighbours, "MAX_NEIGHBOUR_ROWS", 300)
    run = neighbours.run_neighbours(Z, 0)
    assert len(run.rows) == 300
    assert (np.diff(run.rows) > 0).all()
    assert_array_equal(run.rows, neighbours.run_neighbours(Z, 0).rows)
    assert (run.rows != neighbours.run_neighbours(Z, 1).rows).any()
    within = neighbours.run_neighbours(Z[run.rows], 0)
    assert_array_equal(within.indices, run.indices)
    monkeypatch.setattr(neighbours, "_MOST_WORK", 5 * 200**2)
    monkeypatch.setattr(neighbours, "_FEWEST_ROWS", 100)
    assert len(neighbours.run_neighbours(Z, 0).rows) == 200
