"""COF from the shared search: PyOD's scores, without its distances of all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from metaod.models import Budget, Mode, family, specs_of
from metaod.models._neighbours import NEIGHBOURS
from metaod.models._search import nearest
from metaod.models.families.cof import chaining_distances, cof_scores

SCORER = NEIGHBOURS
GRID = specs_of(family("COF"))


def score(X, mode):
    grid = [spec for spec in GRID if spec.applies(*X.shape)]
    return list(SCORER.score(X, grid, trials=1, mode=mode, budget=Budget()))


# PyOD divides by zero where rows are equal
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
def test_the_exact_mode_equals_pyod_on_every_table(table, scaled):
    for item in score(scaled(table), Mode.EXACT):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9)


@pytest.mark.parametrize("table", ["plain", "constant column", "wide", "tiny"], indirect=True)
def test_the_fast_mode_equals_pyod_where_no_distances_are_tied(table, scaled):
    for item in score(scaled(table), Mode.FAST):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9)


def plain_cof(X, k):
    """The definition, with ties in order of index."""
    distances = cdist(X, X)
    indices = nearest(X, k, "euclidean").indices
    chaining = np.zeros(len(X))
    for i, row in enumerate(indices):
        path = [i, *row]
        for t in range(k):
            cost = min(distances[path[t + 1], path[u]] for u in range(t + 1))
            chaining[i] += 2 * (k - t) / (k * (k + 1)) * cost
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(chaining * k / chaining[indices].sum(axis=1))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(4, 30), st.integers(1, 5), st.booleans())
def test_every_size_in_one_pass_is_the_definition(seed, n_rows, n_columns, tied):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    if tied:
        X = np.round(X)
    found = nearest(X, n_rows - 1, "euclidean")
    sizes = sorted({1, 2, n_rows // 2, n_rows - 1})
    for k, chaining in zip(sizes, chaining_distances(X, found, sizes), strict=True):
        np.testing.assert_allclose(
            cof_scores(chaining, found, k), plain_cof(X, k), rtol=1e-10, atol=1e-300
        )


def test_rows_without_chaining_distances_score_as_in_pyod():
    X = np.vstack([np.zeros((8, 2)), [[1.0, 0.0]]])
    found = nearest(X, 3, "euclidean")
    [chaining] = chaining_distances(X, found, [3])
    scores = cof_scores(chaining, found, 3)
    assert scores[:8].tolist() == [0.0] * 8
    assert scores[8] == np.finfo(np.float64).max
