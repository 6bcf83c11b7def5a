"""Oblique isolation forests: what they find, and on which tables."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metaod.models.families.oblique import ExtendedIForest, SCiForest

RNG = np.random.default_rng(0)
ROWS = np.vstack([RNG.normal(size=(300, 4)), RNG.normal(0, 6, size=(15, 4))])
FORESTS = (SCiForest, ExtendedIForest)


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
