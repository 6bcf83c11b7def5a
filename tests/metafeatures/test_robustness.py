"""Features of unusual tables: few rows, constants, huge and tiny values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from metaod.metafeatures import extract, schema
from metaod.metafeatures._column_features import MAX_PAIRED_COLUMNS

RANDOM = np.random.default_rng(11)
LANDMARKERS = ("iForest", "HBOS", "LODA", "PCA")
OF_LANDMARKERS = [
    feature.name
    for group, features in schema("paper").groups.items()
    if group.startswith(LANDMARKERS)
    for feature in features
]
NORMAL = RANDOM.normal(size=(50, 3))

# undefined even for tables of continuous values with several columns and 8 rows or more
UNDEFINED_OF_CONTINUOUS = {
    # all values are distinct, all trees reach their depth, and what is constant by definition
    *(f"{stem}_{name}" for name in ("skewness", "kurtosis") for stem in (
        "sparsity", "iforest_depth", "iforest_importance_mean", "loda_projection_mean",
        "loda_histogram_mean", "entropy",
    )),
}  # fmt: skip


def undefined(X):
    values = extract(X)
    assert len(values) == len(schema("paper").names)
    assert not np.isinf(values.values).any()
    return {name for name, value in values.to_dict().items() if np.isnan(value)}


def test_features_of_an_ordinary_table_are_defined():
    assert undefined(RANDOM.normal(size=(500, 8)) + 1) == UNDEFINED_OF_CONTINUOUS


def test_one_row():
    values = extract(np.array([[1.0, 2.0, 4.0]]))
    assert values["sample_median"] == 2
    assert np.isnan(values["anova_p_mean"])
    assert np.isnan(values["entropy_mean"])


def test_landmarker_features_are_undefined_if_all_columns_are_constant():
    values = extract(np.full((20, 3), 0.1))
    assert np.isnan([values[name] for name in OF_LANDMARKERS]).all()
    assert values["sample_std"] == 0
    assert values["moment_6_max"] == 0
    assert values["entropy_mean"] == 0
    assert values["covariance_max"] == 0
    assert np.isnan(values["correlation_mean"])
    assert np.isnan(values["anova_p_mean"])


def test_constant_columns_do_not_change_landmarkers():
    with_constant = np.column_stack([NORMAL, np.full(50, 4.0)])
    first, second = extract(NORMAL), extract(with_constant)
    for name in OF_LANDMARKERS:
        assert_allclose(first[name], second[name], err_msg=name)


@pytest.mark.parametrize("size", [1e300, 1.7e308, 1e-300, 5e-320])
def test_huge_and_tiny_values(size):
    X = RANDOM.uniform(-1, 1, size=(60, 3)) * size
    values, ordinary = extract(X), extract(X / size)
    assert not np.isinf(values.values).any()
    precise = size > 1e-310
    for feature in schema("paper").features:
        if feature.scale_free and precise and not feature.name.startswith(("iforest", "loda")):
            assert_allclose(
                values[feature.name], ordinary[feature.name], rtol=1e-6, atol=1e-9,
                err_msg=feature.name,
            )  # fmt: skip
    for name in ("sample_mean", "sample_std", "sample_q75", "first_pc_std"):
        assert_allclose(values[name] / size, ordinary[name], rtol=1e-2, err_msg=name)
    if size > 1:
        # beyond the range of floating-point numbers
        assert np.isnan(values["sample_var"])
        assert np.isnan(values["moment_10_max"])


def test_huge_beside_ordinary_columns():
    X = np.column_stack([NORMAL[:, 0] * 1e300, NORMAL[:, 1], np.full(50, 1e308), NORMAL[:, 2]])
    values = extract(X)
    ordinary = extract(NORMAL)
    assert not np.isinf(values.values).any()
    # of ordinary columns' moments something is left, of the huge one's nothing
    assert values["moment_10_min"] == 0
    assert np.isnan(values["moment_10_max"])
    assert values["skewness_max"] == pytest.approx(ordinary["skewness_max"])
    assert values["correlation_min"] == pytest.approx(ordinary["correlation_min"])
    assert values["first_pc_share"] == pytest.approx(1)


def test_more_columns_than_are_paired():
    p = MAX_PAIRED_COLUMNS + 500
    X = RANDOM.normal(size=(6, p))
    X[:, : p // 2] += 100
    values = extract(X)
    assert values["n_columns"] == p
    # 2,000 evenly spaced columns: half of them lie at 100, and so half of the pairs are mixed
    assert values["anova_p_mean"] == pytest.approx(0.25, abs=0.03)
    assert values["first_pc_share"] > 0.1


def test_only_landmarkers_use_a_sample_of_a_long_table():
    X = RANDOM.normal(size=(100_000, 2))
    values = extract(X)
    assert values["n_rows"] == 100_000
    assert values["pca_singular_value_1"] == pytest.approx(100, rel=0.05)
    assert values["sample_mean"] == pytest.approx(X.mean())
