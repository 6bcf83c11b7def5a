"""Oblique isolation forests: the detectors a user gets, and the shared scorer's nested forests."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metaod.errors import BadParameter
from metaod.models import Budget, CellState, Mode, ModelSpec
from metaod.models.families.oblique import ExtendedIForest, ObliqueScorer, SCiForest
from metaod.testing.detectors import detector_contract

SCORER = ObliqueScorer()
SAMPLE = [
    ModelSpec("SCiForest", {"n_estimators": 8}),
    ModelSpec("SCiForest", {"n_estimators": 20}),
    ModelSpec("SCiForest", {"n_estimators": 8, "n_dims": 5, "n_trials": 3}),
    ModelSpec("SCiForest", {"n_estimators": 8, "max_samples": 30, "max_depth": 6}),
    ModelSpec("ExtendedIForest", {"n_estimators": 8}),
    ModelSpec("ExtendedIForest", {"n_estimators": 20, "n_dims": 2}),
]
RNG = np.random.default_rng(0)
ROWS = np.vstack([RNG.normal(size=(300, 4)), RNG.normal(0, 6, size=(15, 4))])
FORESTS = (SCiForest, ExtendedIForest)


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
    assert "limit is 60 s" in results[large, 1].reason


def test_a_forest_takes_what_the_table_has():
    assert SCiForest().trees_on(1000, 20) == (2, 10, 256, 256)
    assert SCiForest(max_depth=8).trees_on(5, 1) == (1, 10, 5, 5)
    assert ExtendedIForest().trees_on(1000, 20) == (20, 0, 256, 8)
    assert ExtendedIForest().trees_on(2, 1) == (1, 0, 2, 1)


def test_shorter_paths_score_higher():
    scores = SCiForest().trees_on(256, 1).scores(np.array([10.0, 20.0, 40.0]), 4)
    assert (np.diff(scores) < 0).all()
    assert 0 < scores.min() < scores.max() <= 1


@pytest.mark.parametrize("name", ["SCiForest", "ExtendedIForest"])
def test_contract(name):
    for check in detector_contract(name, max_models=1):
        check()


def planted(kind):
    """Rows along a thin diagonal, and outliers that stand out along an axis or only beside it."""
    rng = np.random.default_rng(1)
    along = rng.normal(size=(600, 1))
    inliers = along @ np.ones((1, 2)) + rng.normal(0, 0.1, size=(600, 2))
    if kind == "oblique":
        at = rng.uniform(-1, 1, size=(20, 1))
        outliers = at @ np.ones((1, 2)) + np.array([0.9, -0.9])
    else:
        outliers = np.column_stack([rng.normal(0, 0.5, size=20), np.full(20, 6.0)])
    return np.vstack([inliers, outliers]), np.repeat([0, 1], [600, 20])


@pytest.mark.parametrize("kind", ["axis-parallel", "oblique"])
@pytest.mark.parametrize("forest", FORESTS)
def test_planted_outliers_are_found(forest, kind):
    rows, labels = planted(kind)
    scores = forest(random_state=0).fit(rows).decision_scores_
    assert roc_auc_score(labels, scores) > 0.93


def test_clustered_outliers_that_hide_from_random_splits():
    rows, labels = planted("oblique")
    areas = {
        forest: np.mean(
            [
                roc_auc_score(labels, forest(random_state=seed).fit(rows).decision_scores_)
                for seed in range(3)
            ]
        )
        for forest in FORESTS
    }
    assert areas[SCiForest] > areas[ExtendedIForest]


@pytest.mark.parametrize("forest", FORESTS)
def test_rows_are_scored_by_the_stored_trees_one_by_one(forest):
    detector = forest(n_estimators=20, random_state=3).fit(ROWS)
    np.testing.assert_array_equal(detector.decision_function(ROWS), detector.decision_scores_)
    alone = np.concatenate([detector.decision_function(row[None]) for row in ROWS[::20]])
    np.testing.assert_array_equal(alone, detector.decision_scores_[::20])


@pytest.mark.parametrize("forest", FORESTS)
def test_the_first_trees_of_a_forest_are_the_smaller_forest(forest):
    small, large = (forest(n_estimators=n, random_state=3).fit(ROWS) for n in (10, 20))
    for few, many in zip(small.trees_, large.trees_, strict=True):
        np.testing.assert_array_equal(few, many[:10])


@pytest.mark.parametrize("forest", FORESTS)
def test_seeds_of_any_kind(forest):
    again = forest(n_estimators=10, random_state=np.random.RandomState(0)).fit(ROWS)
    other = forest(n_estimators=10, random_state=np.random.RandomState(0)).fit(ROWS)
    np.testing.assert_array_equal(again.decision_scores_, other.decision_scores_)
    free = [forest(n_estimators=10).fit(ROWS).decision_scores_ for _ in range(2)]
    assert not np.array_equal(*free)


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize(
    "rows",
    [
        np.ones((10, 3)),
        np.array([[0.0], [1.0]]),
        np.repeat([[0.0, 1.0], [1.0, 0.0]], 30, axis=0),
        RNG.normal(size=(5, 200)),
        RNG.normal(size=(40, 2)) * 1e300,
        RNG.normal(size=(40, 2)) * 1e-300,
    ],
    ids=["constant", "two rows", "two points", "wide", "huge", "tiny"],
)
def test_scores_are_finite_whatever_the_table(forest, rows):
    scores = forest(n_estimators=10, random_state=0).fit(rows).decision_scores_
    assert np.isfinite(scores).all()
    assert ((scores > 0) & (scores <= 1)).all()


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize(
    ("name", "value"),
    [("n_estimators", 0), ("n_estimators", 2.0), ("max_samples", 1), ("n_dims", 0)],
)
def test_bad_values_are_named(forest, name, value):
    with pytest.raises(BadParameter, match=name):
        forest(**{name: value}).fit(ROWS)


@pytest.mark.parametrize("given", [{"n_trials": 0}, {"max_depth": 0}, {"n_dims": None}], ids=str)
def test_bad_values_of_sciforest_are_named(given):
    with pytest.raises(BadParameter, match=next(iter(given))):
        SCiForest(**given).fit(ROWS)


@pytest.mark.parametrize("forest", FORESTS)
def test_other_columns_are_refused(forest):
    with pytest.raises(BadParameter, match="4 columns"):
        forest(n_estimators=2).fit(ROWS).decision_function(ROWS[:, :2])
