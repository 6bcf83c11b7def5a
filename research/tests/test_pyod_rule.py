"""PyOD's rule: the same choice as PyOD's ADEngine."""

import numpy as np
import pytest
from made_history import frame
from pyod.utils.ad_engine import ADEngine

from metaod.errors import BadParameter
from research.learners.pyod_rule import PyODRule

SIZES = ["n_rows", "n_columns"]


@pytest.mark.parametrize("n_columns", [1, 19, 20, 99, 100, 500])
@pytest.mark.parametrize("n_rows", [10, 4_999, 5_000, 100_000])
def test_the_rule_agrees_with_pyod(n_rows, n_columns):
    profile = {"data_type": "tabular", "n_samples": n_rows, "n_features": n_columns}
    plan = ADEngine().plan_detection(profile)
    P = frame([[0.1, 0.2]], ["KNN()", "IForest()"])
    learner = PyODRule().fit(P, frame([[100, 5]], SIZES))
    assert learner.choose([n_rows, n_columns]) == f"{plan['detector_name']}()"
    # what it adds moves labels, not scores
    assert set(plan["params"]) <= {"contamination"}


@pytest.mark.parametrize(
    ("models", "small", "other"),
    [
        (["KNN(n_neighbors=5, method=largest)", "KNN(n_neighbors=5, method=mean)",
          "KNN(n_neighbors=10, method=largest)", "IForest(n_estimators=100, max_features=0.9)",
          "IForest(n_estimators=75, max_features=0.9)"], 0, 3),
        (["KNN(n_neighbors=1, method=largest)", "KNN(n_neighbors=10, method=largest)",
          "IForest(n_estimators=100, max_features=0.5)",
          "IForest(n_estimators=150, max_features=0.9)"], 1, 3),
        (["KNN(scaling=robust)", "KNN(n_neighbors=100)", "IForest(scaling=none)"], 1, 2),
        # no such detector: the best mean performance, which falls from left to right
        (["LOF()", "HBOS()", "IForest(n_estimators=10)"], 0, 2),
        (["LOF()", "no model id", "KNN()"], 2, 0),
    ],
    ids=["the paper's", "nearest", "scaling", "without kNN", "without iForest"],
)  # fmt: skip
def test_the_rule_picks_the_nearest_column(models, small, other):
    P = frame([np.linspace(0.9, 0.1, len(models))], models)
    learner = PyODRule().fit(P, frame([[100, 5]], SIZES))
    assert learner.choose([100, 5]) == models[small]
    assert learner.choose([100, 50]) == models[other]


def test_the_rule_picks_a_column_with_values():
    P = frame([[np.nan, 0.1, 0.2]], ["KNN()", "KNN(n_neighbors=90)", "IForest()"])
    learner = PyODRule().fit(P, frame([[100, 5]], SIZES))
    assert learner.choose([100, 5]) == "KNN(n_neighbors=90)"


def test_the_rule_needs_the_sizes():
    with pytest.raises(BadParameter, match="n_columns"):
        PyODRule().fit(frame([[0.1]]), frame([[100]], ["n_rows"]))


@pytest.mark.parametrize("size", [[np.nan, 5], [100, np.nan], [np.inf, 5]], ids=str)
def test_an_unknown_size_is_not_small(size):
    P = frame([[0.2, 0.1]], ["KNN()", "IForest()"])
    assert PyODRule().fit(P, frame([[100, 5]], SIZES)).choose(size) == "IForest()"
