"""Nested oblique forests: the shared scores are those of the detectors."""

import numpy as np
import pytest

from metaod.models import Budget, CellState, Mode, ModelSpec
from metaod.models.families.oblique import ExtendedIForest, ObliqueScorer, SCiForest

SCORER = ObliqueScorer()
SAMPLE = [
    ModelSpec("SCiForest", {"n_estimators": 8}),
    ModelSpec("SCiForest", {"n_estimators": 20}),
    ModelSpec("SCiForest", {"n_estimators": 8, "n_dims": 5, "n_trials": 3}),
    ModelSpec("SCiForest", {"n_estimators": 8, "max_samples": 30, "max_depth": 6}),
    ModelSpec("ExtendedIForest", {"n_estimators": 8}),
    ModelSpec("ExtendedIForest", {"n_estimators": 20, "n_dims": 2}),
]


def score(X, specs, trials=1, mode=Mode.FAST, budget=Budget()):  # noqa: B008 - it is frozen
    results = list(SCORER.score(X, specs, trials=trials, mode=mode, budget=budget))
    assert len({(item.spec, item.trial) for item in results}) == len(results)
    return {(item.spec, item.trial): item for item in results}


@pytest.mark.parametrize("mode", list(Mode))
def test_scores_are_those_of_the_detector(table, scaled, mode):
    results = score(scaled(table), SAMPLE, trials=2, mode=mode)
    assert len(results) == 2 * len(SAMPLE)
    for (spec, seed), item in results.items():
        assert item.state == CellState.OK
        expected = spec.to_pyod(random_state=seed).fit(table).decision_scores_
        np.testing.assert_array_equal(item.scores, expected)


def test_scores_do_not_depend_on_what_else_is_asked_for(table, scaled):
    X = scaled(table)
    together = score(X, SAMPLE)
    for spec in SAMPLE:
        np.testing.assert_array_equal(score(X, [spec])[spec, 0].scores, together[spec, 0].scores)


def test_wide_trees_grown_in_batches_are_the_same(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 30))
    whole = score(X, SAMPLE)
    monkeypatch.setattr("metaod.models.families.oblique._BATCH", 1)
    for key, item in score(X, SAMPLE).items():
        np.testing.assert_allclose(item.scores, whole[key].scores, rtol=1e-12)


def test_as_many_columns_as_there_are_share_a_forest():
    X = np.random.default_rng(0).normal(size=(50, 2))
    two, every = (ModelSpec("ExtendedIForest", {"n_dims": n_dims}) for n_dims in (2, None))
    results = score(X, [two, every])
    assert results[two, 0].scores is results[every, 0].scores


def test_seeds_differ():
    X = np.random.default_rng(0).normal(size=(60, 4))
    for spec in SAMPLE:
        firsts = {float(item.scores[0]) for item in score(X, [spec], trials=4).values()}
        assert len(firsts) == 4


def test_only_numbers_that_the_detectors_take_are_served():
    assert all(SCORER.serves(spec) for spec in SAMPLE)
    assert SCORER.serves(ModelSpec("SCiForest", {"max_depth": None}))
    assert SCORER.serves(ModelSpec("ExtendedIForest", {"n_dims": None}))
    for detector, params in (
        ("SCiForest", {"n_dims": None}),
        ("SCiForest", {"n_dims": 0}),
        ("SCiForest", {"n_trials": 0}),
        ("SCiForest", {"max_samples": 1}),
        ("SCiForest", {"max_samples": 0.5}),
        ("SCiForest", {"n_estimators": True}),
        ("SCiForest", {"bootstrap": True}),
        ("ExtendedIForest", {"n_trials": 3}),
        ("ExtendedIForest", {"max_depth": 3}),
        ("ExtendedIForest", {"max_samples": None}),
    ):
        assert not SCORER.serves(ModelSpec(detector, params))


def test_over_budget_is_skipped_and_said():
    X = np.random.default_rng(0).normal(size=(50, 4))
    large = ModelSpec("SCiForest", {"n_estimators": 10**9})
    results = score(X, [SAMPLE[0], large], trials=2)
    assert results[SAMPLE[0], 1].state == CellState.OK
    assert results[large, 1].state == CellState.OVER_BUDGET
    assert "budget allows 60 s" in results[large, 1].reason


def test_a_forest_takes_what_the_table_has():
    assert SCiForest().trees_on(1000, 20) == (2, 10, 256, 256)
    assert SCiForest(max_depth=8).trees_on(5, 1) == (1, 10, 5, 5)
    assert ExtendedIForest().trees_on(1000, 20) == (20, 0, 256, 8)
    assert ExtendedIForest().trees_on(2, 1) == (1, 0, 2, 1)


def test_shorter_paths_score_higher():
    scores = SCiForest().trees_on(256, 1).scores(np.array([10.0, 20.0, 40.0]), 4)
    assert (np.diff(scores) < 0).all()
    assert 0 < scores.min() < scores.max() <= 1
