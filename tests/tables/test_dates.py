"""Numbers that are dates."""

import datetime as dt
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.errors import BadColumn
from metaod.tables import Preparation, prepare, read_table

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


@pytest.mark.parametrize(
    ("texts", "utc", "codes"),
    [
        (
            ["2024-01-02 10:00", "2024-01-02 10:00Z", "2024-01-02T10:00:00+02:00"],
            ["2024-01-02 10:00", "2024-01-02 10:00", "2024-01-02 08:00"],
            ["zones"],
        ),
        (
            [
                "2024-01-02 10:00 CET",
                "2024-07-02 10:00 CEST",
                "2024-07-02 10:00+02:00[Europe/Rome]",
            ],
            ["2024-01-02 09:00", "2024-07-02 08:00", "2024-07-02 08:00"],
            ["zones", "notation"],
        ),
        (
            ["13.01.2024 10:00", "2024-07-02 10:00-01:00", "Jan 3, 2024 4:00 PM"],
            ["2024-01-13 10:00", "2024-07-02 11:00", "2024-01-03 16:00"],
            ["zones", "notation"],
        ),
        (
            ["01/13/2024", "2024-07-02", "3 May 2024"],
            ["2024-01-13", "2024-07-02", "2024-05-03"],
            ["notation"],
        ),
        (
            ["01/02/2024", "2024-07-02"],
            ["2024-01-02", "2024-07-02"],
            ["uncertain-notation"],
        ),
    ],
)
def test_dates_in_several_notations_and_zones_are_read_as_utc(texts, utc, codes):
    table = read_table(io.StringIO("d\n" + "\n".join(f'"{text}"' for text in texts * 4)))
    assert table.frame["d"].tolist() == [pd.Timestamp(text) for text in utc] * 4
    assert [warning.code for warning in table.warnings] == codes
    objects = [pd.Timestamp(text) if text.endswith("Z") else text for text in texts * 4]
    frame = pd.DataFrame({"d": pd.Series(objects, dtype=object)})
    assert read_table(frame).frame["d"].tolist() == table.frame["d"].tolist()


def test_a_date_in_another_notation_is_a_finding_where_such_dates_are_rare():
    table = read_table(io.StringIO("d\n" + "2024-01-02\n" * 40 + "03.05.2024\n"))
    assert table.misfits["d"].texts == ["03.05.2024"]
    mixed = io.StringIO("d\n" + "02.01.2024\n2024-01-03\n" * 9)
    preparation = Preparation(time="d").fit(read_table(mixed))
    loaded = Preparation.from_dict(json.loads(json.dumps(preparation.to_dict())))
    later = pd.DataFrame({"d": ["2024-01-04", "05.01.2024", "Jan 6, 2024"]})
    assert np.diff(loaded.transform(later).X[:, 0]).tolist() == [1, 1]
