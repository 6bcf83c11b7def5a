import gzip
import io

import numpy as np
import pandas as pd
import pytest
import scipy.io.arff
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_files import ARFF

from metaod.errors import BadColumn, BadFile
from metaod.tables import read_table

HEADER = """@RELATION 'a name'
@ATTRIBUTE height REAL
@attribute "kind of" {tall, 'not so', "it's"}
@attribute\tnote string
@data
"""


def read(content, **options):
    return read_table(io.StringIO(content), **options)


def values(table):
    return table.frame.astype(object).where(table.frame.notna(), None).to_numpy().tolist()


def test_sample_file():
    table = read_table(io.BytesIO(ARFF), label="y")
    assert values(table)[0][:3] == [1.5, "x", "it's"]
    assert values(table)[1] == [None, "y z", "q", None]
    assert values(table)[2] == [2.0, "y z", None, None]  # sparse: strings left out are missing
    assert table.frame["d"][0] == pd.Timestamp("2020-01-01")
    assert table.label.tolist() == [0, 1, 1]


def test_quoting_and_missing_values():
    table = read(
        HEADER
        + "% a comment\n\n"
        + "1, tall, 'a, b'\n"
        + r"""?, "it's", 'a \'quoted\' \"word\" \\ \u00e9\n'"""
        + "\n2.5,'not so','?'\n-1e3,?,?\n"
    )
    assert values(table) == [
        [1.0, "tall", "a, b"],
        [None, "it's", "a 'quoted' \"word\" \\ é\n"],
        [2.5, "not so", "?"],
        [-1000.0, None, None],
    ]


def test_sparse_rows_omit_zeros_and_first_values():
    table = read(HEADER + "{}\n{0 2.5, 2 'x, y'}\n{1 \"it's\"}\n")
    assert values(table) == [[0.0, "tall", None], [2.5, "tall", "x, y"], [0.0, "it's", None]]


def test_integers_and_dates():
    table = read(
        "@relation r\n@attribute i integer\n@attribute g integer\n"
        "@attribute t date\n@attribute d date 'dd.MM.yy HH:mm'\n@data\n"
        "1,1,2020-02-03T04:05:06,31.12.99 23:59\n2,?,?,?\n"
    )
    assert [dtype.kind for dtype in table.frame.dtypes] == ["i", "f", "M", "M"]
    assert table.frame["t"][0] == pd.Timestamp("2020-02-03 04:05:06")
    assert table.frame["d"][0] == pd.Timestamp("1999-12-31 23:59")


def test_gzipped_file_with_long_comments(tmp_path):
    path = tmp_path / "t.arff.gz"
    path.write_bytes(gzip.compress(b"% about it\n" * 9000 + ARFF, mtime=0))
    assert read_table(path).n_rows == 3


def test_encoding_is_guessed_with_a_warning():
    text = HEADER.replace("note", "größe") + "1,tall,é\n"
    table = read_table(io.BytesIO(text.encode("cp1252")))
    assert table.frame["größe"].tolist() == ["é"]
    assert table.warnings[0].values["encoding"] == "cp1252"


@pytest.mark.parametrize(
    ("rows", "line", "column", "told"),
    [
        ("1,tall,x\n1,tall\n", 7, None, "2 values where 3 attributes"),
        ("1,tall,x\n\n%\none,tall,x\n", 9, "height", "'one' is not a number"),
        ("1_0,tall,x\n", 6, "height", "'1_0' is not a number"),
        ("1,small,x\n", 6, "kind of", "'small' is not one of the declared"),
        ("1,tall,'x\n", 6, None, "a quote is opened"),
        ("{0 1, 7 x}\n", 6, None, "index 7 where indices rise from 0 to 2"),
        ("{1 tall, 0 1}\n", 6, None, "index 0 where"),
        ("{0 1, 999999999 x}\n", 6, None, "index 999999999"),
        ("{0 1\n", 6, None, "not a sparse row"),
        ("{zero 1}\n", 6, None, "not a sparse row"),
    ],
)
def test_faulty_rows(rows, line, column, told):
    with pytest.raises(BadFile, match=told) as caught:
        read(HEADER + rows)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("declarations", "line", "told"),
    [
        ("@attribute a real\n@attribute a real\n@data\n1,2\n", 3, "declared twice"),
        ("@attribute a\n@data\n1\n", 2, "without a name or a type"),
        ("@attribute '' real\n@data\n1\n", 2, "without a name or a type"),
        ("@attribute a relational\n@data\n1\n", 2, "'relational' is not supported"),
        ("@attribute a {x,'y}\n@data\nx\n", 2, "is not supported"),
        ("@attribute a date 'QQQ'\n@data\nx\n", 2, "date format 'QQQ'"),
        ("@attribute a date 'yyyy yyyy'\n@data\nx\n", 2, "repeated parts"),
        ("@attribute a real\nx,y\n", 3, "not a declaration"),
        ("@data\n1\n", 2, "no attributes"),
        ("@attribute a real\n", None, "no @data"),
        ("@attribute a real\n@data\n% nothing\n", None, "no rows"),
    ],
)
def test_faulty_declarations(declarations, line, told):
    with pytest.raises(BadFile, match=told) as caught:
        read("@relation r\n" + declarations)
    assert caught.value.line == line


def test_a_missing_label_names_its_line():
    with pytest.raises(BadColumn, match="line 7"):
        read("@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n\n1,0\n2,?\n", label="y")


def test_rows_are_read_a_chunk_at_a_time(monkeypatch):
    rows = "".join(f"{i},tall,x\n" for i in range(10))
    whole = read(HEADER + rows).frame
    monkeypatch.setattr("metaod.tables.readers.arff._VALUES_PER_CHUNK", 9)
    assert read(HEADER + rows).frame.equals(whole)
    with pytest.raises(BadFile, match=r"line 15.*'height'.*'x'"):
        read(HEADER + rows.replace("9,", "x,"))


def test_many_columns_in_a_small_sparse_file():
    declared = "".join(f"@attribute a{i} real\n" for i in range(1000))
    with pytest.raises(BadFile, match=r"6,400,000 bytes.*1,000,000"):
        read(f"@relation r\n{declared}@data\n" + "{}\n" * 200, max_bytes=10**6)


def test_sparse_rows_that_need_far_more_than_they_take(monkeypatch):
    monkeypatch.setattr("metaod.tables.readers._source._SMALL_BYTES", 10**6)
    declared = "".join(f"@attribute a{i} real\n" for i in range(1000))
    with pytest.raises(BadFile, match=r"160,.*1,"):
        read(f"@relation r\n{declared}@data\n" + "{}\n" * 20_000)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False) | st.none(),
            st.sampled_from(["red", "blue", "x-1"]),
            st.integers(-(2**31), 2**31),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_agrees_with_scipy(rows):
    text = "@relation r\n@attribute a numeric\n@attribute b {red,blue,x-1}\n"
    text += "@attribute c real\n@data\n"
    for number, word, whole in rows:
        text += f"{'?' if number is None else repr(number)},{word},{whole}\n"
    theirs, _ = scipy.io.arff.loadarff(io.StringIO(text))
    ours = read(text).frame
    np.testing.assert_array_equal(ours["a"].to_numpy(), theirs["a"])
    np.testing.assert_array_equal(ours["c"].to_numpy(), theirs["c"])
    assert ours["b"].tolist() == [word.decode() for word in theirs["b"]]
