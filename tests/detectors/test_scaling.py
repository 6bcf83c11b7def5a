"""The z-score: as scikit-learn's on ordinary data, and safe where that one overflows."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import StandardScaler

from metaod.detectors.scaling import FittedScaling, fit_scaling
from metaod.errors import BadParameter, UserError


def test_zscore_is_scikit_learns():
    X = np.random.default_rng(0).lognormal(size=(200, 5))
    scaled = fit_scaling("zscore", X).transform(X)
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(X), rtol=1e-12, atol=1e-13)


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


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 4)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_any_finite_matrix_gives_finite_zscores_or_a_clear_error(X):
    try:
        fitted = fit_scaling("zscore", X)
    except UserError as error:
        assert "constant" in str(error)
        return
    scaled = fitted.transform(X)
    assert np.isfinite(scaled).all()
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-6)
    again = FittedScaling.from_dict(json.loads(json.dumps(fitted.to_dict())))
    assert np.array_equal(again.transform(X), scaled)


def test_none_only_drops_constants():
    X = np.column_stack([np.arange(5.0), np.ones(5)])
    np.testing.assert_array_equal(fit_scaling("none", X).transform(X), X[:, :1])


def test_unknown_scaling_and_wrong_width_are_refused():
    X = np.eye(3)
    with pytest.raises(BadParameter, match="scaling"):
        fit_scaling("minmax", X)
    with pytest.raises(BadParameter, match="3 columns"):
        fit_scaling("zscore", X).transform(X[:, :2])
