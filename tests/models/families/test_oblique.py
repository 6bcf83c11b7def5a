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
def test_seeds_of_any_kind(forest):
    again = forest(n_estimators=10, random_state=np.random.RandomState(0)).fit(ROWS)
    other = forest(n_estimators=10, random_state=np.random.RandomState(0)).fit(ROWS)
    np.testing.assert_array_equal(again.decision_scores_, other.decision_scores_)
    free = [forest(n_estimators=10).fit(ROWS).decision_scores_ for _ in range(2)]
    assert not np.array_equal(*free)
