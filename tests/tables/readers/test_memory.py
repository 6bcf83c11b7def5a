import contextlib
import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pandas.testing import assert_frame_equal

from metaod.errors import BadColumn, BadFile, BadParameter, UserError
from metaod.tables import Preparation, is_file, read_table

# A column may have the name of any attribute by which a file, array or frame is recognised.
ATTRIBUTES = ("read", "columns", "shape", "dtype", "tocsr", "column_names", "__array__", "values")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_columns_with_names_of_attributes(make, name):
    values = {name: [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0]}
    source = make(values)
    assert list(read_table(source).frame) == [name, "b"]
    assert not is_file(source)


def test_a_frame_with_a_method_read_is_a_frame():
    class Frame(pd.DataFrame):
        def read(self, size):
            raise AssertionError

    assert read_table(Frame({"a": [1, 2]})).frame["a"].tolist() == [1, 2]


# arrays


def test_matrix():
    x = np.arange(6.0).reshape(3, 2)
    table = read_table(x)
    assert list(table.frame) == ["x1", "x2"]
    np.testing.assert_array_equal(table.frame.to_numpy(), x)
    assert table.source == "ndarray"


def test_structured_array():
    array = np.array([(1, "a"), (2, "b")], dtype=[("n", int), ("s", "U3")])
    table = read_table(array)
    assert table.frame["n"].tolist() == [1, 2]
    assert table.frame["s"].tolist() == ["a", "b"]
    with pytest.raises(BadColumn, match="'v'"):
        read_table(np.zeros(2, dtype=[("v", float, (3,))]))


def test_masked_array():
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert np.isnan(read_table(masked).frame["x2"][0])


def test_array_of_objects_is_converted():
    table = read_table(np.array([[1, "a", None], [2.5, "b", "7"]], dtype=object))
    assert table.frame["x1"].tolist() == [1.0, 2.5]
    assert table.frame["x2"].tolist() == ["a", "b"]
    assert table.frame["x3"].tolist()[1] == 7.0


@pytest.mark.parametrize("array", [np.zeros((2, 2, 2)), np.float64(3)])
def test_arrays_of_other_shapes(array):
    with pytest.raises(BadParameter, match="1 or 2 axes"):
        read_table(np.asarray(array))


def test_empty_tables():
    for empty in (np.zeros((0, 2)), [], {}, pd.DataFrame(), pl.DataFrame()):
        with pytest.raises(BadFile, match="no rows"):
            read_table(empty)
    with pytest.raises(BadFile, match="no columns"):
        read_table(pd.DataFrame(index=[1, 2]))
    with pytest.raises(BadFile, match="no columns"):
        read_table(pd.DataFrame({"y": [0, 1]}), label="y")


# pandas


def test_typed_columns_of_a_frame_are_kept_as_they_came():
    frame = pd.DataFrame(
        {
            "a": pd.array([1, None], "Int64"),
            "b": pd.Categorical(["x", "y"]),
            "c": pd.to_datetime(["2020-01-01", None]).tz_localize("Europe/Berlin"),
            "d": ["x", "y"],
        },
        index=["second", "first"],
    )
    before = frame.copy()
    table = read_table(frame)
    assert_frame_equal(table.frame, frame)
    assert_frame_equal(frame, before)


def test_reading_leaves_the_callers_frame_alone():
    frame = pd.DataFrame({1: [1.0, 2.0], "y": ["o", "n"], "z": pd.Series([1, "x"], dtype=object)})
    before = frame.copy()
    table = read_table(frame, label="y", text="1")
    assert list(table.frame) == ["1", "z"]
    assert table.frame["1"].tolist() == ["1.0", "2.0"]
    assert table.label.tolist() == [1, 0]
    assert_frame_equal(frame, before)


def test_columns_of_objects_are_converted():
    numbers = pd.Series([1, 2.5, None], dtype=object)
    frame = pd.DataFrame({"a": numbers, "t": ["x", None, "y"]}).set_axis([7, 8, 9])
    table = read_table(frame)
    assert table.frame["a"].dtype == np.float64
    assert list(table.index) == [7, 8, 9]
    column = pd.Series([*range(50), "oops"], dtype=object)
    with pytest.raises(BadColumn, match=r"'a'.*'oops'.*row 51"):
        read_table(pd.DataFrame({"a": column}), bad_values="error")
    assert read_table(pd.DataFrame({"a": column}), na="oops").frame["a"].isna().sum() == 1


def test_series_and_sparse_columns():
    assert list(read_table(pd.Series([1, 2], name="s")).frame) == ["s"]
    assert list(read_table(pd.Series([1, 2])).frame) == ["x1"]
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])})
    assert read_table(sparse).frame["a"].dtype == np.float64


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than once"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "more than once"),
        (pd.DataFrame({"a": [1j]}), "complex"),
        (pd.DataFrame({"a": [[1, 2], [3]]}), "a value of type list"),
    ],
)
def test_bad_frames(frame, told):
    with pytest.raises(BadColumn, match=told):
        read_table(frame)


def test_unknown_columns():
    for options in ({"label": "z"}, {"text": "z"}):
        with pytest.raises(BadColumn, match=r"'z'.*'a'.*'b'"):
            read_table(pd.DataFrame({"a": [1], "b": [2]}), **options)


# Arrow and polars


def test_polars():
    frame = pl.DataFrame(
        {
            "i": [1, None],
            "s": ["x", None],
            "c": pl.Series(["u", "v"], dtype=pl.Categorical),
            "d": [dt.date(2020, 1, 1), None],
            "b": [True, False],
        }
    )
    table = read_table(frame)
    assert [dtype.kind for dtype in table.frame[["i", "d", "b"]].dtypes] == ["f", "M", "b"]
    assert table.frame["c"].tolist() == ["u", "v"]
    assert table.frame["s"].isna().tolist() == [False, True]
    with pytest.raises(BadColumn, match="list"):
        read_table(pl.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(BadParameter, match="source"):
        read_table(frame.lazy())


def test_duckdb_relations():
    frame = pd.DataFrame({"i": [1, 2, 3], "s": ["x", "NA", None], "d": [dt.date(2024, 1, 2)] * 3})
    relation = duckdb.connect().from_arrow(pa.Table.from_pandas(frame)).filter("i < 3")
    read = read_table(relation).frame
    assert read["i"].tolist() == [1, 2]
    assert [dtype.kind for dtype in read[["i", "d"]].dtypes] == ["i", "M"]
    assert len(Preparation().fit_transform(relation).X) == 2


def test_pyarrow():
    assert read_table(pa.table({"a": [1, 2]})).frame["a"].tolist() == [1, 2]
    assert read_table(pa.record_batch({"a": [1, 2]})).frame["a"].tolist() == [1, 2]
    with pytest.raises(BadParameter, match="source"):
        read_table(pa.chunked_array([[1, 2]]))


# sparse matrices


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sparse_matrices(form):
    dense = np.array([[0.0, 1.5], [2.5, 0.0]])
    for make in (scipy.sparse.coo_array, scipy.sparse.coo_matrix):
        table = read_table(make(dense).asformat(form))
        np.testing.assert_array_equal(table.frame.to_numpy(), dense)


def test_sparse_matrices_within_bounds():
    with pytest.raises(BadFile, match=r"8\.0 GiB"):
        read_table(scipy.sparse.csr_array((10**9, 10**6)))


# lists and dicts


def test_lists_and_dicts():
    assert read_table([[1, "a"], [2, "b"]]).frame["x2"].tolist() == ["a", "b"]
    assert read_table([("1", "x"), ("2", "y")]).frame["x1"].tolist() == [1, 2]
    assert read_table([1.5, None]).frame["x1"].isna().tolist() == [False, True]
    assert read_table([{"a": 1}, {"b": 2, "a": 3}]).frame["b"].isna().tolist() == [True, False]
    assert read_table({"a": np.array([1, 2]), "b": ("u", "v")}).frame["b"].tolist() == ["u", "v"]


def test_values_of_many_types():
    day = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    table = read_table(
        {
            "number": [1, 2.5, Decimal("3.5"), np.float32(4), "5", float("nan"), None],
            "date": [day, dt.date(2020, 1, 2), np.datetime64("2020-01-03"), None, pd.NaT, day, day],
            "took": [dt.timedelta(seconds=90), *[np.timedelta64(1, "m")] * 6],
            "truth": [True, np.False_, "true", "FALSE", True, True, True],
            "huge": [2**70, 1, 1, 1, 1, 1, 10**400],
            "bytes": [b"a", "b", "c", "d", "e", "f", "\ud800"],
        }
    )
    kinds = "".join(dtype.kind for dtype in table.frame.drop(columns="bytes").dtypes)
    assert kinds == "fMfbf"
    assert table.frame["date"][0] == pd.Timestamp("2020-01-01 10:00")
    assert table.frame["took"].tolist()[:2] == [90, 60]
    assert table.frame["huge"][6] == np.inf
    assert table.frame["bytes"].tolist()[0] == "a"
    assert table.warnings[0].code == "rounded-numbers"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ([[1, 2], [3]], r"of one length \(the first has 2\).*Fix row 2"),
        ([[1, 2], 3], "Fix row 2"),
        ([1, [2, 3]], "Fix row 1"),
        ({"a": [1], "b": [1, 2]}, "columns of one length"),
        ({"a": 1}, r"source\['a'\].*a list of values"),
        (3, "a path, '-' or a file object"),
        (None, "a path"),
        (b"a,b", "a path"),
    ],
)
def test_unsupported_objects(source, told):
    with pytest.raises(BadParameter, match=told):
        read_table(source)


def test_options_of_files_are_refused():
    with pytest.raises(BadParameter, match="'sheet'"):
        read_table([[1]], sheet="S")


CALM = settings(derandomize=True, deadline=None, max_examples=60)


@CALM
@given(
    npst.arrays(
        npst.scalar_dtypes() | npst.unicode_string_dtypes(max_len=4),
        npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_any_array_is_a_table_or_a_user_error(array):
    with contextlib.suppress(UserError):
        assert read_table(array).n_rows == len(array)


PLAIN = [st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.dates()]
ODD = [st.binary(max_size=3), st.datetimes(), st.times(), st.timedeltas(), st.decimals()]
NONE_OF_A_TABLE = [st.complex_numbers(), st.lists(st.integers(), max_size=2)]
VALUES = st.one_of(*PLAIN, *ODD, st.fractions(), *NONE_OF_A_TABLE)


@CALM
@given(st.lists(st.lists(VALUES, min_size=2, max_size=2), max_size=6), st.booleans())
def test_any_list_is_a_table_or_a_user_error(rows, as_frame):
    source = pd.DataFrame(rows, dtype=object) if as_frame else rows
    with contextlib.suppress(UserError):
        assert read_table(source).n_rows == len(rows)


def test_masked_cells_are_missing_in_arrays_of_any_type():
    mask = [[True], [False]]
    texts = read_table(np.ma.masked_array([["a"], ["b"]], mask)).frame["x1"]
    days = np.array([["2024-01-02"], ["2024-01-03"]], dtype="datetime64[ns]")
    for column in (texts, read_table(np.ma.masked_array(days, mask)).frame["x1"]):
        assert column.isna().tolist() == [True, False]
