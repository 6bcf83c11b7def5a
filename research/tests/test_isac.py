"""ISAC: g-means clusters and the best model of the nearest."""

import numpy as np
import pandas as pd
import pytest
from made_history import frame
from scipy.stats import norm

from metaod.errors import BadParameter
from research.learners.global_best import GlobalBest
from research.learners.isac import ISAC, anderson_darling, g_means

CRITICAL = 1.8692


def planted_clusters(per_cluster=40, d=3):
    rng = np.random.default_rng(5)
    centres = np.eye(3)[:, :d] * 12
    labels = np.repeat([0, 1, 2], per_cluster)
    return centres[labels] + rng.normal(size=(len(labels), d)), labels


def test_anderson_darling_equals_a_literal_sum():
    x = np.random.default_rng(0).exponential(size=25)
    z = sorted(norm.cdf((x - x.mean()) / x.std(ddof=1)))
    n = len(z)
    total = sum((2 * i - 1) * (np.log(z[i - 1]) + np.log(1 - z[n - i])) for i in range(1, n + 1))
    assert anderson_darling(x) == pytest.approx((-n - total / n) * (1 + 4 / n - 25 / n**2))


def test_anderson_darling_separates_normal_and_bimodal_values():
    rng = np.random.default_rng(0)
    assert anderson_darling(rng.normal(size=300)) < CRITICAL
    assert anderson_darling(np.concatenate([rng.normal(size=50), 9 + rng.normal(size=50)])) > 4


def test_g_means_finds_three_planted_clusters():
    X, labels = planted_clusters()
    found = g_means(X, critical=CRITICAL, min_size=10, random_state=0)
    assert pd.crosstab(labels, found).to_numpy().tolist() == np.diag([40, 40, 40]).tolist()


def test_g_means_does_not_split_normal_values():
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert g_means(X, critical=CRITICAL, min_size=5, random_state=0).max() == 0


def test_g_means_dissolves_small_clusters_into_the_nearest():
    rng = np.random.default_rng(0)
    # four rows far away, on the side of the second cloud
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 30, np.full((4, 2), 70.0)])
    split = g_means(X, critical=CRITICAL, min_size=2, random_state=0)
    assert len(np.unique(split)) == 3
    merged = g_means(X, critical=CRITICAL, min_size=10, random_state=0)
    assert len(np.unique(merged)) == 2
    assert set(merged[80:]) == set(merged[40:80])


def test_isac_picks_the_best_of_each_planted_cluster():
    X, labels = planted_clusters()
    P = np.random.default_rng(1).uniform(0, 0.3, size=(len(X), 5))
    P[np.arange(len(X)), np.array([4, 0, 2])[labels]] += 0.3
    learner = ISAC().fit(frame(P), frame(X))
    assert learner.centres_.shape == (3, 3)
    picks = learner.predict(frame(np.eye(3) * 12)).idxmax(axis=1)
    assert picks.tolist() == ["m4", "m0", "m2"]
    expected = [P[labels == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(learner.predict(frame(np.eye(3) * 12)), expected)


def test_isac_does_not_pick_a_model_without_value_in_the_cluster():
    X, labels = planted_clusters()
    P = np.tile([0.9, 0.5, 0.1], (len(X), 1))
    P[labels == 0, 0] = np.nan
    picks = ISAC().fit(frame(P), frame(X)).predict(frame(np.eye(3) * 12)).idxmax(axis=1)
    assert picks.tolist() == ["m1", "m0", "m0"]


def test_isac_with_one_cluster_is_global_best():
    rng = np.random.default_rng(0)
    P, M = frame(rng.uniform(size=(15, 4))), frame(rng.normal(size=(15, 2)))
    isac = ISAC(min_cluster_size=15).fit(P, M).predict(M)
    np.testing.assert_allclose(isac, GlobalBest().fit(P, M).predict(M))


@pytest.mark.parametrize("params", [{"critical": 0}, {"min_cluster_size": "many"}], ids=str)
def test_isac_refuses_bad_parameters(params):
    with pytest.raises(BadParameter, match=next(iter(params))):
        ISAC(**params).fit(np.ones((2, 2)), np.ones((2, 1)))
