"""Numbers that are dates."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadColumn
from metaod.tables import Preparation, prepare

EPOCH = dt.date(1970, 1, 1)
MODERN = st.dates(dt.date(1974, 1, 1), dt.date(2100, 12, 31))


def days_in(number):
    """Days since 1970 of a number in a column that is named as time."""
    frame = pd.DataFrame({"d": [number, 19700101.0, 19700102.0]})
    return prepare(frame, time="d").X[0, 0]


@settings(deadline=None, max_examples=50)
@given(st.dates(dt.date(1000, 1, 1), dt.date(2999, 12, 31)))
def test_written_dates(date):
    assert days_in(float(f"{date:%Y%m%d}".zfill(8))) == (date - EPOCH).days


@settings(deadline=None, max_examples=50)
@given(MODERN, st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_days_of_excel_and_seconds_and_their_parts(date, unit):
    days = (date - EPOCH).days
    assert days_in(days * 86_400.0 * unit) == days
    assert days_in(float((date - dt.date(1899, 12, 30)).days)) == days


def test_years_and_gaps():
    assert [days_in(year) for year in (1500.0, 1971.0, np.nan)] == [-171664.0, 365.0, 0.5]


@pytest.mark.parametrize("number", [0.0, -5.0, 3.5, 999.0, 20240230.0, 20241301.0, 20240100.0])
def test_other_numbers_are_no_dates(number):
    frame = pd.DataFrame({"day": [2020, 2021, number], "x": [1.0, 2.0, 4.0]})
    assert Preparation(time="day").fit(frame).read(frame).misfits["day"].rows.tolist() == [2]
    with pytest.raises(BadColumn):  # the role is wrong rather than the values
        prepare(frame.assign(day=[2020, number, number]), time="day")


@pytest.mark.parametrize(
    ("name", "is_date"),
    [("created_ts", True), ("timestamp", True), ("orderTime", True), ("Date", True), ("date", True),
     ("lifetime", False), ("parts", False), ("revenue", False)],
)  # fmt: skip
def test_seconds_are_dates_if_the_name_says_so(name, is_date):
    seconds = np.random.default_rng(0).integers(1_700_000_000, 1_710_000_000, 50)
    for values in (seconds, seconds * 1000):
        record = prepare(pd.DataFrame({name: values, "w": seconds % 7})).record.columns[0]
        assert (record.kind == "date") == is_date
    assert prepare(pd.DataFrame({name: seconds // 10**6, "w": seconds % 7})).names[0] == name


def test_numbers_that_are_surely_dates_are_not_used_unless_named():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"sold": 20240101 + generator.integers(0, 28, 50), "w": generator.random(50)}
    )
    record = prepare(frame).record.columns[0]
    assert (record.kind, record.action) == ("date", "dropped")
    assert prepare(frame, time="sold").X[:, 0].max() < 20_000
    assert prepare(frame, only=["sold", "w"]).record.columns[0].is_used
    assert prepare(frame, category="sold").record.columns[0].kind == "category"
    frame.loc[7, "sold"] = 20240132
    assert prepare(frame).record.columns[0].kind == "numeric"
