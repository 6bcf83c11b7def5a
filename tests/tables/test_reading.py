"""The options and the label of ``read_table``."""

import io

import numpy as np
import pandas as pd
import pytest
from sample_files import xlsx

from metaod.errors import BadColumn, BadParameter
from metaod.tables import read_table, stream_table

PAIRS = [
    (0, 1),
    (0.0, 1.0),
    (False, True),
    ("0", "1"),
    ("1", "-1"),  # scikit-learn's way: -1 is the outlier
    ("no", "YES"),
    ("n", "o"),
    ("n", "y"),
    ("Inlier", "Outlier"),
    ("normal", "anomaly"),
    ("FALSE", "TRUE"),
    (b"no", b"yes"),
    (1, -1),
    (" no", "yes "),
]


@pytest.mark.parametrize(
    ("values", "label"),
    [
        *(((inlier, outlier, inlier), [0, 1, 0]) for inlier, outlier in PAIRS),
        *(([0, 0], [0, 0]), ([1, 1], [1, 1]), ([-1, -1], [1, 1]), (["o", "o"], [1, 1])),
    ],
    ids=repr,
)
def test_label_values_in_memory_and_in_files(values, label):
    frame = pd.DataFrame({"a": range(len(values)), "y": pd.Series(values, dtype=object)})
    texts = frame.assign(y=[own.decode() if isinstance(own, bytes) else own for own in values])
    for source in (frame, io.StringIO(texts.to_csv(index=False))):
        table = read_table(source, label="y")
        assert (table.label.tolist(), table.label.dtype) == (label, np.int8)
        assert list(table.frame) == ["a"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0, 1, 2], "'0', '1', '2'"),
        ([0.5, 1.0, 0.0], "'0', '0.5', '1'"),
        (["red", "blue", "red"], "'blue', 'red'"),
        (["no", "1", "yes"], "'1', 'no', 'yes'"),
        ([-1, 0, 1], "'-1', '0', '1'"),
    ],
)
def test_other_label_values_are_listed(values, told):
    with pytest.raises(
        BadColumn, match=f"'y': is not a label of outliers; its values are: {told}"
    ) as caught:
        read_table(pd.DataFrame({"a": [1, 2, 3], "y": values}), label="y")
    assert "no/yes, n/y, n/o, inlier/outlier, normal/anomaly, normal/o" in str(caught.value)


def test_many_other_label_values_are_counted():
    frame = pd.DataFrame({"a": range(50), "y": range(50)})
    with pytest.raises(BadColumn, match=r"\.\.\. \(50 in all\)"):
        read_table(frame, label="y")


def test_missing_labels_name_their_place():
    with pytest.raises(BadColumn, match=r"'y'.*row 2"):
        read_table(pd.DataFrame({"a": [1, 2], "y": [1.0, None]}), label="y")
    with pytest.raises(BadColumn, match=r"'y'.*line 5"):
        read_table(io.StringIO('a,y\n"1\n",0\n\n2,?\n'), label="y")


def test_a_label_that_is_not_named_stays_a_column():
    table = read_table(pd.DataFrame({"a": [1, 2], "y": [0, 1]}))
    assert table.label is None
    assert list(table.frame) == ["a", "y"]


def test_a_label_is_not_converted_as_a_column():
    # nearly all of it is numbers, which in another column would be a mistake
    text = "a,y\n" + "1,0\n" * 30 + "1,anomaly\n"
    with pytest.raises(BadColumn, match="'0', 'anomaly'"):
        read_table(io.StringIO(text), label="y")


# options


@pytest.mark.parametrize(("name", "value"), [("header", "x"), ("variable", "X"), ("sheet", 0)])
def test_wrong_options_and_those_of_other_formats_are_named(name, value):
    with pytest.raises(BadParameter, match=f"The '{name}' parameter of read_table must be"):
        read_table(io.StringIO("a,b\n1,2\n"), **{name: value})


@pytest.mark.parametrize("form", ["csv", "xlsx", "frame"])
def test_words_that_count_as_missing_are_told_once(form):
    texts = {"a": ["1", "-", "", "4", "2"], "b": ["x", "none", "#N/A", "y", " - "]}
    frame = pd.DataFrame(texts).assign(c=["NA", "1", "5", "-999", "7"])
    source = {"csv": io.StringIO(frame.to_csv(index=False)), "frame": frame}
    if form == "xlsx":
        source["xlsx"] = io.BytesIO(xlsx(frame))
    table = read_table(source[form], na="-999")
    assert table.frame.isna().sum().tolist() == [2, 3, 2]
    [warning] = table.warnings
    assert warning.code == "missing-words"
    assert warning.values["shown"] == "'-' (2), 'none' (1), '#N/A' (1)"
    assert read_table(frame[["c"]], na="-999").warnings == ()


CODED = pd.DataFrame(
    {
        "q3": [1, 99, 3, 2] * 5,
        "q4": [99, 5, 98, 7] * 5,
        "q5": ["4.5", "unknown", "2.5", "1"] * 5,
        "a=b": ["x", "none=all", "9", "y"] * 5,
        "on": ["2024-01-02", "9999-12-31", "2024-01-03", "2024-01-04"] * 5,
    }
)


@pytest.mark.parametrize("form", ["csv", "chunks", "parquet", "xlsx", "jsonl", "frame"])
def test_codes_for_missing_values_count_in_their_column_alone(form, tmp_path):
    path = tmp_path / f"t.{'csv' if form == 'chunks' else form}"
    write = {
        "parquet": CODED.to_parquet,
        "xlsx": lambda to: to.write_bytes(xlsx(CODED)),
        "jsonl": lambda to: CODED.to_json(to, orient="records", lines=True),
    }
    write.get(form, lambda to: CODED.to_csv(to, index=False))(path)
    given = ["q3=99", "q5=unknown", "a=b=9", "=none=all", "on=9999-12-31"]
    if form == "chunks":
        stream = stream_table(path, na=given)
        stream.draw(5, seed=0)
        frame = pd.concat(table.frame for table in stream.chunks())
    else:
        frame = read_table(CODED if form == "frame" else path, na=given).frame
    expected = [5, 0, 5, 10, 5]
    assert frame.isna().sum().tolist() == expected
    assert frame["q5"].dtype == float
    assert frame["on"].dtype.kind == "M"


@pytest.mark.parametrize(
    ("na", "missing"),
    [
        ({"a": 9}, ["a"]),
        ({"a": [9], "a=b": "9"}, ["a", "a=b"]),
        ("a=9", ["a"]),
        ("a=b=9", ["a=b"]),  # the longest name that there is
        ("9", ["a", "a=b", "c"]),
        ("=9", []),  # a word
        ("=x=9", []),  # the word x=9
    ],
)
def test_a_code_belongs_to_the_longest_name_before_an_equals_sign(na, missing):
    frame = pd.DataFrame({"a": [1, 9, 3], "a=b": [9, 2, 4], "c": [9.0, 1.5, 2]})
    read = read_table(frame, na=na).frame
    assert [name for name in read if read[name].isna().any()] == missing


def test_a_code_of_a_column_that_is_not_there_is_refused():
    with pytest.raises(BadColumn, match=r"column 'qq'.*na='=qq=9'"):
        read_table(pd.DataFrame({"q": [1, 9]}), na="qq=9")
    with pytest.raises(BadParameter, match="by column"):
        read_table(pd.DataFrame({"q": [1, 9]}), na={3: 9})
