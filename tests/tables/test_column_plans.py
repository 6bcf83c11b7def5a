"""What preparation makes of each kind of column, and what the record says about it."""

import json

import numpy as np
import pandas as pd
import pytest

from metaod.tables import SURPRISAL_UNIT, Table, prepare

N = 100


def frame_with(values, name="v"):
    """Put the column under test beside one that is always kept."""
    return pd.DataFrame({name: values, "other": np.arange(float(len(values)))})


def record_of(values, name="v", **options):
    prepared = prepare(frame_with(values, name), **options)
    return prepared, prepared.record.columns[0]


def record_of_text(values, **options):
    """Prepare text that is named, so that it is kept although it is unrelated to the other."""
    return record_of(values, only=["v", "other"], **options)


def surprisal(counts, n_rows):
    return -np.log(np.array(counts) / n_rows) / SURPRISAL_UNIT


def with_gaps(n_gaps, gap=np.nan):
    values = np.arange(float(N))
    values[:n_gaps] = gap
    return values


# numbers


def test_a_numeric_complete_table_comes_out_bit_for_bit():
    values = np.array([[-0.0, 1e308, 5e-324], [1.5, -1e308, 0.1], [2.5, 3.0, 1 / 3]])
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    prepared = prepare(frame)
    assert prepared.X.tobytes() == values.tobytes()
    assert prepared.names == ("a", "b", "c")
    assert all(column.action == "kept" for column in prepared.record.columns)
    assert prepared.record.imputed_share == 0.0
    assert prepared.record.categorical_share == 0.0


def test_the_matrix_is_new_memory_in_c_order():
    values = np.random.default_rng(0).normal(size=(20, 3))
    for table in (values, np.asfortranarray(values), pd.DataFrame(values, copy=False)):
        before = values.copy()
        prepared = prepare(table)
        assert prepared.X.flags.c_contiguous
        assert prepared.X.flags.owndata
        assert not np.shares_memory(prepared.X, values)
        prepared.X[:] = -1.0
        assert np.array_equal(values, before)


def test_missing_and_infinite_values_become_the_median_of_the_finite():
    values = with_gaps(2)
    values[2] = np.inf
    prepared, record = record_of(values)
    assert prepared.X[:3, 0].tolist() == [51.0, 51.0, 51.0]
    assert (record.n_missing, record.n_infinite, record.fill) == (2, 1, 51.0)
    assert prepared.record.imputed_share == pytest.approx(3 / (2 * N))


def test_the_median_of_huge_numbers_is_finite():
    prepared, record = record_of([1.7e308, 1.5e308, np.nan, 1.6e308, 1.7e308])
    assert record.fill == pytest.approx(1.65e308)
    assert np.isfinite(prepared.X).all()


def test_constants_are_dropped_by_an_exact_test():
    frame = pd.DataFrame({"a": [0.1] * 3, "b": [0.1, 0.1, np.nextafter(0.1, 1)]})
    prepared = prepare(frame)
    assert prepared.names == ("b",)
    assert prepared.record.columns[0].kind == "constant"


@pytest.mark.parametrize("value", [7.0, "x", True, pd.Timestamp("2020-01-01")])
def test_a_constant_with_gaps_is_dropped_and_its_gaps_count(value):
    prepared, record = record_of([None] * 6 + [value] * (N - 6))
    assert (record.kind, record.action, record.n_missing) == ("constant", "dropped", 6)
    assert prepared.names == ("other", "gaps")


@pytest.mark.parametrize("values", [[None] * 4, [np.nan] * 4, [np.inf, np.nan, -np.inf, np.inf]])
def test_columns_without_a_value_are_dropped(values):
    _, record = record_of(values)
    assert (record.kind, record.action) == ("empty", "dropped")


def test_integers_that_a_float_cannot_hold_are_rounded_with_a_message():
    prepared, _ = record_of([1, 2, 2**53 + 1])
    assert prepared.X[:, 0].tolist() == [1.0, 2.0, 2.0**53]
    assert [message.values["column"] for message in prepared.record.messages] == ["v"]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "object"])
def test_large_integers_that_a_float_can_hold_pass_without_a_message(dtype):
    prepared, _ = record_of(pd.Series([1, 2, 2**62], dtype=dtype))
    assert prepared.X[2, 0] == 2.0**62
    assert prepared.record.messages == ()


def test_numbers_too_large_for_a_float_count_as_infinite():
    prepared, record = record_of(pd.Series([1, 3, 10**400, -(10**400)], dtype=object))
    assert record.n_infinite == 2
    assert prepared.X[:, 0].tolist() == [1.0, 3.0, 2.0, 2.0]


# booleans


def test_missing_booleans_become_the_more_frequent_value():
    prepared, record = record_of([None] + [True] * 60 + [False] * 39)
    assert record.outputs == ("v",)
    assert prepared.X[0, 0] == record.fill == 1.0


# text and categories


def test_text_becomes_the_surprisal_of_its_values():
    prepared, record = record_of_text(["b", "a", None, "b", None])
    assert record.outputs == ("v surprisal",)
    np.testing.assert_allclose(prepared.X[:, 0], surprisal([2, 1, 2, 2, 2], 5))
    assert (record.kind, record.action, record.fill) == ("category", "surprisal", None)
    assert (record.n_levels, record.n_missing) == (2, 2)
    assert prepared.names == ("v surprisal", "other", "gaps")
    assert prepared.fixed.tolist() == [True, False, True]
    assert prepared.record.categorical_share == 0.5
    assert prepared.record.imputed_share == pytest.approx(1 / 5)


def test_text_of_more_than_twenty_values_is_called_text():
    values = [f"town {place % 30}" for place in range(N)]
    prepared, record = record_of_text(values)
    assert (record.kind, record.action, record.n_levels) == ("text", "surprisal", 30)
    expected = surprisal([4 if place % 30 < 10 else 3 for place in range(N)], N)
    np.testing.assert_allclose(prepared.X[:, 0], expected)
    assert record_of_text([f"town {place % 20}" for place in range(N)])[1].kind == "category"


def test_unrelated_text_is_not_used():
    values = ["a", "b", "a", "b"] * 25
    _, record = record_of(values)
    assert (record.kind, record.action, record.outputs) == ("category", "dropped", ())
    _, record = record_of(sorted(values))
    assert record.outputs == ("v surprisal",)


def test_declared_categories_are_not_parsed_and_unused_ones_are_left_out():
    values = pd.Categorical([1, 2, 1, 2], categories=[3, 2, 1])
    _, record = record_of_text(values)
    assert (record.kind, record.n_levels) == ("category", 2)


def test_output_names_stay_apart():
    frame = pd.DataFrame(
        {
            "c": ["b", "a", None, "b"],
            "c surprisal": [1.0, 2.0, 3.0, 4.0],
            "gaps": [4.0, 2.0, 3.0, 1.0],
            "gaps (2)": [4.0, 2.0, 3.0, 0.0],
        }
    )
    prepared = prepare(frame, only=list(frame))
    assert prepared.names == ("c surprisal (2)", "c surprisal", "gaps", "gaps (2)", "gaps (3)")


# text that is something else


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-02", 1.0),
        ("1970/01/02", 1.0),
        ("1970-02", 31.0),
        ("1970-01-01T06:00", 0.25),
        ("1970-01-01 06:00:00.000", 0.25),
        ("1970-01-01T06:00:00Z", 0.25),
        ("1970-01-01T06:00:00+06:00", 0.0),
        ("1969-12-31", -1.0),
    ],
)
def test_text_that_is_all_iso_dates_is_dates(text, days):
    prepared, record = record_of([text, "2000-01-01", None, "2001-01-01"], time="v")
    assert (record.kind, record.action) == ("date", "days since 1970-01-01")
    assert prepared.X[0, 0] == days


# identifiers


def test_text_that_is_nearly_all_distinct_is_an_identifier():
    values = [f"ab{place}" for place in range(95)] + ["ab0"] * 5
    _, record = record_of(values)
    assert (record.kind, record.action) == ("identifier", "dropped")
    assert record_of([*values[:94], *["ab0"] * 6])[1].kind == "text"


@pytest.mark.parametrize(
    "name",
    [
        "id", "ID", "Id", "customer_id", "customerId", "customerID", "order id", "uuid", "GUID",
        "index", "Unnamed: 0", "Unnamed: 0.1", "row number", "row_no", "RowIndex", "id.1",
        "customer_key", "key", "ID number", "IDNumber", "rowid", "serial-number", "Kunden-Nr",
        "Rechnungsnummer", "Belegnr", "Invoice No", "SKU",
    ],
)  # fmt: skip
def test_distinct_integers_under_an_identifiers_name_are_dropped(name):
    _, record = record_of([3, 1, 2, 5], name)
    assert (record.kind, record.action) == ("identifier", "dropped")
    assert record_of(["3", "1", "2", "5"], name)[1].kind == "identifier"


@pytest.mark.parametrize(
    "name",
    [
        "width", "acid", "idle", "bid", "BID", "paid", "Paid", "covid", "price index", "grid",
        "key figure", "monkey", "idea", "x0", "0", "", "number", "humidity", "ñid", "rows",
    ],
)  # fmt: skip
def test_other_names_do_not_make_identifiers(name):
    assert record_of([3, 1, 2, 5], name)[1].kind == "numeric"


def test_an_identifiers_name_alone_does_not_suffice():
    assert record_of([1, 2, 2, 4], "id")[1].kind == "numeric"
    assert record_of([1.0, 2.0, 3.0, 4.0], "id")[1].kind == "numeric"
    assert record_of([1.5, 2.5, 3.5, 4.5], "id")[1].kind == "numeric"
    assert record_of(["1.5", "2.5", "3.5"], "id")[1].kind == "numeric"
    assert record_of(["2020-01-01", "2020-01-02"], "id")[1].kind == "date"


@pytest.mark.parametrize(("name", "first"), [("emp_id", 1000), ("customer", 1)])
def test_very_few_repeats_leave_an_identifier_one(name, first):
    numbers = np.arange(first, first + 400)
    numbers[[120, 300]] = numbers[[7, 299]]
    assert record_of(numbers, name)[1].kind == "identifier"
    numbers[350] = numbers[9]
    assert record_of(numbers, name)[1].kind == "numeric"
    shuffled = np.random.default_rng(0).permutation(400)
    shuffled[3] = shuffled[8]
    assert record_of(shuffled, "emp_id")[1].reason.startswith("its name says so and almost all")
    assert record_of(shuffled, "weight")[1].kind == "numeric"


def test_an_array_never_loses_a_column_as_identifier():
    prepared = prepare(np.arange(12).reshape(6, 2))
    assert prepared.names == ("x1", "x2")


# the record


def test_the_record_reads_as_sentences_and_as_json():
    frame = pd.DataFrame(
        {
            "age": [31.0, None, 44.0, 29.0],
            "town": ["Oslo", "Rome", "Oslo", None],
            "seen": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-05"]),
        }
    )
    prepared = prepare(frame, time="seen", only=list(frame))
    age, town, seen = prepared.record.sentences()
    assert age == (
        "'age' (numeric) was kept as it is; 1 missing value filled with the median (31)."
    )
    assert town == (
        "'town' (category) was replaced by how rare each of its 2 values is; 1 missing value "
        "taken as a separate value."
    )
    assert seen == (
        "'seen' (date) was written as days since 1970-01-01; 1 missing value filled with the "
        "median (2020-01-03)."
    )
    assert str(prepared.record) == "\n".join(prepared.record.sentences())
    told = json.loads(json.dumps(prepared.record.to_dict()))
    assert [column["name"] for column in told["columns"]] == ["age", "town", "seen"]
    assert told["evidence"] == ["gaps"]
    assert told["categorical_share"] == pytest.approx(1 / 3)


def test_a_table_keeps_its_source():
    prepared = prepare(Table(pd.DataFrame({"a": [1.0, 2.0]}), source="t.csv"))
    assert prepared.source == "t.csv"
    assert repr(prepared) == "PreparedTable('t.csv': 2 rows × 1 columns)"


def test_whole_numbers_of_many_digits_are_identifiers():
    first = 7 * 10**18
    frame = pd.DataFrame({"order": [first + 37 * row for row in range(50)], "w": range(50, 100)})
    frame["w"] = frame["w"] % 7
    record = prepare(frame).record
    assert (record.columns[0].kind, record.columns[0].role) == ("identifier", "not used")
    assert prepare(frame, only=["order", "w"]).record.columns[0].kind == "numeric"


def test_lost_digits_are_reported_for_unused_columns_too():
    frame = pd.DataFrame({"v": [2**53 + 1, 2**53], "w": [1, 2]})
    record = prepare(frame).record
    assert record.columns[0].kind == "constant"
    assert [message.values["column"] for message in record.messages] == ["v"]
