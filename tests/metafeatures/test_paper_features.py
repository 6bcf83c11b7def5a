"""Each of the paper's features, compared with a slow, obvious implementation."""

import numpy as np
import plain_metafeatures as plain
import pytest
from numpy.testing import assert_allclose

from metaod.metafeatures import extract, schema

PAPER_FEATURES = schema("paper").features
RANDOM_LANDMARKERS = ("iforest", "loda")
# two values lie evenly about their mean, at -1 and 1 as z-scores: the rest is rounding
ROUNDING_OF_TWO = ("skewness", "moment_5", "moment_7", "moment_9", "hbos", "pca_score")


def tables():
    random = np.random.default_rng(0)
    normal = random.normal(size=(200, 6)) @ random.normal(size=(6, 6)) + 3
    skewed = random.lognormal(size=(331, 4)) * [1, 10, 1000, 0.01]
    integers = random.integers(0, 6, size=(150, 5)).astype(float)
    yield "normal", normal
    yield "skewed", skewed
    yield "ties", integers
    yield "wide", random.normal(size=(12, 30)) + random.normal(size=30)
    yield "one column", random.exponential(size=(90, 1))
    yield "two columns", random.exponential(size=(91, 2))
    yield "a constant", np.column_stack([normal[:, :3], np.full(200, 7.0), np.full(200, 2.0)])
    yield "duplicates", np.column_stack([skewed[:, :2], skewed[:, :2], skewed[:, 1] * 2 + 1])
    yield "offset", random.normal(size=(120, 3)) + np.array([1e6, -1e6, 0.5])
    yield "values that come twice", random.integers(0, 60, size=(80, 3)) + 0.5
    yield "seven rows", random.normal(size=(7, 3))
    yield "eight rows", random.normal(size=(8, 3))
    yield "few rows", random.normal(size=(5, 3))
    yield "two rows", random.normal(size=(2, 3))


TABLES = dict(tables())


def plain_of(name):
    X = TABLES[name]
    with np.errstate(all="ignore"):
        return plain.plain_features(X, seeds=(0,), categorical_share=0.0)


@pytest.mark.parametrize("name", TABLES)
def test_deterministic_features_equal_the_plain_implementation(name):
    values = extract(TABLES[name])
    expected = plain_of(name)
    for feature in PAPER_FEATURES:
        if feature.name.startswith(RANDOM_LANDMARKERS):
            continue
        if name == "two rows" and feature.name.startswith(ROUNDING_OF_TWO):
            continue
        got, want = values[feature.name], expected[feature.name]
        want = want if np.isfinite(want) else np.nan
        assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=feature.name)


def test_the_plain_implementation_has_the_same_features():
    assert set(plain_of("two columns")) == set(schema("paper").names)


def test_names_are_unique_and_definitions_are_one_line():
    names = schema("paper").names
    assert len(set(names)) == len(names)
    assert 180 <= len(names) <= 300
    for feature in PAPER_FEATURES:
        assert feature.definition
        assert feature.formula
        assert "\n" not in feature.definition + feature.formula


def test_constant_features_are_constant_and_not_learned():
    constant = [feature.name for feature in PAPER_FEATURES if feature.constant]
    assert len(constant) == 19
    assert not set(constant) & set(schema("paper").learned)
    # same size, everything else differs
    first, second = extract(TABLES["normal"]), extract(np.exp(TABLES["normal"][::-1] / 3))
    for name in constant:
        assert_allclose(first[name], second[name], rtol=1e-9, err_msg=name)
    changed = [name for name in schema("paper").learned if first[name] != second[name]]
    assert len(changed) > 180
