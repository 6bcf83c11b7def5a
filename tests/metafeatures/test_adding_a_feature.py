"""The recipe "Add a meta-feature", followed step by step."""

import numpy as np
import pytest

from metaod.errors import BadParameter
from metaod.metafeatures import (
    SCHEMAS,
    Feature,
    _extraction,
    computes,
    extract,
    register_schema,
    schema,
)

X = np.array([[0.0, 1.0], [0.0, 3.0], [9.0, 0.0], [0.0, 5.0]])


# step 1: one function with its declaration, in a file of its own
@computes(Feature("zero_share", "zeros", "share of values that are 0", "mean(x = 0)"))
def zeros(inputs):
    return [np.mean(inputs.X == 0)]


@computes(
    Feature("hbos_highest", "HBOS", "highest HBOS score", "max(s)", in_paper=False),
    Feature("hbos_range", "HBOS", "range of the HBOS scores", "max(s) - min(s)", in_paper=False),
    uses_landmarkers=True,
)
def hbos(inputs):
    scores = inputs.runs.run("HBOS").decision_scores_
    return [scores.max(), np.ptp(scores)]


@pytest.fixture
def registered():
    # step 2: one line that names the schema, its version and its functions
    yield register_schema("extra", 1, (zeros, hbos))
    del _extraction._registered["extra"]


@pytest.mark.usefixtures("registered")
def test_the_new_features_are_extracted_beside_the_others():
    features = extract(X, ("paper", "extra"))
    assert features.names == (*schema("paper").names, "zero_share", "hbos_highest", "hbos_range")
    assert features["zero_share"] == 0.5
    assert features.versions == {"paper": 2, "extra": 1}
    np.testing.assert_array_equal(features.values[:-3], extract(X).values)


def test_the_schema_is_known_by_name(registered):
    assert SCHEMAS["extra"] is schema("extra") is registered
    assert list(registered.groups) == ["zeros", "HBOS"]


@pytest.mark.usefixtures("registered")
def test_landmarker_features_are_nan_where_no_landmarker_runs():
    values = extract(np.ones((5, 2)), "extra").values
    np.testing.assert_array_equal(values, [0.0, np.nan, np.nan])


def test_the_shipped_schemas_are_frozen():
    assert [(schema(name).version, len(schema(name).names)) for name in ("paper", "scores")] == [
        (2, 270),
        (1, 153),
    ]


@pytest.mark.usefixtures("registered")
def test_names_of_schemas_and_features_are_unique():
    with pytest.raises(BadParameter, match="'paper'"):
        register_schema("paper", 2, ())
    with pytest.raises(BadParameter, match="'zero_share'"):
        register_schema("other", 1, (zeros,))


def test_earlier_versions_are_the_first_features_of_later_ones():
    first, present = schema("paper").at(1), schema("paper")
    assert (first.version, len(first.names), len(first.learned)) == (1, 231, 213)
    assert present.names[:231] == first.names
    assert {feature.since for feature in present.features[231:]} == {2}
    assert present.at(2) == present
    assert present.of_columns(first.names) == present.of_columns(()) == first
    assert present.of_columns([*first.names, "hbos_min_mean"]) == present
    for wrong in (0, 3):
        with pytest.raises(BadParameter, match="1 to 2"):
            present.at(wrong)


def test_a_feature_is_no_newer_than_its_schema():
    late = computes(Feature("late", "g", "d", since=2))(lambda _: [1.0])
    with pytest.raises(BadParameter, match="'late'"):
        register_schema("other", 1, (late,))


def test_a_function_must_return_one_number_for_each_feature():
    short = computes(Feature("a", "g", "d"), Feature("b", "g", "d"))(lambda _: [1.0])
    register_schema("short", 1, (short,))
    try:
        with pytest.raises(ValueError, match="computes 'a' returned 1 values for 2 features"):
            extract(X, "short")
    finally:
        del _extraction._registered["short"]
