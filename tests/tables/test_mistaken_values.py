"""Values that do not fit their column, values that the caller calls missing, and codes."""

import datetime as dt
import io

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadColumn, BadFile, Setting
from metaod.tables import read_table

DAYS = [f"{day:%Y-%m-%d}" for day in pd.date_range("2024-01-01", periods=99)]


def read(content, **options):
    return read_table(io.StringIO(content), **options)


def lines(*values):
    return "\n".join(["v,w", *(f"{value},{row}" for row, value in enumerate(values))]) + "\n"


# dates


@pytest.mark.parametrize("value", ["unknown date", "2024-02-30", "2024-01-01 25:00", "7"])
def test_a_value_that_is_no_date_among_dates_is_named(value):
    with pytest.raises(BadFile) as caught:
        read(lines(*DAYS, value), bad_values="error")
    error = caught.value
    assert (error.line, error.column) == (101, "v")
    assert f"{value!r} (line 101) is not a date, as 99 of this column's 100 values" in str(error)
    assert error.code == "bad-values"


def test_what_the_error_recommends_works():
    text = lines(*DAYS, "unknown date")
    assert read(text, na="unknown date").frame["v"].dtype.kind == "M"
    assert read(text, text="v").frame["v"].tolist() == [*DAYS, "unknown date"]
    missing = read(text, bad_values="missing")
    assert missing.frame["v"].isna().tolist() == [False] * 99 + [True]
    [warning] = missing.warnings
    assert (warning.code, warning.values["shown"]) == ("bad-values-missing", "'unknown date'")
    kept = read(text, bad_values="text")
    assert kept.frame["v"].tolist() == [*DAYS, "unknown date"]
    assert kept.warnings[0].code == "bad-values-text"


def test_the_values_of_all_columns_are_named_at_once():
    rows = [f"{row}.5,${row}.00,{day}" for row, day in enumerate(DAYS)]
    rows += ["n.v.,$1.00,soon", "n.v.,unknown,soon", "1.5,$1,later"]
    text = "\n".join(["a,b,c", *rows]) + "\n"
    with pytest.raises(BadFile) as caught:
        read(text, bad_values="error")
    assert str(caught.value).startswith(
        "<StringIO>: 3 columns hold values that cannot be read: column 'a': 'n.v.' (2 times, first "
        "in line 101) is not a number, as 100 of this column's 102 values are; column 'b': "
        "'unknown' (line 102) is not a number, as 101 of this column's 102 values are; column 'c': "
        "'soon' (2 times, first in line 101) and 'later' (line 103) are not dates, as 99 of this "
        "column's 102 values are; fix them, or take all such values as missing: "
        "bad_values='missing'"
    )
    frame = read(text, bad_values="missing").frame
    assert [column.dtype.kind for _, column in frame.items()] == ["f", "f", "M"]
    assert frame.isna().sum().tolist() == [2, 1, 3]


def test_words_beside_units_and_durations_are_told_and_can_be_missing():
    for values in ([f"{row} rooms" for row in range(30)], [f"{row}h 30m" for row in range(30)]):
        table = read(lines(*values, "none at all"), bad_values="error")
        assert table.frame["v"].tolist() == [*values, "none at all"]
        assert table.warnings[0].code == "mixed-column"
        assert table.warnings[0].values["setting"] == Setting("bad_values", "missing")
        column = read(lines(*values, "none at all")).frame["v"]
        assert column.isna().tolist() == [False] * 30 + [True]


def test_mixed_decimal_marks_are_named():
    values = [f'"{row},5"' for row in range(60)] + [f"{row}.5" for row in range(40)]
    with pytest.raises(BadFile, match=r"'0\.5' \(line 62\).* are numbers in another notation than"):
        read(lines(*values), bad_values="error")


def test_dates_and_words_are_text_with_a_warning():
    table = read(lines(*DAYS[:5], *"abcde"))
    assert table.frame["v"].tolist() == [*DAYS[:5], *"abcde"]
    assert table.warnings[0].code == "mixed-column"
    assert table.warnings[0].values["parts"] == "5 of its 10 values are dates"


def test_few_dates_among_words_are_words():
    assert read(lines(DAYS[0], *"abcdefghijklm")).warnings == ()


def test_dates_with_blanks_around_missing_ones_are_no_mistake():
    table = read(lines(*DAYS, " NA "))
    assert table.warnings == ()
    assert table.frame["v"].notna().sum() == 99


@pytest.mark.parametrize("dates", [DAYS, [dt.date.fromisoformat(day) for day in DAYS]])
def test_a_word_among_dates_in_memory_is_named(dates):
    with pytest.raises(BadColumn, match=r"'v': 'unknown' \(row 100\) is not a date, as 99 of"):
        read_table({"v": [*dates, "unknown"]}, bad_values="error")


# what the caller calls missing


@pytest.mark.parametrize("na", ["-999", -999, -999.0, "-999.0", np.int64(-999), [-999, "x"]])
@pytest.mark.parametrize("values", [[1, -999, 3], [1.5, -999.0, 3], ["1", "-999", "3"]])
def test_na_counts_in_a_frame_by_value(na, values):
    column = read_table(pd.DataFrame({"a": values}), na=na).frame["a"]
    assert column.isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    "source",
    [
        np.array([[1, 2], [-999, 4]]),
        [[1, 2], [-999, 4]],
        {"x1": [1, -999], "x2": [2, 4]},
        pd.DataFrame({"x1": pd.array([1, -999], dtype="Int64"), "x2": [2, 4]}),
        pd.DataFrame({"x1": pd.Categorical([1, -999]), "x2": [2, 4]}),
        pd.DataFrame({"x1": pd.Series([1, "-999"], dtype=object), "x2": [2, 4]}),
    ],
    ids=["array", "rows", "columns", "nullable", "categories", "objects"],
)
def test_na_counts_in_every_table_in_memory(source):
    frame = read_table(source, na=-999).frame
    assert frame["x1"].isna().tolist() == [False, True]
    assert frame["x2"].tolist() == [2, 4]


def test_na_counts_among_dates():
    frame = pd.DataFrame({"d": pd.to_datetime(["1900-01-01", "2024-01-02"])})
    for dates in (frame, frame.apply(lambda column: column.dt.tz_localize("UTC"))):
        assert read_table(dates, na="1900-01-01").frame["d"].isna().tolist() == [True, False]
    dates = [dt.date(2024, 1, day) for day in range(1, 21)]
    assert read_table({"d": [*dates, -999]}, na=-999).frame["d"].isna().sum() == 1


def test_na_leaves_the_callers_frame_truth_values_and_codes_alone():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": ["001", "1"]})
    read = read_table(frame, na=1).frame
    assert frame["a"].tolist() == [1, 2]
    assert read["b"].tolist() == [True, False]
    assert read["c"].isna().tolist() == [False, True]


def test_na_counts_by_value_in_text_files():
    table = read("a,b\n-999.0,1\n2.5,-999\n3.5,-9.99e2\n", na="-999")
    assert table.frame.isna().to_numpy().tolist() == [[True, False], [False, True], [False, True]]


def test_whole_numbers_rounded_for_the_sake_of_a_gap_are_told():
    table = read_table(pd.DataFrame({"a": [2**53 + 1, -999]}), na=-999)
    assert table.warnings[0].code == "rounded-numbers"


# codes


def test_whole_numbers_with_leading_zeros_stay_text_with_a_warning():
    table = read("zip,n\n01000,1\n20095,2\n,3\n")
    assert table.frame["zip"].tolist()[:2] == ["01000", "20095"]
    assert table.frame["zip"].isna().tolist() == [False, False, True]
    assert (table.warnings[0].code, table.warnings[0].values["column"]) == ("codes", "zip")
    assert table.frame["n"].dtype == np.int64


@pytest.mark.parametrize("text", ["0,1,2", "0.5,0.25", "00.5,1.5", "0,-0,5"])
def test_zeros_of_plain_numbers_lead_nothing(text):
    table = read("v\n" + text.replace(",", "\n") + "\n", delimiter=",", header=True)
    assert table.frame["v"].dtype.kind in "if"
    assert table.warnings == ()
