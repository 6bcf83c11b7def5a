"""The scaling ``whitened``: what it makes of a table, also of odd ones, and what it refuses."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_matrices import ANY_FINITE
from scipy.spatial.distance import pdist

from metaod.detectors import ModelSpec, model_space
from metaod.detectors.kernels.base import CellState
from metaod.detectors.scaling import CLIP, INNER, WIDEST, FittedScaling, fit_scaling
from metaod.detectors.scoring import score_models
from metaod.errors import UserError

MODELS = [spec for spec in model_space("extended") if spec.scaling == "whitened"]
DERANDOMIZED = settings(derandomize=True, deadline=None, max_examples=40)

seeds = st.integers(0, 2**32 - 1)


def gaussian(seed, n_rows=300, n_columns=4):
    """Correlated columns of other units, no direction of which is nearly flat."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    mixing = rng.uniform(0.2, 2, size=n_columns)[:, None] * turn
    units = 10.0 ** rng.integers(-6, 7, size=n_columns)
    return rng.normal(size=(n_rows, n_columns)) @ mixing * units + 3 * units


def whitened(X):
    return fit_scaling("whitened", X).transform(X)


@DERANDOMIZED
@given(seeds, st.integers(1, 12))
def test_gaussian_rows_have_uncorrelated_columns_of_variance_1(seed, n_columns):
    X = gaussian(seed, n_columns=n_columns)
    covariance = np.cov(whitened(X), rowvar=False, bias=True).reshape(n_columns, n_columns)
    np.testing.assert_allclose(covariance, np.eye(n_columns), atol=1e-9)


@DERANDOMIZED
@given(seeds, st.integers(1, 20))
def test_outliers_do_not_count_beyond_the_inner_part(seed, n_outliers):
    X = gaussian(seed)
    X[:n_outliers] *= 1e6
    fitted = fit_scaling("whitened", X)
    robust = fit_scaling("robust", X).transform(X)
    inner = np.clip(robust, -INNER, INNER) @ fitted.turn
    np.testing.assert_allclose(np.cov(inner, rowvar=False, bias=True), np.eye(4), atol=1e-9)
    # what is turned is cut at ±20 only, so that outliers stay outside
    np.testing.assert_allclose(fitted.transform(X), robust @ fitted.turn, rtol=1e-12, atol=1e-12)
    assert np.abs(robust).max() == CLIP
    lengths = np.linalg.norm(fitted.transform(X) - np.median(fitted.transform(X), axis=0), axis=1)
    assert lengths[:n_outliers].min() > np.quantile(lengths[n_outliers:], 0.95)


def test_by_hand():
    # 10-90 % ranges of 1.6 and 3.2: robust values (-.625, -.3125, 0, .3125, .625), twice the same
    x = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    [first, second] = whitened(np.column_stack([x, 2 * x])).T
    np.testing.assert_allclose(first, 0, atol=1e-13)
    np.testing.assert_allclose(np.abs(second), np.abs(x - 1) / x.std(), rtol=1e-12, atol=1e-12)


@DERANDOMIZED
@given(seeds, st.permutations(range(4)), st.lists(st.sampled_from([-3.0, 0.01, 1e5]), min_size=4))
def test_distances_depend_on_no_order_sign_or_unit_of_the_columns(seed, order, factors):
    X = gaussian(seed, n_rows=60)
    other = (X * factors[:4])[:, order]
    np.testing.assert_allclose(pdist(whitened(other)), pdist(whitened(X)), rtol=1e-6)


@DERANDOMIZED
@given(seeds, st.integers(1, 3))
def test_a_column_given_again_changes_no_distance(seed, n_copies):
    X = gaussian(seed, n_rows=60)
    again = np.column_stack([X, *[2 * X[:, 0] + 1] * n_copies])
    np.testing.assert_allclose(pdist(whitened(again)), pdist(whitened(X)), rtol=1e-6)


def test_rows_given_again_are_the_same_rows():
    X = gaussian(0, n_rows=61)
    again = whitened(np.repeat(X, 5, axis=0))
    np.testing.assert_allclose(again, np.repeat(again[::5], 5, axis=0), atol=1e-12)
    # the quantiles of copies lie between other rows, which changes no more than that
    np.testing.assert_allclose(pdist(again[::5]), pdist(whitened(X)), rtol=0.1)


def test_constant_columns_are_dropped():
    X = gaussian(0)
    wider = np.column_stack([np.full(300, 7.0), X, np.full(300, -0.5)])
    fitted = fit_scaling("whitened", wider)
    assert fitted.kept.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(fitted.transform(wider), whitened(X))
    with pytest.raises(UserError, match="every column is constant"):
        fit_scaling("whitened", np.ones((9, 3)))


@pytest.mark.parametrize(
    "rank", [1, 2, 5], ids=["in a line", "in a plane", "in five of the dimensions"]
)
def test_directions_without_extent_stay_small(rank):
    rng = np.random.default_rng(rank)
    X = rng.normal(size=(100, rank)) @ rng.normal(size=(rank, 8))
    variances = np.sort(whitened(X).var(axis=0))
    np.testing.assert_allclose(variances[-rank:], 1, rtol=1e-9)
    assert variances[:-rank].max(initial=0) < 1e-20


def test_more_columns_than_rows_is_no_obstacle():
    X = np.random.default_rng(0).normal(size=(20, 60))
    scaled = whitened(X)
    assert scaled.shape == (20, 60)
    # all that 20 rows can span
    assert (scaled.var(axis=0) > 0.5).sum() == 19
    assert np.isfinite(scaled).all()


def test_a_nearly_flat_direction_is_stretched_a_hundredfold_at_most():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    X = np.column_stack([x, x + 1e-6 * rng.normal(size=500)])
    flat, full = np.sort(whitened(X).std(axis=0))
    assert full == pytest.approx(1)
    assert flat < 1e-3


@DERANDOMIZED
@given(ANY_FINITE)
def test_any_finite_matrix_gives_finite_values_or_a_clear_error(X):
    try:
        fitted = fit_scaling("whitened", X)
    except UserError as error:
        assert "constant" in str(error)
        return
    scaled = fitted.transform(X)
    assert np.isfinite(scaled).all()
    assert np.ptp(scaled, axis=0).max() > 0
    assert fitted.kept.tolist() == fit_scaling("zscore", X).kept.tolist()
    again = FittedScaling.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert again.to_dict() == fitted.to_dict()
    np.testing.assert_array_equal(again.transform(X), scaled)


# models on it


@pytest.mark.parametrize("spec", MODELS, ids=str)
@settings(derandomize=True, deadline=None, max_examples=10)
@given(seed=seeds, n_columns=st.integers(1, 6))
def test_a_row_has_the_same_score_whatever_comes_with_it(spec, seed, n_columns):
    X = gaussian(seed, n_rows=120, n_columns=n_columns)
    new = gaussian(seed + 1, n_rows=9, n_columns=n_columns)
    new[0] = 1e300
    detector = spec.to_pyod().fit(X)
    together = detector.decision_function(new)
    alone = np.concatenate([detector.decision_function(row[None]) for row in new])
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(detector.decision_function(new[::-1])[::-1], together, rtol=1e-9)


TABLES = {
    "plain": gaussian(0, n_rows=160),
    "one column": gaussian(1, n_rows=160, n_columns=1),
    "a constant column": np.column_stack([gaussian(2, n_rows=160), np.full(160, 4.0)]),
    "columns that add up": np.column_stack([X := gaussian(3, n_rows=160), X.sum(axis=1)]),
    "a column twice": np.column_stack([X, X[:, 0]]),
    "rows five times": np.repeat(gaussian(4, n_rows=32), 5, axis=0),
    "wide": np.random.default_rng(5).normal(size=(110, 200)),
}


@pytest.mark.parametrize("name", list(TABLES))
def test_kernels_give_what_the_detector_gives(name):
    scored = {item.spec: item for item in score_models(TABLES[name], MODELS)}
    assert scored.keys() == set(MODELS)
    for spec, item in scored.items():
        assert (item.state, item.reason) == (CellState.OK, "")
        expected = spec.to_pyod().fit(TABLES[name]).decision_scores_
        np.testing.assert_allclose(item.scores, expected, rtol=1e-9, atol=1e-9)


def test_too_many_columns_are_refused_in_one_line():
    X = np.random.default_rng(0).normal(size=(120, WIDEST + 1))
    for spec in MODELS:
        with pytest.raises(UserError) as error:
            spec.to_pyod().fit(X)
        assert str(error.value) == (
            "whitening takes at most 300 columns, the table has 301; choose another scaling"
        )
    plain = ModelSpec.parse("KNN(n_neighbors=20, method=largest)")
    for item in score_models(X, [*MODELS, plain]):
        if item.spec == plain:
            assert item.state == CellState.OK
        else:
            assert item.state in {CellState.FAILED, CellState.NOT_APPLICABLE}
            assert "whitening takes at most 300 columns, the table has 301" in item.reason


def test_constant_columns_do_not_count_towards_the_most():
    X = np.random.default_rng(0).normal(size=(40, WIDEST + 1))
    X[:, 7] = 1.0
    assert whitened(X).shape == (40, WIDEST)
