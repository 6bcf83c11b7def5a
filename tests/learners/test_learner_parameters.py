"""Parameters of learners: bad values are refused."""

import numpy as np
import pytest

from metaod.errors import BadParameter
from metaod.learners import make_learner
from metaod.learners.gain_forest import GainForest


@pytest.mark.parametrize(
    "params",
    [{"n_estimators": 0}, {"n_estimators": True}, {"n_estimators": 2.5}, {"min_samples_leaf": 0},
     {"min_samples_leaf": "x"}, {"max_features": 5.0}, {"max_features": 0.0}, {"max_features": 1},
     {"max_features": np.nan}],
    ids=str,
)  # fmt: skip
def test_bad_parameters_of_forests_are_refused(params):
    (name,) = params
    with pytest.raises(BadParameter, match=f"'{name}' parameter of GainForest"):
        GainForest(**params).fit(np.ones((2, 2)), np.ones((2, 1)))


@pytest.mark.parametrize("name", ["metaod", "gain_forest"])
@pytest.mark.parametrize("seed", [-1, 2**32, True, None, 1.0], ids=str)
def test_seeds_are_checked(name, seed):
    with pytest.raises(BadParameter, match=r"'random_state'.*\[0, 4294967295\]"):
        make_learner(name, random_state=seed).fit(np.eye(2), np.eye(2))


def test_the_largest_seed_and_numpy_integers_are_accepted():
    seed, trees = np.int64(2**32 - 1), np.int64(2)
    GainForest(n_estimators=trees, random_state=seed).fit(np.eye(3), np.eye(3))


@pytest.mark.parametrize("name", ["name", "summary", "nothing"])
def test_unknown_parameters_are_refused(name):
    with pytest.raises(BadParameter, match="'reference'"):
        make_learner("gain_forest", **{name: "x"})
