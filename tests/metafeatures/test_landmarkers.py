"""Landmarker runs, compared with plain code on the same trees and projections, and with PyOD."""

import math
from itertools import islice

import numpy as np
import plain_metafeatures as plain
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyod.models.hbos import HBOS

from metaod.errors import BadParameter
from metaod.metafeatures import LandmarkerRuns, extract, schema
from metaod.metafeatures import _landmarker_runs as runs_module
from metaod.metafeatures._landmarker_features import score_summary
from metaod.models import (
    ModelSpec,
    fit_scaling,
    leading_components,
    run_iforest,
    run_loda,
    run_pca,
    score_models,
)
from metaod.models._isolation_trees import grow_trees
from metaod.models.families.loda import nested_cuts

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(400, 5)) @ RANDOM.normal(size=(5, 5))
X[:12] += 6
Z = fit_scaling("zscore", X).transform(X)
TIED = RANDOM.integers(0, 3, size=(60, 3)).astype(float)


def landmarker_values(runs):
    return extract(runs.X, runs=runs).to_dict()


def shared_scores(spec, seed):
    scored = score_models(X, [spec], trials=seed + 1)
    return next(cell.scores for cell in scored if cell.trial == seed)


@pytest.mark.parametrize("table", [Z, TIED, Z[:2], Z[:30, :1]])
def test_tree_statistics_equal_those_of_a_plain_walk(table):
    run = run_iforest(table, seed=4)
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
    run = run_iforest(fit_scaling("zscore", table).transform(table), seed=0)
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
    run = run_loda(table, seed=2)
    cuts = list(islice(nested_cuts(table, 2), 100))
    for cut, along in enumerate(cuts):
        histogram = np.histogram(along, bins=10)[0] + 1e-12
        assert_allclose(run.shares[cut], histogram / histogram.sum(), rtol=1e-9)
        assert run.projection_max[cut] == along.max()


def test_projections_of_z_scores_have_mean_0():
    assert_allclose([along.mean() for along in islice(nested_cuts(Z, 0), 100)], 0, atol=1e-12)
    assert landmarker_values(LandmarkerRuns(X))["loda_projection_mean_max"] == 0


def test_runs_give_the_scores_of_the_models():
    runs = LandmarkerRuns(X)
    forest = shared_scores(ModelSpec("IForest"), seed=1)
    # PyOD's scores are the paper's, less a constant
    difference = runs.iforest(1).scores - forest
    assert_allclose(difference, difference[0], atol=1e-12)
    assert_allclose(runs.loda(1).scores, shared_scores(ModelSpec("LODA"), seed=1), rtol=1e-9)
    assert_allclose(runs.hbos().scores, HBOS().fit(Z).decision_scores_, rtol=1e-9)


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
    assert_allclose(run.scores, errors, rtol=1e-6, atol=1e-9 * errors.max())


def test_leading_components_of_equal_eigenvalues():
    values, vectors = leading_components(np.eye(300), 3)
    assert_allclose(values, 1.0)
    assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-9)


def test_runs_are_made_once_and_seeds_differ():
    runs = LandmarkerRuns(X)
    assert runs.iforest(0) is runs.iforest(0)
    assert runs.lof() is runs.lof()
    assert (runs.iforest(0).scores != runs.iforest(1).scores).any()
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


def test_there_are_no_z_scores_if_all_columns_are_constant():
    assert LandmarkerRuns(np.full((5, 2), 3.0)).Z is None


@pytest.mark.parametrize(
    "wrong", [{"random_state": -1}, {"n_seeds": 0}, {"max_rows": 1}, {"random_state": True}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(BadParameter, match=next(iter(wrong))):
        LandmarkerRuns(X, **wrong)


def test_scores_that_are_all_the_same_have_no_summary():
    assert np.isnan(score_summary(np.full(4, 1e9))).all()
    assert score_summary(np.array([0.0, 0.1, 1.0]))[4] == pytest.approx(0.9)


def test_the_largest_seed_is_accepted():
    runs = LandmarkerRuns(X, random_state=2**32 - 1)
    assert all(0 <= seed < 2**32 for seed in runs.seeds)
    assert np.isfinite(list(landmarker_values(runs).values())).any()
