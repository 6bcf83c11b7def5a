"""Statistics of pairs of models against numpy, scipy and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from research.score_pairs import N_FEATURES, ScorePairs, unit_scores

NAMES = [
    "correlation",
    "tail",
    "overlap",
    "kurtosis",
    "positive",
    "absolute",
    "ap",
    "auc",
    "distance",
    "cosine",
    "family",
    "std",
    "entropy",
    "centrality",
    "first_std",
    "first_entropy",
    "first_centrality",
    "first_kurtosis",
    "first_skewness",
]


@pytest.fixture(scope="module")
def made():
    scores = np.random.default_rng(0).gamma(2.0, size=(5, 80))
    scores[3] = scores[0] + 0.3 * scores[1]
    return scores, ScorePairs.of(scores, ["A", "A", "B", "B", "C"])


def test_every_feature_is_what_a_plain_computation_gives(made):
    scores, pairs = made
    unit = unit_scores(scores)
    found = pairs.features(1)
    assert found.shape == (5, N_FEATURES) == (5, len(NAMES))
    top = [set(np.argsort(-row)[:8]) for row in unit]
    mean = unit.mean(axis=0)
    for q in range(5):
        union = sorted(top[1] | top[q])
        p, c = unit[1], unit[q]
        gap = (c - p)[union]
        is_top = np.isin(np.arange(80), list(top[1]))
        shares = np.histogram(c, bins=10, range=(0, 1))[0] / 80
        first = np.histogram(p, bins=10, range=(0, 1))[0] / 80
        expected = [
            np.corrcoef(p, c)[0, 1],
            np.corrcoef(p[union], c[union])[0, 1],
            len(top[1] & top[q]) / len(union),
            stats.kurtosis(c) / max(stats.kurtosis(p), 1e-3),
            np.maximum(gap, 0).mean(),
            np.abs(gap).mean(),
            average_precision_score(is_top, c),
            roc_auc_score(is_top, c),
            np.sqrt(((np.sort(p) - np.sort(c)) ** 2).mean()),
            1 - p @ c / (np.linalg.norm(p) * np.linalg.norm(c)),
            float(q in (0, 1)),
            c.std(),
            stats.entropy(shares),
            np.corrcoef(c, mean)[0, 1],
            p.std(),
            stats.entropy(first),
            np.corrcoef(p, mean)[0, 1],
            stats.kurtosis(p),
            stats.skew(p),
        ]
        assert dict(zip(NAMES, found[q], strict=True)) == pytest.approx(
            dict(zip(NAMES, expected, strict=True)), abs=1e-7
        )


def test_pagerank_is_the_fixed_point_and_hits_the_leading_vector(made):
    _, pairs = made
    rank, hits, mean = pairs.centralities().T
    links = np.abs(pairs.correlation)
    assert_allclose(rank, 0.03 + 0.85 * (links / links.sum(axis=0)) @ rank)
    assert_allclose(links @ hits / (links @ hits).sum(), hits)
    assert_allclose(mean, pairs.correlation.mean(axis=1))


def test_missing_and_constant_models_leave_the_others_unchanged(made):
    scores, pairs = made
    more = np.vstack([scores, np.full((1, 80), np.nan), np.ones((1, 80))])
    found = ScorePairs.of(more, ["A", "A", "B", "B", "C", "C", "C"])
    assert found.present.tolist() == [True] * 5 + [False, True]
    keep = [i for i, name in enumerate(NAMES) if "centrality" not in name]
    assert_allclose(found.features(1)[:5][:, keep], pairs.features(1)[:, keep])
    assert np.isfinite(found.features(6)).all()
    assert np.isfinite(found.centralities()).all()
    assert np.isfinite(found.profile()).all()


def test_scores_keep_their_order_and_infinities_are_cut():
    found = unit_scores(np.array([[1.0, np.inf, 3.0, -np.inf]]))
    assert found.argsort().tolist() == [[3, 0, 2, 1]]
    assert (found.min(), found.max()) == (0, 1)
