"""Kernel densities: the shared scorer against the formula, and the detector a user gets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

from metaod.errors import BadParameter
from metaod.models import Budget, CellState, Mode, ModelSpec, fit_scaling, model_space, score_models
from metaod.models.families import kde
from metaod.models.families.kde import KDEScorer, LeaveOneOutKDE, leave_one_out_scores
from metaod.testing.detectors import detector_contract

SCORER = KDEScorer()
SCALES = (0.1, 0.3, 1.0, 3.0)
SPECS = [ModelSpec("KDE", {"gamma_scale": scale}) for scale in SCALES]
RNG = np.random.default_rng(0)
ROWS = np.vstack([RNG.normal(size=(150, 3)), RNG.normal(0, 5, size=(10, 3))])


def score(X, specs, budget=None):
    results = SCORER.score(X, specs, trials=5, mode=Mode.FAST, budget=budget or Budget())
    return {item.spec: item for item in results}


def written_out(X, gamma_scale):
    """-log of the density of the other rows, with all distances at once."""
    gamma = gamma_scale / (X.shape[1] * X.var())
    exponents = -gamma * cdist(X, X, "sqeuclidean")
    np.fill_diagonal(exponents, -np.inf)
    log_sums = logsumexp(exponents, axis=1)
    volume = 0.5 * X.shape[1] * np.log(np.pi / gamma)
    return volume + np.log(len(X) - 1) - log_sums


def test_every_bandwidth_equals_the_formula(table, scaled):
    X = scaled(table)
    results = score(X, SPECS)
    assert list(results) == SPECS
    for spec, scale in zip(SPECS, SCALES, strict=True):
        item = results[spec]
        assert (item.state, item.trial, item.reason) == (CellState.OK, 0, "")
        assert item.seconds > 0
        np.testing.assert_allclose(item.scores, written_out(X, scale), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("scaling", ["zscore", "robust", "signedlog", "none"])
def test_every_scaling_equals_the_detector_that_a_user_gets(table, scaling):
    specs = [ModelSpec("KDE", dict(spec.params), scaling) for spec in SPECS]
    results = {item.spec: item for item in score_models(table, specs)}
    assert set(results) == set(specs)
    for spec in specs:
        expected = spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(results[spec].scores, expected, rtol=1e-9, atol=1e-10)


def test_the_density_is_scikit_learns_without_the_row_itself():
    X = np.random.default_rng(0).normal(size=(40, 3))
    bandwidth = np.sqrt(0.5 / LeaveOneOutKDE(1.0).fit(X).gamma_)
    [scores], _ = leave_one_out_scores(X, [1.0])
    for i in range(len(X)):
        others = KernelDensity(bandwidth=bandwidth).fit(np.delete(X, i, axis=0))
        assert scores[i] == pytest.approx(-others.score_samples(X[i : i + 1])[0], rel=1e-9)


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
    [scores], _ = leave_one_out_scores(X, [scale])
    assert np.isfinite(scores).all()
    # the rounding of a squared distance, times gamma
    np.testing.assert_allclose(scores, written_out(X, scale), rtol=1e-9, atol=1e-13 * n * scale)


def test_far_rows_keep_their_order_where_a_plain_density_is_zero():
    X = np.append(np.linspace(0, 1, 300), [400.0, 900.0])[:, None]
    X = fit_scaling("none", X).transform(X)
    [scores], _ = leave_one_out_scores(X, [1e4])
    assert np.exp(-scores[-2:]).tolist() == [0, 0]
    assert scores[-1] > scores[-2] > 1e3 > scores[:-2].max()


def test_rows_in_blocks_score_as_in_one(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    whole, _ = leave_one_out_scores(X, SCALES)
    monkeypatch.setattr(kde, "_BLOCK", 100)
    parts, _ = leave_one_out_scores(X, SCALES)
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


def test_a_long_table_has_drawn_centers_and_says_so(monkeypatch):
    monkeypatch.setattr(kde, "ALL_ROWS_UP_TO", 50)
    monkeypatch.setattr(kde, "CENTERS", 30)
    X = np.random.default_rng(0).normal(size=(80, 2))
    centers = kde._centers_of(80)
    assert len(centers) == len(set(centers.tolist())) == 30
    [item] = score(X, SPECS[2:3]).values()
    assert item.reason == "densities around 30 of the 80 rows"
    gamma = LeaveOneOutKDE(1.0).fit(X).gamma_
    for i in range(80):
        others = [c for c in centers if c != i]
        density = np.exp(-gamma * ((X[others] - X[i]) ** 2).sum(axis=1)).mean() * gamma / np.pi
        assert item.scores[i] == pytest.approx(-np.log(density), rel=1e-9)
    detector = SPECS[2].to_pyod().fit(X)
    assert detector.detector_.centers_.shape == (30, 2)
    assert len(kde._centers_of(50)) == 50


def test_what_costs_too_much_is_not_started():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for budget, words in ((Budget(seconds=1e-9), " s,"), (Budget(bytes=10), "MiB")):
        results = score(X, SPECS, budget)
        assert {item.state for item in results.values()} == {CellState.OVER_BUDGET}
        assert all(words in item.reason for item in results.values())


def test_only_bandwidths_are_served():
    assert all(SCORER.serves(spec) for spec in model_space("extended", detectors="KDE"))
    assert SCORER.serves(ModelSpec("KDE"))
    assert SCORER.serves(ModelSpec("KDE", {"gamma_scale": 2}))
    for params in (
        {"gamma_scale": 0.0},
        {"gamma_scale": -1.0},
        {"gamma_scale": True},
        {"gamma_scale": "scale"},
        {"gamma_scale": 1.0, "metric": "manhattan"},
    ):
        assert not SCORER.serves(ModelSpec("KDE", params))


def test_overflow_is_a_failure_in_words():
    X = np.array([[1e200], [-1e200], [3.0]])
    [item] = score_models(X, [ModelSpec("KDE", scaling="none")])
    assert item.state == CellState.FAILED
    assert item.reason.startswith("OverflowError: distances between rows")


@pytest.mark.parametrize("check", detector_contract("KDE"), ids=str)
def test_contract(check):
    check()


def test_new_rows_are_scored_by_scikit_learns_density():
    detector = LeaveOneOutKDE(gamma_scale=2.0).fit(ROWS)
    plain = KernelDensity(bandwidth=np.sqrt(0.5 / detector.gamma_)).fit(ROWS)
    new = RNG.normal(0, 3, size=(20, 3))
    np.testing.assert_allclose(
        detector.decision_function(new), -plain.score_samples(new), rtol=1e-9
    )


def test_rows_that_come_together_do_not_matter():
    detector = LeaveOneOutKDE().fit(ROWS)
    together = detector.decision_function(ROWS)
    alone = np.concatenate([detector.decision_function(row[None]) for row in ROWS])
    np.testing.assert_array_equal(alone, together)


def test_a_training_row_given_again_looks_more_normal():
    detector = LeaveOneOutKDE().fit(ROWS)
    assert (detector.decision_function(ROWS) < detector.decision_scores_).all()


def test_very_far_rows_are_more_outlying_than_far_ones_and_never_nan():
    detector = LeaveOneOutKDE().fit(ROWS)
    scores = detector.decision_function([[50.0] * 3, [1e6] * 3, [1e200] * 3])
    assert scores[0] > detector.decision_scores_.max()
    assert scores[1] > scores[0]
    assert scores[2] == np.inf


def test_equal_rows_score_alike_and_a_constant_table_is_no_error():
    doubled = LeaveOneOutKDE().fit(np.repeat(ROWS, 3, axis=0)).decision_scores_.reshape(-1, 3)
    assert (np.ptp(doubled, axis=1) < 1e-9).all()
    constant = LeaveOneOutKDE().fit(np.full((9, 2), 4.0)).decision_scores_
    assert np.isfinite(constant).all()
    assert np.ptp(constant) == 0


@pytest.mark.parametrize("wrong", [0, -1.0, True, "scale", np.inf, None])
def test_bandwidths_outside_their_legal_set_are_refused(wrong):
    with pytest.raises(BadParameter, match="gamma_scale"):
        LeaveOneOutKDE(gamma_scale=wrong).fit(ROWS)


def test_other_columns_are_refused():
    with pytest.raises(BadParameter, match="3 columns"):
        LeaveOneOutKDE().fit(ROWS).decision_function(ROWS[:, :2])
