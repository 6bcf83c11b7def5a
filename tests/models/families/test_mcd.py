"""The robust covariance a user gets."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metaod.models.families.mcd import MCD

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


# the core


def mahalanobis(rows, chosen):
    centred = rows - rows[chosen].mean(axis=0)
    inverse = np.linalg.inv(np.cov(rows[chosen].T, bias=True))
    return np.einsum("ij,jk,ik->i", centred, inverse, centred)


def test_a_core_is_that_share_of_the_rows_and_sets_the_distances():
    plain = MCD().fit(X)
    detector = MCD(core=0.75).fit(X)
    assert detector.support_.mean() == pytest.approx(0.75, abs=1 / len(X))
    # the nearest by the distance without a core
    nearest = np.sort(plain.decision_scores_)[: detector.support_.sum()]
    np.testing.assert_array_equal(np.sort(plain.decision_scores_[detector.support_]), nearest)
    np.testing.assert_allclose(
        detector.decision_scores_, mahalanobis(X, detector.support_), rtol=1e-7
    )
    np.testing.assert_allclose(detector.decision_function(X), detector.decision_scores_)
    assert roc_auc_score(LABELS, detector.decision_scores_) == 1.0


def test_a_core_lets_go_of_outliers_that_reweighting_takes_in():
    # too near to the bulk to be cut off at the 97.5 % of a normal distribution
    rows = np.vstack([CLEAN, 1.7 * CLEAN[:40]])
    taken = MCD().fit(rows).support_[280:].mean()
    assert MCD(core=0.5).fit(rows).support_[280:].mean() < taken
