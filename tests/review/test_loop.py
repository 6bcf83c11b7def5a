"""Ask and tell."""

import numpy as np
import pytest

from metaod.errors import BadParameter, UserError
from metaod.review import MarkedTable, ReviewLoop


@pytest.fixture
def loop(marked):
    return ReviewLoop(marked)


def test_the_first_row_asked_about_is_the_picks_first(loop, members):
    assert loop.ask() == int(members.mean(axis=1).argmax())
    np.testing.assert_array_equal(loop.ranking, np.argsort(-members.mean(axis=1), kind="stable"))


def test_no_row_is_asked_about_twice(loop):
    asked = []
    for answer in (True, False, None, False):
        asked.append(loop.ask())
        loop.tell(asked[-1], answer)
    assert len(set(asked)) == 4
    assert loop.marks == dict(zip(asked, (True, False, None, False), strict=True))
    assert loop.found == 1


def test_several_rows_are_asked_about_at_once(loop):
    rows = loop.ask(n=5)
    assert rows == loop.ranking[:5].tolist()  # there are no marks yet
    loop.tell_many(dict.fromkeys(rows, False))
    assert not set(rows) & set(loop.ask(n=5))


def test_an_unsure_answer_changes_nothing_and_may_be_answered_later(loop):
    before, row = loop.scores, loop.ask()
    loop.tell(row, None)
    np.testing.assert_array_equal(loop.scores, before)
    assert row not in loop.ask(n=599)
    loop.tell(row, True)
    assert loop.marks == {row: True}


def test_only_askable_rows_are_asked_about_and_told(marked, members):
    askable = np.zeros(len(members), dtype=bool)
    askable[[7, 9]] = True
    loop = ReviewLoop(marked, askable)
    assert sorted(loop.ask(n=10)) == [7, 9]
    with pytest.raises(BadParameter, match="askable"):
        loop.tell(8, True)
    loop.tell_many({7: False, 9: None})
    with pytest.raises(UserError, match="2 rows"):
        loop.ask()


@pytest.mark.parametrize("row", [-1, 600, 1.0, True, "3", None])
def test_a_row_that_does_not_exist_is_refused(loop, row):
    with pytest.raises(BadParameter, match="599"):
        loop.tell(row, True)


@pytest.mark.parametrize("answer", [1, "yes", 0.0, "True"])
def test_an_answer_that_is_none_of_three_is_refused(loop, answer):
    with pytest.raises(BadParameter, match="True for an outlier, False for none, or None"):
        loop.tell(3, answer)


def test_contradictory_answers_are_refused_and_nothing_is_lost(loop):
    loop.tell(3, True)
    with pytest.raises(UserError, match="row 3"):
        loop.tell_many({4: True, 3: False})
    assert loop.marks == {3: True}
    loop.tell(3, True)  # the same again
    loop.forget(3)
    loop.tell(3, False)
    assert loop.marks == {3: False}


def test_an_answer_that_is_not_there_cannot_be_forgotten(loop):
    with pytest.raises(UserError, match="row 5"):
        loop.forget(5)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_number_of_rows_that_is_no_count_is_refused(loop, n):
    with pytest.raises(BadParameter, match="'n' parameter"):
        loop.ask(n=n)


@pytest.mark.parametrize("mask", [np.zeros(600, bool), np.ones(5, bool), np.ones(600)])
def test_a_mask_of_askable_rows_is_checked(marked, mask):
    with pytest.raises(BadParameter, match="600 booleans"):
        ReviewLoop(marked, mask)


def test_numpy_answers_and_rows_are_taken(space, members):
    loop = ReviewLoop(MarkedTable(space, members.mean(axis=1)))
    loop.tell(np.int64(3), np.True_)
    assert loop.marks == {3: True}


def test_a_review_says_how_far_it_has_come(loop):
    loop.tell_many({3: True, 4: None})
    assert repr(loop) == "<ReviewLoop: 600 rows, 2 answers, 1 outliers>"


def test_the_strategy_to_learn_asks_about_rows_that_may_be_outliers_or_not(space, members):
    loops = [
        ReviewLoop(MarkedTable(space, members.mean(axis=1)), strategy=strategy)
        for strategy in ("found", "learn")
    ]
    for loop in loops:
        assert loop.ask() == int(members.mean(axis=1).argmax())
        loop.tell_many({0: True, 1: True, 25: False, 300: False})
    found, learn = (loop.ask() for loop in loops)
    scores = np.delete(np.abs(loops[0].scores), [0, 1, 25, 300])
    assert abs(loops[1].scores[learn]) == scores.min()
    assert loops[0].scores[found] > loops[0].scores[learn]


def test_an_unknown_strategy_is_refused(marked):
    with pytest.raises(BadParameter, match="strategy"):
        ReviewLoop(marked, strategy="both")
