"""Text that looks like dates, times or amounts: parsed where it cannot be mistaken, else told."""

import io

import numpy as np
import pandas as pd
import pytest

from metaod.errors import BadParameter, UserError
from metaod.history import fingerprint
from metaod.lab import load_dataset
from metaod.tables import Preparation, prepare, read_table

HINT = "looks like dates or amounts"


def messages_of(values):
    frame = pd.DataFrame({"v": values, "other": np.arange(float(len(values)))})
    return prepare(frame).record.messages


@pytest.mark.parametrize(
    "form",
    ["{:02d}.01.2024", "01/{:02d}/24", "{}%", "$1.{}", "1 {:03d} €", "9:{:02d}"],
)
def test_text_like_dates_or_amounts_is_told_where_it_is_dropped_or_counted(form):
    distinct = [form.format(number) for number in range(1, 31)]
    [dropped] = messages_of(distinct)
    [counted] = messages_of([*distinct, *distinct, distinct[0]])
    assert dropped == counted
    assert dropped.startswith("Column 'v'")
    assert HINT in dropped
    assert "YYYY-MM-DD" in dropped


@pytest.mark.parametrize("form", ["K-{}", "555-{:04d}", "10.0.0.{}", "room {}"])
def test_codes_and_names_are_not_told(form):
    assert messages_of([form.format(number) for number in range(1, 31)]) == ()


def test_categories_of_few_values_are_not_told():
    assert messages_of(["10%", "20%"] * 20) == ()


def test_declared_categories_are_not_told():
    assert (
        messages_of(pd.Categorical([f"{number}%" for number in range(40)] * 2 + ["1%"] * 2)) == ()
    )


def test_times_of_day_come_out_alike_from_a_file_and_a_frame():
    times = ["10:15", "23:59:59", "00:00", "07:30"]
    of_file = prepare(read_table(io.StringIO("t\n" + "\n".join(times) + "\n")))
    of_frame = prepare(pd.DataFrame({"t": times}))
    assert of_frame.X.tolist() == of_file.X.tolist() == [[36900.0], [86399.0], [0.0], [27000.0]]
    [record] = of_frame.record.columns
    assert (record.kind, record.action) == ("duration", "seconds")
    assert record.reason == "its text is all times of day"


def test_later_times_of_day_are_parsed():
    preparation = Preparation().fit(pd.DataFrame({"t": ["10:15", "11:15"]}))
    assert preparation.transform(pd.DataFrame({"t": ["00:01:30"]})).X.tolist() == [[90.0]]
    with pytest.raises(UserError, match="'24:00'"):
        preparation.transform(pd.DataFrame({"t": ["24:00"]}))


def test_the_loss_of_digits_is_told_of_columns_not_used():
    frame = pd.DataFrame({"v": [2**53 + 1, 2**53], "w": [1, 2]})
    record = prepare(frame).record
    assert record.columns[0].kind == "constant"
    assert record.messages == (
        "Column 'v': numbers beyond 2**53 were rounded to the nearest float.",
    )


def test_a_single_row_is_said_to_be_one():
    with pytest.raises(UserError, match="only one row"):
        prepare(pd.DataFrame({"a": [1.0], "b": ["x"]}))


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_dataset(5),
        lambda: load_dataset("odds/pima", timeout="x"),
        lambda: load_dataset("odds/pima", data_dir=5),
        lambda: load_dataset("odds/pima", cache_dir=5),
        lambda: fingerprint([[1, 2], [3]]),
        lambda: fingerprint([[1, 2], [3, 4]], [[1], [2, 3]]),
        lambda: prepare(np.eye(3), bogus=1),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(call):
    with pytest.raises(BadParameter):
        call()


def test_a_structured_array_is_sent_to_read_table():
    array = np.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)])
    with pytest.raises(BadParameter, match="read_table"):
        prepare(array)
