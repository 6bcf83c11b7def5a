"""ABOD from the shared search: PyOD's scores, every size in one pass."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.models import Budget, CellState, Mode, ModelSpec, UndefinedScores, family, specs_of
from metaod.models._neighbours import NEIGHBOURS
from metaod.models._search import nearest
from metaod.models.families.abod import abod_scores

SCORER = NEIGHBOURS
# PyOD's own ABOD takes long with more neighbours than these
SMALL = [spec for spec in specs_of(family("ABOD")) if dict(spec.params)["n_neighbors"] <= 15]


def score(X, specs, mode=Mode.FAST):
    return list(SCORER.score(X, specs, trials=1, mode=mode, budget=Budget()))


def pyods(spec, table):
    try:
        return spec.to_pyod().fit(table).decision_scores_
    except UndefinedScores:
        return np.full(len(table), np.nan)


@pytest.mark.filterwarnings(
    "ignore:Mean of empty slice", "ignore:invalid value", "ignore:Degrees", "ignore:ABOD"
)
def test_the_exact_mode_equals_pyod_on_every_table(table, scaled):
    X = scaled(table)
    for item in score(X, [spec for spec in SMALL if spec.applies(*X.shape)], Mode.EXACT):
        expected = pyods(item.spec, table)
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-25)


@pytest.mark.parametrize("table", ["plain", "constant column", "wide", "tiny"], indirect=True)
def test_the_fast_mode_equals_pyod_where_no_distances_are_tied(table, scaled):
    X = scaled(table)
    for item in score(X, [spec for spec in SMALL if spec.applies(*X.shape)]):
        expected = pyods(item.spec, table)
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-25)


def plain_abod(X, i, neighbours):
    """The definition for one row: minus the variance of the weighted cosines."""
    away = [X[j] - X[i] for j in neighbours if (X[j] != X[i]).any()]
    cosines = [a @ b / (a @ a) / (b @ b) for t, b in enumerate(away) for a in away[:t]]
    return -np.var(cosines) if cosines else np.nan


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(5, 40), st.integers(1, 5), st.booleans())
def test_every_size_in_one_pass_is_the_definition(seed, n_rows, n_columns, tied):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    if tied:
        X = np.round(X)
    found = nearest(X, n_rows - 1, "euclidean")
    sizes = [n_rows - 1, 3, 1, 2, 4]  # in any order
    for k, scores in zip(sizes, abod_scores(X, found, sizes), strict=True):
        expected = [plain_abod(X, i, found.indices[i, : k - 1]) for i in range(n_rows)]
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-20)


def test_a_variance_far_below_the_mean_keeps_its_digits():
    # all neighbours lie in nearly the same direction at nearly the same distance
    rng = np.random.default_rng(9)
    X = np.vstack([np.zeros((1, 3)), [1.0, 1.0, 1.0] + 1e-4 * rng.normal(size=(60, 3))])
    found = nearest(X, 60, "euclidean")
    [scores] = abod_scores(X, found, [61])
    np.testing.assert_allclose(scores[0], plain_abod(X, 0, found.indices[0]), rtol=1e-9)


def test_rows_with_too_many_copies_have_no_score():
    X = np.vstack([np.zeros((6, 2)), np.random.default_rng(2).normal(size=(20, 2))])
    [item] = score(X, [ModelSpec("ABOD", {"n_neighbors": 5})])
    assert item.state == CellState.OK
    assert np.isnan(item.scores).tolist() == [True] * 6 + [False] * 20


def test_one_pair_has_no_variance():
    X = np.random.default_rng(1).normal(size=(20, 3))
    [item] = score(X, [ModelSpec("ABOD", {"n_neighbors": 3})])
    assert not item.scores.any()
