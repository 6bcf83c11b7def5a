"""The scaling ``whitened``: what it makes of a table, also of odd ones, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_matrices import ANY_FINITE
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from metaod.errors import UserError
from metaod.models import CellState, ModelSpec, average_of, fit_scaling, model_space, score_models
from metaod.models._robust_covariance import core_gaussian
from metaod.models._scaling import CLIP, CORE, WIDEST

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


def core_of(X):
    """The innermost rows, by robust Mahalanobis distance."""
    robust = fit_scaling("robust", X).transform(X)
    return core_gaussian(robust / robust.std(axis=0), CORE)[1]


def assert_white(values):
    n_columns = values.shape[1]
    covariance = np.cov(values, rowvar=False, bias=True).reshape(n_columns, n_columns)
    np.testing.assert_allclose(covariance, np.eye(n_columns), atol=1e-9)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-9)


@DERANDOMIZED
@given(seeds, st.integers(1, 12))
def test_the_innermost_rows_have_uncorrelated_columns_of_variance_1(seed, n_columns):
    X = gaussian(seed, n_columns=n_columns)
    core = core_of(X)
    assert core.mean() == pytest.approx(0.75, abs=0.01)
    assert_white(whitened(X)[core])
    # and nearly so do all rows that a Gaussian made, but for what the outer ones add
    variances = whitened(X).var(axis=0)
    assert 1 < variances.min() <= variances.max() < 4


@DERANDOMIZED
@given(seeds, st.integers(1, 29))  # from a tenth of the rows on they set the 10-90 % range
def test_outliers_do_not_count(seed, n_outliers):
    X = gaussian(seed)
    X[:n_outliers] *= 1e6
    core = core_of(X)
    assert not core[:n_outliers].any()
    scaled = whitened(X)
    assert_white(scaled[core])
    # they are cut, and still outside
    assert np.abs(scaled).max() <= CLIP
    lengths = np.linalg.norm(scaled, axis=1)
    assert lengths[:n_outliers].min() > np.quantile(lengths[n_outliers:], 0.95)


def test_by_hand():
    # all rows are near the bulk, whose middle is 0; the nearest 75 % reach from -4 to 4
    x = np.arange(-5.0, 6.0)
    [scaled] = whitened(x[:, np.newaxis] * 1000 + 7).T
    np.testing.assert_allclose(np.abs(scaled), np.abs(x) / np.sqrt(60 / 9), atol=1e-12)


@DERANDOMIZED
@given(seeds, st.permutations(range(4)), st.lists(st.sampled_from([-3.0, 0.01, 1e5]), min_size=4))
def test_distances_depend_on_no_order_sign_or_unit_of_the_columns(seed, order, factors):
    X = gaussian(seed, n_rows=60)
    other = (X * factors[:4])[:, order]
    np.testing.assert_allclose(pdist(whitened(other)), pdist(whitened(X)), rtol=1e-6)


@DERANDOMIZED
@given(seeds, st.integers(1, 3))
def test_a_column_given_again_hardly_changes_distances(seed, n_copies):
    X = gaussian(seed)
    again = np.column_stack([X, *[2 * X[:, 0] + 1] * n_copies])
    # the most concentrated half has a few rows more where there are more columns
    assert spearmanr(pdist(whitened(again)), pdist(whitened(X))).statistic > 0.98


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
    variances = np.sort(whitened(X)[core_of(X)].var(axis=0))
    # last bits decide from where in such a plane the search for the core starts, and so about a few
    # rows at its rim
    np.testing.assert_allclose(variances[-rank:], 1, rtol=0.1)
    assert variances[:-rank].max(initial=0) < 1e-20


def test_a_nearly_flat_direction_is_stretched_a_thousandfold_at_most():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    X = np.column_stack([x, x + 1e-6 * rng.normal(size=500)])
    flat, full = np.sort(whitened(X)[core_of(X)].std(axis=0))
    assert full == pytest.approx(1)
    assert flat < 2e-3


def test_rows_beside_the_plane_of_the_others_are_far_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X = np.column_stack([X, X.sum(axis=1)])
    X[0, 2] += 0.5
    lengths = np.linalg.norm(whitened(X), axis=1)
    assert lengths.argmax() == 0
    assert lengths[0] >= CLIP


@DERANDOMIZED
@given(ANY_FINITE)
def test_any_finite_matrix_gives_finite_values_or_a_clear_error(X):
    try:
        fitted = fit_scaling("whitened", X)
    except UserError as error:
        assert "constant" in str(error) or "whitening" in str(error)
        return
    scaled = fitted.transform(X)
    assert np.abs(scaled).max() <= CLIP
    assert np.ptp(scaled, axis=0).max() > 0
    assert fitted.kept.tolist() == fit_scaling("zscore", X).kept.tolist()


# models on it


def test_too_many_columns_are_refused_in_one_line():
    X = np.random.default_rng(0).normal(size=(310, WIDEST + 1))
    for spec in MODELS:
        with pytest.raises(UserError, match="300 columns"):
            spec.to_pyod().fit(X)
    plain = ModelSpec.parse("KNN(n_neighbors=20, method=largest)")
    for item in score_models(X, [*MODELS, plain]):
        if item.spec == plain:
            assert item.state == CellState.OK
        else:
            assert item.state in {CellState.FAILED, CellState.NOT_APPLICABLE}


@DERANDOMIZED
@given(seeds, st.integers(2, 16), st.integers(1, 6))
def test_what_is_refused_was_foreseen_and_nothing_else(seed, n_rows, n_columns):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    reason = ModelSpec("KDE", {}, "whitened").why_not(n_rows, n_columns)
    assert (reason is None) == (n_rows >= 2 * n_columns + 2)
    if reason is None:
        assert np.isfinite(whitened(X)).all()
    else:
        with pytest.raises(UserError) as error:
            whitened(X)
        assert error.value.what == reason


def test_wide_tables_are_foreseen_whatever_the_model():
    for spec in MODELS:
        reason = spec.why_not(5000, WIDEST + 1)
        assert str(WIDEST) in reason
        assert spec.why_not(5000, WIDEST) is None
    plain = ModelSpec.parse("KNN(n_neighbors=20, method=largest)")
    assert plain.why_not(5000, WIDEST + 1) is None
    assert average_of(plain, MODELS[0]).why_not(5000, WIDEST + 1) == reason
    # what the detector says comes first
    assert "n_neighbors=300" in ModelSpec("KNN", {"n_neighbors": 300}, "whitened").why_not(9, 400)
