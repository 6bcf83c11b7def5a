"""Features of rows, given marks."""

import numpy as np
import pytest

from metaod.review import FEATURES, MarkedRows, similarities

PLACES, ANSWERS = [0, 25, 300], [True, False, False]


@pytest.fixture(scope="module")
def similar(space):
    return similarities(space, space.rows, space.rows[np.array(PLACES)])


@pytest.fixture(scope="module")
def features(space, similar):
    found = MarkedRows(space, space.rows[np.array(PLACES)], ANSWERS, similar).features(
        space.rows, similar
    )
    return dict(zip(FEATURES, found.T, strict=True))


def test_similarity_by_leaf_is_the_share_of_trees_with_a_common_leaf(space, similar):
    leaves = space.rows.leaves
    expected = (leaves == leaves[25]).mean(axis=1)
    np.testing.assert_allclose(similar[0, 1], expected, rtol=1e-6)


def test_similarity_by_node_compares_the_first_five_bits(space, similar):
    nodes = space.rows.leaves >> 3
    np.testing.assert_allclose(similar[1, 2], (nodes == nodes[300]).mean(axis=1), rtol=1e-6)


def test_every_similarity_of_a_row_to_itself_is_one(similar):
    own = similar[:, range(3), PLACES]
    np.testing.assert_allclose(own, np.ones((4, 3)))
    assert (similar >= 0).all()
    assert (similar <= 1).all()


def test_the_process_is_the_mean_of_a_gaussian_process(space, similar, features):
    K, prior = similar[0].astype(float), 0.03 * space.rows.prior
    targets = np.where(ANSWERS, 1.0, -1.0) - prior[PLACES]
    mean = prior + K.T @ np.linalg.solve(K[:, PLACES] + 0.075 * np.eye(3), targets)
    np.testing.assert_allclose(features["process 1"], mean, atol=1e-5)


def test_similarities_to_marks_of_both_kinds(similar, features):
    np.testing.assert_array_equal(features["largest similarity by leaf to outliers"], similar[0, 0])
    np.testing.assert_allclose(
        features["mean similarity by values to others"], similar[2, 1:].mean(axis=0), rtol=1e-6
    )


@pytest.mark.parametrize("answer", [True, False])
def test_marks_of_one_kind_give_finite_features(space, similar, answer):
    one = similar[:, :1]
    found = MarkedRows(space, space.rows[np.array(PLACES[:1])], [answer], one).features(
        space.rows, one
    )
    assert np.isfinite(found).all()
    whom = "others" if answer else "outliers"
    absent = [FEATURES.index(f"largest similarity by {k} to {whom}") for k in ("leaf", "tails")]
    assert not found[:, absent].any()


def test_marks_that_are_left_out_are_predicted_by_the_others(space, similar, features):
    K, prior = similar[0][:, PLACES].astype(float), 0.03 * space.rows.prior[PLACES]
    targets = np.where(ANSWERS, 1.0, -1.0) - prior
    predicted = []
    for place in range(3):
        rest = [other for other in range(3) if other != place]
        weights = np.linalg.solve(K[np.ix_(rest, rest)] + 0.075 * np.eye(2), targets[rest])
        predicted.append(prior[place] + K[place, rest] @ weights)
    assert features["process of an outlier left out"][0] == pytest.approx(predicted[0], abs=1e-5)
    others = np.mean(predicted[1:])
    assert features["process of another left out"][0] == pytest.approx(others, abs=1e-5)


def test_similarities_among_the_marks(similar, features):
    K = similar[0][:, PLACES]
    assert features["similarity of outliers"][0] == -2.0  # there is one only
    apart = features["similarity of outliers and others"][0]
    assert apart == pytest.approx(K[0, 1:].mean(), abs=1e-6)
