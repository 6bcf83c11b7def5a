"""Which rows are normal."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import UserError
from research.childsets.labelling import confusable_sides, normal_rows
from research.childsets.mothersets import Motherset


def motherset(y, task, **kwargs):
    y = np.asarray(y)
    return Motherset("m", "m", np.zeros((len(y), 1)), y, task, **kwargs)


def test_regression_splits_at_the_median_and_ties_are_normal():
    assert normal_rows(motherset([1.0, 2, 2, 3, 9], "regression")).tolist() == [1, 1, 1, 0, 0]


def test_regression_splits_at_normal_at_least():
    quality = motherset([3.0, 5, 6, 8], "regression", normal_at_least=6)
    assert normal_rows(quality).tolist() == [0, 0, 1, 1]


def test_of_two_classes_the_larger_is_normal():
    assert normal_rows(motherset([1, 0, 1, 1, 0], "binary")).tolist() == [1, 0, 1, 1, 0]


def test_a_target_on_one_side_is_refused():
    with pytest.raises(UserError, match="motherset m: all 3 rows"):
        normal_rows(motherset([5.0, 5, 5], "regression"))


def test_a_class_between_two_is_anomalous(wave):
    is_normal = normal_rows(wave)
    assert (is_normal == (wave.y != 0)).all()
    assert is_normal.sum() == 3343


def test_classes_in_a_chain_alternate(imgseg):
    assert (normal_rows(imgseg) == (imgseg.y % 2 == 0)).all()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_sides_are_those_of_the_heaviest_tree(k, seed):
    confusion = np.random.default_rng(seed).random((k, k)) * 50
    weights = confusion + confusion.T
    pairs = list(combinations(range(k), 2))
    trees = [edges for edges in combinations(pairs, k - 1) if is_tree(edges, k)]
    heaviest = max(trees, key=lambda edges: sum(weights[edge] for edge in edges))
    sides = confusable_sides(confusion)
    assert all(sides[a] != sides[b] for a, b in heaviest)
    assert sides[0] == 0


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.permutations(range(4)))
def test_the_order_of_classes_does_not_matter(order):
    confusion = np.array([[0, 9, 1, 2], [8, 0, 7, 1], [0, 0, 0, 3], [0, 0, 0, 0]], dtype=float)
    order = np.array(order)
    sides = confusable_sides(confusion)[order]
    shuffled = confusable_sides(confusion[np.ix_(order, order)])
    assert (shuffled == sides).all() or (shuffled == 1 - sides).all()


def test_classes_never_confused_have_a_side():
    assert set(confusable_sides(np.diag([5.0, 5.0, 5.0]))) == {0, 1}


def is_tree(edges, k):
    reached = {0}
    for _ in range(k):
        reached |= {b for a, b in (*edges, *(e[::-1] for e in edges)) if a in reached}
    return len(reached) == k


def test_brute_force_knows_trees():
    # Cayley: k^(k-2) trees
    pairs = list(combinations(range(4), 2))
    assert sum(is_tree(edges, 4) for edges in combinations(pairs, 3)) == 16
