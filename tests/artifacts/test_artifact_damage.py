"""Damaged and forged artifacts are refused with a message of one line."""

import hashlib
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_artifact import fitted, members_of, rewrite
from made_history import FEATURES, MODELS, history

from metaod.artifacts import Artifact, BadArtifact, NewerArtifact, read_document
from metaod.artifacts._container import UnfitArtifact
from metaod.errors import BadFile, UserError
from metaod.metafeatures import SCHEMAS

pytestmark = pytest.mark.usefixtures("foresting")


def signed(document):
    """Text of a document with a valid checksum."""
    document.pop("checksum", None)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return json.dumps({**document, "checksum": hashlib.sha256(text.encode()).hexdigest()})


def forged(source, path, change):
    """Write a copy with a changed document and a valid checksum."""
    members = members_of(source)
    document = json.loads(members["manifest.json"])
    change(document, members)
    members["manifest.json"] = signed(document)
    rewrite(path, members)


def refused(path, kind=BadArtifact, match=None):
    with pytest.raises(kind, match=match) as caught:
        Artifact.load(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    assert caught.value.remedy
    return caught.value


def test_a_missing_file(tmp_path):
    refused(tmp_path / "none", BadFile, "no such file")
    refused(tmp_path, BadFile, "is a folder")


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x03\x04" + bytes(100), b"text" * 99])
def test_a_file_that_is_not_a_zip(tmp_path, data):
    path = tmp_path / "a"
    path.write_bytes(data)
    refused(path, match="not an artifact")
    with pytest.raises(BadArtifact):
        read_document(path)


def test_another_zip(tmp_path):
    rewrite(tmp_path / "a", {"data.csv": "a,b"})
    refused(tmp_path / "a", match="not an artifact")
    rewrite(tmp_path / "a", {"manifest.json": '{"format": "something"}'})
    refused(tmp_path / "a", match="not an artifact")
    rewrite(tmp_path / "a", {"manifest.json": "[1]"})
    refused(tmp_path / "a", match="not an artifact")


@pytest.mark.parametrize(
    "text",
    [b"{", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": 1, "a": 2}', b"[" * 100_000,
     b"1" * 5000, b""],
    ids=["cut", "bytes", "NaN", "infinite", "repeated key", "deep", "long number", "empty"],
)  # fmt: skip
def test_invalid_json(tmp_path, saved, text):
    rewrite(tmp_path / "a", {**members_of(saved), "manifest.json": text})
    refused(tmp_path / "a", match="not valid")


def test_a_huge_document(tmp_path, saved):
    rewrite(tmp_path / "a", {**members_of(saved), "manifest.json": b" " * (2**25 + 1)})
    refused(tmp_path / "a", match="larger")


def test_missing_extra_and_repeated_members(tmp_path, saved):
    members = members_of(saved)
    path = tmp_path / "a"
    for name in members:
        rewrite(path, {other: data for other, data in members.items() if other != name})
        refused(path)
    rewrite(path, {**members, "arrays/more.npy": b""})
    refused(path, match="does not belong")
    with pytest.warns(UserWarning, match="Duplicate"):
        rewrite(path, [*members.items(), ("manifest.json", members["manifest.json"])])
    refused(path, match="twice")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packing(tmp_path, saved, method):
    rewrite(tmp_path / "a", members_of(saved), method)
    refused(tmp_path / "a", match="packed")


def test_a_declared_size_above_the_limit(tmp_path, saved):
    data = bytearray(saved.read_bytes())
    # the size that the directory declares for the first member
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = (2**31).to_bytes(4, "little")
    (tmp_path / "a").write_bytes(data)
    refused(tmp_path / "a", match="unpack to more")


def test_a_file_above_the_size_limit(tmp_path):
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # no disk is used
    refused(path, match="larger than any artifact")


def test_a_newer_format(tmp_path, saved):
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(format_version=2))
    error = refused(tmp_path / "a", NewerArtifact, "newer")
    assert error.remedy == "update metaod"
    for version in (0, "1", None, True, 1.5):
        forged(saved, tmp_path / "a", lambda doc, _, v=version: doc.update(format_version=v))
        refused(tmp_path / "a", match="format version")


def test_checksums(tmp_path, saved):
    members = members_of(saved)
    text = members["manifest.json"].replace(b'"n_trees": 5', b'"n_trees": 6')
    rewrite(tmp_path / "a", {**members, "manifest.json": text})
    refused(tmp_path / "a", match="checksum")
    name = next(name for name in members if name.endswith("values.npy"))
    rewrite(tmp_path / "a", {**members, name: members[name][:-1] + b"\x00"})
    refused(tmp_path / "a", match="checksum")


def test_an_array_of_objects_is_never_read(tmp_path, saved):
    def change(document, members):
        name = "learner.learned.forests.0.values"
        facts = document["arrays"][name]
        facts["dtype"] = "|O"
        data = members[f"arrays/{name}.npy"].replace(b"<f8", b"|O ")
        members[f"arrays/{name}.npy"] = data
        facts["sha256"] = hashlib.sha256(data).hexdigest()

    forged(saved, tmp_path / "a", change)
    refused(tmp_path / "a", match="of a kind")

    def only_header(document, members):
        change(document, members)
        document["arrays"]["learner.learned.forests.0.values"]["dtype"] = "<f8"

    forged(saved, tmp_path / "a", only_header)
    refused(tmp_path / "a", match="another header")


@pytest.mark.parametrize(
    "facts",
    [{"shape": [3]}, {"shape": [2**30] * 8}, {"shape": [-1, -1]}, {"shape": [True]},
     {"shape": "3"}, {"shape": [1] * 40}, {"dtype": "<f4"}, {"dtype": None}, {"dtype": ["<f8"]},
     {"sha256": 3}, {"more": 1}],
    ids=str,
)  # fmt: skip
def test_an_array_that_is_not_as_declared(tmp_path, saved, facts):
    forged(
        saved, tmp_path / "a",
        lambda doc, _: doc["arrays"]["learner.learned.forests.0.values"].update(facts),
    )  # fmt: skip
    refused(tmp_path / "a")


UNUSED = {"seed": 3, "figures": {"mean AP": [0.5]}, "made": "2020-02-02"}


@pytest.mark.parametrize("key", [key for key in fitted().manifest.to_json() if key not in UNUSED])
@pytest.mark.parametrize("value", [3.5, "text", [None], {"a": {}}], ids=str)
def test_a_manifest_with_wrong_types(tmp_path, saved, key, value):
    forged(saved, tmp_path / "a", lambda doc, _: doc.update({key: value}))
    if (key, value) == ("measure", "text"):
        Artifact.load(tmp_path / "a")
    else:
        refused(tmp_path / "a", UserError)
    forged(saved, tmp_path / "a", lambda doc, _: doc.pop(key))
    if key not in ("measure", "datasets"):
        refused(tmp_path / "a", UserError, "missing")


def test_keys_that_earlier_versions_wrote_are_ignored(tmp_path, saved):
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(UNUSED))
    assert Artifact.load(tmp_path / "a").manifest == Artifact.load(saved).manifest
    forged(saved, tmp_path / "a", lambda doc, _: [doc.pop(key) for key in UNUSED])
    assert Artifact.load(tmp_path / "a").manifest == Artifact.load(saved).manifest


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("state", None), ("state", []), ("state.learner.models", MODELS[:-1]),
        ("state.learner.models", MODELS[::-1]),
        ("state.learner.features", FEATURES[1:]), ("state.learner.order", {"$array": "none"}),
        ("state.learner.order", {"$array": ["a"]}), ("state.learner.order", [1, 2]),
        ("state.learner.learned", {}),
        ("state.learner.learned.forests", [{}]), ("state.learner.learned.forests", 3),
        ("state.learner.learned.forests.0.n_features", 1),
        ("state.learner.learned.forests.0.n_features", "x"),
        ("state.learner.learned.forests.0.left", {"$array": "learner.learned.forests.0.right"}),
        ("state.learner.learned.forests.0.roots", {"$array": "learner.learned.forests.0.values"}),
    ],
    ids=str,
)  # fmt: skip
def test_a_state_that_does_not_fit(tmp_path, saved, way, value):
    def change(document, _):
        *steps, last = way.split(".")
        place = document
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value

    forged(saved, tmp_path / "a", change)
    refused(tmp_path / "a", UserError)


def test_learners_and_parameters_that_are_not_installed(tmp_path, saved):
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(learner="os:system"))
    refused(tmp_path / "a", UnfitArtifact, "not installed")
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(parameters={"depth": 1}))
    refused(tmp_path / "a", UnfitArtifact, "depth")
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(parameters={"name": "global_best"}))
    refused(tmp_path / "a", UnfitArtifact)


def test_an_unknown_schema(tmp_path, saved):
    parts = [{"name": "dreams", "version": 1, "features": FEATURES}]
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(schemas=parts))
    refused(tmp_path / "a", UnfitArtifact, "dreams")
    parts[0]["name"] = "paper"
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(schemas=parts))
    assert Artifact.load(tmp_path / "a").schema_names == ("paper",)
    parts[0]["features"] = FEATURES[::-1]
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(schemas=parts))
    refused(tmp_path / "a", match="other models or features")


@pytest.mark.parametrize(("version", "remedy"), [(9, "update metaod"), (0, "train the learner")])
@pytest.mark.parametrize("name", SCHEMAS)
def test_another_version_of_a_schema(tmp_path, saved, name, version, remedy):
    parts = [{"name": name, "version": version, "features": FEATURES}]
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(schemas=parts))
    error = refused(tmp_path / "a", UnfitArtifact, f"'{name}', version {version}; this .* [12]")
    assert remedy in error.remedy


@pytest.mark.parametrize("number", [10**30, 10**400, 2**53, -1], ids=["30", "400", "53", "less"])
def test_counts_out_of_range(tmp_path, saved, number):
    forged(saved, tmp_path / "a", lambda doc, _: doc.update(n_origins=number))
    refused(tmp_path / "a", UserError, "n_origins is no")


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_random_damage_is_refused_or_harmless(place, saved, data):
    whole = saved.read_bytes()
    broken = bytearray(whole)
    if data.draw(st.booleans(), "flip"):
        for byte in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
            broken[byte] ^= data.draw(st.integers(1, 255))
    else:
        start = data.draw(st.integers(0, len(whole)))
        del broken[start : start + data.draw(st.integers(1, len(whole)))]
    path = place / "broken"
    path.write_bytes(broken)
    try:
        back = Artifact.load(path)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        _, M, _ = history(3, seed=5)
        expected = Artifact.load(saved).learner.predict(M)
        np.testing.assert_array_equal(back.learner.predict(M), expected)


@pytest.mark.parametrize("part", ["directory", "end"])
def test_damage_of_every_byte_of_the_directory(tmp_path, saved, part):
    whole = saved.read_bytes()
    end = whole.rindex(b"PK\x05\x06")
    span = range(end, len(whole)) if part == "end" else range(whole.index(b"PK\x01\x02"), end)
    path = tmp_path / "a"
    outcomes = set()
    for place in span[:200]:
        for change in (0x01, 0x80, 0xFF):
            broken = bytearray(whole)
            broken[place] ^= change
            path.write_bytes(broken)
            try:
                Artifact.load(path)
                outcomes.add("harmless")
            except UserError:
                outcomes.add("refused")
    assert "refused" in outcomes
