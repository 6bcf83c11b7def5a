"""Scalings: as defined on ordinary data, and safe where plain formulas overflow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_matrices import ANY_FINITE, SCALINGS
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler

from metaod.errors import BadParameter, UserError
from metaod.models import fit_scaling


def test_zscore_is_scikit_learns():
    X = np.random.default_rng(0).lognormal(size=(200, 5))
    scaled = fit_scaling("zscore", X).transform(X)
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(X), rtol=1e-12, atol=1e-13)


@given(st.floats(-1e6, 1e6), st.integers(2, 5000))
def test_a_constant_is_dropped_whatever_its_mean_is_rounded_to(value, n_rows):
    X = np.column_stack([np.arange(n_rows), np.full(n_rows, value)])
    assert fit_scaling("zscore", X).kept.tolist() == [0]


def test_constant_columns_are_dropped_also_when_only_rounding_differs():
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[:, 1] = 3.0
    X[:, 2] = np.where(np.arange(50) % 2, 0.1 + 0.2, 0.3)
    fitted = fit_scaling("zscore", X)
    assert fitted.kept.tolist() == [0, 3]
    assert fitted.transform(X).shape == (50, 2)


@pytest.mark.parametrize("factor", [1e300, 1e-300, 5e-320])
def test_huge_and_tiny_values_give_the_same_zscores(factor):
    # at 5e-320 only about four digits are left in a double
    X = np.random.default_rng(0).integers(-1000, 1000, size=(60, 2)).astype(float)
    X[0] = [1000, 1000]
    plain = fit_scaling("zscore", X).transform(X)
    scaled = fit_scaling("zscore", X * factor).transform(X * factor)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9 if factor > 1e-310 else 1e-2, atol=1e-2)


def test_an_unknown_scaling_is_refused():
    with pytest.raises(BadParameter, match="scaling"):
        fit_scaling("minmax", np.eye(3))


def mixed_table():
    rng = np.random.default_rng(1)
    columns = [
        rng.normal(size=200) * 5 + 3,
        rng.lognormal(0, 2, size=200),
        (np.arange(200) < 9) * 4.0,  # no 10-90 % range
        rng.integers(0, 3, size=200),
        np.append(rng.normal(size=199), 1e9),
    ]
    return np.column_stack(columns)


def test_robust_by_hand():
    X = mixed_table()
    scaled = fit_scaling("robust", X).transform(X)
    for c, column in enumerate(X.T):
        spread = np.quantile(column, 0.9) - np.quantile(column, 0.1)
        if c == 2:
            assert spread == 0
            spread = column.std()
        expected = np.clip((column - np.median(column)) / spread, -20, 20)
        np.testing.assert_allclose(scaled[:, c], expected, rtol=1e-12, atol=1e-13)
    assert scaled[-1, 4] == 20


def test_signed_log_by_hand():
    X = mixed_table()
    scaled = fit_scaling("signedlog", X).transform(X)
    for c in (0, 1, 3, 4):
        column = X[:, c]
        spread = np.quantile(column, 0.9) - np.quantile(column, 0.1)
        centred = (column - np.median(column)) / spread
        logs = np.sign(centred) * np.log1p(np.abs(centred))
        expected = (logs - logs.mean()) / logs.std()
        np.testing.assert_allclose(scaled[:, c], expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-12)


@pytest.mark.parametrize("name", ["robust", "signedlog"])
@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_other_scalings_do_not_depend_on_the_unit_of_a_column(name, factor):
    X = np.random.default_rng(0).lognormal(size=(60, 2))
    plain = fit_scaling(name, X).transform(X)
    np.testing.assert_allclose(
        fit_scaling(name, X * factor).transform(X * factor), plain, rtol=1e-9, atol=1e-9
    )


def test_a_range_of_rounding_is_no_range():
    X = np.where(np.arange(100) % 2, 0.1 + 0.2, 0.3)[:, None]
    X[:5] = 2.0
    scaled = fit_scaling("robust", X).transform(X)
    assert np.abs(scaled[5:]).max() < 1e-12
    assert 1 < scaled[0, 0] < 20


def test_new_rows_are_scaled_by_what_was_fitted_and_cut():
    X = mixed_table()
    fitted = fit_scaling("robust", X)
    np.testing.assert_array_equal(fitted.transform(X[:3]), fitted.transform(X)[:3])
    far = np.full((1, 5), -1e308)
    assert fitted.transform(far).tolist() == [[-20.0] * 5]
    logs = fit_scaling("signedlog", X)
    assert np.isfinite(logs.transform(far)).all()
    np.testing.assert_array_equal(logs.transform(X[:3]), logs.transform(X)[:3])


@pytest.mark.parametrize("name", ["zscore", "robust", "signedlog"])
@settings(derandomize=True, deadline=None, max_examples=100)
@given(ANY_FINITE)
def test_any_finite_matrix_gives_finite_values_that_vary_or_a_clear_error(name, X):
    try:
        fitted = fit_scaling(name, X)
    except UserError as error:
        assert "constant" in str(error)
        return
    scaled = fitted.transform(X)
    assert np.isfinite(scaled).all()
    assert (np.ptp(scaled, axis=0) > 0).all()
    assert fitted.kept.tolist() == fit_scaling("zscore", X).kept.tolist()
    if name == "robust":
        assert np.abs(scaled).max() <= 20
    else:
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
        np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-6)
    # a scaling keeps the order of a column's values, but for those that it cuts to the same
    first = X[:, fitted.kept[0]]
    assert (np.diff(scaled[np.argsort(first, kind="stable"), 0]) >= 0).all()


# columns in fixed units

NORMAL_RANGE = norm.ppf(0.9) - norm.ppf(0.1)


def with_fixed(n_rows=200, seed=0):
    """Return a matrix of two measured columns between two in fixed units."""
    rng = np.random.default_rng(seed)
    rare = np.where(rng.random(n_rows) < 0.02, 1.5, 0.1)
    X = np.column_stack([rare, rng.lognormal(size=(n_rows, 2)), rng.random(n_rows)])
    return X, np.array([True, False, False, True])


@pytest.mark.parametrize("name", SCALINGS)
def test_fixed_columns_are_shifted_and_come_last(name):
    X, fixed = with_fixed()
    scaled = fit_scaling(name, X, fixed).transform(X)
    measured = X[:, ~fixed]
    expected = fit_scaling(name, measured).transform(measured)
    np.testing.assert_array_equal(scaled[:, :2], expected)
    shifted = X[:, fixed] - X[:, fixed].mean(axis=0)
    if name == "robust":
        shifted /= NORMAL_RANGE
    if name == "signedlog":
        grid = norm.ppf((np.arange(200_000) + 0.5) / 200_000) / NORMAL_RANGE
        shifted = _signed_log(shifted / NORMAL_RANGE) / _signed_log(grid).std()
    np.testing.assert_allclose(scaled[:, 2:], shifted, rtol=1e-4, atol=1e-12)


def _signed_log(values):
    return np.sign(values) * np.log1p(np.abs(values))


@pytest.mark.parametrize("name", ["zscore", "robust", "signedlog", "none"])
def test_a_fixed_unit_is_a_standard_deviation_of_a_normal_column(name):
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    scaled = fit_scaling(name, X, np.array([False, True])).transform(X)
    assert scaled[:, 1].std() == pytest.approx(scaled[:, 0].std(), rel=0.05)


@pytest.mark.parametrize("name", SCALINGS)
def test_no_fixed_column_is_the_plain_scaling(name):
    X, _ = with_fixed()
    plain = fit_scaling(name, X).transform(X)
    np.testing.assert_array_equal(fit_scaling(name, X, np.zeros(4, bool)).transform(X), plain)


@pytest.mark.parametrize("name", SCALINGS)
@pytest.mark.parametrize("others", ["none", "constant", "rounding"])
def test_fixed_columns_suffice(name, others):
    X, fixed = with_fixed()
    X[:, ~fixed] = 0.3
    if others == "rounding":
        X[::2, 1] = 0.1 + 0.2
    if others == "none":
        X, fixed = X[:, fixed], np.ones(2, bool)
    scaled = fit_scaling(name, X, fixed).transform(X)
    assert scaled.shape == (200, 2)
    assert np.isfinite(scaled).all()


@pytest.mark.parametrize("name", SCALINGS)
def test_constant_columns_in_fixed_units_alone_are_refused(name):
    X = np.tile([0.5, 3.0], (50, 1))
    for fixed in ([True, False], [True, True]):
        with pytest.raises(UserError, match="every column is constant"):
            fit_scaling(name, X, np.array(fixed))
