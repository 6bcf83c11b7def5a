"""ARGOSMART: the best model of the nearest dataset."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from made_history import frame

from metaod.learners import Cleaning
from research.learners.argosmart import ARGOSMART


@given(st.integers(0, 10_000))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_argosmart_scores_are_those_of_the_nearest_dataset(seed):
    rng = np.random.default_rng(seed)
    P, M, new = rng.uniform(size=(9, 5)), rng.normal(size=(9, 4)), rng.normal(size=(6, 4))
    scores = ARGOSMART().fit(frame(P), frame(M)).predict(frame(new)).to_numpy()
    cleaning = Cleaning.fit(M)
    there, here = cleaning.transform(M), cleaning.transform(new)
    for row in range(len(new)):
        distances = [sum((here[row, f] - there[i, f]) ** 2 for f in range(4)) for i in range(9)]
        np.testing.assert_array_equal(scores[row], P[distances.index(min(distances))])


def test_argosmart_does_not_pick_a_model_without_value_on_the_neighbour():
    P = frame([[np.nan, 0.2, 0.1], [0.9, 0.3, 0.1], [0.9, 0.2, 0.1]])
    M = frame([[0.0], [5.0], [9.0]], ["a"])
    scores = ARGOSMART().fit(P, M).predict(pd.Series({"a": 0.1}))
    assert scores.idxmax() == "m1"
    # by its estimate it would be first; it comes right after the best that is known
    assert scores["m1"] > scores["m0"] > scores["m2"]


def test_argosmart_picks_the_best_model_of_a_training_dataset():
    rng = np.random.default_rng(3)
    P, M = frame(rng.uniform(size=(20, 6))), frame(rng.normal(size=(20, 3)))
    assert (ARGOSMART().fit(P, M).predict(M).idxmax(axis=1) == P.idxmax(axis=1)).all()
