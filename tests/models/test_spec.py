"""ModelSpec: frozen, hashable, ordered, and a stable id that round-trips."""

import enum
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_matrices import SCALINGS

from metaod.errors import BadParameter
from metaod.models import ModelSpec, model_space

PROFILE = settings(derandomize=True, deadline=None, max_examples=200)

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name != "scaling"
)
values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["1", "1.5", "true", "None", "nan", "-inf", "a b", 'q"uote', "a,b", "x=(1)"])
)
specs = st.builds(
    ModelSpec,
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.dictionaries(names, values, max_size=4),
    st.sampled_from([*SCALINGS, "robust", "signed-log", "True", "nan"]),
)


@PROFILE
@given(specs)
def test_any_spec_round_trips_through_its_id(spec):
    again = ModelSpec.parse(spec.id)
    assert again == spec
    assert again.id == spec.id
    assert [(n, v, type(v)) for n, v in again.params] == [(n, v, type(v)) for n, v in spec.params]
    assert "\n" not in spec.id


@PROFILE
@given(st.lists(specs, max_size=6))
def test_order_is_total_and_agrees_with_equality(several):
    for a in several:
        for b in several:
            assert (a < b) + (b < a) + (a == b) == 1
    shuffled = several[::-1]
    assert sorted(shuffled) == sorted(several)


@PROFILE
@given(st.text(max_size=40))
def test_any_other_text_is_refused_in_one_line(text):
    try:
        spec = ModelSpec.parse(text)
    except BadParameter as error:
        assert "\n" not in str(error)
    else:
        assert ModelSpec.parse(spec.id) == spec


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (ModelSpec("LOF", {"metric": "euclidean", "n_neighbors": 20}),
         "LOF(n_neighbors=20, metric=euclidean)"),
        (ModelSpec("HBOS", {"alpha": 0.2, "n_bins": 10}), "HBOS(n_bins=10, alpha=0.2)"),
        (ModelSpec("LODA", {"n_random_cuts": 100, "n_bins": 10}),
         "LODA(n_bins=10, n_random_cuts=100)"),
        (ModelSpec("IForest", {"max_features": 0.5, "n_estimators": 100}),
         "IForest(n_estimators=100, max_features=0.5)"),
        (ModelSpec("KNN", {"n_neighbors": 5}, scaling="robust"),
         "KNN(n_neighbors=5, scaling=robust)"),
        (ModelSpec("LOF", {"n_neighbors": 5}, scaling="none"),
         "LOF(n_neighbors=5, scaling=none)"),
        (ModelSpec("MCD"), "MCD()"),
        (ModelSpec("X", {"a": None, "b": True, "c": "true", "d": "1"}),
         'X(a=none, b=true, c="true", d="1")'),
    ],
)  # fmt: skip
def test_ids_are_the_documented_ones(spec, text):
    assert spec.id == text == str(spec)
    assert ModelSpec.parse(text) == spec


def test_numpy_scalars_become_plain_values():
    spec = ModelSpec("LOF", {"n_neighbors": np.int64(5), "p": np.float64(2.0)})
    assert spec.id == "LOF(n_neighbors=5, p=2.0)"
    assert json.loads(json.dumps(spec.to_dict()))["params"] == {"n_neighbors": 5, "p": 2.0}


class Metric(enum.StrEnum):
    EUCLIDEAN = "euclidean"


class Size(enum.IntEnum):
    SMALL = 5


def test_enums_become_plain_values():
    spec = ModelSpec("LOF", {"n_neighbors": Size.SMALL, "metric": Metric.EUCLIDEAN})
    assert spec == ModelSpec("LOF", {"n_neighbors": 5, "metric": "euclidean"})
    assert [type(value) for _, value in spec.params] == [int, str]
    assert sorted([spec, ModelSpec("LOF", {"n_neighbors": 4})])[1] is spec


def test_the_scaling_is_read_at_any_place():
    spec = ModelSpec.parse("LOF(scaling=none, n_neighbors=5)")
    assert spec == ModelSpec("LOF", {"n_neighbors": 5}, scaling="none")
    assert spec.id == "LOF(n_neighbors=5, scaling=none)"


@pytest.mark.parametrize("word", ["True", "FALSE", "None", "nan", "NaN", "inf", "Infinity"])
def test_words_that_look_like_values_are_refused_unless_quoted(word):
    with pytest.raises(BadParameter, match="true, false and none in lower case"):
        ModelSpec.parse(f"LOF(novelty={word})")
    assert dict(ModelSpec.parse(f'LOF(novelty="{word}")').params) == {"novelty": word}


def test_an_integer_and_a_float_are_different_models():
    whole, share = (
        ModelSpec("IForest", {"max_features": 1}),
        ModelSpec("IForest", {"max_features": 1.0}),
    )
    assert whole != share
    assert len({whole, share, ModelSpec("IForest", {"max_features": True})}) == 3


@pytest.mark.parametrize(
    "bad",
    [
        {"n": float("nan")},
        {"n": float("inf")},
        {"n": [1]},
        {"scaling": "x"},
        {"a b": 1},
        [("a", 1), ("a", 2)],
        None,
        3,
        "n=1",
        [1],
        [("a", 1, 2)],
    ],
)
def test_what_an_id_cannot_hold_is_refused(bad):
    with pytest.raises(BadParameter):
        ModelSpec("LOF", bad)


@pytest.mark.parametrize(
    "text",
    ["LOF", "LOF(", "LOF(n)", "LOF(a=1,)", "(a=1)", "LOF(a=1 b=2)", 'LOF(a="x)', "A(a=1)()", "",
     "A(a=1_0)", "A(a=1_0.5)", "A(a=\u0661\u0662)", "A(a=-inf)", "A(a=1e999)", f"A(a={'9' * 5000})",
     "A(scaling=none, scaling=none)", 'A(scaling="none")', None, 3],
)  # fmt: skip
def test_malformed_ids_are_refused(text):
    with pytest.raises(BadParameter):
        ModelSpec.parse(text)


def test_shuffled_space_sorts_into_one_order():
    space = list(model_space("paper"))
    shuffled = space.copy()
    random.Random(0).shuffle(shuffled)
    assert sorted(space) == sorted(shuffled)
    sizes = [dict(s.params)["n_neighbors"] for s in sorted(model_space(detectors=["ABOD"]))]
    assert sizes == sorted(sizes), "numbers are ordered as numbers"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (ModelSpec("IForst"), "'IForest'"),
        (ModelSpec("Lof"), "'LOF'"),
        (ModelSpec("iforest"), "'IForest'"),
        (ModelSpec("LOF", scaling="minmax"), "'signedlog', 'whitened', 'none'"),
        (ModelSpec("LOF", {"n_neighbours": 3}), "n_neighbours"),
    ],
)
def test_what_is_unknown_is_refused_before_fitting(spec, told):
    with pytest.raises(BadParameter, match=told):
        spec.to_pyod()
