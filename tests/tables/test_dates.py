"""Numbers that are dates."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import prepare
from metaod.tables._column_values import are_dates, days_in_numbers

EPOCH = dt.date(1970, 1, 1)
MODERN = st.dates(dt.date(1974, 1, 1), dt.date(2100, 12, 31))


@settings(deadline=None, max_examples=50)
@given(st.dates(dt.date(1000, 1, 1), dt.date(2999, 12, 31)))
def test_written_dates(date):
    number = float(f"{date:%Y%m%d}".zfill(8))
    assert days_in_numbers(np.array([number])).tolist() == [float((date - EPOCH).days)]


@settings(deadline=None, max_examples=50)
@given(MODERN, st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_seconds_and_parts_of_seconds(date, unit):
    days = (date - EPOCH).days
    assert days_in_numbers(np.array([days * 86_400.0 * unit])).tolist() == [days]


@settings(deadline=None, max_examples=50)
@given(MODERN)
def test_days_of_excel(date):
    number = float((date - dt.date(1899, 12, 30)).days)
    assert days_in_numbers(np.array([number])).tolist() == [(date - EPOCH).days]


def test_years_and_gaps():
    found = days_in_numbers(np.array([1970.0, 1971.0, np.nan]))
    assert found[:2].tolist() == [0.0, 365.0]
    assert np.isnan(found[2])


@pytest.mark.parametrize(
    "number", [0.0, -5.0, 3.5, 999.0, 20240230.0, 20241301.0, 20240100.0, np.inf]
)
def test_other_numbers_are_no_dates(number):
    assert np.isnan(days_in_numbers(np.array([number]))).all()


@pytest.mark.parametrize(
    ("name", "is_date"),
    [("created_ts", True), ("timestamp", True), ("orderTime", True), ("Date", True), ("date", True),
     ("lifetime", False), ("parts", False), ("revenue", False)],
)  # fmt: skip
def test_seconds_are_dates_if_the_name_says_so(name, is_date):
    seconds = np.random.default_rng(0).integers(1_700_000_000, 1_710_000_000, 50).astype(float)
    assert are_dates(name, seconds) == is_date
    assert are_dates(name, seconds * 1000) == is_date
    assert not are_dates(name, seconds / 1e6)


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
