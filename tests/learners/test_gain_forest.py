"""The gain forest: a weighted mean of gains, minus a price for losses."""

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadParameter
from metaod.learners._training import Training
from metaod.learners.gain_forest import GainForest, _components, _gains

IFOREST = "IForest(n_estimators=100, max_features=1.0)"
MODELS = ["KNN()", IFOREST, "MCD()"]


def history(n=60, seed=0):
    rng = np.random.default_rng(seed)
    M = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    base = rng.uniform(0.2, 0.6, size=n)
    P = pd.DataFrame(
        {
            "KNN()": base + np.where(M["a"] > 0, 0.2, -0.1),
            IFOREST: base,
            "MCD()": base + np.where(M["a"] > 0, -0.1, 0.2),
        }
    )
    return P, M


def test_gains_are_relative_to_the_reference_and_missing_values_are_small_losses():
    P = np.array([[0.5, 0.4, np.nan], [0.3, 0.4, 0.6], [0.2, np.nan, 0.1]])
    training = Training.from_inputs(
        pd.DataFrame(P, columns=MODELS), np.zeros((3, 1)), None, learner="x"
    )
    gains = pd.DataFrame(_gains(training, IFOREST), columns=training.models)
    # the third dataset has no reference: its median model stands for it
    assert gains["KNN()"].to_numpy() == pytest.approx([0.1, -0.1, 0.05])
    assert gains["MCD()"].to_numpy() == pytest.approx([-0.02, 0.2, -0.05])
    assert gains[IFOREST].to_numpy() == pytest.approx([0.0, 0.0, -0.02])


def test_a_model_without_any_value_comes_last():
    P, M = history()
    P["Never()"] = np.nan
    scores = GainForest(n_estimators=20).fit(P, M).predict(M)
    assert (scores["Never()"] < scores[MODELS].min(axis=1)).all()


def test_the_score_is_the_weighted_gain_minus_the_price_of_losses():
    P, M = history()
    learner = GainForest(n_estimators=30, price=0.3, loss=0.05).fit(P, M)
    asked = M.iloc[:7] + 0.01
    leaves = learner.regression_.leaves(M.to_numpy())
    questions = learner.regression_.leaves(asked.to_numpy())
    gains = P.sub(P[IFOREST], axis=0)
    found = learner.predict(asked)
    for row in range(7):
        weights = np.zeros(len(P))
        for tree in range(30):
            same = leaves[:, tree] == questions[row, tree]
            weights += same / same.sum() / 30
        for model in MODELS:
            mean = (weights * gains[model]).sum()
            lost = weights[gains[model].to_numpy() < -0.05].sum()
            assert found.iloc[row][model] == pytest.approx(mean - 0.3 * lost, abs=1e-6)


def test_it_picks_the_model_that_gains_on_similar_datasets():
    P, M = history(n=120)
    learner = GainForest(n_estimators=50).fit(P, M)
    assert learner.choose([2.0, 0, 0, 0]) == "KNN()"
    assert learner.choose([-2.0, 0, 0, 0]) == "MCD()"


def test_a_high_price_favours_a_model_without_losses():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.2, 0.6, size=80)
    bold = base + np.where(np.arange(80) % 4 == 0, -0.2, 0.15)
    P = pd.DataFrame({IFOREST: base, "Bold()": bold, "Calm()": base + 0.02})
    # nothing tells the datasets apart: all count the same
    M = np.zeros((80, 1))
    eager = GainForest(n_estimators=30, price=0.0).fit(P, M)
    wary = GainForest(n_estimators=30, price=1.0).fit(P, M)
    assert [learner.choose(M[0]) for learner in (eager, wary)] == ["Bold()", "Calm()"]


def test_datasets_of_one_origin_share_one_vote():
    P, M = history(n=40)
    copies = [0] * 9
    many = pd.concat([P, P.iloc[copies]], ignore_index=True)
    features = pd.concat([M, M.iloc[copies]], ignore_index=True)
    origins = [*range(40), *copies]
    learner = GainForest(n_estimators=20).fit(many, features, origins)
    votes = pd.Series(learner.votes_).groupby(origins).sum()
    assert votes.to_numpy() == pytest.approx(np.ones(40))


def test_components_keep_the_distances_between_datasets():
    rng = np.random.default_rng(0)
    gains = rng.normal(size=(12, 5))
    found = _components(gains, np.ones(12), 20)
    assert found.shape == (12, 5)
    whole = np.linalg.norm(gains[:, None] - gains[None], axis=2)
    assert np.linalg.norm(found[:, None] - found[None], axis=2) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("params", "name"),
    [({"price": -0.1}, "price"), ({"loss": 2.0}, "loss"), ({"n_components": 0}, "n_components")],
    ids=["price", "loss", "components"],
)
def test_parameters_are_checked(params, name):
    P, M = history(n=20)
    with pytest.raises(BadParameter, match=name):
        GainForest(**params).fit(P, M)
