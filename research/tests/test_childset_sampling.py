"""How many rows, and which outliers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.childsets.sampling import _locate_facilities, choose_outliers, count_rows

SHARES = [Fraction(text) for text in ("0.001", "0.005", "0.01", "0.05", "0.1", "0.37", "0.5")]


@pytest.mark.parametrize(
    ("n_normal", "n_candidates", "share", "expected"),
    [
        (3343, 1657, "0.005", (3008, 16)),  # wave_0661
        (1320, 990, "0.1", (1188, 132)),  # imgseg_1526
        (12332, 700, "0.05", (5700, 300)),  # magic.gamma_1411
        (2096, 2081, "0.05", (1886, 100)),  # abalone_1231
        (515, 515, "0.01", (463, 5)),  # concrete_1096
        (2788, 1813, "0.005", (2509, 13)),  # spambase_0681
        (4113, 2384, "0.005", (3701, 19)),  # wine_0611
        (5000, 23, "0.1", (207, 23)),  # landsat_1761: outliers run short
    ],
    ids=str,
)
def test_counts_of_the_papers_table(n_normal, n_candidates, share, expected):
    assert count_rows(n_normal, n_candidates, Fraction(share)) == expected


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.integers(1, 300_000),
    st.integers(1, 100_000),
    st.sampled_from(SHARES),
    st.integers(2, 10_000),
)
def test_counts_keep_the_share_and_what_there_is(n_normal, n_candidates, share, max_rows):
    normals, outliers = count_rows(n_normal, n_candidates, share, max_rows=max_rows)
    assert 1 <= normals <= n_normal
    assert 1 <= outliers <= n_candidates
    assert normals + outliers <= max_rows
    # as near to the share as a whole number of rows comes
    assert (outliers - 1) / share < normals + outliers + 1
    assert outliers >= (normals - 1) * share / (1 - share) - 1


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(1, 300_000), st.integers(1, 100_000))
def test_any_frequency_is_the_mothersets_own(n_normal, n_candidates):
    normals, outliers = count_rows(n_normal, n_candidates, None)
    assert 1 <= normals <= n_normal
    assert 1 <= outliers <= n_candidates
    own = n_candidates / (n_normal + n_candidates)
    rows = normals + outliers
    assert rows <= 6000
    assert abs(outliers / rows - own) <= 1.5 / rows


@pytest.mark.parametrize("clusteredness", ["any", "scattered", "clustered"])
def test_the_chosen_are_different_and_as_many_as_asked(clusteredness):
    X = np.random.default_rng(0).normal(size=(300, 3))
    for wanted in (1, 40, 300):
        chosen = choose_outliers(X, wanted, clusteredness, np.random.default_rng(1))
        assert len(np.unique(chosen)) == len(chosen) == wanted


@pytest.mark.parametrize("seed", range(5))
def test_clustered_outliers_lie_nearer_together_than_scattered_ones(seed):
    X = np.random.default_rng(seed).normal(size=(800, 5))
    between, left_far = {}, {}
    for clusteredness in ("clustered", "any", "scattered"):
        chosen = X[choose_outliers(X, 40, clusteredness, np.random.default_rng(seed))]
        distances = np.linalg.norm(chosen[:, None] - chosen, axis=2)
        np.fill_diagonal(distances, np.inf)
        between[clusteredness] = distances.min(axis=1).mean()
        left_far[clusteredness] = np.linalg.norm(X[:, None] - chosen, axis=2).min(axis=1).mean()
    assert between["clustered"] < 0.8 * min(between["any"], between["scattered"])
    # scattered ones represent all candidates, better than a draw does
    assert left_far["scattered"] < left_far["any"] < left_far["clustered"]


def test_facilities_are_those_of_the_plain_greedy_choice():
    X = np.random.default_rng(3).normal(size=(60, 2))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    nearest, expected = np.full(60, distances.max()), []
    for _ in range(20):
        gains = np.maximum(nearest - distances, 0).sum(axis=1)
        expected.append(int(np.argmax(gains)))
        nearest = np.minimum(nearest, distances[expected[-1]])
    assert _locate_facilities(X, 20).tolist() == expected


def test_facilities_among_equal_rows_are_different_rows():
    assert sorted(_locate_facilities(np.ones((5, 2)), 5)) == [0, 1, 2, 3, 4]
