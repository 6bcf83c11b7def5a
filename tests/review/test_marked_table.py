"""Scores that follow marks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from metaod.learners import FlatForest
from metaod.review import MarkedTable, Ranker
from metaod.review._ranker import state_features

MARKS = {0: True, 1: True, 25: False, 30: False, 200: False}


def test_without_marks_the_scores_are_the_picks(marked, members):
    np.testing.assert_array_equal(marked.scores, members.mean(axis=1))


def test_questions_follow_the_scores_until_there_are_marks(marked):
    np.testing.assert_array_equal(marked.questions, marked.scores)
    marked.mark({0: True, 25: False})
    assert np.isfinite(marked.questions).all()
    rank_of_process = (marked.questions - marked.scores)[marked.is_unmarked]
    assert (rank_of_process >= 0).all()
    assert len(np.unique(rank_of_process)) > 100


def test_marks_teach_which_odd_rows_are_outliers(made, marked):
    _, y = made
    rest = np.ones(len(y), dtype=bool)
    rest[list(MARKS)] = False
    before = average_precision_score(y[rest], marked.scores[rest])
    marked.mark(MARKS)
    after = average_precision_score(y[rest], marked.scores[rest])
    assert after > before + 0.2
    assert marked.scores[2:20].mean() > marked.scores[20:40].mean()


def test_marked_outliers_come_first_and_the_others_last(marked):
    marked.mark(MARKS)
    ranking = np.argsort(-marked.scores).tolist()
    assert set(ranking[:2]) == {0, 1}
    assert set(ranking[-3:]) == {25, 30, 200}


def test_a_mark_that_is_taken_back_leaves_no_trace(marked):
    marked.mark(MARKS)
    before = marked.scores
    marked.mark({77: True})
    assert not np.array_equal(marked.scores, before)
    marked.unmark(77)
    np.testing.assert_array_equal(marked.scores, before)
    for row in MARKS:
        marked.unmark(row)
    np.testing.assert_array_equal(marked.scores, MarkedTable(marked.space, marked._own).scores)


@given(order=st.permutations(list(MARKS)))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_of_marks_does_not_matter(space, members, order):
    at_once, one_by_one = (MarkedTable(space, members.mean(axis=1)) for _ in range(2))
    at_once.mark(MARKS)
    for row in order:
        one_by_one.mark({row: MARKS[row]})
    difference = np.abs(one_by_one.scores - at_once.scores)
    # a feature on the threshold of a tree may fall to its other side by rounding
    assert (difference < 1e-6).mean() > 0.99


@pytest.mark.parametrize("answer", [True, False])
def test_marks_of_one_kind_work(marked, answer):
    marked.mark(dict.fromkeys(range(5), answer))
    assert np.isfinite(marked.scores).all()
    assert marked.left.low <= marked.left.estimate <= marked.left.high


def test_training_rows_as_new_rows_have_their_scores(made, members, marked):
    marked.mark(MARKS)
    rows = np.array([5, 22, 450])
    own = members.mean(axis=1)[rows]
    described = marked.space.describe(made[0][rows], own, members[rows])
    np.testing.assert_allclose(marked.score(described, own), marked.scores[rows], atol=1e-6)


def test_more_marks_than_are_learned_from_are_thinned_in_any_order(marked, space, members):
    marks = {row: row < 20 for row in range(300)}
    marked.mark(marks)
    assert set(np.argsort(-marked.scores)[:20]) == set(range(20))
    assert marked._similar.shape[1] == 200
    other = MarkedTable(space, members.mean(axis=1))
    other.mark(dict(reversed(marks.items())))
    np.testing.assert_array_equal(other.scores, marked.scores)


def test_as_many_rows_are_flagged_as_outliers_are_expected(marked):
    marked.mark(MARKS)
    flagged = marked.scores > marked.threshold()
    assert flagged.sum() == 2 + round(marked.left.estimate)
    assert flagged[[0, 1]].all()
    assert not flagged[[25, 30, 200]].any()


def test_when_every_row_is_marked_the_marked_outliers_are_flagged(marked):
    marked.mark({row: row < 20 for row in range(600)})
    assert (marked.left.low, marked.left.estimate, marked.left.high) == (0.0, 0.0, 0.0)
    np.testing.assert_array_equal(np.flatnonzero(marked.scores > marked.threshold()), np.arange(20))


def test_when_no_row_is_an_outlier_none_is_flagged_by_a_finite_threshold(marked):
    marked.mark(dict.fromkeys(range(600), False))
    assert np.isfinite(marked.threshold())
    assert not (marked.scores > marked.threshold()).any()


def test_an_unsure_row_is_kept_and_teaches_nothing(marked):
    marked.mark({4: None})
    assert dict(marked.marks) == {4: None}
    assert not marked.is_learned
    np.testing.assert_array_equal(marked.scores, marked.questions)


def test_of_a_large_table_some_rows_are_followed_and_all_are_scored(space, members, monkeypatch):
    scores = members.mean(axis=1)
    whole = MarkedTable(space, scores)
    monkeypatch.setattr("metaod.review._marked_table.MOST_ASKED", 12)
    monkeypatch.setattr("metaod.review._marked_table._MOST_WITH_ERRORS", 10)
    monkeypatch.setattr("metaod.review._marked_table.MOST_COUNTED", 599)
    errors = np.zeros((len(scores), 2), dtype=np.float32)
    errors[-4:] = 0.5
    large = MarkedTable(space, scores, rows=replace(space.rows, errors=errors))
    order = np.argsort(-scores, kind="stable")
    marks = {int(order[0]): True, int(order[-1]): False}
    for table in (whole, large):
        table.mark(marks)
    asked = np.isfinite(large.questions)
    assert set(np.flatnonzero(asked)) == {*order[:12], *range(596, 600)}
    assert np.isfinite(large.scores).all()
    asked[-4:] = False
    np.testing.assert_allclose(large.questions[asked], whole.questions[asked], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(large.doubts[asked], whole.doubts[asked], rtol=1e-4, atol=1e-4)
    assert large.left is None
    assert (large.scores > large.threshold(7)).sum() == 7
    assert (large.scores > large.threshold(0)).sum() == 1


# the outliers left


def state_of(table):
    return dict(zip(Ranker.state_features, table.state[0], strict=True))


def test_the_state_of_a_review(marked):
    assert np.isfinite(marked.state).all()  # without marks
    marked.mark(MARKS)
    state = state_of(marked)
    assert (state["marks"], state["marked outliers"], state["share of outliers"]) == (5, 2, 0.4)
    assert state["log rows"] == np.log(600)
    odds = marked.scores[marked.is_unmarked]
    expected = np.log(np.sum(1 / (1 + np.exp(-odds))) + 0.5)
    assert state["log expected outliers"] == pytest.approx(expected)
    assert state["score at rank 10"] == np.sort(odds)[-10]
    assert state["score at rank 1000"] == -30.0  # there are 600 rows


def test_more_rows_that_are_no_outliers_change_no_feature():
    odds, answers = np.append(np.arange(20.0), np.full(5_000, -40.0)), [True, False]
    few, many = (state_features(odds[:n], answers, (60, 5)) for n in (3_020, 5_020))
    np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize(
    ("answers", "recent", "since"),
    [([], 0, 0), ([False] * 3, 0, 3), ([True] * 12, 10, 0), ([True] * 5 + [False] * 8, 2, 8)],
)
def test_the_state_knows_the_last_answers(answers, recent, since):
    found = state_features(np.zeros(9), answers, (9, 2))[0]
    state = dict(zip(Ranker.state_features, found, strict=True))
    assert state["outliers of the last answers"] == recent
    assert state["answers since an outlier"] == since


def test_an_estimate_is_within_its_interval_and_the_rows(space, members):
    shipped = Ranker.shipped()
    leaf = np.log([[12.0, 6.0, 1800.0]])
    root, none = np.zeros(1, dtype=np.int32), np.full(1, -1, dtype=np.int32)
    forest = FlatForest(root, none, np.zeros(1), root, none, leaf, shipped.left.n_features)
    table = MarkedTable(space, members.mean(axis=1), replace(shipped, left=forest))
    left = table.left
    assert (left.low, left.estimate, left.high) == (5.0, 11.5, 600.0)
