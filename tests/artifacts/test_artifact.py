"""Artifacts are restored to the bit and score models for tables."""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_artifact import Foresting, fitted, members_of, rewrite
from made_history import FEATURES, MODELS, history

from metaod.artifacts import Artifact, UsedSchema, read_container, read_document, write_container
from metaod.artifacts._manifest import Manifest, insert_arrays, separate_arrays
from metaod.errors import UserError
from metaod.learners import _registry as registry
from metaod.learners import learner_class
from metaod.metafeatures import extract, schema

pytestmark = pytest.mark.usefixtures("foresting")


@pytest.mark.parametrize("name", [*registry._OURS, "foresting"])
def test_every_learner_is_restored(tmp_path, name):
    kind = Foresting if name == "foresting" else learner_class(name)
    artifact = fitted(kind, **({"model": MODELS[2]} if name == "fixed" else {}))
    path = tmp_path / "a.metaod"
    artifact.save(path)
    back = Artifact.load(path)
    assert type(back.learner) is kind
    _, M, _ = history(7, seed=5)
    one, other = artifact.learner.predict(M), back.learner.predict(M)
    assert list(one.columns) == list(other.columns) == MODELS
    np.testing.assert_array_equal(one, other)
    assert back.learner.choose(M.iloc[0]) == artifact.learner.choose(M.iloc[0])
    assert json.loads(json.dumps(back.manifest.to_json())) == artifact.manifest.to_json()
    # what came back can be saved again, to the same bytes
    again = tmp_path / "b.metaod"
    back.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_the_same_training_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        fitted().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    other = fitted(random_state=1)
    other.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_the_document_is_read_without_the_arrays(tmp_path, saved):
    manifest = Artifact.load(saved).manifest
    assert manifest.learner == "foresting"
    assert manifest.models == tuple(MODELS)
    assert manifest.parameters == {"n_trees": 5, "random_state": 0}
    assert manifest.seed == 0
    assert manifest.n_origins == 12
    assert manifest.versions["numpy"] == np.__version__
    members = members_of(saved)
    arrays = [name for name in members if name.endswith(".npy")]
    rewrite(tmp_path / "b", {**members, arrays[0]: b"rubbish"})
    assert read_document(tmp_path / "b") == read_document(saved)


def test_members_are_plain_npy_files(saved):
    with zipfile.ZipFile(saved) as archive:
        names = archive.namelist()
        assert names == ["manifest.json", *sorted(names[1:])]
        for name in names[1:]:
            with archive.open(name) as member:
                assert np.load(member, allow_pickle=False).dtype.kind in "fi"


# where it is written


def test_bad_targets_are_refused(tmp_path):
    artifact = fitted()
    other = tmp_path / "my.db"
    other.write_bytes(b"SQLite format 3\x00")
    for path, word in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "a", "there is no folder"),
        (other, "not an artifact"),
        (tmp_path / ("x" * 300), "cannot be written"),
        (tmp_path / "a\x00b", "cannot be written"),
    ):
        with pytest.raises(UserError, match=word):
            artifact.save(path)
    assert other.read_bytes() == b"SQLite format 3\x00"
    assert list(tmp_path.iterdir()) == [other]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    fitted().save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(UserError, match="No space"):
        fitted(random_state=1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_objects_that_cannot_be_saved_are_refused(tmp_path):
    artifact = fitted()
    for value in (object(), float("nan"), {1: 2}, {"$array": "a"}, np.zeros(2), {3}):
        manifest = replace(artifact.manifest, parameters={"embedding": value})
        with pytest.raises(UserError, match=r"parameters\.embedding"):
            Artifact(artifact.learner, manifest).save(tmp_path / "a")
    with pytest.raises(UserError, match="not been fitted"):
        Artifact.of(Foresting())
    for array in (np.array([object()]), np.array(["text"]), np.array([1j])):
        with pytest.raises(UserError, match="cannot be written"):
            write_container(tmp_path / "a", {}, {"x": array})
    assert list(tmp_path.iterdir()) == []


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
ARRAYS = st.builds(
    lambda kind, shape, seed: np.random.default_rng(seed).integers(0, 99, shape).astype(kind),
    st.sampled_from(["f8", "f4", ">f8", "i8", "i4", "i1", "u2", "?"]),
    st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple),
    st.integers(0, 99),
)
KEYS = st.sampled_from(["U", "V", "parts", "n_trees", "_x1"])
STATES = st.dictionaries(
    KEYS,
    st.recursive(
        PLAIN | ARRAYS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=8
    ),
)


def same(one, other):
    if isinstance(one, np.ndarray):
        little = one.astype(one.dtype.newbyteorder("<"))
        return (
            little.dtype.str == other.dtype.str
            and one.shape == other.shape
            and little.tobytes() == other.tobytes()
            and other.flags.writeable
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@settings(derandomize=True, deadline=None, max_examples=60)
@given(state=STATES)
def test_any_state_is_restored(place, state):
    path = place / "state"
    packed, arrays = separate_arrays(state)
    write_container(path, {"state": packed}, arrays)
    document, arrays = read_container(path)
    assert same(state, insert_arrays(document["state"], arrays))


# answers


def from_paper(version=None):
    used = schema("paper")
    P, _, _ = history(6)
    M = np.random.default_rng(0).normal(size=(6, len(used.learned)))
    learner = Foresting().fit(P.to_numpy(), M)
    part = UsedSchema("paper", version or used.version, used.learned)
    learner.features_ = used.learned
    return Artifact.of(learner, schemas=(part,))


def test_scores_for_extracted_metafeatures():
    artifact = from_paper()
    X = np.random.default_rng(1).normal(size=(60, 3))
    features = extract(X, artifact.schema_names)
    vector = artifact.vector(features)
    assert (
        vector.tolist() == [features[name] for name in schema("paper").learned]
        or np.isnan(vector).any()
    )
    scores = artifact.learner.predict(artifact.vector(features))
    np.testing.assert_array_equal(scores, artifact.learner.predict(vector))
    assert artifact.learner.choose(artifact.vector(features)) == scores.idxmax()


def test_a_learner_of_an_earlier_version_takes_features_of_the_present_one(tmp_path):
    used = schema("paper").at(1)
    learner = Foresting().fit(history(6)[0].to_numpy(), np.ones((6, len(used.learned))))
    learner.features_ = used.learned
    part = UsedSchema("paper", 1, used.learned)
    features = extract(np.random.default_rng(1).normal(size=(60, 3)))
    Artifact.of(learner, schemas=(part,)).save(tmp_path / "a.metaod")
    vector = Artifact.load(tmp_path / "a.metaod").vector(features)
    np.testing.assert_array_equal(vector, [features[name] for name in used.learned])


def test_metafeatures_of_another_schema_are_refused():
    artifact = from_paper()
    lacking = SimpleNamespace(versions={"scores": 1}, to_dict=dict)
    with pytest.raises(UserError, match="extract that schema"):
        artifact.vector(lacking)
    X = np.random.default_rng(1).normal(size=(60, 3))
    with pytest.raises(UserError, match="version 99, got version 2; update"):
        from_paper(99).vector(extract(X))
    with pytest.raises(UserError, match="no schema"):
        fitted().vector(extract(X))


def test_loading_and_predicting_need_no_scikit_learn(tmp_path):
    path = tmp_path / "a.metaod"
    fitted(learner_class("supervised_surrogates")).save(path)
    program = (
        "import sys; from metaod.artifacts._artifact import Artifact; "
        f"artifact = Artifact.load({str(path)!r}); "
        f"artifact.learner.predict([1.0] * {len(FEATURES)}); "
        "assert 'sklearn' not in sys.modules; assert 'pyod' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_minimal_manifest_is_restored():
    manifest = Manifest("x", {}, ("a",))
    assert manifest.seed is None
    assert manifest.features == ()
    assert Manifest.from_json(manifest.to_json(), "here") == manifest
