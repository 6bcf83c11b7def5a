"""Simulated reviews, and training on them."""

import numpy as np
import pytest

from metaod.review import Ranker
from research.review_training import fit_left, fit_rows, left_states, samples, untrained_ranker
from research.reviews import ReviewTable, play


@pytest.fixture(scope="module")
def table():
    """30 outliers in one direction and 30 odd rows in another."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(400, 5))
    X[:30, 0] += 5.0
    X[30:60, 1] += 5.0
    y = np.zeros(400, dtype=np.int8)
    y[:30] = 1
    order = generator.permutation(400)
    askable = np.zeros(400, dtype=bool)
    askable[:200] = True
    members = np.column_stack([np.square(X).sum(axis=1), np.abs(X).max(axis=1)])[order]
    errors = np.zeros((400, 3), dtype=np.float32)
    return ReviewTable(
        "made/two", "two", "IForest()", X[order], y[order], askable, members,
        members.mean(axis=1), members[:, 0], errors,
    )  # fmt: skip


def test_answers_raise_the_precision_on_rows_that_are_never_marked(table):
    reached = {at.answers: at for at in play(table, Ranker.shipped(), checkpoints=(0, 5, 20))}
    assert reached[20].precision > reached[0].precision + 0.2
    assert reached[0].precision == table.precision(table.scores)
    assert reached[5].found <= 5
    assert reached[20].found + reached[20].left == 30


def test_wrong_answers_cost_precision_but_not_the_count_of_outliers(table):
    right, wrong = (
        play(table, Ranker.shipped(), noise=noise, checkpoints=(40,))[0] for noise in (0.0, 0.45)
    )
    assert wrong.precision < right.precision
    assert wrong.found + wrong.left == 30


def test_rows_that_may_not_be_asked_about_are_never_found(table):
    reached = play(table, Ranker.shipped(), batch=50, checkpoints=(200, 300))
    assert reached[0].found == reached[1].found == int(table.y[table.askable].sum())


def test_samples_stand_for_all_rows_without_a_mark(table):
    found = list(samples(table, np.random.default_rng(0)))
    n_marked = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 60, 80)
    for sample, n_marks in zip(found, n_marked, strict=False):
        assert sample.counts.sum() == pytest.approx(400 - n_marks)
        assert np.isfinite(sample.features).all()
        of_marks = sample.features[:, Ranker.features.index("marks")]
        assert (of_marks == n_marks).all()


def test_a_ranker_is_trained_on_reviews(table):
    found = [sample for seed in range(4) for sample in samples(table, np.random.default_rng(seed))]
    states, log_numbers = left_states(table, untrained_ranker())
    assert states.shape == (len(log_numbers), len(Ranker.state_features))
    assert log_numbers[0] == pytest.approx(np.log(30.5))
    many, numbers = np.tile(states, (30, 1)), np.tile(log_numbers, 30)
    groups = np.repeat(range(30), len(log_numbers))
    whole = np.arange(len(groups)) % 2 == 0
    trained = Ranker(fit_rows(found), fit_left(many, numbers, groups, whole))
    first, last = (
        play(table, ranker, checkpoints=(20,))[0].precision
        for ranker in (untrained_ranker(), trained)
    )
    assert last > first


def test_a_table_is_kept_in_a_file(tmp_path, table):
    table.write(tmp_path / "a.npz")
    again = ReviewTable.read(tmp_path / "a.npz")
    assert (again.name, again.origin) == ("made/two", "two")
    np.testing.assert_array_equal(again.X, table.X)
    assert again.f1(again.y == 1) == 1.0


def test_injected_outliers_replace_those_of_the_table(table):
    made = table.injected(np.random.default_rng(0))
    assert made.name == "injected/made/two"
    assert made.origin == table.origin
    share = made.y.mean()
    assert 0.005 < share < 0.08
    assert made.y[made.askable].any()
    assert made.y[~made.askable].sum() >= 2
    n_normal = int((table.y == 0).sum())
    assert int((made.y == 0).sum()) == n_normal
    assert np.isfinite(made.members).all()


def test_a_table_without_most_of_its_outliers(table):
    thin = table.thinned(2, np.random.default_rng(0))
    assert (len(thin.y), int(thin.y.sum())) == (372, 2)
    assert {len(thin.X), len(thin.askable), len(thin.scores), len(thin.errors)} == {372}
