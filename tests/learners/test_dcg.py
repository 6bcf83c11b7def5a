"""The smoothed DCG equals its definition, and its gradient equals finite differences."""

from math import exp, log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.learners._dcg import descend, gains, row_dcg


def drawn(seed, n=4, m=7, k=3, missing=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    P = rng.random((n, m))
    P[rng.random((n, m)) < missing] = np.nan
    P[:, 0] = 0.5
    return gains(P, 3.0), scale * rng.normal(size=(n, k)), rng.normal(size=(m, k))


def dcg(G, U, V, alpha):
    """The loss of each dataset and its derivatives by the predictions."""
    losses, by_prediction = np.empty(len(G)), np.zeros_like(G)
    for row, gain in enumerate(G):
        known = np.flatnonzero(~np.isnan(gain))
        part, work = np.empty(len(known)), np.empty(len(known) ** 2)
        losses[row] = row_dcg(V[known] @ U[row], gain[known], alpha, part, work)
        by_prediction[row, known] = part
    return losses, by_prediction


def dcg_loss(G, U, V, alpha=1.0):
    return dcg(G, U, V, alpha)[0]


def dcg_gradient(G, U, V, alpha=1.0):
    """The loss summed over datasets and its derivatives by U and V."""
    losses, by_prediction = dcg(G, U, V, alpha)
    return losses.sum(), by_prediction @ V, by_prediction.T @ U


def literal_loss(gain, u, V, alpha):
    known = [j for j in range(len(V)) if not np.isnan(gain[j])]
    total = 0.0
    for j in known:
        beta = 1.0
        for k in known:
            difference = sum(u[a] * (V[k][a] - V[j][a]) for a in range(len(u)))
            beta += 1 / (1 + exp(-alpha * difference))
        total += gain[j] / log2(beta)
    return -total


def differences(G, U, V, alpha, which, step=1e-5):
    gradient = np.zeros_like((U, V)[which])
    for place in np.ndindex(gradient.shape):
        losses = []
        for sign in (1, -1):
            moved = [U.copy(), V.copy()]
            moved[which][place] += sign * step
            losses.append(dcg_loss(G, *moved, alpha).sum())
        gradient[place] = (losses[0] - losses[1]) / (2 * step)
    return gradient


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    missing=st.sampled_from([0.0, 0.4]),
    alpha=st.sampled_from([0.5, 1.0, 8.0]),
)
def test_loss_equals_a_triple_loop(seed, missing, alpha):
    G, U, V = drawn(seed, missing=missing)
    expected = [literal_loss(G[i], U[i], V, alpha) for i in range(len(G))]
    np.testing.assert_allclose(dcg_loss(G, U, V, alpha), expected, rtol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.4], ids=["whole", "missing cells"])
@pytest.mark.parametrize("alpha", [1.0, 5.0])
@pytest.mark.parametrize("which", [0, 1], ids=["U", "V"])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_by_finite_differences(seed, which, alpha, missing):
    G, U, V = drawn(seed, missing=missing)
    loss, *gradients = dcg_gradient(G, U, V, alpha)
    assert loss == pytest.approx(dcg_loss(G, U, V, alpha).sum())
    expected = differences(G, U, V, alpha, which)
    np.testing.assert_allclose(gradients[which], expected, rtol=1e-6, atol=1e-8)
    assert np.abs(expected).max() > 0.01


@pytest.mark.parametrize("scale", [60.0, 300.0, 3000.0])
def test_far_apart_predictions(scale):
    """Loss and gradient are right where exponentials would overflow."""
    G, U, V = drawn(5, m=40, scale=scale)
    V[1::2] = V[::2] + 1e-3  # neighbours whose sigmoids are not saturated
    expected = [literal_loss_far(G[i], V @ U[i]) for i in range(len(G))]
    np.testing.assert_allclose(dcg_loss(G, U, V), expected, rtol=1e-12)
    _, by_U, by_V = dcg_gradient(G, U, V)
    d = np.array([literal_derivative(G[i], V @ U[i]) for i in range(len(G))])
    np.testing.assert_allclose(by_U, d @ V, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(by_V, d.T @ U, rtol=1e-8, atol=1e-9)


def sigmoids(p):
    w = p[None, :] - p[:, None]
    small = np.exp(-np.abs(w))
    return np.where(w >= 0, 1.0, small) / (1 + small), small / (1 + small) ** 2


def literal_loss_far(gain, p):
    return -(gain * log(2) / np.log(1 + sigmoids(p)[0].sum(axis=1))).sum()


def literal_derivative(gain, p):
    shares, slopes = sigmoids(p)
    beta = 1 + shares.sum(axis=1)
    c = log(2) * gain / (beta * np.log(beta) ** 2)
    return (slopes * (c[None, :] - c[:, None])).sum(axis=1)


def test_missing_cells_are_ignored():
    """The prediction of a model without a value does not matter."""
    G, U, V = drawn(1)
    wider = np.column_stack([G, np.full(len(G), np.nan)])
    taller = np.vstack([V, 99 * np.ones(V.shape[1])])
    np.testing.assert_array_equal(dcg_loss(wider, U, taller), dcg_loss(G, U, V))
    _, by_U, by_V = dcg_gradient(wider, U, taller)
    _, expected_U, expected_V = dcg_gradient(G, U, V)
    np.testing.assert_allclose(by_U, expected_U, rtol=1e-12)
    np.testing.assert_allclose(by_V[:-1], expected_V, rtol=1e-12)
    assert not by_V[-1].any()


def test_large_alpha_is_hard_dcg():
    """With a sharp sigmoid the discount is that of the rank minus a half."""
    G, U, V = drawn(2, m=30)
    p = U @ V.T
    above = (p[:, None, :] > p[:, :, None]).sum(axis=2)
    expected = -(G / np.log2(above + 1.5)).sum(axis=1)
    np.testing.assert_allclose(dcg_loss(G, U, V, 1e7), expected, rtol=1e-9)


def test_descent_lowers_the_loss_and_leaves_models_without_values():
    G, U, V = drawn(3, n=20, m=12, missing=0.2)
    G[:, 4] = np.nan
    before, first = V[4].copy(), dcg_loss(G, U, V).mean()
    losses = list(descend(G, U, V, 1.0, 60, 0.02))
    assert losses[0] == pytest.approx(first)
    assert losses[-1] < losses[0] - 0.1
    assert np.mean(np.diff(losses) < 0) > 0.8
    np.testing.assert_array_equal(V[4], before)
