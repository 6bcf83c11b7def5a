import hashlib
import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metaod.errors import BadParameter
from metaod.history import fingerprint
from metaod.tables import Table

X = np.array([[0.0, 1.5], [-2.25, np.nan], [1e300, 3.0]])
y = np.array([0, 1, 0])

matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(allow_nan=True, allow_infinity=True),
)


def test_golden_value():
    # must never change: catalogues and stored results refer to fingerprints
    assert fingerprint(X, y) == "fp1:23d2bdca0b514baed53d3ded3a713ccb"
    mixed = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "é"]})
    assert fingerprint(mixed, y) == "fp1:7c68529f5ef52f5e373040b9a9815f39"


def test_follows_the_documented_recipe():
    head = b"metaod-fingerprint-1\n3\n2\n"
    first = b"n" + struct.pack("<3d", 1, 2, 3)
    second = b"t" + struct.pack("<Q", 1) + b"x" + b"\xff" * 8 + struct.pack("<Q", 2) + b"\xc3\xa9"
    label = b"y" + struct.pack("<3d", 0, 1, 0)
    digest = hashlib.sha256(head + first + second + label).hexdigest()
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "é"]})
    assert fingerprint(frame, y) == "fp1:" + digest[:32]


@pytest.mark.parametrize(
    "same",
    [
        X.tolist(),
        np.asfortranarray(X),
        X.astype(">f8"),
        np.repeat(X, 2, axis=0)[::2],
        pd.DataFrame(X, columns=["b", "a"], index=[7, 8, 9]),
        pd.DataFrame(X, columns=["a", "a"]),
        X.astype(object),
        np.where(X == 0, -0.0, X),
    ],
    ids=["list", "fortran", "big-endian", "strided", "frame", "same names", "object", "minus zero"],
)
def test_does_not_depend_on_layout(same):
    assert fingerprint(same, y) == fingerprint(X, y)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float32, np.float64, bool])
def test_does_not_depend_on_the_type_of_y(dtype):
    assert fingerprint(X, y.astype(dtype)) == fingerprint(X, y)


def test_float32_counts_by_its_float64_value():
    single = np.array([[0.1, 0.2]], dtype=np.float32)
    assert fingerprint(single, [0]) == fingerprint(single.astype(np.float64), [0])
    assert fingerprint(single, [0]) != fingerprint(np.array([[0.1, 0.2]]), [0])


def test_every_nan_is_the_same():
    payload = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64).view(np.float64)
    assert np.isnan(payload).all()
    assert fingerprint(payload[:, None]) == fingerprint([[np.nan], [np.nan]])


def test_a_table_brings_its_label():
    table = Table(pd.DataFrame(X), y.astype(np.int8))
    assert fingerprint(table) == fingerprint(X, y)
    assert fingerprint(table) != fingerprint(X)


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.nan, 0.0],
        [True, None, False],
        pd.array([1, None, 0], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.Categorical(["1", None, "0"]),
        ["1", None, "0.0"],
        pd.array(["1", None, "0"], dtype="string"),
        [1, None, 0],
    ],
    ids=["float", "bool", "Int64", "boolean", "nominal", "text", "string", "object"],
)
def test_numbers_count_as_numbers_however_a_file_calls_them(column):
    assert fingerprint(pd.DataFrame({"a": column})) == fingerprint([[1.0], [np.nan], [0.0]])


def test_dates_count_by_their_moment():
    naive = pd.DataFrame({"a": pd.to_datetime(["2020-01-01 12:00", None])})
    seconds = naive.astype("datetime64[s]")
    zoned = pd.DataFrame({"a": naive["a"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")})
    text = pd.DataFrame({"a": ["2020-01-01T12:00:00.000000", None]})
    assert fingerprint(naive) == fingerprint(seconds) == fingerprint(zoned) == fingerprint(text)


def test_text_columns_differ_by_their_text():
    words = pd.DataFrame({"a": ["ab", "c"]})
    assert fingerprint(words) != fingerprint(pd.DataFrame({"a": ["a", "bc"]}))
    assert fingerprint(words) != fingerprint(pd.DataFrame({"a": ["ab", None]}))
    assert fingerprint(pd.DataFrame({"a": ["ab", ""]})) != fingerprint(
        pd.DataFrame({"a": ["ab", None]})
    )
    surrogate = pd.DataFrame({"a": pd.Series(["\ud800", "c"], dtype=object)})
    assert fingerprint(surrogate) != fingerprint(words)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(matrices)
def test_a_frame_has_the_fingerprint_of_its_matrix(matrix):
    label = np.arange(len(matrix)) % 2
    assert fingerprint(pd.DataFrame(matrix), label) == fingerprint(matrix, label)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(matrices, st.data())
def test_any_other_value_changes_it(matrix, data):
    label = np.zeros(len(matrix))
    before = fingerprint(matrix, label)
    i = data.draw(st.integers(0, matrix.shape[0] - 1))
    j = data.draw(st.integers(0, matrix.shape[1] - 1))
    changed = matrix.copy()
    changed[i, j] = 0.5 if matrix[i, j] != 0.5 else 0.25
    assert fingerprint(changed, label) != before
    label[i] = 1
    assert fingerprint(matrix, label) != before


def test_shape_and_order_count():
    six = np.arange(6.0)
    shapes = {fingerprint(six.reshape(shape)) for shape in ((2, 3), (3, 2), (6, 1), (1, 6))}
    assert len(shapes) == 4
    assert fingerprint(X[::-1], y) != fingerprint(X, y)
    assert fingerprint(X[:, ::-1], y) != fingerprint(X, y)


@pytest.mark.parametrize("bad", [np.arange(3), 5.0, np.zeros((2, 2, 2))])
def test_refuses_what_is_no_table(bad):
    with pytest.raises(BadParameter, match="'X'"):
        fingerprint(bad)


@pytest.mark.parametrize("bad", [[0, 1], [[0], [1], [0]], ["no", "yes", "no"]])
def test_refuses_a_label_that_does_not_fit(bad):
    with pytest.raises(BadParameter, match="'y'"):
        fingerprint(X, bad)


def test_refuses_complex_numbers():
    with pytest.raises(BadParameter, match="complex"):
        fingerprint(np.array([[1j]]))
