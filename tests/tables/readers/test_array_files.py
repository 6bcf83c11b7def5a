import io
import struct
import tracemalloc
import zipfile
import zlib

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from sample_files import X, Y, hdf5, mat, mat73, npy, npz

from metaod.errors import BadColumn, BadFile, UserError
from metaod.tables import read_table


def read(data, **options):
    return read_table(io.BytesIO(data), **options)


WRITERS = {
    "npz": npz,
    "mat 4": lambda **arrays: mat("4", **arrays),
    "mat 5": mat,
    "mat 7.3": mat73,
    "hdf5": hdf5,
}


@pytest.fixture(params=WRITERS)
def write(request):
    return WRITERS[request.param]


def test_table_x_and_named_label(write):
    table = read(write(X=X, y=Y, other=X), label="y")
    np.testing.assert_array_equal(table.frame.to_numpy(), X)
    assert list(table.frame) == ["x1", "x2", "x3"]
    assert table.label.tolist() == Y.tolist()
    assert table.label.dtype == np.int8
    assert read(write(X=X, y=Y)).label is None


def test_a_variable_may_be_named(write):
    table = read(write(X=X, other=2 * X), variable="other")
    np.testing.assert_array_equal(table.frame.to_numpy(), 2 * X)


def test_an_unclear_choice_of_array_is_refused(write):
    with pytest.raises(BadFile, match=r"unclear which array.*one: 12 × 3.*two: 12 × 3"):
        read(write(one=X, two=X))
    with pytest.raises(BadFile, match=r"'three'.*12"):
        read(write(one=X, two=X), variable="three")


def test_labels_of_wrong_length_or_name(write):
    with pytest.raises(BadFile, match=r"'y'.*'X'.*12 rows"):
        read(write(X=X, y=Y[:5]), label="y")
    with pytest.raises(BadColumn, match=r"neither a column of 'X' \(x1 to x3\) nor another array"):
        read(write(X=X, y=Y), label="z")


def test_a_column_may_be_the_label(write):
    x = np.column_stack([X, Y])
    table = read(write(X=x, y=1 - Y), label="x4")
    assert table.label.tolist() == Y.tolist()
    assert list(table.frame) == ["x1", "x2", "x3"]


# NPY and NPZ


@pytest.mark.parametrize(
    ("array", "kinds"),
    [
        (np.arange(6, dtype=np.uint8).reshape(3, 2), "ii"),
        (np.arange(3, dtype=">i4"), "i"),
        (np.array([[True], [False]]), "b"),
        (np.arange(4, dtype=np.float16).reshape(2, 2, order="F"), "ff"),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), "M"),
        (np.array([1, 2], dtype="timedelta64[h]"), "f"),
        (np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f4")]), "if"),
    ],
)
def test_types_of_npy(array, kinds):
    table = read(npy(array))
    assert "".join(dtype.kind for dtype in table.frame.dtypes) == kinds
    assert table.n_rows == len(array)


def test_text_in_npy_is_converted():
    frame = read(npy(np.array([["1", "a"], ["2", "b"]]))).frame
    assert frame["x1"].tolist() == [1, 2]
    assert frame["x2"].tolist() == ["a", "b"]


def test_unsigned_numbers_beyond_64_bits():
    table = read(npy(np.array([[2**64 - 1, 1]], dtype=np.uint64)))
    assert table.frame["x1"].dtype == np.float64
    assert table.warnings[0].code == "rounded-numbers"
    assert read(npy(np.array([[5]], dtype=np.uint64))).frame["x1"].dtype == np.int64


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros((2, 2, 2)), "3 axes"),
        (np.float64(1), "0 axes"),
        (np.zeros((0, 3)), "is empty"),
        (np.zeros((3, 0)), "is empty"),
        (np.array([["a", None]], dtype=object), "only pickle can read"),
        (np.zeros(2, dtype=complex), "complex128"),
    ],
)
def test_unsupported_arrays(array, told):
    with pytest.raises((BadFile, BadColumn), match=told):
        read(npy(array))


def test_objects_in_npz_are_never_unpickled():
    data = npz(X=X, y=np.array(["yes", "no"] * 6, dtype=object))
    assert read(data).n_rows == 12
    with pytest.raises(BadFile, match="only pickle can read"):
        read(data, label="y")
    with pytest.raises(BadFile, match="only pickle can read"):
        read(npz(X=np.array([[1, "a"]], dtype=object)))


def promising_npy(shape, dtype="<f8"):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * 64


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((10**9, 20), "<f8"), ((10**30, 2), "<f8"), ((10**12,), "<U0"), ((3, 3), "<f8")],
)
def test_npy_header_larger_than_the_file(shape, dtype):
    with pytest.raises(BadFile, match="promises"):
        read(promising_npy(shape, dtype))


def test_npz_header_larger_than_the_file():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("X.npy", promising_npy((10**9, 20)))
    with pytest.raises(BadFile, match=r"'X'.*149\.0 GiB"):
        read(buffer.getvalue())
    bomb = npz(compressed=True, X=np.zeros((1000, 1000)))
    with pytest.raises(BadFile, match="100,000 bytes"):
        read(bomb, max_bytes=100_000)


def test_zip_member_larger_than_deflate_allows():
    data = bytearray(npz(compressed=True, X=np.ones((100, 100))))
    # the size before compression, in the directory at the end
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 2**30)
    with pytest.raises(BadFile, match=r"1\.0 GiB"):
        read(bytes(data))


def test_npy_of_python_2_and_of_version_3():
    with pytest.warns(UserWarning, match="Python 2"):
        assert read(promising_npy("(2L, 2L)")).frame.shape == (2, 2)
    with pytest.warns(UserWarning, match="format 3.0"):
        new = npy(np.array([(1.0,)], dtype=[("größe €", "f8")]))
    assert new[6] == 3
    assert list(read(new).frame) == ["größe €"]


# MATLAB


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6.0).reshape(3, 2) / 3,
        np.arange(6, dtype=np.float32).reshape(3, 2) / 3,
        *(
            np.arange(6, dtype=f"{u}int{b}").reshape(3, 2)
            for u in ("", "u")
            for b in (8, 16, 32, 64)
        ),
        np.array([[True, False], [False, True]]),
        scipy.sparse.csc_array([[0.0, 1.5], [2.5, 0.0], [0.0, 0.0]]),
    ],
)
def test_matlab_5_agrees_with_scipy(array, compressed):
    data = mat(compressed=compressed, X=array, name_longer_than_most=np.ones((2, 1)))
    theirs = scipy.io.loadmat(io.BytesIO(data))["X"]
    theirs = theirs.toarray() if scipy.sparse.issparse(theirs) else theirs
    ours = read(data).frame.to_numpy()
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype.kind == {"u": "i"}.get(array.dtype.kind, array.dtype.kind)


def part(kind, content, order="<"):
    return struct.pack(f"{order}II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def matlab_5(*parts, order="<"):
    """Write a file of one variable from its flags, shape, name and content."""
    mark = b"\x01\x00MI" if order == ">" else b"\x00\x01IM"
    return b"MATLAB 5.0 MAT-file".ljust(124) + mark + part(14, b"".join(parts), order)


def test_matlab_5_of_the_other_byte_order():
    flags, shape = struct.pack(">II", 6, 0), struct.pack(">ii", 3, 2)
    numbers = struct.pack(">6d", 1, 2, 3, 4, 5, 6)  # column by column
    contents = [(6, flags), (5, shape), (1, b"X"), (9, numbers)]
    data = matlab_5(*(part(kind, content, ">") for kind, content in contents), order=">")
    assert read(data).frame.to_numpy().tolist() == [[1, 4], [2, 5], [3, 6]]
    squeezed = zlib.compress(data[128:])
    deflated = data[:128] + struct.pack(">II", 15, len(squeezed)) + squeezed
    assert read(deflated).frame.to_numpy().tolist() == [[1, 4], [2, 5], [3, 6]]


DOUBLE, CHAR, CELL = (part(6, struct.pack("<II", kind, 0)) for kind in (6, 4, 1))
NAME, SHAPE = part(1, b"X"), part(5, struct.pack("<ii", 2, 1))
NUMBERS = part(9, struct.pack("<2d", 1, 2))


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([DOUBLE, SHAPE, NAME, NUMBERS[:12]], "cut short"),
        ([DOUBLE, SHAPE, NAME], "cut short"),
        ([DOUBLE, SHAPE, NAME, part(8, b"12345678")], "numbers stored as unknown type 8"),
        ([DOUBLE, SHAPE, part(9, b"12345678"), NUMBERS], "text stored as unknown type 9"),
        ([DOUBLE, part(5, struct.pack("<ii", -2, 1)), NAME, NUMBERS], r"a shape of \(-2, 1\)"),
        ([DOUBLE, part(5, struct.pack("<ii", 3, 1)), NAME, NUMBERS], "2 numbers where the shape"),
        ([part(6, struct.pack("<II", 99, 0)), SHAPE, NAME, NUMBERS], "holds no arrays"),
    ],
)
def test_damaged_matlab_5(parts, told):
    with pytest.raises(BadFile, match=told):
        read(matlab_5(*parts))


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ([CHAR, SHAPE, part(1, b"y"), part(16, b"abc")], "3 characters where the shape"),
        ([CELL, SHAPE, part(1, b"y"), NUMBERS, NUMBERS], "a cell that holds no variable"),
        (
            [CELL, SHAPE, part(1, b"y"), *[part(14, DOUBLE + SHAPE + NAME + NUMBERS)] * 2],
            "a cell that holds more than one value",
        ),
    ],
)
def test_damaged_labels_of_matlab_5(label, told):
    table = matlab_5(DOUBLE, SHAPE, NAME, NUMBERS)
    with pytest.raises(BadFile, match=told):
        read(table + matlab_5(*label)[128:], label="y")


def test_labels_of_matlab_may_be_words():
    words = np.array(["normal", "anomaly"] * 6, dtype=object)
    assert read(mat(X=X, y=words), label="y").label.tolist() == Y.tolist()
    characters = np.array(["no", "yes"] * 6)
    assert read(mat(X=X, y=characters), label="y").label.tolist() == Y.tolist()


def test_matlab_variables_that_are_not_numbers():
    data = mat(X=X, options={"a": 1, "b": "text"}, words=np.array(["a", "b"], dtype=object))
    assert read(data).n_columns == 3
    with pytest.raises(BadFile, match="'options'"):
        read(data, variable="options")
    with pytest.raises(BadFile, match="complex"):
        read(mat(X=X * 1j))


def test_matlab_5_header_larger_than_the_file():
    data = bytearray(mat(X=np.arange(6.0).reshape(3, 2) / 3))
    at = data.index(struct.pack("<ii", 3, 2))
    data[at : at + 8] = struct.pack("<ii", 2**30, 20)
    with pytest.raises(BadFile, match=r"640\.0 GiB"):
        read(bytes(data))
    data[at : at + 8] = struct.pack("<ii", 2**20, 20)
    with pytest.raises(BadFile, match="6 numbers where the shape is"):
        read(bytes(data))


def test_matlab_4_header_larger_than_the_file():
    data = bytearray(mat("4", X=X))
    data[4:12] = struct.pack("<ii", 10**9, 3)
    with pytest.raises(BadFile, match="1,000,000,000"):
        read(bytes(data))


def test_sparse_matlab_is_made_dense_within_bounds():
    huge = scipy.sparse.csc_array(([1.0], ([5], [0])), shape=(10**7, 2))
    with pytest.raises(BadFile, match="1,000,000 bytes"):
        read(mat(X=huge), max_bytes=10**6)


def test_indices_outside_a_sparse_matrix():
    data = bytearray(mat(X=scipy.sparse.csc_array([[0.0, 1.5], [2.5, 0.0], [0.0, 0.0]])))
    at = data.index(struct.pack("<ii", 1, 0), 128 + 56)  # the rows of the two numbers
    data[at : at + 4] = struct.pack("<i", 2**28)
    with pytest.raises(BadFile, match="indices of a sparse matrix lie outside it"):
        read(bytes(data))


# HDF5


def test_matlab_73_sparse_and_groups():
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        group.create_dataset("data", data=[2.5, 1.5])
        group.create_dataset("ir", data=np.array([1, 0], dtype=np.uint64))
        group.create_dataset("jc", data=np.array([0, 1, 2], dtype=np.uint64))
        file.create_dataset("#refs#/a", data=X)
    assert read(buffer.getvalue()).frame.to_numpy().tolist() == [[0, 1.5], [2.5, 0], [0, 0]]


def test_nested_datasets():
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.create_dataset("group/table", data=X)
        file.create_dataset("group/y", data=Y)
    table = read(buffer.getvalue(), variable="group/table", label="group/y")
    np.testing.assert_array_equal(table.frame.to_numpy(), X)


def test_hdf5_shape_larger_than_the_file():
    def file(shape):
        buffer = io.BytesIO()
        with h5py.File(buffer, "w") as file:
            file.create_dataset("X", shape=shape, dtype="f8", chunks=(1000, 2))
        return buffer.getvalue()

    with pytest.raises(BadFile, match=r"1,000,000,000.*20.*596\.0 GiB"):
        read(file((10**9, 20)))
    with pytest.raises(BadFile, match=r"160,000,000 bytes.*0 bytes"):
        read(file((10**6, 20)))


def test_hdf5_data_in_other_files_are_refused(tmp_path):
    (tmp_path / "raw").write_bytes(np.arange(6.0).tobytes())
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (3, 2), "f8", external=[(str(tmp_path / "raw"), 0, 48)])
    with pytest.raises(BadFile, match="lies in other files"):
        read_table(path)
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["X"] = np.arange(6.0).reshape(3, 2)
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "plain.h5"), "X")
    for options in ({}, {"variable": "X"}):
        with pytest.raises(UserError):
            read_table(tmp_path / "links.h5", **options)


def test_structured_hdf5():
    records = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]}).to_records(index=False)
    table = read(hdf5(t=records), variable="t")
    assert table.frame["b"].tolist() == [1.5, 2.5]


def test_what_follows_the_values_of_a_matlab_variable_is_never_unpacked(tmp_path):
    values = np.arange(8.0)
    shape = part(5, struct.pack("<ii", 4, 2))
    data = matlab_5(DOUBLE, shape, NAME, part(9, values.tobytes()), bytes(2**26))
    packed = zlib.compress(data[128:])
    path = tmp_path / "t.mat"
    path.write_bytes(data[:128] + struct.pack("<II", 15, len(packed)) + packed)
    tracemalloc.start()
    try:
        frame = read_table(path).frame
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(frame.to_numpy(), values.reshape(2, 4).T)
    assert peak < 2**24


def test_archives_that_unpack_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr("metaod.tables.readers._source._SMALL_BYTES", 10**5)
    zeros = np.zeros((20_000, 4))
    contents = {
        "t.npz": npz(compressed=True, X=zeros),
        "t.mat": mat("5", compressed=True, X=zeros),
        "t7.mat": mat73(X=zeros),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadFile, match="times its size; if this is right, save it with less"):
            read_table(tmp_path / name)
