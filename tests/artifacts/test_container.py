"""The file format: what is written comes back, and damaged and forged files are refused."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.artifacts import VERIFY_KEY, BadArtifact, check_target, read_container, write_container
from metaod.errors import BadFile, UserError
from metaod.history import find_artifact

MARK = b"metaod\x00\n"
CONTENT = {"x": np.arange(6.0).reshape(2, 3) / 7, "parts": [{"y": np.arange(300)}], "note": "é"}

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)
ARRAYS = st.builds(
    lambda kind, shape, seed: np.random.default_rng(seed).normal(0, 90, shape).astype(kind),
    st.sampled_from(["f8", "f4", ">f8", "i8", "i4", "i1", "u2", "?"]),
    st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple),
    st.integers(0, 99),
)
CONTENTS = st.dictionaries(
    st.text(),
    st.recursive(
        PLAIN | ARRAYS,
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
)


@pytest.fixture
def saved(tmp_path):
    write_container(tmp_path / "saved", "learner", CONTENT)
    return tmp_path / "saved"


def rewrite(saved, path, change=lambda document: None, more=b""):
    """Write a copy with a changed line of JSON, and more bytes after it."""
    line, _, rest = gzip.decompress(saved.read_bytes()[len(MARK) :]).partition(b"\n")
    document = json.loads(line)
    change(document)
    data = json.dumps(document).encode() + b"\n" + rest + more
    path.write_bytes(MARK + gzip.compress(data))


def refused(path, code="damaged", kind="learner"):
    with pytest.raises(BadArtifact) as caught:
        read_container(path, kind)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    assert caught.value.remedy
    return caught.value


def same(one, other):
    if isinstance(one, np.ndarray):
        return (
            one.shape == other.shape
            and np.array_equal(one, other)
            and one.dtype.kind == other.dtype.kind
            and other.flags.writeable
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@settings(derandomize=True, deadline=None, max_examples=80)
@given(content=CONTENTS)
def test_any_content_is_restored(place, content):
    write_container(place / "a", "review", content)
    assert same(content, read_container(place / "a", "review"))


def test_the_same_content_gives_the_same_bytes(saved, tmp_path):
    write_container(tmp_path / "b", "learner", dict(reversed(CONTENT.items())))
    write_container(tmp_path / "c", "learner", CONTENT)
    assert saved.read_bytes() == (tmp_path / "c").read_bytes()
    assert same(CONTENT, read_container(tmp_path / "b", "learner"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "c", "saved"]


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), {1: 2}, {3}, np.array([object()]), np.array(["text"]), np.array([1j])],
    ids=["object", "nan", "key", "set", "objects", "texts", "complex"],
)
def test_objects_that_cannot_be_saved_are_refused(tmp_path, value):
    with pytest.raises(UserError, match="cannot be written") as error:
        write_container(tmp_path / "a", "pick", {"parameters": {"f": value}})
    assert error.value.where.startswith("parameters.f")
    assert list(tmp_path.iterdir()) == []


def test_bad_targets_are_refused(tmp_path):
    other = tmp_path / "table.csv.gz"
    other.write_bytes(gzip.compress(b"a,b"))
    for path in (
        tmp_path,
        tmp_path / "none" / "a",
        other,
        tmp_path / ("x" * 300),
        tmp_path / "a\x00b",
    ):
        for attempt in (check_target, lambda path: write_container(path, "pick", {})):
            with pytest.raises(UserError) as error:
                attempt(path)
            assert error.value.remedy
    assert gzip.decompress(other.read_bytes()) == b"a,b"
    assert list(tmp_path.iterdir()) == [other]


def test_a_failed_write_keeps_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(path, target):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UserError, match="No space"):
        write_container(saved, "learner", {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# what is refused


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(BadFile) as error:
            read_container(path, "learner")
        assert error.value.path == str(path)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04" + bytes(100), MARK, MARK + b"rubbish"])
def test_other_files(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    refused(tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [b"{", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1e999}', b"[" * 100_000, b"1" * 5000, b"", b"[1]",
     b" " * (2**25 + 1)],
    ids=["cut", "bytes", "NaN", "infinite", "deep", "long number", "empty", "list", "huge"],
)  # fmt: skip
def test_invalid_json(tmp_path, text):
    (tmp_path / "a").write_bytes(MARK + gzip.compress(text + b"\n"))
    refused(tmp_path / "a")


def test_sizes_above_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.artifacts._container._MAX_BYTES", 2**16)
    path = tmp_path / "a"
    path.write_bytes(MARK + gzip.compress(bytes(2**17)))  # a small file that unpacks to more
    refused(path)
    path.write_bytes(MARK + bytes(2**16))
    refused(path)


def test_another_version_and_another_kind(saved, tmp_path):
    assert "saved pick" in str(refused(saved, "other-kind", "pick").what)
    for version in (2, 0, "1", None, True):
        rewrite(saved, tmp_path / "a", lambda document, v=version: document.update(version=v))
        refused(tmp_path / "a", "newer-format")
    rewrite(saved, tmp_path / "a", lambda document: document.update(kind="os:system"))
    refused(tmp_path / "a")


@pytest.mark.parametrize(
    "declared",
    [
        [["x"], "|O", [6]], [["x"], "<f8", [2**30] * 8], [["x"], "<f8", [-1]],
        [["x"], "<f8", [-2, -3]], [["x"], "<f8", [True]], [["x"], "<f8", "6"],
        [["x"], ["<f8"], [6]], [["x"], "<f8", [0, 2**62]], [["x"], "<f8", [5]],
        [["x"], "<f8", [1] * 70], [["x", "y", "z"], "<f8", [6]], [[], "<f8", [6]], [["x"], "<f8"],
        None, 3,
    ],
    ids=str,
)  # fmt: skip
def test_an_array_that_is_not_as_declared(saved, tmp_path, declared):
    rewrite(saved, tmp_path / "a", lambda document: document["arrays"].__setitem__(1, declared))
    refused(tmp_path / "a")


def test_bytes_that_belong_to_nothing(saved, tmp_path):
    rewrite(saved, tmp_path / "a", more=b"more")
    refused(tmp_path / "a")
    (tmp_path / "a").write_bytes(saved.read_bytes() + b"more")
    refused(tmp_path / "a")


@settings(derandomize=True, deadline=None, max_examples=200)
@given(data=st.data())
def test_random_damage_is_refused_or_harmless(place, data):
    write_container(place / "whole", "learner", CONTENT)
    whole = (place / "whole").read_bytes()
    broken = bytearray(whole)
    if data.draw(st.booleans(), "flip"):
        for byte in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
            broken[byte] ^= data.draw(st.integers(1, 255))
    else:
        start = data.draw(st.integers(0, len(whole)))
        del broken[start : start + data.draw(st.integers(1, len(whole)))]
    (place / "broken").write_bytes(broken)
    try:
        found = read_container(place / "broken", "learner")
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert same(CONTENT, found)


# signatures


@pytest.fixture
def keys(tmp_path):
    """Two keys and a file that is none."""
    (tmp_path / "key").write_text("0123456789abcdef" * 2 + "\n")
    (tmp_path / "other").write_text("fedcba9876543210" * 2)
    (tmp_path / "short").write_text("secret\n")
    return tmp_path


def test_a_demanded_signature(keys, monkeypatch):
    signed, unsigned = keys / "signed", keys / "unsigned"
    write_container(signed, "pick", CONTENT, keys / "key")
    write_container(unsigned, "pick", CONTENT)
    assert same(CONTENT, read_container(signed, "pick"))  # nothing is demanded
    monkeypatch.setenv(VERIFY_KEY, str(keys / "key"))
    assert same(CONTENT, read_container(signed, "pick"))
    refused(unsigned, "not-signed", "pick")
    monkeypatch.setenv(VERIFY_KEY, str(keys / "other"))
    refused(signed, "not-signed", "pick")
    for wrong in ("short", "absent"):
        monkeypatch.setenv(VERIFY_KEY, str(keys / wrong))
        with pytest.raises(BadFile, match=wrong):
            read_container(signed, "pick")
    find_artifact("metaod")  # what the package ships needs none


@settings(derandomize=True, deadline=None, max_examples=60)
@given(data=st.data())
def test_a_signed_file_that_was_changed_is_refused(place, data):
    (place / "key").write_text("0123456789abcdef")
    write_container(place / "signed", "pick", CONTENT, place / "key")
    whole = bytearray((place / "signed").read_bytes())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    (place / "changed").write_bytes(whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VERIFY_KEY, str(place / "key"))
        with pytest.raises(BadArtifact):
            read_container(place / "changed", "pick")
