"""Global Best and the fixed choice."""

import numpy as np
import pytest
from made_history import frame

from metaod.errors import BadParameter
from metaod.learners import StateReader
from metaod.learners._state import DamagedState
from metaod.learners.fixed import FixedChoice
from metaod.learners.global_best import GlobalBest


def test_global_best_takes_the_mean_over_known_values():
    # the same performance, but one of them failed where both would be low
    P = frame([[0.9, 0.9], [np.nan, 0.1]])
    scores = GlobalBest().fit(P, frame([[0.0], [1.0]])).predict([0.0])
    assert scores.tolist() == [0.9, 0.5]


def test_a_fixed_choice_scores_its_model_alone():
    learner = FixedChoice("m2").fit(frame(np.eye(3)), frame(np.zeros((3, 1))))
    assert learner.choose([5.0]) == "m2"
    assert learner.predict([5.0]).to_dict() == {"m0": 0.0, "m1": 0.0, "m2": 1.0}
    assert learner.params() == {"model": "m2"}


@pytest.mark.parametrize("model", ["", "m9", None, ["m1"]], ids=repr)
def test_a_fixed_choice_refuses_what_is_no_column(model):
    with pytest.raises(BadParameter, match=r"'model' parameter.*columns of P"):
        FixedChoice(model).fit(frame(np.eye(3)), frame(np.zeros((3, 1))))


def test_a_fixed_choice_with_odd_scores_is_not_restored():
    learner = FixedChoice("m1").fit(frame(np.eye(3)), frame(np.zeros((3, 1))))
    state = learner.state()
    for scores in ([0.5, 0.0, 0.0], [1.0, -0.5, 0.0], [0.0, 0.0, 0.0]):
        state["learned"] = {"scores": np.array(scores)}
        with pytest.raises(DamagedState, match="scores"):
            FixedChoice("m1").restore(StateReader(state, "a.metaod"))
