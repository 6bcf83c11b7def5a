"""Scores of many models: who computes what, what is shared, and how failures come out."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from metaod.errors import BadParameter
from metaod.models import (
    Budget,
    CellState,
    Mode,
    ModelSpec,
    Scored,
    model_space,
    register_family,
    registered_families,
    score_models,
    unregister_family,
)
from metaod.models._family import _REGISTRY

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4)) * [1, 50, 1e-3, 7] + 5
LOF = [ModelSpec("LOF", {"n_neighbors": 5, "metric": m}) for m in ("euclidean", "minkowski")]
HBOS = ModelSpec("HBOS", {"n_bins": 5, "alpha": 0.1})


class Recorder:
    """A scorer that gives fixed answers and records its calls."""

    def __init__(self, families, answer):
        self.families = frozenset(families)
        self.answer = answer
        self.asked = []
        self.matrices = []

    def serves(self, spec):
        return ("tol", 0.2) not in spec.params

    def score(self, X, specs, *, trials, mode, budget):
        self.asked += specs
        self.matrices.append(X)
        for spec in specs:
            for trial in range(trials if spec.is_random else 1):
                yield Scored(spec, trial, CellState.OK, self.answer(X, spec, trial), 1.0)


def first_column(X, spec, trial):
    return X[:, 0] + trial


@pytest.fixture
def with_scorers(monkeypatch):
    def use(*scorers):
        for name, family in registered_families().items():
            shared = next((scorer for scorer in scorers if name in scorer.families), None)
            monkeypatch.setitem(_REGISTRY, name, replace(family, shared_scorer=shared))

    return use


def by_model(results):
    results = list(results)
    found = {(item.spec, item.trial): item for item in results}
    assert len(found) == len(results)
    return found


def test_each_model_comes_out_once_a_trial(with_scorers):
    with_scorers(Recorder({"HBOS", "LODA"}, first_column))
    loda = ModelSpec("LODA", {"n_bins": 5})
    found = by_model(score_models(X, [HBOS, loda, HBOS], trials=3))
    assert set(found) == {(HBOS, 0), (loda, 0), (loda, 1), (loda, 2)}
    assert found[loda, 2].scores[0] == pytest.approx(found[loda, 0].scores[0] + 2)


@pytest.mark.parametrize("asked", [LOF, LOF[1:]])
def test_models_with_the_same_scores_are_computed_once(with_scorers, asked):
    scorer = Recorder({"LOF"}, first_column)
    with_scorers(scorer)
    found = by_model(score_models(X, asked))
    assert scorer.asked == LOF[:1]
    assert set(found) == {(spec, 0) for spec in asked}
    for spec in asked:
        assert found[spec, 0].spec.id == spec.id
        assert found[spec, 0].scores[7] == scorer.matrices[0][7, 0]


def test_scorers_see_each_scaling_once(with_scorers):
    scorer = Recorder({"HBOS", "LOF"}, first_column)
    with_scorers(scorer)
    raw = ModelSpec("HBOS", {"n_bins": 5}, scaling="none")
    padded = np.column_stack([np.full(300, 3.0), X])
    found = by_model(score_models(padded, [HBOS, raw, LOF[0]]))
    assert len(scorer.matrices) == 2
    assert all(matrix.shape == (300, 4) for matrix in scorer.matrices)
    np.testing.assert_array_equal(found[raw, 0].scores, X[:, 0])
    np.testing.assert_allclose(found[HBOS, 0].scores, (X[:, 0] - X[:, 0].mean()) / X[:, 0].std())


def test_what_no_scorer_serves_goes_through_pyod_with_the_raw_table(with_scorers):
    with_scorers(Recorder({"HBOS"}, first_column))
    spec = ModelSpec("HBOS", {"tol": 0.2})
    [result] = score_models(X, [spec])
    np.testing.assert_array_equal(result.scores, spec.to_pyod().fit(X).decision_scores_)


def test_models_that_do_not_apply_are_not_started(with_scorers):
    scorer = Recorder({"LOF", "LODA"}, first_column)
    with_scorers(scorer)
    [result] = score_models(X[:5], LOF[:1])
    assert (result.state, result.scores) == (CellState.NOT_APPLICABLE, None)
    assert result.reason == "n_neighbors=5 needs at least 6 rows, the table has 5"
    single = by_model(score_models(X[:1] + np.eye(1, 4), [ModelSpec("LODA")], trials=2))
    assert {item.state for item in single.values()} == {CellState.FAILED}
    assert scorer.asked == []


def test_a_constant_table_fails_every_model(with_scorers):
    with_scorers(Recorder({"HBOS"}, first_column))
    [result] = score_models(np.ones((20, 2)), [HBOS])
    assert result.state == CellState.FAILED
    assert result.reason.startswith("UserError: every column is constant")


@pytest.mark.parametrize("kind", ["raises", "stops"])
def test_a_scorer_that_breaks_off_takes_only_its_own_models_with_it(with_scorers, kind):
    def answer(X, spec, trial):
        if trial == 1 and kind == "raises":
            raise MemoryError("no room\nleft")
        return X[:, 0]

    broken = Recorder({"LODA"}, answer)
    if kind == "stops":
        broken.score = lambda X, specs, **_: iter([Scored(specs[0], 0, CellState.OK, X[:, 0])])
    with_scorers(broken, Recorder({"HBOS"}, first_column))
    loda = [ModelSpec("LODA", {"n_bins": n_bins}) for n_bins in (5, 10)]
    found = by_model(score_models(X, [*loda, HBOS], trials=2))
    states = Counter(item.state for item in found.values())
    assert states == {CellState.OK: 2, CellState.FAILED: 3}
    assert found[HBOS, 0].state == found[loda[0], 0].state == CellState.OK
    reasons = {"raises": "MemoryError: no room left", "stops": "the shared scorer gave no scores"}
    assert found[loda[1], 1].reason == reasons[kind]


def test_a_few_scores_that_are_not_finite_are_repaired_and_said(with_scorers):
    def answer(X, spec, trial):
        scores = np.arange(300.0)
        scores[[10, 20, 30]] = np.nan, np.inf, -np.inf
        return scores

    with_scorers(Recorder({"HBOS"}, answer))
    [result] = score_models(X, [HBOS])
    good = np.delete(np.arange(300.0), [10, 20, 30])
    assert result.state == CellState.OK
    assert result.scores[[10, 20, 30]].tolist() == [np.median(good), 299.0, 0.0]
    assert "1 NaN" in result.reason
    assert "2 infinite" in result.reason


def test_too_many_scores_that_are_not_finite_fail(with_scorers):
    with_scorers(
        Recorder({"HBOS"}, lambda X, spec, trial: np.where(np.arange(300) < 4, np.nan, 1.0))
    )
    [result] = score_models(X, [HBOS])
    assert (result.state, result.scores) == (CellState.FAILED, None)
    assert result.reason == "4 of 300 scores are NaN or infinite"


def test_scores_of_the_wrong_number_fail(with_scorers):
    with_scorers(Recorder({"HBOS"}, lambda X, spec, trial: np.zeros(7)))
    [result] = score_models(X, [HBOS])
    assert (result.state, result.reason) == (CellState.FAILED, "scores of shape (7,) for 300 rows")


def test_scores_cannot_be_written_to(with_scorers):
    with_scorers(Recorder({"HBOS"}, first_column))
    [result] = score_models(X, [HBOS])
    with pytest.raises(ValueError, match="read-only"):
        result.scores[0] = 0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (X[0], "an array of shape"),
        (np.empty((0, 3)), "an array of shape"),
        ([["a", "b"]], "finite numbers"),
        (np.where(X > 5, X, np.nan), "values that are NaN or infinite"),
    ],
)
def test_a_table_that_is_none_is_refused_at_once(table, words):
    with pytest.raises(BadParameter, match=words):
        score_models(table, [HBOS])


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"trials": True}, {"mode": "quick"}])
def test_parameters_outside_their_legal_set_are_refused_at_once(wrong):
    with pytest.raises(BadParameter, match=next(iter(wrong))):
        score_models(X, [HBOS], **wrong)


class Broken:
    def fit(self, X):
        raise RuntimeError("not today")


def test_a_users_own_family_is_scored_with_the_others():
    register_family("Broken", Broken)
    try:
        found = by_model(score_models(X, [ModelSpec("Broken"), HBOS]))
    finally:
        unregister_family("Broken")
    assert found[ModelSpec("Broken"), 0].reason.startswith(
        "UserError: Broken(): the detector failed with RuntimeError: not today"
    )
    assert found[HBOS, 0].state == CellState.OK


def test_the_papers_space_end_to_end():
    space = model_space("paper")
    found = by_model(score_models(X[:60], space, trials=2))
    assert {spec for spec, _ in found} == set(space)
    for (spec, _), item in found.items():
        applies = spec.applies(60, 4)
        assert item.state == (CellState.OK if applies else CellState.NOT_APPLICABLE), item.reason
        assert not applies or item.scores.shape == (60,)


def test_the_extended_space_end_to_end():
    space = model_space("extended")
    found = by_model(score_models(X[:60], space, trials=2))
    assert {spec for spec, _ in found} == set(space)
    for (spec, _), item in found.items():
        applies = spec.applies(60, 4)
        assert item.state == (CellState.OK if applies else CellState.NOT_APPLICABLE), item.reason
        assert not applies or np.isfinite(item.scores).all()


def test_one_detector_on_several_scalings_is_several_models():
    skewed = np.exp(2 * RNG.normal(size=(200, 3)))
    specs = [
        ModelSpec("KNN", {"n_neighbors": 5}, scaling)
        for scaling in ("zscore", "robust", "signedlog", "none")
    ]
    found = by_model(score_models(skewed, specs))
    for spec in specs:
        expected = spec.to_pyod().fit(skewed).decision_scores_
        np.testing.assert_allclose(found[spec, 0].scores, expected, rtol=1e-9, atol=1e-12)
    orders = {found[spec, 0].scores.argsort().tobytes() for spec in specs}
    assert len(orders) == 4


@pytest.mark.parametrize(
    "model",
    [
        "LOF(n_neighbors=10, metric=manhattan)",
        "KNN(n_neighbors=5, method=median)",
        "OCSVM(kernel=rbf, nu=0.3)",
        "COF(n_neighbors=10)",
        "ABOD(n_neighbors=10)",
        "IForest(n_estimators=20, max_features=0.5)",
        "HBOS(n_bins=20, alpha=0.3)",
        "LODA(n_bins=15, n_random_cuts=20)",
    ],
)
def test_exact_mode_gives_the_detector_that_a_user_gets(model):
    spec = ModelSpec.parse(model)
    results = list(score_models(X, [spec], trials=2, mode=Mode.EXACT, budget=Budget()))
    assert len(results) == (2 if spec.is_random else 1)
    for item in results:
        expected = spec.to_pyod(random_state=item.trial).fit(X).decision_scores_
        tolerance = 1e-6 if spec.detector == "OCSVM" else 1e-9
        np.testing.assert_allclose(item.scores, expected, rtol=tolerance, atol=tolerance)
