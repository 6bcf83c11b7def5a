"""kNN from the shared search: PyOD's scores."""

import numpy as np
import pytest

from metaod.models import Budget, CellState, Mode, ModelSpec, family, specs_of
from metaod.models._neighbours import NEIGHBOURS

SCORER = NEIGHBOURS


@pytest.mark.parametrize("mode", list(Mode))
def test_the_grid_equals_pyod_on_every_table(table, scaled, mode):
    X = scaled(table)
    grid = [spec for spec in specs_of(family("KNN")) if spec.applies(*X.shape)]
    results = list(SCORER.score(X, grid, trials=1, mode=mode, budget=Budget()))
    assert {item.state for item in results} == {CellState.OK}
    assert {item.spec for item in results} == set(grid)
    for item in results:
        expected = item.spec.to_pyod().fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-12)


def test_defaults_are_pyods():
    X = np.random.default_rng(3).normal(size=(30, 2))
    spec = ModelSpec("KNN", scaling="none")
    [item] = SCORER.score(X, [spec], trials=1, mode=Mode.FAST, budget=Budget())
    np.testing.assert_allclose(item.scores, spec.to_pyod().fit(X).decision_scores_, rtol=1e-12)
