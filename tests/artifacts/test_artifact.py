"""Artifacts are restored to the bit, score models for tables, and are refused if damaged."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from made_artifact import Foresting, fitted, forged
from made_history import FEATURES, MODELS, history
from made_learners import NAMES

from metaod.artifacts import Artifact, BadArtifact
from metaod.errors import UserError
from metaod.learners import learner_class
from metaod.metafeatures import SCHEMAS, extract, schema

pytestmark = pytest.mark.usefixtures("foresting")


@pytest.mark.parametrize("name", [*NAMES, "foresting"])
def test_every_learner_is_restored(tmp_path, name):
    kind = Foresting if name == "foresting" else learner_class(name)
    artifact = fitted(kind)
    path = tmp_path / "a.metaod"
    artifact.save(path)
    back = Artifact.load(path)
    assert type(back.learner) is kind
    _, M, _ = history(7, seed=5)
    one, other = artifact.learner.predict(M), back.learner.predict(M)
    assert list(one.columns) == list(other.columns) == MODELS
    np.testing.assert_array_equal(one, other)
    assert back.learner.choose(M.iloc[0]) == artifact.learner.choose(M.iloc[0])
    # what came back can be saved again, to the same bytes
    again = tmp_path / "b.metaod"
    back.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_what_an_artifact_holds(saved):
    artifact = Artifact.load(saved)
    assert artifact.learner.name == "foresting"
    assert artifact.learner.models_ == tuple(MODELS)
    assert artifact.learner.params() == {"n_trees": 5, "random_state": 0}
    assert (artifact.measure, artifact.n_origins) == ("ap", 12)
    assert artifact.datasets == tuple(history()[0].index)
    assert artifact.versions["numpy"] == np.__version__
    with pytest.raises(UserError, match="not been fitted"):
        Artifact(Foresting())


def from_paper(version=None):
    used = schema("paper").at(version or schema("paper").version)
    learner = Foresting().fit(history(6)[0].to_numpy(), np.ones((6, len(used.learned))))
    learner.features_ = used.learned
    return Artifact(learner, {"paper": used.version})


@pytest.mark.parametrize("version", [1, None])
def test_metafeatures_of_the_present_version_are_taken(tmp_path, version):
    from_paper(version).save(tmp_path / "a.metaod")
    artifact = Artifact.load(tmp_path / "a.metaod")
    features = extract(np.random.default_rng(1).normal(size=(60, 3)), tuple(artifact.schemas))
    expected = [features[name] for name in artifact.learner.features_]
    np.testing.assert_array_equal(artifact.vector(features), expected)


def test_metafeatures_of_another_schema_are_refused():
    for versions in ({"scores": 1}, {"paper": 1}):
        with pytest.raises(UserError, match="'paper', version 2"):
            from_paper().vector(SimpleNamespace(versions=versions, to_dict=dict))
    with pytest.raises(UserError, match="no schema"):
        fitted().vector(SimpleNamespace(versions={}, to_dict=dict))


def test_loading_and_predicting_need_no_scikit_learn(tmp_path):
    path = tmp_path / "a.metaod"
    fitted(learner_class("gain_forest")).save(path)
    program = (
        "import sys; from metaod.artifacts._artifact import Artifact; "
        f"artifact = Artifact.load({str(path)!r}); "
        f"artifact.learner.predict([1.0] * {len(FEATURES)}); "
        "assert 'sklearn' not in sys.modules; assert 'pyod' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


# what is refused


def refused(path, code="damaged"):
    with pytest.raises(UserError) as caught:
        Artifact.load(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    assert caught.value.remedy
    if isinstance(caught.value, BadArtifact):
        assert caught.value.code == code
    return caught.value


KEYS = ("learner", "parameters", "state", "schemas", "measure", "datasets", "n_origins",
        "history", "calibration", "versions")  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [3.5, "text", [None], {"a": {}}, ...], ids=str)
def test_a_content_with_wrong_types(tmp_path, saved, key, value):
    def change(content):
        if value is ...:
            del content[key]
        else:
            content[key] = value

    forged(saved, tmp_path / "a", change)
    if (key, value) == ("measure", "text"):
        assert Artifact.load(tmp_path / "a").measure == "text"
        return
    is_absent = (key, value) in (("learner", "text"), ("parameters", {"a": {}}))
    refused(tmp_path / "a", "not-installed" if is_absent else "damaged")


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("state.models", MODELS[:-1]), ("state.models", [MODELS[0]] * len(MODELS)),
        ("state.features", FEATURES[1:]), ("state.features", 3), ("state.order", [1, 2]),
        ("state.order", np.zeros(len(MODELS), int)), ("state.order", np.arange(2)),
        ("state.learned", {}), ("state.learned.forests", [{}]), ("state.learned.forests", 3),
        ("state.learned.forests.0.n_features", 1), ("state.learned.forests.0.n_features", "x"),
        ("state.learned.forests.0.left", np.zeros(3, int)),
        ("state.learned.forests.0.roots", np.zeros(5)),
    ],
    ids=str,
)  # fmt: skip
def test_a_state_that_does_not_fit(tmp_path, saved, way, value):
    def change(content):
        *steps, last = way.split(".")
        for step in steps:
            content = content[int(step) if step.isdigit() else step]
        content[last] = value

    forged(saved, tmp_path / "a", change)
    refused(tmp_path / "a")


@pytest.mark.parametrize(
    "change",
    [{"learner": "os:system"}, {"parameters": {"depth": 1}}, {"parameters": {"name": "metaod"}},
     {"schemas": {"dreams": 1}}],
    ids=json.dumps,
)  # fmt: skip
def test_what_is_not_installed(tmp_path, saved, change):
    forged(saved, tmp_path / "a", lambda content: content.update(change))
    refused(tmp_path / "a", "not-installed")


@pytest.mark.parametrize(("version", "remedy"), [(9, "update metaod"), (0, "train the learner")])
@pytest.mark.parametrize("name", SCHEMAS)
def test_another_version_of_a_schema(tmp_path, saved, name, version, remedy):
    forged(saved, tmp_path / "a", lambda content: content.update(schemas={name: version}))
    assert remedy in refused(tmp_path / "a", "not-installed").remedy
