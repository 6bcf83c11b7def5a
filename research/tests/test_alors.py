"""ALORS: factors of performance, predicted from meta-features."""

import numpy as np
import pytest
from made_history import frame
from threadpoolctl import threadpool_info, threadpool_limits

from metaod.errors import BadParameter
from research.learners.alors import ALORS, factorised
from research.learners.global_best import GlobalBest
from research.learners.performance import completed


def planted_low_rank(n, seed):
    """Performance from two latent factors; two meta-features are functions of them."""
    rng = np.random.default_rng(seed)
    latent = rng.uniform(-1, 1, size=(n, 2))
    V = np.random.default_rng(99).normal(size=(12, 2))
    M = np.column_stack([np.exp(2 * latent[:, 0]), latent[:, 1] ** 3, rng.normal(size=n)])
    return 0.5 + 0.1 * latent @ V.T, M


def test_a_low_rank_matrix_is_recovered_through_missing_cells():
    whole, _ = planted_low_rank(60, seed=0)
    P = np.where(np.random.default_rng(1).random(whole.shape) < 0.15, np.nan, whole)
    # two factors and the constant
    U, V = factorised(P, 3)
    assert U.shape == (60, 3)
    assert np.abs(U @ V.T - whole).max() < 0.2 * np.abs(completed(P) - whole).max()


def test_without_missing_cells_the_factors_are_the_truncated_svd():
    P = np.random.default_rng(0).uniform(size=(10, 6))
    left, sizes, right = np.linalg.svd(P, full_matrices=False)
    U, V = factorised(P, 2)
    np.testing.assert_allclose(U @ V.T, (left[:, :2] * sizes[:2]) @ right[:2])


def test_alors_has_less_regret_than_global_best():
    (P, M), (truth, new) = planted_low_rank(200, seed=0), planted_low_rank(50, seed=7)

    def regret(learner):
        picks = learner.fit(frame(P), frame(M)).predict(frame(new)).to_numpy().argmax(axis=1)
        return float((truth.max(axis=1) - truth[np.arange(len(truth)), picks]).mean())

    assert regret(ALORS(max_features=1.0, n_estimators=30)) < 0.4 * regret(GlobalBest())


def test_alors_decomposes_with_one_thread(monkeypatch):
    known = np.linalg.svd
    threads = []

    def watched(*args, **options):
        pools = threadpool_info()
        threads.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        return known(*args, **options)

    monkeypatch.setattr(np.linalg, "svd", watched)
    with threadpool_limits(2):
        factorised(np.eye(4), 2)
    assert threads
    assert set(threads) == {1}


def test_alors_refuses_rank_zero():
    with pytest.raises(BadParameter, match="rank"):
        ALORS(rank=0).fit(np.ones((2, 2)), np.ones((2, 1)))
