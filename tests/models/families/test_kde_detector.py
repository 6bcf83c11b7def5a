"""The kernel density a user gets."""

import numpy as np
import pytest
from sklearn.neighbors import KernelDensity

from metaod.errors import BadParameter
from metaod.models.families.kde import LeaveOneOutKDE
from metaod.testing.detectors import detector_contract

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(size=(150, 3)), RNG.normal(0, 5, size=(10, 3))])


@pytest.mark.parametrize("check", detector_contract("KDE"), ids=str)
def test_contract(check):
    check()


def test_new_rows_are_scored_by_scikit_learns_density():
    detector = LeaveOneOutKDE(gamma_scale=2.0).fit(X)
    plain = KernelDensity(bandwidth=np.sqrt(0.5 / detector.gamma_)).fit(X)
    new = RNG.normal(0, 3, size=(20, 3))
    np.testing.assert_allclose(
        detector.decision_function(new), -plain.score_samples(new), rtol=1e-9
    )


def test_rows_that_come_together_do_not_matter():
    detector = LeaveOneOutKDE().fit(X)
    together = detector.decision_function(X)
    alone = np.concatenate([detector.decision_function(row[None]) for row in X])
    np.testing.assert_array_equal(alone, together)


def test_a_training_row_given_again_looks_more_normal():
    detector = LeaveOneOutKDE().fit(X)
    assert (detector.decision_function(X) < detector.decision_scores_).all()


def test_very_far_rows_are_more_outlying_than_far_ones_and_never_nan():
    detector = LeaveOneOutKDE().fit(X)
    scores = detector.decision_function([[50.0] * 3, [1e6] * 3, [1e200] * 3])
    assert scores[0] > detector.decision_scores_.max()
    assert scores[1] > scores[0]
    assert scores[2] == np.inf


def test_equal_rows_score_alike_and_a_constant_table_is_no_error():
    doubled = LeaveOneOutKDE().fit(np.repeat(X, 3, axis=0)).decision_scores_.reshape(-1, 3)
    assert (np.ptp(doubled, axis=1) < 1e-9).all()
    constant = LeaveOneOutKDE().fit(np.full((9, 2), 4.0)).decision_scores_
    assert np.isfinite(constant).all()
    assert np.ptp(constant) == 0


@pytest.mark.parametrize("wrong", [0, -1.0, True, "scale", np.inf, None])
def test_bandwidths_outside_their_legal_set_are_refused(wrong):
    with pytest.raises(BadParameter, match="gamma_scale"):
        LeaveOneOutKDE(gamma_scale=wrong).fit(X)


def test_other_columns_are_refused():
    with pytest.raises(BadParameter, match="3 columns"):
        LeaveOneOutKDE().fit(X).decision_function(X[:, :2])
