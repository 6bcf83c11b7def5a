"""Global Best."""

import numpy as np
from made_history import frame

from research.learners.global_best import GlobalBest


def test_global_best_takes_the_mean_over_known_values():
    # the same performance, but one of them failed where both would be low
    P = frame([[0.9, 0.9], [np.nan, 0.1]])
    scores = GlobalBest().fit(P, frame([[0.0], [1.0]])).predict([0.0])
    assert scores.tolist() == [0.9, 0.5]
