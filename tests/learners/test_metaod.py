"""MetaOD: planted structure, missing values, rounding, parameters."""

import numpy as np
import pytest
from made_history import planted

from metaod.errors import BadParameter, UserError
from metaod.learners.metaod import MetaODLearner

QUICK = {"epochs": 12, "k": 3}


def regret(learner, P, M):
    """Regret of the picks as a share of the regret of random picks."""
    picks = learner.predict(M).to_numpy().argmax(axis=1)
    values = P.to_numpy()
    best = values.max(axis=1)
    behind = best - values[np.arange(len(values)), picks]
    return behind.mean() / (best - values.mean(axis=1)).mean()


def test_planted_structure_is_learned():
    P, M = planted(120)
    learner = MetaODLearner().fit(P[:90], M[:90])
    assert regret(learner, P[90:], M[90:]) < 0.4


def test_missing_cells_and_features():
    P, M = planted()
    rng = np.random.default_rng(1)
    P = P.mask(rng.random(P.shape) < 0.2)
    M = M.mask(rng.random(M.shape) < 0.1)
    P["model d"] = np.nan
    scores = MetaODLearner(**QUICK).fit(P, M).predict(M)
    assert np.isfinite(scores.to_numpy()).all()
    assert (scores.idxmin(axis=1) == "model d").all()


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_datasets_give_finite_scores(n):
    P, M = planted()
    scores = MetaODLearner().fit(P[:n], M[:n]).predict(M)
    assert np.isfinite(scores.to_numpy()).all()


def test_a_single_dataset_is_memorised():
    P, M = planted()
    pick = MetaODLearner().fit(P[:1], M[:1]).choose(M.iloc[7])
    assert P.loc[0, pick] > P.loc[0].max() - 0.05


def test_constant_features_give_constant_scores():
    P, M = planted(20)
    M[:] = 1.0
    scores = MetaODLearner(**QUICK).fit(P, M).predict(M)
    assert np.isfinite(scores.to_numpy()).all()
    assert (scores == scores.iloc[0]).to_numpy().all()


def test_overflowing_scores_raise_an_error():
    P, M = planted(30)
    state = MetaODLearner(**QUICK).fit(P, M).state()
    state["learned"]["V"] = np.full_like(state["learned"]["V"], 1.7e308)
    learner = MetaODLearner().restore(state)
    with pytest.raises(UserError, match="scores that are not finite; train"):
        learner.predict(M * 9)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", True),
        ("epochs", 2.5),
        ("epochs", True),
        ("random_state", -1),
        ("alpha", 0.0),
        ("base", 1.0),
        ("base", 1e300),
        ("learning_rate", -1.0),
        ("length", 0.0),
        ("max_depth", 0),
        ("n_estimators", 0),
    ],
    ids=str,
)
def test_bad_parameters(name, value):
    P, M = planted(15)
    with pytest.raises(BadParameter, match=name):
        MetaODLearner(**{name: value}).fit(P + 2.0, M)


def test_picks_do_not_hang_on_rounding():
    P, M = planted(90, m=24)
    P["a copy"] = P["model c"]
    # features that are constant, or almost always the same, must not start to vary
    M["constant"], M["mostly 0"] = 3.0, (np.arange(len(M)) % 9 == 0) * 5.0
    noise = np.random.default_rng(0).normal(size=M.shape)
    runs = [
        MetaODLearner().fit(P[:60], X[:60]).predict(X[60:]) for X in (M, M * (1 + 1e-9 * noise))
    ]
    picks = [scores.T.sort_index().idxmax() for scores in runs]
    assert (picks[0] == picks[1]).all()
    assert not (picks[0] == "model c").any()  # its copy comes first by id


def test_the_factors_come_to_rest():
    P, M = planted(90, m=24)
    losses = MetaODLearner().fit(P, M).losses_
    assert losses[0] - losses[-1] > 0.1
    assert abs(losses[-1] - losses[-10]) < 1e-3 * abs(losses[-1])


def test_equal_models_have_equal_factors():
    P, M = planted(40)
    P["model z"] = P["model b"]
    learner = MetaODLearner(**QUICK).fit(P, M)
    scores = learner.predict(M)
    np.testing.assert_array_equal(scores["model z"], scores["model b"])
