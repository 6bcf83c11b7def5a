"""LODA from shared projections: PyOD's scores in exact mode, their distribution in fast mode."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from metaod.errors import UserError
from metaod.models import Budget, CellState, Mode, ModelSpec, family, specs_of
from metaod.models.families.loda import LODAScorer

SCORER = LODAScorer()
BUDGET = Budget()
GRID = specs_of(family("LODA"))
SAMPLE = GRID[::7]


def score(X, specs, trials=1, mode=Mode.FAST, budget=BUDGET):
    results = list(SCORER.score(X, specs, trials=trials, mode=mode, budget=budget))
    assert len({(item.spec, item.trial) for item in results}) == len(results)
    return {(item.spec, item.trial): item for item in results}


def test_exact_mode_equals_pyod(table, scaled):
    results = score(scaled(table), SAMPLE, trials=2, mode=Mode.EXACT)
    assert len(results) == 2 * len(SAMPLE)
    for (spec, seed), item in results.items():
        assert item.state == CellState.OK
        expected = spec.to_pyod(random_state=seed).fit(table).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_bins", [5, 30])
def test_fast_mode_has_pyods_distribution(table, scaled, n_bins):
    spec = ModelSpec("LODA", {"n_bins": n_bins, "n_random_cuts": 10})
    trials = 80
    results = score(scaled(table), [spec], trials=trials)
    ours = np.array([results[spec, seed].scores for seed in range(trials)])
    pyod = np.array(
        [
            spec.to_pyod(random_state=1000 + seed).fit(table).decision_scores_
            for seed in range(trials)
        ]
    )
    # few rows have few different scores, which must not differ by rounding alone
    ours, pyod = ours.round(9), pyod.round(9)
    for row in range(0, len(table), max(1, len(table) // 7)):
        assert ks_2samp(ours[:, row], pyod[:, row]).pvalue > 1e-4
    assert ks_2samp(ours.mean(axis=1), pyod.mean(axis=1)).pvalue > 1e-4


@pytest.mark.parametrize("mode", list(Mode))
def test_scores_do_not_depend_on_what_else_is_asked_for(table, scaled, mode):
    X = scaled(table)
    together = score(X, SAMPLE, mode=mode)
    for spec in SAMPLE:
        alone = score(X, [spec], mode=mode)
        np.testing.assert_array_equal(alone[spec, 0].scores, together[spec, 0].scores)


def test_larger_sizes_take_longer():
    specs = [ModelSpec("LODA", {"n_bins": 10, "n_random_cuts": size}) for size in (10, 200)]
    results = score(np.random.default_rng(0).normal(size=(500, 9)), specs)
    assert 0 < results[specs[0], 0].seconds < results[specs[1], 0].seconds


def test_where_pyod_raises_the_model_has_failed_with_its_words():
    X = (1 + np.finfo(float).eps * np.arange(61)).reshape(-1, 1)
    few, many = (
        ModelSpec("LODA", {"n_bins": n_bins, "n_random_cuts": 10}, scaling="none")
        for n_bins in (2, 200)
    )
    results = score(X, [few, many], mode=Mode.EXACT)
    assert results[few, 0].state == CellState.OK
    assert results[many, 0].state == CellState.FAILED
    with pytest.raises(UserError, match="Too many bins") as caught:
        many.to_pyod(random_state=0).fit(X)
    assert results[many, 0].reason == f"ValueError: {caught.value.__cause__}"


def test_only_numbers_of_bins_and_cuts_are_served():
    assert all(SCORER.serves(spec) for spec in GRID)
    assert SCORER.serves(ModelSpec("LODA"))
    for params in ({"n_bins": "auto"}, {"n_random_cuts": 0}, {"n_bins": 0}, {"n_bins": True}):
        assert not SCORER.serves(ModelSpec("LODA", params))


def test_over_budget_is_skipped_and_said():
    results = score(np.arange(40.0).reshape(20, 2), GRID[:2], trials=3, budget=Budget(seconds=1e-9))
    assert {item.state for item in results.values()} == {CellState.OVER_BUDGET}
    assert len(results) == 6
