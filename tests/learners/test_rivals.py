import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyod.utils.ad_engine import ADEngine
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor
from threadpoolctl import threadpool_info

from metaod.errors import BadParameter
from metaod.learners import Cleaning, StateReader, learner_classes, make_learner
from metaod.learners._state import DamagedState
from metaod.learners._training import below_known, completed, put_unknown_last
from metaod.learners.alors import ALORS, factorised
from metaod.learners.argosmart import ARGOSMART
from metaod.learners.fixed import FixedChoice
from metaod.learners.global_best import GlobalBest
from metaod.learners.isac import ISAC, anderson_darling, g_means
from metaod.learners.pyod_rule import PyODRule
from metaod.learners.random_selection import RandomSelection
from metaod.learners.supervised_surrogates import SupervisedSurrogates

CRITICAL = 1.8692


def frame(values, names=None):
    values = np.asarray(values, dtype=float)
    return pd.DataFrame(values, columns=names or [f"m{j}" for j in range(values.shape[1])])


def planted_low_rank(n, seed):
    """Performance from two latent factors that two meta-features show, bent."""
    rng = np.random.default_rng(seed)
    latent = rng.uniform(-1, 1, size=(n, 2))
    V = np.random.default_rng(99).normal(size=(12, 2))
    M = np.column_stack([np.exp(2 * latent[:, 0]), latent[:, 1] ** 3, rng.normal(size=n)])
    return 0.5 + 0.1 * latent @ V.T, M


# missing cells


def test_an_additive_matrix_is_completed_exactly():
    rng = np.random.default_rng(0)
    whole = rng.uniform(size=(30, 1)) + rng.uniform(size=(1, 8))
    P = np.where(rng.random(whole.shape) < 0.2, np.nan, whole)
    inside = np.clip(whole, np.nanmin(P), np.nanmax(P))
    np.testing.assert_allclose(completed(P), inside, atol=1e-6)


def test_what_is_there_is_kept_and_the_input_too():
    P = np.array([[0.1, np.nan], [0.4, 0.3]])
    before = P.copy()
    known = ~np.isnan(P)
    np.testing.assert_array_equal(completed(P)[known], P[known])
    np.testing.assert_array_equal(P, before)


def test_missing_on_hard_datasets_gains_nothing():
    # a has the same performance as b, and is missing where both would be low
    P = np.array([[0.9, 0.9, 0.8], [0.8, 0.8, 0.7], [np.nan, 0.1, 0.0], [np.nan, 0.2, 0.1]])
    a, b, _ = completed(P).mean(axis=0)
    assert a == pytest.approx(b, abs=0.01)


@given(st.integers(0, 10_000))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_a_model_without_values_is_below_all(seed):
    rng = np.random.default_rng(seed)
    P = rng.choice([0.0, 0.5, 1.0, -3.0], size=(5, 4))
    P[:, 2] = np.nan
    P[rng.random(P.shape) < 0.2] = np.nan
    P[:, 0] = 0.25
    whole = completed(P)
    others = np.delete(whole, [2, *np.flatnonzero(np.isnan(P).all(axis=0))], axis=1)
    assert (whole[:, 2] < others.min(axis=1)).all()


def test_below_known_leaves_what_is_known():
    scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.2, 0.2]])
    known = np.array([[False, True, True], [False, False, True]])
    capped = below_known(scores, known)
    np.testing.assert_array_equal(capped[known], scores[known])
    assert capped.argmax(axis=1).tolist() == [1, 2]


# ARGOSMART


@given(st.integers(0, 10_000))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_argosmart_is_the_nearest_dataset(seed):
    rng = np.random.default_rng(seed)
    P, M, new = rng.uniform(size=(9, 5)), rng.normal(size=(9, 4)), rng.normal(size=(6, 4))
    scores = ARGOSMART().fit(frame(P), frame(M)).predict(frame(new)).to_numpy()
    cleaning = Cleaning.fit(M)
    there, here = cleaning.transform(M), cleaning.transform(new)
    for row in range(len(new)):
        distances = [sum((here[row, f] - there[i, f]) ** 2 for f in range(4)) for i in range(9)]
        np.testing.assert_array_equal(scores[row], P[distances.index(min(distances))])


def test_argosmart_does_not_pick_what_the_neighbour_lacks():
    P = frame([[np.nan, 0.2, 0.1], [0.9, 0.3, 0.1], [0.9, 0.2, 0.1]])
    M = frame([[0.0], [5.0], [9.0]], ["a"])
    scores = ARGOSMART().fit(P, M).predict(pd.Series({"a": 0.1}))
    assert scores.idxmax() == "m1"
    # by its estimate it would be first; it comes right after the best that is known
    assert scores["m1"] > scores["m0"] > scores["m2"]


def test_argosmart_of_a_training_dataset_is_its_own_best():
    rng = np.random.default_rng(3)
    P, M = frame(rng.uniform(size=(20, 6))), frame(rng.normal(size=(20, 3)))
    assert (ARGOSMART().fit(P, M).predict(M).idxmax(axis=1) == P.idxmax(axis=1)).all()


# ISAC


def planted_clusters(per_cluster=40, d=3):
    rng = np.random.default_rng(5)
    centres = np.eye(3)[:, :d] * 12
    labels = np.repeat([0, 1, 2], per_cluster)
    return centres[labels] + rng.normal(size=(len(labels), d)), labels


def test_anderson_darling_agrees_with_a_literal_sum():
    x = np.random.default_rng(0).exponential(size=25)
    z = sorted(norm.cdf((x - x.mean()) / x.std(ddof=1)))
    n = len(z)
    total = sum((2 * i - 1) * (np.log(z[i - 1]) + np.log(1 - z[n - i])) for i in range(1, n + 1))
    assert anderson_darling(x) == pytest.approx((-n - total / n) * (1 + 4 / n - 25 / n**2))


def test_anderson_darling_tells_normal_from_split():
    rng = np.random.default_rng(0)
    assert anderson_darling(rng.normal(size=300)) < CRITICAL
    assert anderson_darling(np.concatenate([rng.normal(size=50), 9 + rng.normal(size=50)])) > 4


def test_g_means_finds_three_planted_clusters():
    X, labels = planted_clusters()
    found = g_means(X, critical=CRITICAL, min_size=10, random_state=0)
    assert pd.crosstab(labels, found).to_numpy().tolist() == np.diag([40, 40, 40]).tolist()


def test_g_means_leaves_one_cloud_alone():
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert g_means(X, critical=CRITICAL, min_size=5, random_state=0).max() == 0


def test_g_means_dissolves_small_clusters_into_the_nearest():
    rng = np.random.default_rng(0)
    # four rows far away, on the side of the second cloud
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 30, np.full((4, 2), 70.0)])
    split = g_means(X, critical=CRITICAL, min_size=2, random_state=0)
    assert len(np.unique(split)) == 3
    merged = g_means(X, critical=CRITICAL, min_size=10, random_state=0)
    assert len(np.unique(merged)) == 2
    assert set(merged[80:]) == set(merged[40:80])


def test_isac_picks_the_best_of_each_planted_cluster():
    X, labels = planted_clusters()
    P = np.random.default_rng(1).uniform(0, 0.3, size=(len(X), 5))
    P[np.arange(len(X)), np.array([4, 0, 2])[labels]] += 0.3
    learner = ISAC().fit(frame(P), frame(X))
    assert learner.centres_.shape == (3, 3)
    picks = learner.predict(frame(np.eye(3) * 12)).idxmax(axis=1)
    assert picks.tolist() == ["m4", "m0", "m2"]
    expected = [P[labels == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(learner.predict(frame(np.eye(3) * 12)), expected)


def test_isac_does_not_pick_what_the_cluster_lacks():
    X, labels = planted_clusters()
    P = np.tile([0.9, 0.5, 0.1], (len(X), 1))
    P[labels == 0, 0] = np.nan
    picks = ISAC().fit(frame(P), frame(X)).predict(frame(np.eye(3) * 12)).idxmax(axis=1)
    assert picks.tolist() == ["m1", "m0", "m0"]


def test_isac_with_one_cluster_is_global_best():
    rng = np.random.default_rng(0)
    P, M = frame(rng.uniform(size=(15, 4))), frame(rng.normal(size=(15, 2)))
    isac = ISAC(min_cluster_size=15).fit(P, M).predict(M)
    np.testing.assert_allclose(isac, GlobalBest().fit(P, M).predict(M))


@pytest.mark.parametrize("params", [{"critical": 0}, {"min_cluster_size": "many"}], ids=str)
def test_isac_refuses_nonsense(params):
    with pytest.raises(BadParameter, match=next(iter(params))):
        ISAC(**params).fit(np.ones((2, 2)), np.ones((2, 1)))


# what learners are made with


@pytest.mark.parametrize("kind", [ALORS, SupervisedSurrogates])
@pytest.mark.parametrize(
    "params",
    [{"n_estimators": 0}, {"n_estimators": True}, {"n_estimators": 2.5}, {"min_samples_leaf": 0},
     {"min_samples_leaf": "x"}, {"max_features": 5.0}, {"max_features": 0.0}, {"max_features": 1},
     {"max_features": np.nan}],
    ids=str,
)  # fmt: skip
def test_forests_refuse_nonsense(kind, params):
    (name,) = params
    with pytest.raises(BadParameter, match=f"'{name}' parameter of {kind.__name__}"):
        kind(**params).fit(np.ones((2, 2)), np.ones((2, 1)))


@pytest.mark.parametrize(
    "name", [name for name, kind in learner_classes().items() if hasattr(kind, "random_state")]
)
@pytest.mark.parametrize("seed", [-1, 2**32, True, None, 1.0], ids=str)
def test_seeds_are_checked(name, seed):
    with pytest.raises(BadParameter, match=r"'random_state'.*\[0, 4294967295\]"):
        make_learner(name, random_state=seed).fit(np.eye(2), np.eye(2))


def test_the_largest_seed_and_numbers_of_numpy_serve():
    seed, trees = np.int64(2**32 - 1), np.int64(2)
    for kind in (ALORS, SupervisedSurrogates):
        kind(n_estimators=trees, random_state=seed).fit(np.eye(3), np.eye(3))


@pytest.mark.parametrize("name", ["name", "summary", "nothing"])
def test_only_parameters_are_set(name):
    with pytest.raises(BadParameter, match=r"one of the parameters \['random_state'\]"):
        make_learner("random_selection", **{name: "x"})


# models without a value


@pytest.mark.parametrize("valued", [np.array([0, 2]), np.array([True, False, True])], ids=str)
@pytest.mark.parametrize("scale", [1.0, 1e200])
@pytest.mark.parametrize("by", [0.0, 1.0])
def test_unknown_models_are_below_all_others(valued, scale, by):
    scores = put_unknown_last(np.array([[0.5, 9.0, 0.25], [-2, 0, 3]]) * scale, valued, by=by)
    assert scores.argmin(axis=1).tolist() == [1, 1]
    assert (scores[:, 1] <= np.array([0.25, -2]) * scale - by).all()
    assert scores[:, 0].tolist() == [0.5 * scale, -2 * scale]


def test_nothing_changes_where_all_are_known():
    scores = np.array([[0.5, 9.0]])
    assert put_unknown_last(scores, np.array([0, 1])).tolist() == [[0.5, 9.0]]


# Supervised Surrogates


def test_supervised_surrogates_are_scikit_learns_forest():
    rng = np.random.default_rng(0)
    P, M, new = rng.uniform(size=(40, 5)), rng.normal(size=(40, 6)), rng.normal(size=(7, 6))
    params = {"n_estimators": 8, "min_samples_leaf": 3, "max_features": 0.5, "random_state": 4}
    scores = SupervisedSurrogates(**params).fit(frame(P), frame(M)).predict(frame(new))
    cleaning = Cleaning.fit(M)
    forest = RandomForestRegressor(**params).fit(cleaning.transform(M), P)
    # leaves are kept in single precision
    expected = forest.predict(cleaning.transform(new))
    np.testing.assert_allclose(scores, expected, rtol=1e-7)


def test_supervised_surrogates_put_a_model_without_values_last():
    rng = np.random.default_rng(0)
    P, M = rng.uniform(size=(30, 4)), rng.normal(size=(30, 2))
    P[:, 1] = np.nan
    scores = SupervisedSurrogates(n_estimators=5).fit(frame(P), frame(M)).predict(frame(M))
    assert (scores.idxmin(axis=1) == "m1").all()


# ALORS


def test_a_low_rank_matrix_is_recovered_through_missing_cells():
    whole, _ = planted_low_rank(60, seed=0)
    P = np.where(np.random.default_rng(1).random(whole.shape) < 0.15, np.nan, whole)
    # two factors and the constant
    U, V = factorised(P, 3)
    assert U.shape == (60, 3)
    assert np.abs(U @ V.T - whole).max() < 0.2 * np.abs(completed(P) - whole).max()


def test_without_missing_cells_the_factors_are_the_truncated_svd():
    P = np.random.default_rng(0).uniform(size=(10, 6))
    left, sizes, right = np.linalg.svd(P, full_matrices=False)
    U, V = factorised(P, 2)
    np.testing.assert_allclose(U @ V.T, (left[:, :2] * sizes[:2]) @ right[:2])


def test_alors_learns_what_global_best_cannot():
    (P, M), (truth, new) = planted_low_rank(200, seed=0), planted_low_rank(50, seed=7)

    def regret(learner):
        picks = learner.fit(frame(P), frame(M)).predict(frame(new)).to_numpy().argmax(axis=1)
        return float((truth.max(axis=1) - truth[np.arange(len(truth)), picks]).mean())

    assert regret(ALORS(max_features=1.0, n_estimators=30)) < 0.4 * regret(GlobalBest())


def test_alors_decomposes_with_one_thread(monkeypatch):
    known = np.linalg.svd
    threads = []

    def watched(*args, **options):
        pools = threadpool_info()
        threads.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        return known(*args, **options)

    monkeypatch.setattr(np.linalg, "svd", watched)
    factorised(np.eye(4), 2)
    assert threads
    assert set(threads) == {1}


def test_global_best_takes_the_mean_over_what_is_known():
    # the same performance, but one of them failed where both would be low
    P = frame([[0.9, 0.9], [np.nan, 0.1]])
    scores = GlobalBest().fit(P, frame([[0.0], [1.0]])).predict([0.0])
    assert scores.tolist() == [0.9, 0.5]


def test_alors_refuses_a_rank_of_nothing():
    with pytest.raises(BadParameter, match="rank"):
        ALORS(rank=0).fit(np.ones((2, 2)), np.ones((2, 1)))


# Random Selection


def test_random_selection_is_even_over_models_and_scores():
    P = frame(np.ones((1, 5)))
    M = pd.DataFrame({"a": np.arange(2000.0)})
    scores = RandomSelection().fit(P, M[:1]).predict(M)
    counts = scores.idxmax(axis=1).value_counts()
    # 400 each, with a standard deviation of 18
    assert counts.between(310, 490).all()
    np.testing.assert_allclose(scores.mean(), 0.5, atol=0.04)
    assert scores.to_numpy().min() >= 0
    assert scores.to_numpy().max() < 1


def test_random_selection_depends_on_seed_model_and_table_alone():
    M = pd.DataFrame({"a": [1.0, 2.0]})
    first = RandomSelection(1).fit(frame(np.eye(2), ["x", "y"]), M).predict(M)
    fewer = RandomSelection(1).fit(frame([[0.3], [0.1]], ["y"]), M).predict(M)
    assert (first["y"] == fewer["y"]).all()
    other = RandomSelection(2).fit(frame(np.eye(2), ["x", "y"]), M).predict(M)
    assert not (first == other).to_numpy().any()


def test_random_selection_takes_all_nan_and_all_zeros_as_one():
    learner = RandomSelection().fit(np.ones((1, 3)), np.ones((1, 1)))
    assert learner.predict([0.0]).equals(learner.predict([-0.0]))
    assert learner.predict([np.nan]).equals(learner.predict([-np.nan]))


# PyOD's rule

SIZES = ["n_rows", "n_columns"]


@pytest.mark.parametrize("n_columns", [1, 19, 20, 99, 100, 500])
@pytest.mark.parametrize("n_rows", [10, 4_999, 5_000, 100_000])
def test_the_rule_is_pyods(n_rows, n_columns):
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
def test_the_rule_takes_the_nearest_column(models, small, other):
    P = frame([np.linspace(0.9, 0.1, len(models))], models)
    learner = PyODRule().fit(P, frame([[100, 5]], SIZES))
    assert learner.choose([100, 5]) == models[small]
    assert learner.choose([100, 50]) == models[other]


def test_the_rule_takes_a_column_with_values():
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


# a fixed choice


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
