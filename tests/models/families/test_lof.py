"""LOF from the shared search: PyOD's scores; with ties, those of the definition."""

import numpy as np
import pytest

from metaod.models import Budget, Mode, ModelSpec, family, lof_scores, specs_of
from metaod.models._neighbours import NEIGHBOURS
from metaod.models._search import nearest

SCORER = NEIGHBOURS
SAMPLE = [spec for spec in specs_of(family("LOF")) if dict(spec.params)["n_neighbors"] % 20 != 15]


def score(X, specs, mode):
    return list(SCORER.score(X, specs, trials=1, mode=mode, budget=Budget()))


def test_the_exact_mode_equals_pyod_on_every_table(table, scaled):
    X = scaled(table)
    for item in score(X, [spec for spec in SAMPLE if spec.applies(*X.shape)], Mode.EXACT):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9)


@pytest.mark.parametrize("table", ["plain", "constant column", "wide", "tiny"], indirect=True)
def test_the_fast_mode_equals_pyod_where_no_distances_are_tied(table, scaled):
    X = scaled(table)
    for item in score(X, [spec for spec in SAMPLE if spec.applies(*X.shape)], Mode.FAST):
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_tied_distances_are_taken_in_order_of_index(metric):
    X = np.random.default_rng(5).integers(0, 3, size=(80, 3)).astype(float)
    found, k = nearest(X, 30, metric), 12
    reach = np.maximum(found.distances[:, :k], found.distances[found.indices[:, :k], k - 1])
    density = 1 / (reach.mean(axis=1) + 1e-10)
    expected = (density[found.indices[:, :k]] / density[:, np.newaxis]).mean(axis=1)
    np.testing.assert_allclose(lof_scores(found, k), expected, rtol=1e-12)


def test_more_equal_rows_than_neighbours_give_finite_factors():
    X = np.vstack([np.zeros((10, 2)), np.ones((1, 2))])
    scores = lof_scores(nearest(X, 3, "euclidean"), 3)
    np.testing.assert_allclose(scores[:10], 1.0)
    assert scores[10] > 1e9


def test_fewer_neighbours_than_were_searched():
    X = np.random.default_rng(6).normal(size=(40, 3))
    deep, shallow = nearest(X, 30, "euclidean"), nearest(X, 4, "euclidean")
    np.testing.assert_array_equal(lof_scores(deep, 4), lof_scores(shallow, 4))
    np.testing.assert_array_equal(deep.distances[:, :4], shallow.distances)


def test_the_three_metrics_of_the_grid():
    X = np.random.default_rng(8).normal(size=(40, 3))
    params = [
        {"n_neighbors": 5, "metric": name} for name in ("euclidean", "minkowski", "manhattan")
    ]
    items = score(X, [ModelSpec("LOF", item) for item in params], Mode.FAST)
    by_metric = {dict(item.spec.params)["metric"]: item.scores for item in items}
    np.testing.assert_array_equal(by_metric["euclidean"], by_metric["minkowski"])
    assert not np.allclose(by_metric["euclidean"], by_metric["manhattan"])
