"""Random Selection: uniform and reproducible."""

import numpy as np
import pandas as pd
from made_history import frame

from research.learners.random_selection import RandomSelection


def test_random_selection_is_uniform():
    P = frame(np.ones((1, 5)))
    M = pd.DataFrame({"a": np.arange(2000.0)})
    scores = RandomSelection().fit(P, M[:1]).predict(M)
    counts = scores.idxmax(axis=1).value_counts()
    # 400 each, with a standard deviation of 18
    assert counts.between(310, 490).all()
    np.testing.assert_allclose(scores.mean(), 0.5, atol=0.04)
    assert scores.to_numpy().min() >= 0
    assert scores.to_numpy().max() < 1


def test_random_selection_depends_only_on_seed_model_and_table():
    M = pd.DataFrame({"a": [1.0, 2.0]})
    first = RandomSelection(1).fit(frame(np.eye(2), ["x", "y"]), M).predict(M)
    fewer = RandomSelection(1).fit(frame([[0.3], [0.1]], ["y"]), M).predict(M)
    assert (first["y"] == fewer["y"]).all()
    other = RandomSelection(2).fit(frame(np.eye(2), ["x", "y"]), M).predict(M)
    assert not (first == other).to_numpy().any()


def test_random_selection_ignores_the_sign_of_zero_and_nan():
    learner = RandomSelection().fit(np.ones((1, 3)), np.ones((1, 1)))
    assert learner.predict([0.0]).equals(learner.predict([-0.0]))
    assert learner.predict([np.nan]).equals(learner.predict([-np.nan]))
