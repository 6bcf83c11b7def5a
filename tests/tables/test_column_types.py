"""A column has the same type, whatever it comes from: one matrix, or one error."""

import csv
import datetime as dt
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_files import xlsx

from metaod.errors import BadColumn, UserError
from metaod.tables import Preparation, prepare, read_table

MONTHS = [f"{year}-{month:02d}" for year in (2022, 2023, 2024) for month in range(1, 13)]
DAYS = [f"{day:%Y-%m-%d}" for day in pd.date_range("2024-01-01", periods=30)]
NUMBERS = [f"{number / 8}" for number in range(40)]


def beside(values):
    """Return a column of whole numbers that do not count the rows."""
    return [row**3 for row in range(len(values))]


def from_csv(values):
    text = io.StringIO(newline="")
    filled = ["" if value is None else value for value in values]
    rows = zip(filled, beside(values), strict=True)
    csv.writer(text).writerows([("v", "w"), *rows])
    return read_table(io.StringIO(text.getvalue()), delimiter=",", header=True)


def from_sheet(values):
    frame = pd.DataFrame({"v": pd.Series(values, dtype=object), "w": beside(values)})
    return read_table(io.BytesIO(xlsx(frame)), header=True)


def from_rows(values):
    table = read_table(list(map(list, zip(values, beside(values), strict=True))))
    misfits = {name.replace("x1", "v"): own for name, own in table.misfits.items()}
    frame = table.frame.rename(columns={"x1": "v", "x2": "w"})
    return replace(table, frame=frame, written={}, misfits=misfits)


def object_frame(values):
    return pd.DataFrame({"v": pd.Series(values, dtype=object), "w": beside(values)})


def text_frame(values):
    return pd.DataFrame({"v": pd.Series(values, dtype="string"), "w": beside(values)})


def read_frame(values):
    return read_table(object_frame(values))


SOURCES = [from_csv, from_sheet, from_rows, object_frame, text_frame, read_frame]


def outcome(source, values, **options):
    """Return the prepared matrix, or what the error says of the value."""
    try:
        prepared = prepare(source(values), only=["v", "w"], **options)
    except UserError as error:
        return re.sub(
            r"\((.*?)(?:line|row) .*?\) ?(are|is|and|,)", r"(\1) \2", error.what
        )  # no place
    return [name.replace("x1", "v") for name in prepared.names], prepared.X.tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (MONTHS, "date"),
        ([*MONTHS, None, "NA"], "date"),
        ([*DAYS, "2024/05/01", "2024-06-01 12:00"], "date"),
        ([*DAYS, "2024-06-01T12:00+02:00"], "date"),
        (NUMBERS, "numeric"),
        ([*NUMBERS, "-", "", " NaN "], "numeric"),
        (["1", "2", "3", "3"], "numeric"),
        (["+1", "-2", " 3", "1e3"], "numeric"),
        (["true", "FALSE", "True", "false"], "boolean"),
        (["true", "false", None, "true"], "boolean"),
        (["tRuE", "1", "0", "false"], "boolean"),
        (["01000", "20095", "20095", "01000"], "category"),
        (["a", "b", "a", "?", "none"], "category"),
        ([*"abcde", *NUMBERS[:5], *"abcde"], "category"),
        (["2024-01-01", "x", "2024-02-30", "x"], "category"),
        ([None] * 4, "empty"),
    ],
    ids=str,
)
def test_a_column_has_the_same_type_from_every_source(values, kind):
    options = {"time": "v"} if kind == "date" else {}
    first = outcome(from_csv, values, **options)
    for source in SOURCES:
        assert prepare(source(values)).record.columns[0].kind == kind, source
        assert outcome(source, values, **options) == first, source


def test_times_of_day_have_the_same_seconds_from_every_source():
    times = ["10:15", "23:59:59", "00:00", "07:30:00"]
    for source in SOURCES:
        prepared = prepare(source(times))
        assert prepared.X[:, 0].tolist() == [36900.0, 86399.0, 0.0, 27000.0], source
    for fitted in (text_frame(times), read_frame(times)):
        for later in (text_frame(times), read_frame(times)):
            X = Preparation().fit(fitted).transform(later).X
            assert X[:, 0].tolist() == [36900.0, 86399.0, 0.0, 27000.0]
    record = prepare(text_frame(times)).record.columns[0]
    assert (record.kind, record.action) == ("duration", "seconds")
    assert record.reason == "its text is all times of day"


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([*NUMBERS, "n.a."], "numbers"),
        ([*NUMBERS[:20], "n.a.", *NUMBERS[20:], "1.000,5"], "numbers"),
        ([*MONTHS, "soon"], "dates"),
        ([*DAYS, "2024-02-30"], "dates"),
    ],
    ids=["number", "thousands", "month", "date"],
)
@pytest.mark.parametrize("source", SOURCES)
def test_a_mistake_is_the_same_misfit_from_every_source(source, values, what):
    table = source(values)
    read = Preparation(time="v" if what == "dates" else None).fit(table).read(table)
    rows = [row for row, text in enumerate(values) if text in {"n.a.", "1.000,5", *values[-1:]}]
    found = read.misfits["v"]
    assert (found.rows.tolist(), found.what) == (rows, what)
    assert found.texts == [values[row] for row in rows]
    assert np.flatnonzero(read.frame["v"].isna()).tolist() == rows


def test_the_error_in_a_frame_names_the_row_and_what_to_do():
    frame = object_frame([*NUMBERS, "n.a."]).set_axis([f"r{row}" for row in range(41)])
    with pytest.raises(BadColumn) as caught:
        read_table(frame, bad_values="error")
    assert (caught.value.code, caught.value.column) == ("bad-values", "v")
    assert "(row 41)" in str(caught.value)
    for options in ({}, {"bad_values": "missing"}, {"na": "n.a."}):
        assert prepare(read_table(frame, **options)).record.columns[0].n_missing == 1
    assert prepare(read_table(frame, text="v")).record.columns[0].kind == "identifier"


def test_text_that_the_caller_asked_for_is_not_interpreted():
    for source in (object_frame(["1", "2"] * 3), io.StringIO("v,w\n1,2\n2,3\n1,4\n")):
        prepared = prepare(read_table(source, text="v"), only=["v", "w"])
        assert prepared.names == ("v surprisal", "w")


def test_text_of_a_file_that_declares_types_is_read_where_nearly_all_are_numbers():
    values = pd.DataFrame({"v": [*NUMBERS, "n.a.", "none", "true"], "w": beside(range(43))})
    file = values.to_parquet()
    assert read_table(io.BytesIO(file)).misfits["v"].texts == ["n.a.", "none", "true"]
    table = read_table(io.BytesIO(file), bad_values="error")
    assert table.frame["v"].tolist()[-3:] == ["n.a.", "none", "true"]
    words = pd.DataFrame({"v": ["none", "a", "1"] * 14, "w": beside(range(42))}).to_parquet()
    assert set(read_table(io.BytesIO(words)).frame["v"]) == {"none", "a", "1"}


def test_mixtures_and_codes_are_reported_for_frames_too():
    for values, told in (
        ([*"abcde", *"12345"], "mixed-column"),
        ([*"ab", *"12345"], "mixed-column"),
        (["007", "008"] * 2, "codes"),
    ):
        (message,) = prepare(text_frame(values)).record.messages
        assert (message.code, message.values["column"]) == (told, "v")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([dt.timedelta(days=400_000), dt.timedelta(1)] * 2, "duration"),
        ([dt.date(2024, 1, 1), "2024-02"] * 2, "date"),
        ([1.5, "2"] * 2, "numeric"),
        ([2**53 + 1, 1.5] * 2, "numeric"),
    ],
    ids=["centuries", "date and text", "number and text", "rounded"],
)
def test_objects_of_a_frame(values, kind):
    assert prepare(object_frame(values)).record.columns[0].kind == kind


TOKENS = st.sampled_from(
    [
        *("1", "2.5", "-3", "1e2", ".5", "inf", "0", "007", "1,5", "1,000", "1'000"),
        *("true", "FALSE", "yes", "2024-01", "2024-01-02", "2024/01/02", "2024-13", "2024-02-30"),
        *("10:15", "24:00", "9:15", "n.a.", "NA", "-", "none", "a", "b", " a", "10%", "$1"),
    ]
)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    st.lists(TOKENS, min_size=2, max_size=3), st.lists(st.integers(0, 2), min_size=3, max_size=14)
)
def test_any_texts_have_the_same_outcome_from_text_and_frames(tokens, picks):
    values = [tokens[pick % len(tokens)] for pick in picks]
    first = outcome(from_csv, values)
    for source in (from_rows, object_frame, text_frame, read_frame):
        assert outcome(source, values) == first, source


def test_a_fitted_category_is_never_missing_in_later_rows():
    faults = ["none"] * 30 + ["x"] * 20 + ["y"] * 10
    values = np.repeat([0.0, 10.0, 20.0], [30, 20, 10]) + np.arange(60) % 11 / 10
    values[3] = 20.0  # odd for its fault
    fitted = pd.DataFrame({"a": values, "fault": pd.Categorical(faults)})
    preparation = Preparation().fit(fitted)
    assert preparation.names_ == ("a", "fault surprisal", "combinations")
    later = preparation.transform(fitted.astype({"fault": str}))
    np.testing.assert_array_equal(later.X, preparation.transform(fitted).X)


@pytest.mark.parametrize("digits", [17, 25])
def test_long_ids_in_a_text_column_of_a_frame_stay_text(digits):
    ids = [str(10 ** (digits - 1) + number) for number in (1, 2, 3, 4)] * 5
    record = prepare(pd.DataFrame({"a": beside(ids), "account": ids})).record.columns[1]
    assert (record.kind, record.reason) == ("category", "it is unrelated to every other column")


def test_declared_categories_and_text_columns_keep_words_such_as_none():
    words = pa.array(["none", "a"] * 10).dictionary_encode()
    table = read_table(pa.table({"n": range(20), "c": words}))
    assert set(table.frame["c"]) == {"none", "a"}
    kept = read_table(pd.DataFrame({"n": range(20), "c": ["none", "a"] * 10}), text="c")
    assert set(kept.frame["c"]) == {"none", "a"}


def test_nan_among_text_of_numbers_is_missing_where_types_are_declared(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"n": range(4), "c": ["nan", "1", "2", "3"]}).to_parquet(path)
    [column] = [item for item in prepare(read_table(path)).record.columns
                if item.name == "c"]  # fmt: skip
    assert (column.kind, column.n_missing) == ("numeric", 1)
