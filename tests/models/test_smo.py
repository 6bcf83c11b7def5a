"""The dual problem's solver: its start, its optimum, and when it gives up."""

from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import OneClassSVM

from metaod.models import _smo as smo
from metaod.models._smo import TOLERANCE, minimise, offset, starts

LATER = 60.0


def gap(alpha, gradient):
    """How far from optimal: 0 or less where no pair of variables can improve the objective."""
    return -gradient[alpha < 1].min(initial=np.inf) + gradient[alpha > 0].max(initial=-np.inf)


def solve(K, nu, diagonal=None):
    diagonal = K.diagonal().copy() if diagonal is None else diagonal
    K = K.astype(np.float32)
    [(_, alpha, gradient)] = starts(K, [nu])
    solved = minimise(K, diagonal, alpha, gradient, until=perf_counter() + LATER)
    return solved, alpha, gradient


def heavy_tailed(n_rows, seed=0):
    """A cubic kernel whose values span many orders of magnitude."""
    X = np.random.default_rng(seed).standard_t(2, size=(n_rows, 4))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return (X @ X.T / 4) ** 3


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.integers(2, 60),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5, unique=True),
    st.integers(0, 1000),
)
def test_starts_are_feasible_and_their_gradients_right(n_rows, nus, seed):
    X = np.random.default_rng(seed).normal(size=(n_rows, 3))
    K = (X @ X.T).astype(np.float32)
    seen = []
    for nu, alpha, gradient in starts(K, nus):
        seen.append(nu)
        assert alpha.min() >= 0
        assert alpha.max() <= 1
        assert (np.diff(alpha) <= 0).all()
        np.testing.assert_allclose(alpha.sum(), nu * n_rows, rtol=1e-12)
        np.testing.assert_allclose(gradient, K.astype(float) @ alpha, rtol=1e-6, atol=1e-6)
    assert seen == sorted(nus)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.5, 0.93])
@pytest.mark.parametrize("n_rows", [5, 60, 700])
def test_the_solution_is_libsvms(nu, n_rows):
    X = np.random.default_rng(4).normal(size=(n_rows, 5))
    K = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2) / 5)
    solved, alpha, gradient = solve(K, nu)
    assert solved
    assert gap(alpha, gradient) < TOLERANCE
    reference = OneClassSVM(kernel="rbf", nu=nu, gamma="auto").fit(X)
    theirs = np.zeros(n_rows)
    theirs[reference.support_] = reference.dual_coef_[0]
    np.testing.assert_allclose(alpha, theirs, atol=1e-9)
    np.testing.assert_allclose(offset(alpha, gradient), -reference.intercept_[0], rtol=1e-9)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_a_badly_conditioned_problem_is_finished_with_working_sets(monkeypatch, nu):
    rounds = []
    in_sets = smo._in_sets

    def counted(*args):
        rounds.append(1)
        return in_sets(*args)

    monkeypatch.setattr(smo, "_in_sets", counted)
    K = heavy_tailed(900)
    solved, alpha, gradient = solve(K, nu)
    assert rounds
    assert solved
    assert gap(alpha, gradient) < TOLERANCE
    np.testing.assert_allclose(alpha.sum(), 900 * nu, rtol=1e-9)
    assert alpha.min() >= 0
    assert alpha.max() <= 1
    # the gradient, though followed step by step, is still the gradient
    exact = K.astype(np.float32).astype(float) @ alpha
    np.testing.assert_allclose(gradient, exact, atol=1e-5 * np.abs(exact).max())


def test_turns_of_steps_follow_where_sets_do_not_suffice(monkeypatch):
    monkeypatch.setattr(smo, "_ROUNDS", 1)
    solved, alpha, gradient = solve(heavy_tailed(600), 0.5)
    assert solved
    assert gap(alpha, gradient) < TOLERANCE


def test_working_sets_solve_a_problem_smaller_than_a_set(monkeypatch):
    monkeypatch.setattr(smo, "_PATIENCE_WITH_FEW", 0)
    X = np.random.default_rng(3).normal(size=(30, 2))
    solved, alpha, gradient = solve(X @ X.T, 0.5)
    assert solved
    assert gap(alpha, gradient) < TOLERANCE


def test_it_gives_up_when_time_is_over():
    K = heavy_tailed(600).astype(np.float32)
    [(_, alpha, gradient)] = starts(K, [0.3])
    assert not minimise(K, K.diagonal().astype(float), alpha, gradient, until=perf_counter() - 1)


def test_it_gives_up_when_no_end_is_in_sight(monkeypatch):
    monkeypatch.setattr(smo, "_MOST_WORK", 1.0)
    monkeypatch.setattr(smo, "_ROUNDS", 1)
    monkeypatch.setattr(smo, "_STEPS", 1)
    solved, alpha, gradient = solve(heavy_tailed(600), 0.1)
    assert not solved
    assert gap(alpha, gradient) >= TOLERANCE


def test_the_offset_without_free_variables_lies_between_the_bounds():
    alpha, gradient = np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 5.0])
    assert offset(alpha, gradient) == 3.5
