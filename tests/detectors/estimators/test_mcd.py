"""The robust covariance a user gets, against scikit-learn's random search."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.covariance import MinCovDet
from sklearn.metrics import roc_auc_score

from metaod.detectors.estimators.mcd import MCD
from metaod.errors import BadParameter

RNG = np.random.default_rng(0)
MIXING = RNG.normal(size=(5, 5))
CLEAN = RNG.normal(size=(280, 5)) @ MIXING
# a tight cluster, which would carry mean and covariance away
X = np.vstack([CLEAN, RNG.normal(0, 0.1, size=(60, 5)) + 12])
LABELS = np.repeat([0, 1], [280, 60])


def test_a_cluster_of_outliers_does_not_carry_the_estimate_away():
    detector = MCD().fit(X)
    assert roc_auc_score(LABELS, detector.decision_scores_) == 1.0
    assert not detector.support_[280:].any()
    plain = ((X - X.mean(axis=0)) @ np.linalg.inv(np.cov(X.T)) * (X - X.mean(axis=0))).sum(axis=1)
    assert roc_auc_score(LABELS, plain) < 0.9


def test_distances_are_those_of_the_random_search():
    expected = MinCovDet(random_state=0).fit(X).dist_
    scores = MCD().fit(X).decision_scores_
    assert spearmanr(scores, expected).statistic > 0.98


def test_the_half_is_as_concentrated_as_that_of_the_random_search():
    detector = MCD().fit(CLEAN)
    random = MinCovDet(random_state=0).fit(CLEAN)
    ours = np.linalg.slogdet(np.cov(CLEAN[detector.support_].T))[1]
    theirs = np.linalg.slogdet(np.cov(CLEAN[random.support_].T))[1]
    assert ours == pytest.approx(theirs, abs=0.5)


def test_any_linear_map_of_the_columns_gives_the_same_ranks():
    scores = MCD().fit(X).decision_scores_
    mapped = MCD().fit(X @ MIXING + 3.0).decision_scores_
    assert spearmanr(scores, mapped).statistic > 0.98


@pytest.mark.parametrize(
    "rows",
    [
        np.vstack([np.zeros((200, 3)), RNG.normal(size=(100, 3))]),
        np.column_stack([CLEAN, CLEAN[:, 0] + CLEAN[:, 1]]),
        np.where(RNG.random((300, 4)) < 0.8, 0.0, RNG.normal(size=(300, 4))),
        np.ones((20, 2)),
        np.array([[0.0], [1.0], [7.0]]),
    ],
    ids=["same rows", "columns that add up", "mostly zero", "constant", "three rows"],
)
def test_scores_are_finite_where_rows_lie_in_a_plane(rows):
    assert np.isfinite(MCD().fit(rows).decision_scores_).all()


def test_rows_beside_the_plane_of_the_others_are_far_away():
    flat = np.column_stack([CLEAN[:, :2], CLEAN[:, 0] - CLEAN[:, 1]])
    flat[:5, 2] += 0.5
    scores = MCD().fit(flat).decision_scores_
    assert scores[:5].min() > scores[5:].max()


def test_new_rows_one_by_one():
    detector = MCD().fit(X)
    np.testing.assert_allclose(detector.decision_function(X), detector.decision_scores_)
    alone = np.concatenate([detector.decision_function(row[None]) for row in X[::30]])
    np.testing.assert_allclose(alone, detector.decision_scores_[::30], rtol=1e-9)
    with pytest.raises(BadParameter, match="5 columns"):
        detector.decision_function(X[:, :2])
