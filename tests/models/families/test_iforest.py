"""Nested isolation forests: PyOD's scores in exact mode, their distribution in fast mode."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from metaod.errors import UserError
from metaod.models import Budget, CellState, Mode, ModelSpec, family, specs_of
from metaod.models._isolation_trees import add_path_lengths, average_path_length, grow_trees
from metaod.models.families.iforest import IForestScorer

SCORER = IForestScorer()
BUDGET = Budget()
GRID = specs_of(family("IForest"))
# few trees: PyOD takes long with many
SAMPLE = [*GRID[:36:13], ModelSpec("IForest")]


def score(X, specs, trials=1, mode=Mode.FAST, budget=BUDGET):
    results = list(SCORER.score(X, specs, trials=trials, mode=mode, budget=budget))
    assert len({(item.spec, item.trial) for item in results}) == len(results)
    return {(item.spec, item.trial): item for item in results}


def test_exact_mode_equals_pyod(table, scaled):
    results = score(scaled(table), SAMPLE, trials=2, mode=Mode.EXACT)
    assert len(results) == 2 * len(SAMPLE)
    for (spec, seed), item in results.items():
        assert item.state == CellState.OK
        expected = spec.to_pyod(random_state=seed).fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("max_features", [0.4, 1.0])
def test_fast_mode_has_pyods_distribution(table, scaled, max_features):
    spec = ModelSpec("IForest", {"n_estimators": 4, "max_features": max_features})
    trials = 120
    results = score(scaled(table), [spec], trials=trials)
    ours = np.array([results[spec, seed].scores for seed in range(trials)])
    pyod = np.array(
        [
            spec.to_pyod(random_state=1000 + seed).fit(table).decision_scores_
            for seed in range(trials)
        ]
    )
    # few rows have few different scores, which must not differ by rounding alone
    ours, pyod = ours.round(9), pyod.round(9)
    for row in range(0, len(table), max(1, len(table) // 7)):
        assert ks_2samp(ours[:, row], pyod[:, row]).pvalue > 1e-4
    assert ks_2samp(ours.mean(axis=1), pyod.mean(axis=1)).pvalue > 1e-4
    assert ks_2samp(ours.std(axis=1), pyod.std(axis=1)).pvalue > 1e-4
    error = np.sqrt((ours.var(axis=0) + pyod.var(axis=0)) / trials)
    off = np.abs(ours.mean(axis=0) - pyod.mean(axis=0)) / np.maximum(error, 1e-12)
    assert off.max() < 4.5


@pytest.mark.parametrize("mode", list(Mode))
def test_scores_do_not_depend_on_what_else_is_asked_for(table, scaled, mode):
    X = scaled(table)
    together = score(X, SAMPLE, mode=mode)
    for spec in SAMPLE[::2]:
        alone = score(X, [spec], mode=mode)
        np.testing.assert_array_equal(alone[spec, 0].scores, together[spec, 0].scores)


def test_seeds_differ():
    X = np.random.default_rng(0).normal(size=(60, 4))
    results = score(X, [SAMPLE[0]], trials=5)
    firsts = {float(item.scores[0]) for item in results.values()}
    assert len(firsts) == 5


@pytest.mark.parametrize(("n_rows", "n_columns"), [(200, 5), (3, 1), (2, 2)])
def test_a_tree_splits_all_rows_down_to_its_leaves(n_rows, n_columns):
    # up to 256 rows a tree is grown on all of them, so its leaves can be checked from outside
    X = np.random.default_rng(1).integers(0, 6, size=(n_rows, n_columns)).astype(np.float32)
    depth = max(1, int(np.ceil(np.log2(n_rows))))
    for trees in (grow_trees(X, 3, t, t + 1, n_columns, n_rows, depth) for t in range(20)):
        features, thresholds, lengths = (part[0] for part in trees)
        leaves, levels = np.empty(n_rows, int), np.empty(n_rows, int)
        for i, row in enumerate(X):
            node, level = 1, 0
            for _ in range(depth):
                level += np.isfinite(thresholds[node])
                node = 2 * node + int(row[features[node]] > thresholds[node])
            leaves[i], levels[i] = node - (1 << depth), level
        sums = np.zeros(n_rows)
        add_path_lengths(X, trees, depth, sums)
        for leaf in np.unique(leaves):
            inside = leaves == leaf
            [level] = set(levels[inside])
            expected = level + average_path_length(int(inside.sum()))
            assert lengths[leaf] == pytest.approx(expected, abs=1e-12)
            assert np.all(sums[inside] == lengths[leaf])
            # a branch ends at the depth limit, with one row, or with rows that are all alike
            assert level == depth or len(np.unique(X[inside], axis=0)) == 1


def test_columns_of_a_tree_are_only_those_drawn():
    X = np.random.default_rng(1).normal(size=(300, 30)).astype(np.float32)
    features, thresholds, _ = grow_trees(X, 0, 0, 50, 3, 256, 8)
    seen = set()
    for tree in range(50):
        reached = [1]
        used = set()
        for node in reached:
            if node < 256 and np.isfinite(thresholds[tree, node]):
                used.add(int(features[tree, node]))
                reached += [2 * node, 2 * node + 1]
        assert 1 <= len(used) <= 3
        seen |= used
    assert seen == set(range(30))


def test_values_that_differ_by_rounding_are_one_value_as_in_scikit_learn():
    X = np.array([[1.0], [1.0 + 1e-7], [1.0], [1.0 + 1e-7]], dtype=np.float32)
    _, thresholds, lengths = grow_trees(X, 0, 0, 1, 1, 4, 2)
    assert np.isinf(thresholds[0, 1])
    assert lengths[0, 0] == average_path_length(4)


def test_trees_are_the_same_on_every_machine():
    X = (np.arange(60, dtype=np.float32) * 37 % 61).reshape(20, 3)
    features, thresholds, _ = grow_trees(X, 7, 0, 3, 2, 20, 5)
    assert features[:, 1].tolist() == [1, 0, 2]
    assert thresholds[:, 1].tolist() == [10.719282150268555, 39.50823974609375, 17.346664428710938]


def test_shares_that_mean_as_many_columns_share_a_forest():
    X = np.random.default_rng(0).normal(size=(50, 4))
    low, high, whole = (
        ModelSpec("IForest", {"n_estimators": 10, "max_features": share}) for share in (0.1, 0.4, 1)
    )
    results = score(X, [low, high, whole])
    assert results[low, 0].scores is results[high, 0].scores is results[whole, 0].scores


def test_more_columns_than_there_are_has_failed_as_in_pyod():
    X = np.random.default_rng(0).normal(size=(50, 4))
    spec = ModelSpec("IForest", {"max_features": 5})
    result = score(X, [spec])[spec, 0]
    with pytest.raises(UserError, match="max_features") as caught:
        spec.to_pyod(random_state=0).fit(X)
    assert result.state == CellState.FAILED
    assert result.reason == f"ValueError: {caught.value.__cause__}"


def test_only_sizes_and_shares_are_served():
    assert all(SCORER.serves(spec) for spec in SAMPLE)
    for params in (
        {"max_samples": 64},
        {"bootstrap": True},
        {"n_estimators": 0},
        {"max_features": 1.5},
        {"max_features": True},
        {"max_features": 0},
    ):
        assert not SCORER.serves(ModelSpec("IForest", params))


def test_over_budget_is_skipped_and_said():
    X = np.random.default_rng(0).normal(size=(50, 4))
    small, large = (ModelSpec("IForest", {"n_estimators": size}) for size in (10, 10**9))
    results = score(X, [small, large], trials=2)
    assert results[small, 1].state == CellState.OK
    assert results[large, 1].state == CellState.OVER_BUDGET
    assert "limit is 60 s" in results[large, 1].reason


def test_trees_of_one_column_score_new_rows_as_pyod_does():
    X = np.random.default_rng(0).normal(size=(2_100, 5))
    spec = ModelSpec("IForest", {"n_estimators": 10, "max_features": 0.1})
    detector = spec.to_pyod(random_state=0).fit(X)
    own = detector.detector_.decision_function(detector.scaling_.transform(X[:50]))
    np.testing.assert_allclose(detector.decision_function(X[:50]), own, rtol=1e-12)
