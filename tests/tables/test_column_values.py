"""Columns of every type that pandas can hold."""

import datetime as dt
import enum
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from metaod.errors import BadColumn
from metaod.tables import SURPRISAL_UNIT, Preparation, prepare, read_table

NAN = float("nan")

PANDAS_3 = int(pd.__version__.partition(".")[0]) >= 3


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def column(values, **options):
    """Prepare a column of four values beside one that is kept; text is kept by its name."""
    prepared = prepare(beside(values), only=["v", "other"], **options)
    assert np.isfinite(prepared.X).all()
    return prepared, prepared.record.columns[0]


def categories(values):
    """Return the categories that a column of four values holds."""
    return Preparation(only=["v", "other"]).fit(beside(values)).columns_[0].categories


def beside(values):
    return pd.DataFrame({"v": values, "other": [1.0, 2.0, 3.0, 4.0]})


def arrow(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, type=kind)))


def stamps(unit):
    return np.array(["1970-01-02T12:00:00", "NaT", "1970-01-01", "1969-12-31"], f"M8[{unit}]")


NUMBERS = {
    "int8": np.array([4, 1, 3, 2], "int8"),
    "float16": np.array([4, 1, 3, 2], "float16"),
    "float32": np.array([4, 1, 3, 2], "float32"),
    "longdouble": np.array([4, 1, 3, 2], np.longdouble),
    "big-endian": np.array([4, 1, 3, 2], ">f8"),
    "Int64": pd.array([4, 1, 3, 2], dtype="Int64"),
    "UInt8": pd.array([4, 1, 3, 2], dtype="UInt8"),
    "Float64": pd.array([4, 1, 3, 2], dtype="Float64"),
    "sparse": pd.arrays.SparseArray([4.0, 1.0, 3.0, 2.0], fill_value=1.0),
    "sparse int": pd.arrays.SparseArray([4, 1, 3, 2]),
    "arrow int": arrow([4, 1, 3, 2], pa.int16()),
    "arrow uint64": arrow([4, 1, 3, 2], pa.uint64()),
    "arrow float": arrow([4, 1, 3, 2], pa.float32()),
    "arrow decimal": arrow([Decimal(4), Decimal(1), Decimal(3), Decimal(2)], pa.decimal128(5, 1)),
    "Decimal": pd.Series([Decimal(4), Decimal(1), Decimal(3), Decimal(2)]),
    "Fraction": pd.Series([Fraction(4), Fraction(1), Fraction(3), Fraction(2)]),
    "objects": pd.Series([4, 1.0, np.int8(3), np.float32(2)], dtype=object),
    "numbers and text of numbers": pd.Series([4, "1", 3.0, "2"], dtype=object),
    "with a boolean": pd.Series([4, True, 3, 2], dtype=object),
}


GAPPED = {
    "Int64": pd.array([4, None, 3, 2], dtype="Int64"),
    "Float64": pd.array([4, None, 3, 2], dtype="Float64"),
    "sparse": pd.arrays.SparseArray([4.0, NAN, 3.0, 2.0]),
    "arrow int": arrow([4, None, 3, 2], pa.int64()),
    "arrow float": arrow([4, None, 3, 2], pa.float64()),
    "Decimal": pd.Series([Decimal(4), Decimal("NaN"), 3, 2], dtype=object),
    "None": pd.Series([4, None, 3, 2], dtype=object),
    "NA": pd.Series([4, pd.NA, 3, 2], dtype=object),
    "NaT": pd.Series([4, pd.NaT, 3, 2], dtype=object),
    "text": pd.Series(["4", None, "3", "2"]),
}


BOOLEANS = {
    "boolean": pd.array([True, None, False, True], dtype="boolean"),
    "arrow": arrow([True, None, False, True], pa.bool_()),
    "objects": pd.Series([True, None, np.False_, True], dtype=object),
}


NOON = pd.Timestamp("1970-01-02 12:00")
MOMENTS = [NOON, None, pd.Timestamp("1970-01-01"), pd.Timestamp("1969-12-31")]
TOKYO = dt.timezone(dt.timedelta(hours=9))
DATES = {
    **{f"datetime64[{unit}]": stamps(unit) for unit in ("s", "ms", "us", "ns")},
    "zoned": pd.Series(stamps("ns")).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "arrow": arrow(MOMENTS, pa.timestamp("us")),
    "arrow zoned": arrow(MOMENTS, pa.timestamp("s", tz="Asia/Tokyo")),
    "periods": pd.Series(pd.DatetimeIndex(MOMENTS).to_period("h")),
    "objects": pd.Series(
        [NOON.to_pydatetime(), None, dt.date(1970, 1, 1), np.datetime64("1969-12-31")],
        dtype=object,
    ),
    "zoned objects": pd.Series(
        [
            NOON.tz_localize("UTC"),
            None,
            dt.datetime(1970, 1, 1, 9, tzinfo=TOKYO),
            pd.Period("1969-12-31", "D"),
        ],
        dtype=object,
    ),
    "text": pd.Series(["1970-01-02 12:00", None, "1970-01-01", "1969/12/31"]),
}


DAYS = [dt.date(1970, 1, 2), None, dt.date(1970, 1, 1), dt.date(1969, 12, 31)]


def test_dates_beyond_the_nanosecond_range():
    prepared, _ = column(
        np.array(["20000-01-01", "-0300-01-01", "1970-01-01", "NaT"], "M8[s]"), time="v"
    )
    assert prepared.X[:3, 0].tolist() == [6585322.0, -829100.0, 0.0]
    prepared, _ = column(
        [dt.date(9999, 12, 31), dt.date(1, 1, 1), dt.date(1970, 1, 1), None], time="v"
    )
    assert prepared.X[:3, 0].tolist() == [2932896.0, -719162.0, 0.0]
    _, record = column(
        np.array(["20000-01-01", "20000-01-03", "20000-01-05", "NaT"], "M8[s]"), time="v"
    )
    assert "filled with the median (day 6.58532e+06)" in record.sentence()


SPANS = [dt.timedelta(1, 0, 100_000), None, dt.timedelta(0, 0, -100_000), dt.timedelta(0)]
DURATIONS = {
    "timedelta64[ns]": np.array([86400_100_000_000, "NaT", -100_000_000, 0], "m8[ns]"),
    "timedelta64[ms]": np.array([86400_100, "NaT", -100, 0], "m8[ms]"),
    "arrow": arrow(SPANS, pa.duration("ms")),
    "objects": pd.Series(
        [SPANS[0], None, pd.Timedelta("-100ms"), np.timedelta64(0, "s")], dtype=object
    ),
}


TIMES = [dt.time(0, 0, 1, 500_000), dt.time(1), None, dt.time(0)]


@pytest.mark.parametrize(
    ("values", "kind", "expected", "n_missing"),
    [
        *((own, "numeric", [4.0, 1.0, 3.0, 2.0], 0) for own in NUMBERS.values()),
        *((own, "numeric", [4.0, 3.0, 3.0, 2.0], 1) for own in GAPPED.values()),
        *((own, "boolean", [1.0, 1.0, 0.0, 1.0], 1) for own in BOOLEANS.values()),
        (pd.arrays.SparseArray([True, False] * 2), "boolean", [1.0, 0.0, 1.0, 0.0], 0),
        *((own, "date", [1.5, 0.0, 0.0, -1.0], 1) for own in DATES.values()),
        *((arrow(DAYS, own()), "date", [1.0, 0.0, 0.0, -1.0], 1) for own in (pa.date32, pa.date64)),
        *((own, "duration", [86400.1, 0.0, -0.1, 0.0], 1) for own in DURATIONS.values()),
        (pd.Series(TIMES), "duration", [1.5, 3600.0, 1.5, 0.0], 1),
        (arrow(TIMES, pa.time64("us")), "duration", [1.5, 3600.0, 1.5, 0.0], 1),
    ],
)
def test_numbers_of_every_type(values, kind, expected, n_missing):
    prepared, record = column(values, **({"time": "v"} if kind == "date" else {}))
    assert prepared.X[:, 0].tolist() == expected
    assert (record.kind, record.n_missing) == (kind, n_missing)


TEXTS = {
    "str": pd.Series(["a", None, "b", "a"]),
    "string": pd.array(["a", None, "b", "a"], dtype="string"),
    "string[python]": pd.array(["a", None, "b", "a"], dtype="string[python]"),
    "objects": pd.Series(["a", None, "b", "a"], dtype=object),
    "bytes": pd.Series([b"a", None, b"b", b"a"]),
    "category": pd.Categorical(["a", None, "b", "a"], categories=["b", "x", "a"]),
    "ordered category": pd.Categorical(["a", None, "b", "a"], ordered=True),
    "arrow": arrow(["a", None, "b", "a"], pa.string()),
    "arrow large": arrow(["a", None, "b", "a"], pa.large_string()),
    "arrow dictionary": arrow(["a", None, "b", "a"], pa.dictionary(pa.int8(), pa.string())),
    "arrow binary": arrow([b"a", None, b"b", b"a"], pa.binary()),
}


@pytest.mark.parametrize("values", TEXTS.values(), ids=TEXTS)
def test_text(values):
    prepared, record = column(values)
    assert categories(values) == ("a", "b")
    np.testing.assert_allclose(prepared.X[:, 0] * SURPRISAL_UNIT, np.log([2, 4, 4, 2]))
    assert (record.n_levels, record.n_missing) == (2, 1)


OTHERS = {
    "numbered categories": (pd.Categorical([1.0, 2.0, 1.0, 2.0]), ("1", "2")),
    "a number and its text": (pd.Categorical([1, "1", "x", "x"]), ("1", "x")),
    "mixed": (pd.Series([1, "x", 1.0, "x"], dtype=object), ("1", "x")),
    "truth values and numbers": (
        pd.Series([True, 2, "2", True], dtype=object),
        ("2", "True"),
    ),
    "dates and text": (
        pd.Series([dt.date(2020, 1, 1), "x", "x", dt.date(2020, 1, 1)], dtype=object),
        ("2020-01-01", "x"),
    ),
    "enum": (
        pd.Series([Colour.RED, Colour.BLUE, Colour.RED, Colour.RED]),
        ("Colour.BLUE", "Colour.RED"),
    ),
    "intervals": (
        pd.arrays.IntervalArray.from_breaks([0, 1, 2]).take([0, 1, 0, 1]),
        ("(0, 1]", "(1, 2]"),
    ),
}
if PANDAS_3:
    # before, pandas itself took a text for ended at its first NUL
    OTHERS["nul characters"] = (pd.Series(["a\0b", "a\0c"] * 2), ("a\0b", "a\0c"))


@pytest.mark.parametrize(("values", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_values_become_categories(values, expected):
    assert categories(values) == expected


def test_uuids_are_identifiers():
    assert column(pd.Series([uuid.UUID(int=place) for place in range(4)]))[1].kind == "identifier"


def test_arrow_nulls_are_empty():
    assert column(arrow([None] * 4, pa.null()))[1].kind == "empty"


@pytest.mark.parametrize("bad", [[1], {"a": 1}, (1, 2), {1}, np.zeros(2), object(), 1j])
def test_cells_that_hold_no_single_value_are_named(bad):
    values = pd.Series([1.0, None, None, 2.0], dtype=object, index=list("abcd"))
    values.iloc[2] = bad
    frame = pd.DataFrame({"v": values, "w": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(BadColumn, match=r"'v'.*row 2.*'c'"):
        prepare(frame)
    with pytest.raises(BadColumn, match="row 2"):
        prepare(frame.set_axis([9, 8, 7, 6]))


REFUSED = {
    "complex": (np.array([1j, 2, 3, 4]), "complex"),
    "arrow list": (arrow([[1], [2], [3], [4]], pa.list_(pa.int8())), "row 0"),
    "arrow struct": (arrow([{"a": 1}] * 4, pa.struct([("a", pa.int8())])), "row 0"),
}
if PANDAS_3:
    # before, pandas gave them out as objects
    intervals = arrow([(1, 2, 3)] * 4, pa.month_day_nano_interval())
    REFUSED["arrow interval"] = (intervals, "cannot be read")


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_types_that_cannot_be_prepared_are_refused(values, message):
    with pytest.raises(BadColumn, match=f"column 'v'.*{message}"):
        column(values)


def test_objects_without_a_value_of_their_type():
    signals = [Decimal("sNaN"), Decimal(1), Decimal(2), Decimal(4)]
    assert column(pd.Series(signals, dtype=object))[1].n_missing == 1
    years = [*(dt.timedelta(day) for day in range(9)), np.timedelta64(1, "Y")]
    assert read_table({"v": years, "w": list(range(10))}).misfits["v"].rows.tolist() == [9]


def test_huge_integers_among_text():
    found = categories(pd.Series([10**5000, "x", 10**5000, "x"], dtype=object))
    assert found == (hex(10**5000), "x")


@pytest.mark.parametrize(
    ("array", "names"),
    [
        (np.array([[1, 2], [3, 4]], "int8"), ("x1", "x2")),
        (np.array([["1", "a"], ["2", "b"], ["3", "a"]]), ("x1", "x2 surprisal")),
        (np.array([[1.5, "a"], [2, "b"], [3, "a"]], dtype=object), ("x1", "x2 surprisal")),
        (np.array([[True, False], [False, True]]), ("x1", "x2")),
        (np.ma.masked_equal([[1, 2], [3, 9], [5, 6]], 9), ("x1", "x2", "gaps")),
    ],
)
def test_arrays(array, names):
    assert prepare(array, only=["x1", "x2"]).names == names
