"""Isolation trees: what they split, and that they are the same on every machine."""

import numpy as np
import pytest

from metaod.models._isolation_forests import add_path_lengths, average_path_length, grow_trees


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
