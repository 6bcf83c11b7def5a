"""Features do not depend on the order of rows and columns, nor on the unit of the values."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from metaod.metafeatures import extract, schema

quick = settings(derandomize=True, deadline=None, max_examples=25)

PAPER = schema("paper")
# they draw rows or columns by position
RANDOM = tuple(name for name in PAPER.names if name.startswith(("iforest", "loda")))
STEADY = tuple(name for name in PAPER.names if name not in RANDOM)
# sums that run row by row, and products of matrices, change by rounding; sorted ones by nothing
EXACT = tuple(
    name
    for name in STEADY
    if not name.startswith(("correlation", "covariance", "first_pc", "hbos", "pca"))
)


@st.composite
def tables(draw):
    """Continuous columns of many shapes: no value lies on a bin's edge but for its ends."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p = draw(st.integers(9, 80)), draw(st.integers(1, 7))
    X = random.normal(size=(n, p)) @ random.normal(size=(p, p))
    if draw(st.booleans()):
        X = np.exp(X / np.abs(X).max() * 4)
    return X * random.uniform(0.1, 100, size=p) + random.normal(size=p) * draw(
        st.sampled_from([0.0, 1.0, 100.0])
    )


# all finite numbers, and those that are most likely to be trouble
extremes = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 1.0, 1 + 1e-15, 1e16, 1e300, -1e300, 5e-324, 1.79e308, -1.79e308]),
)
numbers = st.one_of(
    st.floats(-1e3, 1e3, allow_subnormal=False), st.integers(-3, 3).map(float), st.just(0.0)
)


def matrices(elements):
    shapes = st.tuples(st.integers(1, 12), st.integers(1, 4))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=elements))


def values_of(features, names):
    return np.array([features[name] for name in names])


def assert_alike(first, second, names, *, rtol=1e-6, atol=1e-8):
    for name in names:
        assert_allclose(first[name], second[name], rtol=rtol, atol=atol, err_msg=name)


@quick
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    first, second = extract(X), extract(X[order])
    assert_alike(first, second, STEADY)
    assert values_of(first, EXACT).tobytes() == values_of(second, EXACT).tobytes()


@quick
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter(X, random):
    order = list(range(X.shape[1]))
    random.shuffle(order)
    assert_alike(extract(X), extract(np.ascontiguousarray(X[:, order])), STEADY)


@quick
@given(tables(), st.floats(1e-9, 1e9))
def test_scale_free_features_do_not_change_with_the_unit(X, factor):
    first, second = extract(X), extract(X * factor)
    names = [feature.name for feature in PAPER.features if feature.scale_free]
    steady = [name for name in names if name in STEADY]
    assert len(steady) > 90
    assert_alike(first, second, steady)


@quick
@given(tables(), st.integers(-900, 900))
def test_powers_of_two_change_no_bit_of_any_scale_free_feature(X, exponent):
    first, second = extract(X), extract(np.ldexp(X, exponent))
    names = [feature.name for feature in PAPER.features if feature.scale_free]
    assert set(RANDOM) <= set(names)
    assert values_of(first, names).tobytes() == values_of(second, names).tobytes()


def test_other_features_change_with_the_unit():
    X = np.random.default_rng(0).normal(size=(40, 3)) + 5
    first, second = extract(X), extract(3 * X)
    same = [
        feature.name
        for feature in PAPER.features
        if not feature.scale_free and first[feature.name] == pytest.approx(second[feature.name])
    ]
    # skewness and kurtosis of what scales with the table do not
    assert all(name.endswith(("_skewness", "_kurtosis")) for name in same)


@settings(quick, max_examples=100)
@given(matrices(extremes))
def test_no_value_is_infinite_and_nothing_is_raised_or_warned(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = extract(X, ("paper", "scores"))
    assert not np.isinf(values.values).any()
    bounded = values_of(values, [n for n in values.names if n.startswith(("spearman", "overlap"))])
    assert (np.isnan(bounded) | (np.abs(bounded) <= 1)).all()


@quick
@given(matrices(numbers))
def test_values_lie_within_their_bounds(X):
    values = extract(X)

    def within(name, low, high):
        assert np.isnan(values[name]) or low - 1e-9 <= values[name] <= high + 1e-9, name

    for name in PAPER.names:
        if name.startswith(("outside", "normality_p_m", "sparsity_m", "anova_p_m", "entropy_m")):
            within(name, 0, 1)
        if name.startswith("correlation_m"):
            within(name, -1, 1)
        if name.endswith("_kurtosis"):
            within(name, 1, np.inf)
        if name.endswith("_std"):
            within(name, 0, np.inf)
        if name.endswith("_mean") and f"{name[:-5]}_min" in PAPER.names:
            slack = 1e-9 * abs(values[name])
            stem = name[:-5]
            within(name, values[f"{stem}_min"] - slack, values[f"{stem}_max"] + slack)
