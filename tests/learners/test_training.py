"""Inputs of ``fit`` and ``predict`` are checked and ordered."""

import numpy as np
import pandas as pd
import pytest
from made_history import FEATURES, MODELS, history

from metaod.errors import BadParameter, UserError
from metaod.learners import make_learner
from metaod.learners._training import Training, feature_matrix, put_unknown_last


def made(P, M, groups=None):
    return Training.from_inputs(P, M, groups, learner="Some")


def test_models_come_in_the_order_of_their_ids():
    P, M, origins = history()
    training = made(P, M, origins)
    assert training.models == tuple(sorted(MODELS))
    assert training.given_models == tuple(MODELS)
    np.testing.assert_array_equal(training.P, P[sorted(MODELS)])
    assert [training.given_models[place] for place in training.order] == sorted(MODELS)
    assert training.groups.max() == 11
    other = made(P[MODELS[::-1]], M, origins)
    np.testing.assert_array_equal(other.P, training.P)


def test_anonymous_columns_are_ordered_by_content():
    P, M, _ = history()
    one = made(P.to_numpy(), M.to_numpy())
    other = made(P.to_numpy()[:, ::-1], M.to_numpy())
    np.testing.assert_array_equal(one.P, other.P)
    assert one.given_models[0] == "model 0"
    assert one.features[0] == "feature 0"


def test_datasets_without_performance_are_left_out():
    P, M, origins = history()
    P.iloc[[0, 1, 5]] = np.nan
    training = made(P, M, origins)
    assert len(training.P) == 21
    assert sorted(set(training.groups)) == list(range(11))
    np.testing.assert_array_equal(training.M, M.drop(index=M.index[[0, 1, 5]]))


def bad_inputs():
    P, M, origins = history()
    infinite = P.copy()
    infinite.iloc[0, 0] = np.inf
    twice = P.set_axis([MODELS[0], *MODELS[:-1]], axis=1)
    return {
        "text": (P.astype(object).fillna("x"), M, origins, "'P'.*numbers"),
        "ragged": ([[1.0], [1.0, 2.0]], M, None, "'P'.*numbers"),
        "vector": (P.iloc[:, 0].to_numpy(), M, None, "'P'.*matrix"),
        "cube": (np.zeros((2, 2, 2)), np.zeros((2, 1)), None, "'P'.*matrix"),
        "no rows": (P.iloc[:0], M.iloc[:0], None, "'P'.*matrix"),
        "no models": (P.iloc[:, :0], M, None, "'P'.*matrix"),
        "no features": (P, M.iloc[:, :0], None, "'M'.*matrix"),
        "lengths": (P, M.iloc[1:], origins, "'M'.*24 datasets"),
        "other datasets": (P, M.iloc[::-1], origins, "'M'.*same order"),
        "half numbered": (P, M.reset_index(drop=True), origins, "'M'.*same order"),
        "groups": (P, M, origins[1:], "'groups'.*24"),
        "groups matrix": (P, M, np.zeros((24, 2)), "'groups'.*24"),
        "infinite": (infinite, M, origins, "'P'.*finite"),
        "only NaN": (P * np.nan, M, origins, "'P'.*one value"),
        "repeated model": (twice, M, origins, "'P'.*distinct"),
        "repeated feature": (P, M.set_axis([*FEATURES[:-1], "n_rows"], axis=1), None, "'M'.*dist"),
    }


@pytest.mark.parametrize("case", bad_inputs())
def test_bad_inputs_are_refused(case):
    P, M, groups, words = bad_inputs()[case]
    with pytest.raises(BadParameter, match=words) as caught:
        make_learner("made_best").fit(P, M, groups)
    assert "\n" not in str(caught.value)
    assert "Best" in str(caught.value)


def test_row_numbers_need_not_agree():
    P, M, _ = history()
    P, M = P.reset_index(drop=True), M.reset_index(drop=True)
    M.index = M.index + 5
    assert len(made(P, M).P) == 24


# what comes to predict


def test_features_are_found_by_name():
    _, M, _ = history(3)
    matrix, index = feature_matrix(M[FEATURES[::-1]].assign(more=1.0), tuple(FEATURES), learner="S")
    np.testing.assert_array_equal(matrix, M)
    assert list(index) == list(M.index)
    matrix, index = feature_matrix(M.iloc[0][FEATURES[::-1]], tuple(FEATURES), learner="Some")
    np.testing.assert_array_equal(matrix, M.iloc[[0]])
    assert index is None


@pytest.mark.parametrize(
    ("M", "words"),
    [
        (np.zeros(4), "5 features"), (np.zeros((2, 6)), "5 features"),
        (np.zeros((2, 2, 5)), "5 features"), (3.0, "5 features"), (["a"] * 5, "numbers"),
        (pd.Series(dict.fromkeys(FEATURES[1:], 0.0)), "no n_rows"),
        (pd.DataFrame(0.0, [0], FEATURES[2:]), "no n_rows and 1 more"),
        (pd.DataFrame(0.0, [], FEATURES), "matrix"),
    ],
    ids=["short", "long", "cube", "number", "texts", "lost", "two lost", "no rows"],
)  # fmt: skip
def test_other_features_are_refused(M, words):
    learner = make_learner("made_best").fit(*history())
    with pytest.raises(BadParameter, match=words):
        learner.predict(M)


def test_choose_takes_one_dataset():
    learner = make_learner("made_best").fit(*history())
    with pytest.raises(BadParameter, match="one dataset"):
        learner.choose(history()[1])


@pytest.mark.parametrize("call", ["predict", "choose", "state"])
def test_an_unfitted_learner_raises_an_error(call):
    learner = make_learner("made_best")
    with pytest.raises(UserError, match="not been fitted"):
        getattr(learner, call)(*([] if call == "state" else [[1.0]]))


@pytest.mark.parametrize("valued", [np.array([0, 2]), np.array([True, False, True])], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e200])
@pytest.mark.parametrize("by", [0.0, 1.0])
def test_unknown_models_are_below_all_others(valued, scale, by):
    scores = put_unknown_last(np.array([[0.5, 9.0, 0.25], [-2, 0, 3]]) * scale, valued, by=by)
    assert scores.argmin(axis=1).tolist() == [1, 1]
    assert (scores[:, 1] <= np.array([0.25, -2]) * scale - by).all()
    assert scores[:, 0].tolist() == [0.5 * scale, -2 * scale]


def test_scores_do_not_change_if_all_models_are_known():
    scores = np.array([[0.5, 9.0]])
    assert put_unknown_last(scores, np.array([0, 1])).tolist() == [[0.5, 9.0]]
