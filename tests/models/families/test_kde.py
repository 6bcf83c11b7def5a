"""Kernel densities against the formula and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

from metaod.models import CellState, ModelSpec, fit_scaling, score_models
from metaod.models.families import kde
from metaod.models.families.kde import KDE, leave_one_out_scores

SCALES = (0.1, 0.3, 1.0, 3.0)
RNG = np.random.default_rng(0)
ROWS = np.vstack([RNG.normal(size=(150, 3)), RNG.normal(0, 5, size=(10, 3))])


def written_out(X, gamma_scale):
    """-log of the density of the other rows, with all distances at once."""
    gamma = gamma_scale / (X.shape[1] * X.var())
    exponents = -gamma * cdist(X, X, "sqeuclidean")
    np.fill_diagonal(exponents, -np.inf)
    log_sums = logsumexp(exponents, axis=1)
    volume = 0.5 * X.shape[1] * np.log(np.pi / gamma)
    return volume + np.log(len(X) - 1) - log_sums


def test_every_bandwidth_equals_the_formula(X):
    for scale, scores in zip(SCALES, leave_one_out_scores(X, SCALES), strict=True):
        np.testing.assert_allclose(scores, written_out(X, scale), rtol=1e-9, atol=1e-10)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(1, 6),
    ties=st.booleans(),
    scale=st.sampled_from([1e-6, 0.3, 50.0, 1e6]),
)
def test_any_table_gives_finite_scores(seed, n, d, ties, scale):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, d)) * 1.0 if ties else rng.standard_cauchy(size=(n, d))
    if np.ptp(X) == 0:
        X[0] += 1
    [scores] = leave_one_out_scores(X, [scale])
    assert np.isfinite(scores).all()
    # the rounding of a squared distance, times gamma
    np.testing.assert_allclose(scores, written_out(X, scale), rtol=1e-9, atol=1e-13 * n * scale)


def test_far_rows_keep_their_order_where_a_plain_density_is_zero():
    X = np.append(np.linspace(0, 1, 300), [400.0, 900.0])[:, None]
    X = fit_scaling("none", X).transform(X)
    [scores] = leave_one_out_scores(X, [1e4])
    assert np.exp(-scores[-2:]).tolist() == [0, 0]
    assert scores[-1] > scores[-2] > 1e3 > scores[:-2].max()


def test_a_long_table_has_drawn_centers(monkeypatch):
    monkeypatch.setattr(kde, "ALL_ROWS_UP_TO", 50)
    monkeypatch.setattr(kde, "CENTERS", 30)
    X = np.random.default_rng(0).normal(size=(80, 2))
    centers = kde._centers_of(80)
    assert len(centers) == len(set(centers.tolist())) == 30
    detector = KDE(1.0).fit(X)
    assert detector.centers_.shape == (30, 2)
    for i in range(80):
        others = [c for c in centers if c != i]
        distances = ((X[others] - X[i]) ** 2).sum(axis=1)
        density = np.exp(-detector.gamma_ * distances).mean() * detector.gamma_ / np.pi
        assert detector.decision_scores_[i] == pytest.approx(-np.log(density), rel=1e-9)
    assert len(kde._centers_of(50)) == 50


def test_overflow_is_a_failure_in_words():
    X = np.array([[1e200], [-1e200], [3.0]])
    [item] = score_models(X, [ModelSpec("KDE", scaling="none")])
    assert item.state == CellState.FAILED
    assert item.reason.startswith("OverflowError: distances between rows")


def test_new_rows_are_scored_by_scikit_learns_density():
    detector = KDE(gamma_scale=2.0).fit(ROWS)
    plain = KernelDensity(bandwidth=np.sqrt(0.5 / detector.gamma_)).fit(ROWS)
    new = RNG.normal(0, 3, size=(20, 3))
    np.testing.assert_allclose(
        detector.decision_function(new), -plain.score_samples(new), rtol=1e-9
    )


def test_a_training_row_given_again_looks_more_normal():
    detector = KDE().fit(ROWS)
    assert (detector.decision_function(ROWS) < detector.decision_scores_).all()


def test_very_far_rows_are_more_outlying_than_far_ones_and_never_nan():
    detector = KDE().fit(ROWS)
    scores = detector.decision_function([[50.0] * 3, [1e6] * 3, [1e200] * 3])
    assert scores[0] > detector.decision_scores_.max()
    assert scores[1] > scores[0]
    assert scores[2] == np.inf


def test_equal_rows_score_alike_and_a_constant_table_is_no_error():
    doubled = KDE().fit(np.repeat(ROWS, 3, axis=0)).decision_scores_.reshape(-1, 3)
    assert (np.ptp(doubled, axis=1) < 1e-9).all()
    constant = KDE().fit(np.full((9, 2), 4.0)).decision_scores_
    assert np.isfinite(constant).all()
    assert np.ptp(constant) == 0
