"""Rankings of rows by scores, and their comparison."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from metaod.metafeatures._rankings import compare, gini, overlap, rank_scores, spearman, top_count


def test_equal_scores_share_their_mean_rank():
    ranking = rank_scores(np.array([3.0, 1.0, 2.0, 1.0 + 1e-12]))
    assert_array_equal(ranking.ranks, [4, 1.5, 3, 1.5])
    assert_array_equal(ranking.ascending, [1, 1, 2, 3])
    assert_array_equal(ranking.top, [1, 0, 0, 0])


def test_rows_tied_at_the_border_of_the_top_share_it():
    assert top_count(20) == 1
    assert top_count(21) == 2
    assert_array_equal(rank_scores(np.array([0.0, 5.0, 5.0])).top, [0, 0.5, 0.5])


@pytest.mark.parametrize("scores", [[1.0, 1.0], [1e9, 1e9 + 1e-3], [0.0, np.inf], [0.0, np.nan]])
def test_scores_that_are_equal_or_not_finite_give_no_ranking(scores):
    ranking = rank_scores(np.array(scores))
    assert ranking is None
    assert np.isnan(compare(ranking, rank_scores(np.array([1.0, 2.0])))).all()


def test_comparisons():
    ranks = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]])
    assert_allclose(spearman(ranks[:1], ranks[1:]), [[0.5, -1]])
    assert overlap(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.5, 0.0])) == 0.75


def test_gini():
    assert gini(np.array([0.0, 0.0, 0.0, 1.0])) == 0.75
    assert np.isnan(gini(np.zeros(3)))
