"""Rows before any mark, and their features, given marks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from metaod.review import MarkedTable, Ranker, RowSpace

MARKS = {0: True, 25: False, 300: False}
PLACES, ANSWERS = list(MARKS), list(MARKS.values())


@pytest.fixture(scope="module")
def features(space, members):
    table = MarkedTable(space, members.mean(axis=1))
    table.mark(MARKS)
    return dict(zip(Ranker.features, table.features.T, strict=True))


@pytest.fixture(scope="module")
def shared(space):
    """Shares of trees in which the marked rows and all rows reach the same leaf."""
    leaves = space.rows.leaves
    return np.array([(leaves == leaves[place]).mean(axis=1) for place in PLACES])


def space_of(scores):
    scores = np.asarray(scores, dtype=float)
    return RowSpace(np.arange(len(scores) * 1.0)[:, None], scores, scores[:, None], seed=0)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=40))
def test_a_tail_is_the_logarithm_of_the_rank_from_above(values):
    shares = (len(values) + 1 - rankdata(values)) / len(values)
    np.testing.assert_allclose(space_of(values).rows.pick, -np.log(shares))


def test_new_scores_outside_the_training_range_have_finite_tails():
    scores = np.array([-1e9, 1e9])
    ends = space_of([1, 2, 3]).describe(scores[:, None], scores, scores[:, None]).pick
    assert np.isfinite(ends).all()
    assert ends[0] < ends[1]


def test_training_rows_are_described_as_new_rows_are(made, members, space):
    again = space.describe(made[0], members.mean(axis=1), members)
    for name, values in vars(space.rows).items():
        np.testing.assert_array_equal(getattr(again, name), values, err_msg=name)


def test_rows_of_the_same_values_share_all_leaves(made, members, space):
    twice = space.describe(made[0][[3, 3]], members.mean(axis=1)[[3, 3]], members[[3, 3]])
    np.testing.assert_array_equal(twice.leaves[0], twice.leaves[1])


@pytest.mark.parametrize("n_rows", [2, 3, 5, 40])
def test_tables_of_few_rows_and_constant_columns_are_described(n_rows):
    X = np.column_stack([np.arange(n_rows), np.ones(n_rows)]).astype(float)
    space = RowSpace(X, X[:, 0], X[:, :1], seed=0)
    assert np.isfinite(space.rows.values).all()
    assert np.isfinite(space.rows.prior).all()
    assert space.usual_distance > 0


def test_constant_scores_have_a_constant_prior():
    np.testing.assert_array_equal(space_of(np.ones(10)).rows.prior, np.zeros(10))


def test_similarities_to_marked_rows(space, features, shared):
    of_leaves = features["largest similarity by leaf to outliers"]
    np.testing.assert_allclose(of_leaves, shared[0], rtol=1e-6)
    nodes = space.rows.leaves >> 3  # the first five bits of a leaf's number
    of_nodes = features["largest similarity by node to outliers"]
    np.testing.assert_allclose(of_nodes, (nodes == nodes[0]).mean(axis=1), rtol=1e-6)
    others = features["mean similarity by leaf to others"]
    np.testing.assert_allclose(others, shared[1:].mean(axis=0), rtol=1e-6)
    for kernel in ("leaf", "node", "values", "tails"):
        found = features[f"largest similarity by {kernel} to outliers"]
        assert found[0] == 1.0
        assert ((found >= 0) & (found <= 1)).all()


def test_the_process_is_the_mean_of_a_gaussian_process(space, features, shared):
    prior = 0.03 * space.rows.prior
    targets = np.where(ANSWERS, 1.0, -1.0) - prior[PLACES]
    mean = prior + shared.T @ np.linalg.solve(shared[:, PLACES] + 0.075 * np.eye(3), targets)
    np.testing.assert_allclose(features["process 1"], mean, atol=1e-5)


@pytest.mark.parametrize("answer", [True, False])
def test_marks_of_one_kind_give_finite_features(space, members, answer):
    table = MarkedTable(space, members.mean(axis=1))
    table.mark({0: answer})
    assert np.isfinite(table.features).all()
    whom = "others" if answer else "outliers"
    names = [f"largest similarity by {k} to {whom}" for k in ("leaf", "tails")]
    assert not table.features[:, [Ranker.features.index(name) for name in names]].any()


def test_marks_that_are_left_out_are_predicted_by_the_others(space, features, shared):
    K, prior = shared[:, PLACES], 0.03 * space.rows.prior[PLACES]
    targets = np.where(ANSWERS, 1.0, -1.0) - prior
    predicted = []
    for place in range(3):
        rest = [other for other in range(3) if other != place]
        weights = np.linalg.solve(K[np.ix_(rest, rest)] + 0.075 * np.eye(2), targets[rest])
        predicted.append(prior[place] + K[place, rest] @ weights)
    assert features["process of an outlier left out"][0] == pytest.approx(predicted[0], abs=1e-5)
    others = np.mean(predicted[1:])
    assert features["process of another left out"][0] == pytest.approx(others, abs=1e-5)


def test_similarities_among_the_marks(features, shared):
    assert features["similarity of outliers"][0] == -2.0  # there is one only
    apart = features["similarity of outliers and others"][0]
    assert apart == pytest.approx(shared[0, PLACES[1:]].mean(), abs=1e-6)


def test_rows_are_compared_by_their_errors(made, members):
    errors = np.zeros((600, 3), dtype=np.float32)
    errors[[0, 5, 9], 0] = errors[[0, 5], 1] = errors[9, 2] = 0.64
    scores = members.mean(axis=1)
    table = MarkedTable(RowSpace(made[0], scores, members, 0, errors), scores)
    table.mark(MARKS)
    found = dict(zip(Ranker.features, table.features.T, strict=True))
    similar = found["largest similarity by errors to outliers"]
    of_other_kind = np.exp(-2 * (0.8**2 + 0.8**2))
    np.testing.assert_allclose(similar[[5, 9, 1]], [1.0, of_other_kind, of_other_kind], rtol=1e-5)
    np.testing.assert_allclose(found["error"][[0, 9, 1]], [0.8, 0.8, 0.0], rtol=1e-6)
    assert found["error of marked outliers"][0] == pytest.approx(0.8)
    assert found["error of marked others"][0] == 0.0
    assert found["log share with errors"][0] == pytest.approx(np.log(3.5 / 600))
    # the only outlier is unlike the others; both others are alike
    assert found["process on errors of an outlier left out"][0] < 0
    assert found["process on errors of another left out"][0] < -0.5
