"""The `scores` schema: invariances, and features of unusual tables."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from metaod.metafeatures import LandmarkerRuns, extract, schema

NAMES = schema("scores").names
# iForest and LODA draw rows and columns by position; overall agreement includes them
SEEDED = {feature.name for feature in schema("scores").groups["agreement overall"]}
FIXED = np.array(
    [not {"iforest", "loda"} & set(name.split("_")) and name not in SEEDED for name in NAMES]
)

quick = settings(derandomize=True, deadline=None, max_examples=25)
seeds = st.integers(0, 2**16)


def values_of(X):
    return extract(X, "scores").values


def drawn(seed):
    """A table without ties, of two clusters and some heavy tails."""
    random = np.random.default_rng(seed)
    n_rows, n_columns = int(random.integers(25, 90)), int(random.integers(1, 7))
    X = random.standard_t(4, size=(n_rows, n_columns))
    X[: n_rows // 3] += 4 * random.standard_normal(n_columns)
    return X, random


@quick
@given(seeds)
def test_positive_scaling_and_shifts_change_nothing(seed):
    assert FIXED.sum() > 60
    X, random = drawn(seed)
    factors = 10 ** random.uniform(-3, 3, X.shape[1])
    moved = X * factors + factors * random.standard_normal(X.shape[1])
    # a row on a float32 threshold of a forest may move, so the tolerance is larger for all features
    np.testing.assert_allclose(values_of(moved)[FIXED], values_of(X)[FIXED], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values_of(moved), values_of(X), rtol=0.1, atol=0.1)


@quick
@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(2, 30), st.integers(1, 5)),
        elements=st.integers(-3, 3).map(float),
    ),
    st.integers(-40, 40),
)
def test_powers_of_two_change_no_bit_even_with_ties(X, exponent):
    np.testing.assert_array_equal(values_of(X * 2.0**exponent), values_of(X))


@quick
@given(seeds)
def test_order_of_rows_and_columns_changes_no_deterministic_feature(seed):
    X, random = drawn(seed)
    shuffled = X[random.permutation(len(X))][:, random.permutation(X.shape[1])]
    np.testing.assert_allclose(
        values_of(shuffled)[FIXED], values_of(X)[FIXED], rtol=1e-5, atol=1e-6
    )


def awkward():
    random = np.random.default_rng(3)
    plain = random.standard_normal((60, 3))
    yield "two rows", np.array([[0.0, 1.0], [1.0, 1.0]])
    yield "three equal rows and one", np.array([[0.0], [0.0], [0.0], [1.0]])
    yield "a constant column", np.column_stack([plain, np.full(60, 7.0)])
    yield "a column twice", np.column_stack([plain, plain[:, 0]])
    yield "binary", random.integers(0, 2, size=(200, 5)).astype(float)
    yield "one row apart", np.eye(300)[:, :1]
    yield "more columns than rows", random.standard_normal((12, 400))
    yield "1,555 columns", random.standard_normal((40, 1555))
    yield "huge", plain * 1e300
    yield "tiny", plain * 1e-300
    yield "one huge value", np.vstack([plain, [1e300, 0, 0]])
    yield "long", random.standard_normal((12_000, 3))


AWKWARD = dict(awkward())


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = values_of(AWKWARD[name])
    assert not np.isinf(values).any()
    assert np.isfinite(values).any()


def test_all_is_undefined_without_a_varying_column():
    assert np.isnan(values_of(np.ones((10, 3)))).all()


def test_stability_needs_two_seeds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = AWKWARD["a column twice"]
        values = extract(X, "scores", runs=LandmarkerRuns(X, n_seeds=1)).values
    seeded = ["_seed_" in name for name in NAMES]
    np.testing.assert_array_equal(np.isnan(values), seeded)


def value(X, name):
    return float(values_of(X)[NAMES.index(name)])


def test_features_distinguish_kinds_of_outliers():
    random = np.random.default_rng(5)
    cloud = random.standard_normal((380, 2))
    angles = random.uniform(0, 2 * np.pi, 20)
    clump = np.vstack([cloud, 9 + 0.2 * random.standard_normal((20, 2))])
    ring = np.vstack([cloud, 12 * np.column_stack([np.cos(angles), np.sin(angles)])])
    for landmarker in ("iforest", "hbos", "loda"):
        for feature in ("top_clumped", "top_one_sided"):
            name = f"{landmarker}_{feature}"
            assert value(clump, name) > value(ring, name) + 0.2
    assert value(clump, "island_share") >= 0.05
    # rows off a line but within the range of every column: only neighbours show them
    t = random.uniform(-1, 1, 400)
    line = np.column_stack([t, t + 0.01 * random.standard_normal(400)])
    line[:20, 1] += random.choice([-0.3, 0.3], 20)
    assert value(line, "lof_top_remoteness") < value(ring, "lof_top_remoteness")
    assert value(line, "spearman_global_local") < value(ring, "spearman_global_local")
    assert value(line, "lid_median") < value(cloud, "lid_median")
