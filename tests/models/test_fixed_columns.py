"""Models on tables with columns in fixed units: MCD by its definition, and equal scores."""

import warnings

import numpy as np
import pytest

from metaod.errors import BadParameter
from metaod.models import (
    ModelSpec,
    ScoreScale,
    average_of,
    fit_scaling,
    model_space,
    registered_families,
    score_models,
)
from metaod.models.families.mcd import MCD

SURPRISALS = -np.log([0.6, 0.3, 0.08, 0.02]) / 2.5


def mixed(seed=0, n_rows=150):
    """Return measured columns, among them two of surprisal and one of gaps, and which are fixed."""
    rng = np.random.default_rng(seed)
    levels = rng.choice(4, size=(n_rows, 2), p=[0.6, 0.3, 0.08, 0.02])
    gaps = np.where(rng.random(n_rows) < 0.05, np.log(20), 0.0)
    X = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, 3)) * [1.0, 10.0, 0.1]
    X = np.column_stack([SURPRISALS[levels[:, 0]], X, SURPRISALS[levels[:, 1]], gaps])
    return X, np.array([True, False, False, False, True, True])


# MCD


@pytest.mark.parametrize("core", [None, 0.75])
@pytest.mark.parametrize("unit", [1.0, 0.4])
def test_mcd_adds_the_squares_of_fixed_columns(core, unit):
    X, fixed = mixed()
    measured, added = X[:, ~fixed], X[:, fixed] - X[:, fixed].mean(axis=0)
    plain = MCD(core).fit(measured)
    model = MCD(core)
    model.n_fixed, model.fixed_unit = 3, unit
    model.fit(np.hstack([measured, added * unit]))
    expected = plain.decision_scores_ + (added**2).sum(axis=1)
    np.testing.assert_allclose(model.decision_scores_, expected)
    np.testing.assert_array_equal(model.support_, plain.support_)
    rows = np.hstack([measured, added * unit])[:7]
    np.testing.assert_allclose(model.decision_function(rows), expected[:7])


@pytest.mark.parametrize("scaling", ["zscore", "robust", "signedlog"])
def test_mcd_is_told_which_columns_are_fixed(scaling):
    X, fixed = mixed()
    spec = ModelSpec("MCD", {}, scaling)
    fitted = spec.to_pyod(fixed=fixed).fit(X)
    scaled = fit_scaling(scaling, X, fixed).transform(X)
    unit = 1 / 2.5631031310892007 if scaling == "robust" else 1.0
    expected = MCD().fit(scaled[:, :3]).decision_scores_
    expected = expected + ((scaled[:, 3:] / unit) ** 2).sum(axis=1)
    np.testing.assert_allclose(fitted.decision_scores_, expected)
    np.testing.assert_allclose(fitted.decision_function(X), expected)


# every family


def _fitted(spec, X, fixed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return spec.to_pyod(random_state=0, fixed=fixed).fit(X).decision_scores_
        except Exception:
            return np.full(len(X), np.nan)


@pytest.mark.parametrize("name", registered_families())
def test_scored_models_equal_the_detector(name):
    X, fixed = mixed(1)
    models = [spec for spec in model_space("all") if spec.detector == name]
    models = [spec for spec in models[:: max(1, len(models) // 4)] if spec.applies(*X.shape)]
    for scored in score_models(X, models, trials=1, fixed=fixed):
        expected = _fitted(scored.spec, X, fixed)
        if scored.scores is None:
            assert np.isnan(expected).sum() > ScoreScale.REPAIRABLE * len(X), scored
            continue
        expected = ScoreScale.of(expected, where=scored.spec.id).repaired(expected)
        tolerance = 1e-6 * max(1e-2, np.ptp(expected))
        np.testing.assert_allclose(scored.scores, expected, 1e-6, tolerance, err_msg=scored.spec.id)


def test_fixed_units_change_the_scores():
    X, fixed = mixed()
    spec = ModelSpec.parse("KNN(n_neighbors=5, method=largest)")
    free = spec.to_pyod().fit(X).decision_scores_
    assert not np.allclose(free, spec.to_pyod(fixed=fixed).fit(X).decision_scores_)


def test_an_average_hands_fixed_columns_on():
    X, fixed = mixed()
    members = [ModelSpec.parse("KNN(n_neighbors=5, method=largest)"), ModelSpec("MCD", {})]
    average = average_of(*members).to_pyod(fixed=fixed).fit(X)
    for member, detector in zip(members, average.detectors_, strict=True):
        expected = member.to_pyod(fixed=fixed).fit(X).decision_scores_
        np.testing.assert_array_equal(detector.decision_scores_, expected)


@pytest.mark.parametrize("fixed", [[True], [1, 0, 0, 0, 1, 1], "yes", np.ones((1, 6), bool)])
def test_wrong_columns_are_refused(fixed):
    X, _ = mixed()
    spec = ModelSpec("MCD", {})
    with pytest.raises(BadParameter, match="'fixed'"):
        spec.to_pyod(fixed=fixed).fit(X)
    with pytest.raises(BadParameter, match=r"'fixed'.*score_models"):
        score_models(X, [spec], fixed=fixed)
