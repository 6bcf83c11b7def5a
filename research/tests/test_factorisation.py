"""The factorisation recovers planted structure, repeats with a seed and stops early."""

import numpy as np
import pytest

from metaod.learners._dcg import gains
from research.learners.factorisation import Schedule, dcg_loss, factorise
from research.learners.variants import held_out_rows

RATES = Schedule(high=0.3, low=0.03)


def planted(n=60, m=25, k=2, seed=0, noise=0.0):
    """A matrix of rank k, mapped monotonically to [0, 1]."""
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(n, k)), rng.normal(size=(m, k))
    return 1 / (1 + np.exp(-U @ V.T - noise * rng.normal(size=(n, m))))


def started(P, k=2, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(len(P), k)) / np.sqrt(k), rng.normal(size=(P.shape[1], k))


def regret(P, found):
    """Mean difference between the best models and the picks."""
    picks = (found.U @ found.V.T).argmax(axis=1)
    return float((P.max(axis=1) - P[np.arange(len(P)), picks]).mean())


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["whole", "missing cells"])
def test_planted_low_rank_matrix_is_recovered(missing):
    P = planted()
    seen = np.where(np.random.default_rng(2).random(P.shape) < missing, np.nan, P)
    found = factorise(gains(seen), *started(P), epochs=100, schedule=RATES)
    random = float((P.max(axis=1) - P.mean(axis=1)).mean())
    # of what is missing the picks must be right too
    assert regret(P, found) < 0.1 * random


def test_planted_rankings_are_recovered():
    P = planted()
    found = factorise(gains(P), *started(P), epochs=100, schedule=RATES)
    predicted = found.U @ found.V.T
    agreement = [
        np.corrcoef(p.argsort().argsort(), q.argsort().argsort())[0, 1]
        for p, q in zip(P, predicted, strict=True)
    ]
    assert np.mean(agreement) > 0.9


def test_squared_error_recovers_values():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20)) / 2
    P[rng.random(P.shape) < 0.1] = np.nan
    schedule = Schedule(high=0.5, low=0.05)
    found = factorise(P, *started(P, k=2), loss="squared", epochs=400, schedule=schedule)
    assert np.nanmax(np.abs(found.U @ found.V.T - P)) < 0.03


def test_same_seed_same_factors_and_picks():
    P = planted()
    U, V = started(P)
    runs = [
        factorise(gains(P), U, V, epochs=5, rng=np.random.default_rng(seed)) for seed in (7, 7, 8)
    ]
    np.testing.assert_array_equal(runs[0].U, runs[1].U)
    np.testing.assert_array_equal(runs[0].V, runs[1].V)
    assert (runs[0].V != runs[2].V).any()
    # where it started is left alone
    np.testing.assert_array_equal(U, started(P)[0])


def test_a_step_over_all_datasets_follows_the_gradient():
    P = planted(n=7, m=5)
    U, V = started(P)
    G = gains(P)
    schedule = Schedule("decaying", 1e-4, cycle=1e9)
    found = factorise(G, U, V, epochs=1, schedule=schedule, unit_steps=False)
    h = 1e-6
    for which, moved in ((0, found.U - U), (1, found.V - V)):
        expected = np.zeros_like(moved)
        for index in np.ndindex(moved.shape):
            ends = []
            for sign in (-1, 1):
                factors = [U.copy(), V.copy()]
                factors[which][index] += sign * h
                ends.append(dcg_loss(G, *factors).sum())
            expected[index] = -(ends[1] - ends[0]) / (2 * h)
        # the rate of V refers to 80 datasets
        rate = 1e-4 * (80 / len(P) if which else 1)
        np.testing.assert_allclose(moved, rate * expected, rtol=1e-5, atol=1e-10)


@pytest.mark.parametrize("kind", ["decaying", "cyclical", "constant"])
def test_loss_goes_down(kind):
    P = planted(noise=0.5)
    losses = factorise(gains(P), *started(P), epochs=30, schedule=Schedule(kind, 0.1, 0.01)).train
    assert len(losses) == 30
    assert min(losses[-5:]) < losses[0] - 0.1
    assert np.mean(np.diff(losses) < 0) > 0.8


def test_a_fixed_dataset_matrix_does_not_move():
    P = planted()
    U, V = started(P)
    found = factorise(gains(P), U, V, epochs=10, fixed_U=True)
    np.testing.assert_array_equal(found.U, U)
    assert found.train[-1] < found.train[0]


def test_models_without_value_do_not_move():
    P = planted()
    P[:, 3] = np.nan
    U, V = started(P)
    found = factorise(gains(P), U, V, epochs=3)
    np.testing.assert_array_equal(found.V[3], V[3])
    assert (found.V[4] != V[4]).any()


def test_early_stopping_stops_at_the_best_epoch():
    P = planted()
    values = iter([3.0, 2.0, 1.0, 2.0, 2.0, 2.0, 0.0])
    found = factorise(
        gains(P), *started(P), epochs=50, monitor=lambda U, V: next(values), patience=3
    )
    assert found.n_epochs == 6
    assert found.best_epoch == 3


def test_convergence_stops():
    P = np.full((5, 4), 0.5)  # nothing to tell the models apart by, so little to gain
    found = factorise(gains(P), *started(P), epochs=400, schedule=Schedule(cycle=4), tolerance=1e-3)
    assert 8 <= found.n_epochs < 400


def test_triangular_schedule():
    schedule = Schedule(high=1.0, low=0.2, cycle=4)
    rates = np.concatenate([schedule.rates(epoch, 10) for epoch in range(12)])
    assert len(rates) == 120
    assert rates[0] == pytest.approx(0.2)
    assert rates.max() == rates[20] == pytest.approx(1.0)
    # straight up, straight down, and the same again
    np.testing.assert_allclose(np.diff(rates[:21]), 0.04)
    np.testing.assert_allclose(np.diff(rates[20:41]), -0.04)
    np.testing.assert_allclose(rates[40:80], rates[:40])
    np.testing.assert_array_equal(Schedule("constant", 0.3).rates(5, 3), 0.3)
    decaying = Schedule("decaying", 0.4, cycle=10)
    np.testing.assert_allclose(decaying.rates(0, 2), 0.4)
    np.testing.assert_allclose(decaying.rates(5, 2), 0.2)
    np.testing.assert_allclose(decaying.rates(12, 2), 0.0)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.99])
def test_held_out_by_origin(share):
    groups = np.repeat(np.arange(12), [1, 2, 3] * 4)
    held_out = held_out_rows(groups, share, random_state=3)
    assert held_out.any()
    assert not held_out.all()
    assert not set(groups[held_out]) & set(groups[~held_out])
