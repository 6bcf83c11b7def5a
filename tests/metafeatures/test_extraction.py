"""Extraction: accepted inputs, the vector, and shared landmarker runs."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from metaod.errors import BadParameter, UserError
from metaod.metafeatures import LandmarkerRuns, extract, schema
from metaod.tables import Table, prepare

X = np.random.default_rng(5).normal(size=(80, 4))
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(kind=["u", "v"] * 40)


def test_a_vector_has_names_groups_and_versions():
    features = extract(X)
    assert features.names == schema("paper").names
    assert len(features) == len(features.values) == len(features.names)
    assert features.values.dtype == np.float64
    assert features.versions == {"paper": schema("paper").version}
    assert list(features.groups)[:2] == ["size", "sample"]
    grouped = [name for group in features.groups.values() for name in group]
    assert sorted(grouped) == sorted(features.names)
    assert features["n_rows"] == features.to_dict()["n_rows"] == 80
    series = features.to_series()
    assert series["sample_mean"] == pytest.approx(X.mean())
    assert list(series.index) == list(features.names)
    assert "270 features" in repr(features)


def test_frames_and_tables_are_prepared():
    prepared = prepare(FRAME)
    features = extract(FRAME)
    assert features["categorical_share"] == pytest.approx(1 / 5)
    assert features["n_columns"] == prepared.X.shape[1]
    for other in (prepared, Table(FRAME, source="t")):
        assert_array_equal(extract(other).values, features.values)
    bare = extract(prepared.X)
    assert bare["categorical_share"] == 0
    kinds = {"categorical_share", *features.groups["kinds"]}
    others = [name for name in features.names if name not in kinds]
    assert_array_equal(bare.to_series()[others], features.to_series()[others])


def test_missing_values_are_filled_in_frames_and_refused_in_arrays():
    gaps = FRAME.mask(np.random.default_rng(0).random(FRAME.shape) < 0.1)
    assert extract(gaps)["n_rows"] == 80
    with pytest.raises(UserError, match="missing or infinite"):
        extract(np.array([[1.0, np.nan], [2.0, 3.0]]))
    with pytest.raises(UserError, match="missing or infinite"):
        extract(np.array([[1.0, -np.inf], [2.0, 3.0]]))


@pytest.mark.parametrize(
    "wrong", [[[1, 2], [3, 4]], np.arange(3.0), np.array([["a"]]), np.empty((0, 2)), None]
)
def test_unsupported_inputs_are_refused_with_a_remedy(wrong):
    with pytest.raises(BadParameter, match="read_table"):
        extract(wrong)


def test_layouts_and_types_do_not_matter():
    integers = np.arange(60).reshape(20, 3) ** 2 % 17
    expected = extract(integers.astype(float)).values
    for same in (integers, np.asfortranarray(integers), integers.astype(np.float32)):
        assert_array_equal(extract(same).values, expected)


def test_extraction_does_not_write_to_the_table():
    for shape in ((30, 1), (30, 4), (1, 5)):
        table = np.random.default_rng(1).normal(size=shape)
        table.flags.writeable = False
        before = table.copy()
        extract(table)
        assert_array_equal(table, before)


def test_the_vector_depends_on_the_seed_only():
    assert_array_equal(extract(X).values, extract(X).values)
    first, second = extract(X, random_state=0), extract(X, random_state=1)
    assert first["iforest_leaves_mean"] != second["iforest_leaves_mean"]
    assert first["sample_mean"] == second["sample_mean"]


def test_several_schemas_give_the_same_values_as_one_at_a_time():
    both = extract(X, ("scores", "paper"))
    alone = [extract(X, name).values for name in ("scores", "paper")]
    assert_array_equal(both.values, np.concatenate(alone))
    assert both.versions.keys() == {"scores", "paper"}
    assert len(set(both.names)) == len(both.names)


def test_runs_of_the_caller_are_used():
    prepared = prepare(FRAME)
    runs = LandmarkerRuns(prepared.X)
    forest = runs.run("IForest", 0)
    features = extract(prepared, runs=runs)
    assert runs.run("IForest", 0) is forest
    assert_array_equal(features.values, extract(prepared).values)
    with pytest.raises(BadParameter, match="runs"):
        extract(prepared.X + 1, runs=runs)


@pytest.mark.parametrize("wrong", ["papers", (), ("paper", "paper"), ("paper", "other")])
def test_unknown_schemas_are_refused(wrong):
    with pytest.raises(BadParameter, match="schema"):
        extract(X, wrong)


def test_unknown_features_are_refused_by_name():
    with pytest.raises(BadParameter, match="'entropia'"):
        extract(X)["entropia"]
    with pytest.raises(BadParameter, match="'other'"):
        schema("other")
