"""Scores of many models: what is shared, what is not started, and how failures come out."""

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from metaod.errors import BadParameter
from metaod.models import (
    Budget,
    CellState,
    ModelSpec,
    average_of,
    model_space,
    register_family,
    registered_families,
    score_models,
    unregister_family,
)
from metaod.models._estimator import Estimator
from metaod.models._registry import _REGISTRY
from metaod.tables import canonical_order

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4)) * [1, 50, 1e-3, 7] + 5
LOF = [ModelSpec("LOF", {"n_neighbors": 5, "metric": m}) for m in ("euclidean", "minkowski")]
HBOS = ModelSpec("HBOS", {"n_bins": 5, "alpha": 0.1})


def first_column(X, model):
    return X[:, 0] + (getattr(model, "random_state", 0) or 0)


@pytest.fixture
def recorded(monkeypatch):
    """Let families answer with a function of the table and the model; record what they get."""

    def use(names, answer):
        class Recorder(Estimator):
            asked, matrices = [], []

            def __init__(self, random_state=None, **params):
                self.params, self.random_state = params, random_state

            @classmethod
            def fit_many(cls, X, models):
                cls.asked += models
                cls.matrices.append(X)
                for model in models:
                    yield model, answer(X, model)

            def _fit(self, X):
                return answer(X, self)

            def _score(self, X):
                return answer(X, self)

        for name in names:
            changed = replace(registered_families()[name], detector=Recorder)
            monkeypatch.setitem(_REGISTRY, name, changed)
        return Recorder

    return use


def by_model(results):
    results = list(results)
    found = {(item.spec, item.trial): item for item in results}
    assert len(found) == len(results)
    return found


def test_each_model_comes_out_once_a_trial(recorded):
    recorded(["HBOS", "LODA"], first_column)
    loda = ModelSpec("LODA", {"n_bins": 5})
    found = by_model(score_models(X, [HBOS, loda, HBOS], trials=3))
    assert set(found) == {(HBOS, 0), (loda, 0), (loda, 1), (loda, 2)}
    assert found[loda, 2].scores[0] == pytest.approx(found[loda, 0].scores[0] + 2)


@pytest.mark.parametrize("asked", [LOF, LOF[1:]])
def test_models_with_the_same_scores_are_computed_once(recorded, asked):
    recorder = recorded(["LOF"], first_column)
    found = by_model(score_models(X, asked))
    assert [model.params["metric"] for model in recorder.asked] == ["euclidean"]
    assert set(found) == {(spec, 0) for spec in asked}
    for spec in asked:
        assert found[spec, 0].spec.id == spec.id
        place = canonical_order(X)[0].tolist().index(7)
        assert found[spec, 0].scores[7] == recorder.matrices[0][place, 0]


def test_families_see_each_scaling_once(recorded):
    recorder = recorded(["HBOS", "LOF"], first_column)
    raw = ModelSpec("HBOS", {"n_bins": 5}, scaling="none")
    padded = np.column_stack([np.full(300, 3.0), X])
    found = by_model(score_models(padded, [HBOS, raw, LOF[0]]))
    assert len(recorder.matrices) == 2
    assert all(matrix.shape == (300, 4) for matrix in recorder.matrices)
    first = next(padded[:, place] for place in canonical_order(padded)[1] if place > 0)
    np.testing.assert_array_equal(found[raw, 0].scores, first)
    np.testing.assert_allclose(found[HBOS, 0].scores, (first - first.mean()) / first.std())


def test_models_that_do_not_apply_are_not_started(recorded):
    recorder = recorded(["LOF"], first_column)
    [result] = score_models(X[:5], LOF[:1])
    assert (result.state, result.scores) == (CellState.NOT_APPLICABLE, None)
    assert result.reason == LOF[0].why_not(5, 4)
    assert recorder.asked == []


@pytest.mark.parametrize("budget", [Budget(seconds=1e-9), Budget(bytes=10)])
def test_models_expected_to_exceed_the_budget_are_not_started(recorded, budget):
    recorder = recorded(["HBOS", "LODA"], first_column)
    found = by_model(score_models(X, [HBOS, ModelSpec("LODA")], trials=2, budget=budget))
    assert len(found) == 3
    assert {item.state for item in found.values()} == {CellState.OVER_BUDGET}
    assert recorder.asked == []


def test_a_budget_holds_for_each_model_alone():
    small, large = (ModelSpec("IForest", {"n_estimators": size}) for size in (10, 10**9))
    found = by_model(score_models(X, [small, large], trials=1))
    assert found[small, 0].state == CellState.OK
    assert found[large, 0].state == CellState.OVER_BUDGET


def test_a_constant_table_fails_every_model():
    [result] = score_models(np.ones((20, 2)), [HBOS])
    assert result.state == CellState.FAILED
    assert result.reason.startswith("UserError: ")


@pytest.mark.parametrize("kind", ["raises", "stops"])
def test_a_family_that_breaks_off_takes_only_its_own_models_with_it(recorded, kind):
    def answer(X, model):
        if model.random_state == 1 and kind == "raises":
            raise MemoryError("no room\nleft")
        return X[:, 0]

    broken = recorded(["LODA"], answer)
    if kind == "stops":
        broken.fit_many = classmethod(lambda cls, X, models: iter([(models[0], X[:, 0])]))
    loda = [ModelSpec("LODA", {"n_bins": n_bins}) for n_bins in (5, 10)]
    found = by_model(score_models(X, [*loda, HBOS], trials=2))
    states = Counter(item.state for item in found.values())
    assert states == {CellState.OK: 2, CellState.FAILED: 3}
    assert found[HBOS, 0].state == found[loda[0], 0].state == CellState.OK
    reasons = {"raises": "MemoryError: no room left", "stops": "no scores were computed"}
    assert found[loda[1], 1].reason == reasons[kind]


def test_an_exception_that_is_yielded_fails_one_model(recorded):
    recorded(
        ["HBOS"], lambda X, model: ValueError("no") if model.params["n_bins"] == 9 else X[:, 0]
    )
    other = ModelSpec("HBOS", {"n_bins": 9})
    found = by_model(score_models(X, [HBOS, other]))
    assert found[HBOS, 0].state == CellState.OK
    assert (found[other, 0].state, found[other, 0].reason) == (CellState.FAILED, "ValueError: no")


def test_a_few_scores_that_are_not_finite_are_repaired(recorded):
    scores = np.arange(300.0)
    scores[[10, 20, 30]] = np.nan, np.inf, -np.inf
    recorded(["HBOS"], lambda X, model: scores)
    [result] = score_models(X, [HBOS])
    good = np.delete(np.arange(300.0), [10, 20, 30])
    assert result.state == CellState.OK
    places = canonical_order(X)[0][[10, 20, 30]]
    assert result.scores[places].tolist() == [np.median(good), 299.0, 0.0]
    assert "1 NaN" in result.reason
    assert "2 infinite" in result.reason


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.where(np.arange(300) < 4, np.nan, 1.0), "4 of 300 scores are NaN or infinite"),
        (np.zeros(7), "scores of shape (7,) for 300 rows"),
    ],
)
def test_scores_of_no_use_fail(recorded, scores, reason):
    recorded(["HBOS"], lambda X, model: scores)
    [result] = score_models(X, [HBOS])
    assert (result.state, result.scores, result.reason) == (CellState.FAILED, None, reason)


def test_scores_cannot_be_written_to():
    [result] = score_models(X, [HBOS])
    with pytest.raises(ValueError, match="read-only"):
        result.scores[0] = 0


@pytest.mark.parametrize(
    "table", [X[0], np.empty((0, 3)), [["a", "b"]], np.where(X > 5, X, np.nan)], ids=str
)
def test_a_table_that_is_none_is_refused_at_once(table):
    with pytest.raises(BadParameter) as error:
        score_models(table, [HBOS])
    assert error.value.name == "X"


@pytest.mark.parametrize("trials", [0, True])
def test_trials_outside_their_legal_set_are_refused_at_once(trials):
    with pytest.raises(BadParameter) as error:
        score_models(X, [HBOS], trials=trials)
    assert error.value.name == "trials"


# registered families


class Distance:
    """Distance from the mean, noisy where a seed is given; warns, and fails when asked to."""

    def __init__(self, power=2, random_state=None):
        self.power = power
        self.random_state = random_state

    def fit(self, X):
        warnings.warn("of no interest", stacklevel=1)
        if self.power > 9:
            raise ArithmeticError("power\nis too high")
        noise = np.random.default_rng(self.random_state).normal(size=len(X))
        distance = (np.abs(X - X.mean(axis=0)) ** self.power).sum(axis=1)
        self.decision_scores_ = distance + (0 if self.random_state is None else noise)
        return self


@pytest.fixture
def distance(request):
    yield register_family("Distance", Distance, {"power": (1, 2)}, random=request.param)
    unregister_family("Distance")


@pytest.mark.parametrize("distance", [False], indirect=True)
def test_a_registered_family_is_scored_on_columns_scaled_once(distance):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = by_model(score_models(X, [ModelSpec("Distance", {"power": 1}), HBOS], trials=4))
    own = found[ModelSpec("Distance", {"power": 1}), 0]
    assert (own.state, own.seconds > 0, len(found)) == (CellState.OK, True, 2)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(own.scores, np.abs(scaled).sum(axis=1))


@pytest.mark.parametrize("distance", [True], indirect=True)
def test_trial_t_uses_seed_t(distance):
    spec = ModelSpec("Distance", {"power": 2})
    results = list(score_models(X, [spec], trials=3))
    assert [item.trial for item in results] == [0, 1, 2]
    for item in results:
        with pytest.warns(UserWarning, match="no interest"):
            expected = spec.to_pyod(random_state=item.trial).fit(X).decision_scores_
        np.testing.assert_array_equal(item.scores, expected)


@pytest.mark.parametrize("distance", [False], indirect=True)
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (
            {"power": 10},
            "UserError: Distance(power=10): the detector failed with ArithmeticError: power is too",
        ),
        ({"strength": 1}, "BadParameter: The 'params' parameter of Distance"),
    ],
)
def test_an_exception_becomes_a_reason_of_one_line(distance, params, reason):
    [result] = score_models(X, [ModelSpec("Distance", params)], trials=2)
    assert (result.state, result.scores) == (CellState.FAILED, None)
    assert result.reason.startswith(reason)
    assert "\n" not in result.reason


# the spaces


@pytest.mark.parametrize("name", ["paper", "extended"])
def test_a_space_end_to_end(name):
    space = model_space(name)
    found = by_model(score_models(X[:60], space, trials=2))
    assert {spec for spec, _ in found} == set(space)
    for (spec, _), item in found.items():
        applies = spec.applies(60, 4)
        assert item.state == (CellState.OK if applies else CellState.NOT_APPLICABLE), item.reason
        assert not applies or np.isfinite(item.scores).all()


def test_averages_and_scalings_have_the_scores_of_the_users_detector():
    skewed = np.exp(2 * RNG.normal(size=(200, 3)))
    specs = [
        ModelSpec("KNN", {"n_neighbors": 5}, scaling)
        for scaling in ("zscore", "robust", "signedlog", "none")
    ]
    specs.append(average_of(*specs[:2]))
    found = by_model(score_models(skewed, specs))
    for spec in specs:
        expected = spec.to_pyod().fit(skewed).decision_scores_
        np.testing.assert_allclose(found[spec, 0].scores, expected, rtol=1e-9, atol=1e-12)
    assert len({item.scores.argsort().tobytes() for item in found.values()}) == 5
