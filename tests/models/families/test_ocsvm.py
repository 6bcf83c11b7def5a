"""One-class SVMs from one kernel matrix: LIBSVM's solutions."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from metaod.models import Budget, CellState, Mode, ModelSpec, family, specs_of
from metaod.models.families import ocsvm
from metaod.models.families.ocsvm import OCSVMScorer

SCORER = OCSVMScorer()
GRID = specs_of(family("OCSVM"))
SAMPLE = [spec for spec in GRID if dict(spec.params)["nu"] in {0.1, 0.4, 0.9}]


def score(X, specs, mode=Mode.FAST, budget=None):
    return list(SCORER.score(X, specs, trials=5, mode=mode, budget=budget or Budget()))


def of_kernel(name):
    return [spec for spec in GRID if dict(spec.params)["kernel"] == name]


def test_every_model_of_the_grid_is_served_and_given_out_once(table, scaled):
    results = score(scaled(table), GRID)
    assert {item.spec for item in results} == set(GRID)
    assert len(results) == len(GRID)
    for item in results:
        assert item.state == CellState.OK
        assert np.isfinite(item.scores).all()
        assert item.seconds > 0


def test_the_exact_mode_is_pyods_own(table, scaled):
    for item in score(scaled(table), SAMPLE, Mode.EXACT):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-12)


def test_rbf_equals_pyod_on_every_table(table, scaled):
    for item in score(scaled(table), of_kernel("rbf")):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        # kernel values are kept in single precision
        np.testing.assert_allclose(item.scores, expected, atol=1e-6 * max(1.0, expected.std()))


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
@pytest.mark.parametrize("table", ["plain", "constant column", "tiny"], indirect=True)
def test_the_others_follow_libsvms_path(table, scaled, kernel):
    for item in score(scaled(table), of_kernel(kernel)):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, atol=1e-5 * expected.std())


@pytest.mark.parametrize("kernel", ["linear", "rbf", "sigmoid"])
def test_solutions_agree_on_a_larger_table(kernel):
    rng = np.random.default_rng(12)
    X = np.vstack([rng.normal(size=(950, 8)), 6 * rng.standard_t(3, size=(50, 8))])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    spec = ModelSpec("OCSVM", {"kernel": kernel, "nu": 0.3}, scaling="none")
    [item] = score(X, [spec])
    expected = spec.to_pyod().fit(X).decision_scores_
    assert spearmanr(item.scores, expected).statistic > 0.999


def test_scores_do_not_depend_on_what_else_is_asked_for():
    X = np.random.default_rng(5).normal(size=(120, 3))
    together = {item.spec: item.scores for item in score(X, GRID)}
    for spec in SAMPLE:
        [alone] = score(X, [spec])
        np.testing.assert_allclose(alone.scores, together[spec], rtol=1e-9, atol=1e-9)


def test_rows_in_another_order_keep_their_rbf_scores():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 4))
    order = rng.permutation(len(X))
    pairs = zip(score(X, of_kernel("rbf")), score(X[order], of_kernel("rbf")), strict=True)
    for here, there in pairs:
        # the solver's tolerance is 1e-3
        np.testing.assert_allclose(there.scores, here.scores[order], atol=2e-3)


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("OCSVM()", True),
        ("OCSVM(kernel=poly, nu=0.25)", True),
        ("OCSVM(kernel=rbf, nu=1.0)", False),
        ("OCSVM(nu=0.0)", False),
        ("OCSVM(nu=1)", False),
        ("OCSVM(kernel=precomputed)", False),
        ("OCSVM(kernel=rbf, gamma=scale)", False),
        ("OCSVM(kernel=poly, degree=2)", False),
    ],
)
def test_only_the_kernel_and_nu_are_served(text, served):
    assert SCORER.serves(ModelSpec.parse(text)) is served


def test_defaults_are_pyods():
    X = np.random.default_rng(8).normal(size=(60, 3))
    spec = ModelSpec("OCSVM", scaling="none")
    [item] = score(X, [spec])
    np.testing.assert_allclose(item.scores, spec.to_pyod().fit(X).decision_scores_, atol=1e-6)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_model_foreseen_to_exceed_the_budget_is_not_started(mode):
    X = np.random.default_rng(1).normal(size=(100, 3))
    for budget in (Budget(seconds=1e-9), Budget(bytes=1000)):
        results = score(X, GRID, mode, budget)
        assert {item.state for item in results} == {CellState.OVER_BUDGET}
        assert all("the limit is" in item.reason for item in results)


def test_memory_allows_twenty_thousand_rows_by_default():
    X = np.broadcast_to(np.zeros(1), (20_000, 10))
    assert ocsvm._why_over_budget(X, Mode.FAST, Budget()) is None
    X = np.broadcast_to(np.zeros(1), (30_000, 10))
    assert "MiB" in ocsvm._why_over_budget(X, Mode.FAST, Budget())


def test_a_model_that_is_not_solved_has_no_scores(monkeypatch):
    monkeypatch.setattr(ocsvm, "minimise", lambda *args, **kwargs: False)
    X = np.random.default_rng(1).normal(size=(50, 3))
    results = score(X, of_kernel("poly"))
    assert {item.state for item in results} == {CellState.OVER_BUDGET}
    assert all(item.scores is None and "not solved" in item.reason for item in results)


def test_libsvm_is_stopped_too(monkeypatch):
    X = np.random.default_rng(1).normal(size=(300, 3))
    monkeypatch.setattr(ocsvm, "_why_over_budget", lambda *args: None)
    results = score(X, of_kernel("rbf"), Mode.EXACT, Budget(seconds=1e-6))
    assert {item.state for item in results} == {CellState.OVER_BUDGET}
    assert all(item.scores is None and "iterations" in item.reason for item in results)


def test_a_kernel_beyond_single_precision_fails_with_a_reason():
    X = np.array([[1e15], [0.0], [1.0], [-3.0]])
    results = score(X, of_kernel("poly") + of_kernel("rbf"))
    for item in results:
        if dict(item.spec.params)["kernel"] == "poly":
            assert item.state == CellState.FAILED
            assert item.reason.startswith("OverflowError: the poly kernel")
        else:
            assert item.state == CellState.OK
