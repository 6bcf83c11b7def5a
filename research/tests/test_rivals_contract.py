"""The contract of learners, over the paper's rivals and the variants of MetaOD."""

import numpy as np
import pytest

from metaod.learners import learner_class
from metaod.testing.learners import history, learner_contract
from research.learners import LEARNERS
from research.learners.global_best import GlobalBest

POINTS = [check.name for check in learner_contract(GlobalBest)]
QUICK = {"n_estimators": 10, "epochs": 20}


def made(name):
    kind = learner_class(name)
    return lambda: kind(**{k: v for k, v in QUICK.items() if k in kind.__dataclass_fields__})


@pytest.fixture(scope="module")
def contract():
    return {name: {c.name: c for c in learner_contract(made(name))} for name in LEARNERS}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_contract(name, point, contract):
    contract[name][point]()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_name_agrees_with_the_registry(name):
    assert learner_class(name).name == name


@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"pyod_rule"}))
def test_arrays_without_names_are_accepted(name):
    P, M = (frame.to_numpy() for frame in history())
    scores = made(name)().fit(P, M).predict(M)
    assert scores.shape == P.shape
    assert np.isfinite(scores.to_numpy()).all()
