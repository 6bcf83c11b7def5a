import csv
import io
from encodings.aliases import aliases

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from metaod.errors import BadFile, UserError
from metaod.tables import read_table


def read(content, **options):
    stream = io.BytesIO(content) if isinstance(content, bytes) else io.StringIO(content)
    return read_table(stream, **options)


def columns(table):
    return {name: column.tolist() for name, column in table.frame.items()}


# delimiters and decimals


def test_decimal_commas_that_may_group_thousands_give_a_warning():
    table = read("a;b\n1,234;x\n2,500;y\n")
    assert columns(table)["a"] == [1.234, 2.5]
    assert table.warnings[0].code == "guessed-decimal"


@pytest.mark.parametrize(
    ("text", "options", "values"),
    [
        ("a;b\n1.234,5;x\n2.345,5;y\n3;z\n", {"decimal": ","}, [1234.5, 2345.5, 3]),
        ('a,b\n"1,234.5",x\n"2,345",y\n', {}, [1234.5, 2345]),
        ("a;b\n1.234;1,5\n987;2,5\n", {}, [1234, 987]),
    ],
)
def test_numbers_with_thousands_separators(text, options, values):
    table = read(text, **options)
    assert columns(table)["a"] == values
    assert table.warnings[-1].code in ("notation", "uncertain-notation")


def test_amounts_tell_the_decimal_mark_of_plain_numbers():
    table = read("n;price\n1.234;1.234,50 €\n2.500;0,75 €\n")
    assert columns(table) == {"n": [1234, 2500], "price": [1234.5, 0.75]}
    assert (table.warnings[0].code, table.warnings[0].values["column"]) == (
        "uncertain-notation",
        "n",
    )
    assert columns(read("n;day\n1.234;18.03.2024\n2.500;19.03.2024\n"))["n"] == [1.234, 2.5]


def test_the_other_decimal_mark_is_refused_if_one_is_given():
    with pytest.raises(BadFile, match="'decimal'") as caught:
        read("a;b\n1,5;x\n2,5;y\n", decimal=".", bad_values="error")
    assert (caught.value.line, caught.value.column) == (2, "a")


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("sep=|\r\na;b|c\r\n1|2\r\n", {}, {"a;b": [1], "c": [2]}),
        ("a\tb\n1\t2\n", {"delimiter": "\\t"}, {"a": [1], "b": [2]}),
        ("1.5,Ann\n1.7,Bo\n", {}, {"x1": [1.5, 1.7], "x2": ["Ann", "Bo"]}),
        (
            "id,2019,2020\n1,5.5,6.5\n2,7.5,8.5\n",
            {},
            {"id": [1, 2], "2019": [5.5, 7.5], "2020": [6.5, 8.5]},
        ),
        ("#,name\n1,x\n2,y\n", {}, {"#": [1, 2], "name": ["x", "y"]}),
        ("# of cities\n1\n2\n", {}, {"# of cities": [1, 2]}),
    ],
)
def test_delimiters_and_names(text, options, found):
    table = read(text, **options)
    assert columns(table) == found
    assert [note.code for note in table.warnings] == (["no-header"] if "x1" in found else [])


def test_a_tsv_is_split_at_tabs_alone(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a;b\n1;2\n")
    assert columns(read_table(path)) == {"a;b": ["1;2"]}


def test_a_given_delimiter_that_leaves_one_column_is_refused_if_another_separates_names():
    with pytest.raises(BadFile, match="has one column: the delimiter seems to be ','; leave out"):
        read("a,b\n1,2\n3,4\n", delimiter=";")
    for text in ("price\n1,5\n2,5\n", "a, or b\n1\n2\n3\n", "1,5\n2,5\n"):
        assert read(text, delimiter=";", decimal=",").n_columns == 1


# headers


def test_names_that_pandas_makes():
    frame = pd.DataFrame(np.arange(6).reshape(2, 3) + 0.5)
    for index in (True, False):
        table = read(frame.to_csv(index=index))
        assert list(table.frame) == ["0", "1", "2"]
        assert any(warning.code == "guessed-header" for warning in table.warnings)


def test_an_unnamed_first_column_is_the_index():
    table = read(',a,b\n"Mazda RX4",1,2\nDatsun,3,4\n')
    assert columns(table) == {"a": [1, 3], "b": [2, 4]}
    assert list(table.index) == ["Mazda RX4", "Datsun"]
    assert table.index.name is None
    assert table.warnings[0].code == "index-column"


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("a,b,a\n1,2,3\n", 3, "'a' is already that of column 1"),
        ("a, b,b \n1,2,3\n", 3, "'b' is already that of column 2"),
        ("a,b,\n1,2,3\n", 3, "has no name"),
        ("\n\na,,c\n1,2,3\n", 2, "has no name"),
    ],
)
def test_bad_names(text, column, told):
    with pytest.raises(BadFile, match=told) as caught:
        read(text)
    assert caught.value.column == column
    assert caught.value.line == text.count("\n") - 1


# lines


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a,b\n1,2\n3\n4,5\n", 3, "1 field where the header has 2"),
        ("a,b\n1,2\n\n3,4,5\n", 4, "3 fields where the header has 2"),
        ("1,2\n1,2\n3,4,5\n", 3, "3 fields where the first line has 2"),
        ('a,b\n"x\ny",2\n"x\ny","z\nz",3\n', 4, "continues to line 6"),
        ("a;b\n1;2;3\n1;2;3\n1;2;3\n", 2, "row.names=FALSE"),
        ("a\n1,5\n2,5\n3,5\n", 2, "decimal=','"),
        ('a,b\n1,2\n3,"x\n4,5\n', 3, "never closed"),
        ('a,b\n1,2\n3,x"x\n4,"y\n5,6\n', 4, "never closed"),
        ('a,"b\n1,2\n', 1, "does not end|never closed"),
    ],
)
def test_faulty_lines(text, line, told):
    with pytest.raises(BadFile, match=told) as caught:
        read(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "# made today\na,b\n1,2\n",
        "# made today\n# by me\na,b\n1,2\n",
        "# a b\n1 2\n3 4\n",
        "a,b\n1,2\n# the end\n",
    ],
)
def test_comments_are_not_read(text):
    with pytest.raises(BadFile, match="comment") as caught:
        read(text)
    assert caught.value.line == (1 if text[0] == "#" else 3)


def test_the_line_is_found_far_into_the_file():
    lines = ["a,b"] + ["1.5,text"] * 125_000  # more than one block
    lines[123_456] = "1.5"
    with pytest.raises(BadFile) as caught:
        read("\n".join(lines))
    assert caught.value.line == 123_457


def test_records_longer_than_a_block():
    long = "x" * 100_000
    table = read(f"a,b\n1,2\n{','.join(['1', long * 12])}\n")
    assert table.frame["b"].str.len().tolist() == [1, 1_200_000]
    names = ",".join(f"{i}{long}" for i in range(12))
    assert read(f"{names}\n{','.join('0' * 12)}\n").n_columns == 12


# types and missing values


def test_types():
    table = read(
        "i,f,b,gap,d,t,clock,s,none\n"
        "1,1.5,true,True,2020-01-01,2020-01-01 10:00:00,12:30,x,\n"
        "2,-inf,FALSE,,2020-01-02,2020-01-01T11:00:00,12:31:05,y,NA\n"
    )
    kinds = {name: dtype.kind for name, dtype in table.frame.drop(columns="s").dtypes.items()}
    assert "".join(kinds.values()) == "ifbbMMff"
    assert pd.api.types.is_string_dtype(table.frame["s"])
    assert table.frame["clock"].tolist() == [45_000, 45_065]
    assert table.frame["none"].isna().all()
    assert pd.isna(table.frame["gap"][1])


def test_times_with_a_zone_are_utc():
    table = read("t\n2020-01-01 00:00:00+02:00\n2020-01-01 00:00:00Z\n")
    assert table.frame["t"].astype(str).tolist()[0].startswith("2019-12-31 22:00:00")
    assert table.frame["t"].dt.tz is None


@pytest.mark.parametrize("word", ["", "NA", "N/A", "NaN", "null", "None", "?", "-", " ? ", '"NA"'])
def test_missing_words(word):
    table = read(f"a,b\n1.5,x\n{word},{word}\n")
    assert table.frame.isna().to_numpy().tolist() == [[False, False], [True, True]]
    assert table.frame["a"].dtype == np.float64


def test_blanks_around_missing_words_beside_decimal_commas():
    table = read("a;b\n 1,5 ;x\n ? ;y\n")
    assert table.frame["a"].tolist()[0] == 1.5
    assert table.frame["a"].isna().tolist() == [False, True]


def test_a_word_among_numbers():
    lines = ["a,b"] + [f"{i},{i}" for i in range(50)]
    lines[30] = '5,"oops"'
    with pytest.raises(BadFile, match=r"'oops' \(line 31\).* 49 .* 50") as caught:
        read("\n".join(lines), bad_values="error")
    assert (caught.value.line, caught.value.column) == (31, "b")
    assert caught.value.code == "bad-values"
    text = "\n".join(lines)
    assert read(text, na="oops").frame["b"].dtype == np.float64
    assert read(text, text="b").frame["b"].tolist()[29] == "oops"


def test_numbers_and_words_are_text_with_a_warning():
    table = read("a,b\n1,1\n2,x\n3,y\n")
    assert table.frame["b"].tolist() == ["1", "x", "y"]
    assert table.warnings[0].values["parts"] == "1 of its 3 values are numbers"


@pytest.mark.parametrize("numbers", ["18446744073709551617,5", "9007199254740993,"])
def test_rounded_numbers_give_a_warning(numbers):
    first, second = numbers.split(",")
    table = read(f"a,b\n{first},1\n{second},2\n")
    assert table.frame["a"].dtype == np.float64
    assert table.warnings[0].code == "rounded-numbers"


# encodings


def test_western_text_is_guessed_with_a_warning():
    table = read("a,b\n1,x\n2,café €\n".encode("cp1252"))
    assert table.frame["b"][1] == "café €"
    [warning] = table.warnings
    assert (warning.values["line"], warning.values["encoding"]) == (3, "cp1252")
    assert read(b"a,b\n1,\x81\xe9\n").warnings[0].values["encoding"] == "latin-1"


def test_text_in_another_encoding_than_given():
    with pytest.raises(BadFile, match="0xe9") as caught:
        read(b"a,b\n1,x\n2,caf\xe9\n", encoding="utf-8")
    assert caught.value.line == 3
    with pytest.raises(BadFile, match="ascii") as caught:
        read("a\n\n1\né\n".encode(), encoding="ascii")
    assert caught.value.line == 4


def test_binary_data_is_refused():
    with pytest.raises(BadFile, match="NUL byte") as caught:
        read(b"a,b\n1,2\n3,\x00\n")
    assert caught.value.line == 3
    with pytest.raises(BadFile):
        read(bytes(range(1, 256)) * 4)
    with pytest.raises(BadFile, match="utf-16-le"):
        read("a,b\n1,2\n".encode("utf-16-le"))


# what cannot be read


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("\n\r\n\n", "only blank lines"),
        ("a,b\n", "a header but no rows"),
        ("a,b", "a header but no rows"),
    ],
)
def test_empty_text(text, told):
    with pytest.raises(BadFile, match=told):
        read(text)


def test_every_text_encoding_of_python_is_a_table_or_a_user_error():
    for encoding in sorted(set(aliases.values())):
        try:
            assert read(b"a,b\n1,\x80\n", encoding=encoding).n_columns > 0
        except UserError:
            continue


# long fields and wide tables


def test_fields_of_any_length(tmp_path):
    path = tmp_path / "t.csv"
    before = csv.field_size_limit()
    for field in ("x" * 3_000_000, '"' + "x\n" * 1_500_000 + '"'):
        path.write_text(f"a,b\n1,{field}\n2,y\n")
        frame = read_table(path).frame
        assert frame["a"].tolist() == [1, 2]
        assert len(frame["b"][0]) == 3_000_000
    assert csv.field_size_limit() == before


def test_a_long_first_line_is_no_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x" * 2_000_000 + "\n1\n2\n")
    with pytest.raises(BadFile, match="2,000,000") as caught:
        read_table(path)
    assert (caught.value.line, caught.value.column) == (1, 1)


@pytest.mark.parametrize("last", ["2.5", "7", "NA", "word", ""])
def test_wide_tables_are_read_as_narrow_ones_are(tmp_path, monkeypatch, last):
    path = tmp_path / "t.csv"
    rows = [["1.5", "3", "w", "", "1.25"], *([["2.5", "4", "v", "1.5", "0.5"]] * 6)]
    rows.append([last, last, last, last, last])
    path.write_text("a,b,c,d,e\n" + "".join(",".join(row) + "\n" for row in rows))
    narrow = read_table(path).frame
    monkeypatch.setattr("metaod.tables.readers._records._MANY_COLUMNS", 1)
    assert_frame_equal(read_table(path).frame, narrow)


def test_a_decimal_comma_that_is_the_delimiter_is_named():
    with pytest.raises(BadFile, match=r"'a,b'; .* decimal=','"):
        read(b"a,b\n1,2\n3,4\n", decimal=",")
    assert read(b"v\n1,2\n3,4\n", decimal=",").frame["v"].tolist() == [1.2, 3.4]
    assert read(b"1,2\n3,4\n", decimal=",", header=False).frame["x1"].tolist() == [1.2, 3.4]


def test_delimiters_at_the_ends_of_all_lines():
    table = read(";a;b;\n;1;x;\n;2,5;y;\n")
    assert table.frame[["a", "b"]].to_dict("list") == {"a": [1, 2.5], "b": ["x", "y"]}
    assert list(table.frame) == ["column 1", "a", "b", "column 4"]
    assert table.frame[["column 1", "column 4"]].isna().all(axis=None)
    with pytest.raises(BadFile, match="delimiter"):
        read("a;b\n1;2;\n3;4;\n")
    with pytest.raises(BadFile, match="dashes"):
        read("a;b\n---\n1;2\n3;4\n")
