"""Values are written as their column has them, so that they are read as the same values."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaod.tables import Style
from metaod.tables._notations import Plain
from metaod.tables._number_notation import NumberNotation
from metaod.tables._time_notations import DateNotation, DurationNotation

AMOUNTS = [
    (NumberNotation(",", ".", "€"), ["1.234,50 €"]),
    (NumberNotation(".", ",", "$"), ["$1,234.50", "-$3.00"]),
    (NumberNotation(".", "'", "CHF"), ["CHF 1'234.50"]),
    (NumberNotation(",", " ", "zł"), ["1 234,5 zł", "2 zł"]),
    (NumberNotation(",", "", "%"), ["7,3 %"]),
    (NumberNotation(".", "", "kg"), ["7kg"]),
    (NumberNotation(",", "", ""), []),
    (Plain("numeric", ","), []),
    (Plain("numeric"), []),
]
DURATIONS = [
    *map(DurationNotation, ("h:m", "m:s", "am/pm", "parts", "iso")),
    Plain("duration"),
]


@pytest.mark.parametrize(("notation", "texts"), AMOUNTS)
@given(st.integers(-(10**9), 10**9), st.integers(0, 4))
def test_a_number_is_read_as_it_was_written(notation, texts, whole, decimals):
    number = whole / 10**decimals
    text = Style.of(notation, texts).text(number, lambda own: f"{own:.7f}")
    values, fits = notation.parse([text])
    assert fits.all()
    assert math.isclose(values[0], number, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("order", "mark"), [("dmy", "."), ("mdy", "/"), ("ymd", "-"), ("name", "")]
)
@given(st.datetimes(pd.Timestamp(1900, 1, 1), pd.Timestamp(2100, 1, 1)))
def test_a_date_is_read_as_it_was_written(order, mark, stamp):
    stamp = pd.Timestamp(stamp).floor("s")
    text = Style.of(DateNotation(order, mark)).text(stamp)
    notation = Plain("date") if order == "name" else DateNotation(order, mark)
    values, fits = notation.parse([text])
    assert fits.all()
    assert values[0] == stamp


@pytest.mark.parametrize("notation", DURATIONS)
@given(st.integers(0, 1439))
def test_a_duration_is_read_as_it_was_written(notation, minutes):
    style = Style.of(notation)
    values, fits = notation.parse([style.text(60.0 * minutes)])
    assert fits.all()
    assert pd.Timedelta(values[0]).total_seconds() == 60 * minutes
    assert style.text(pd.Timedelta(minutes=minutes)) == style.text(60.0 * minutes)


@pytest.mark.parametrize(
    ("texts", "value", "text"),
    [
        (["12,00 €", "3,50 €"], 1240.5, "1.240,50 €"),
        (["12 €", "3,50 €"], 1240.5, "1.240,5 €"),
        (["12,00 €", "3,50 €"], 0.125, "0,125 €"),
        (["€ 12,00"], -3, "-€ 3,00"),
        (["12,00 €"], None, ""),
        (["12,00 €"], float("nan"), ""),
        (["12,00 €"], "12 Euro", "12 Euro"),
        (["12,00 €"], float("inf"), "inf"),
    ],
)
def test_numbers_have_the_layout_of_their_column(texts, value, text):
    assert Style.of(NumberNotation(",", ".", "€"), texts).text(value) == text


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["25.6.2004", "2004-06-25", "01.02.03"], "18.03.2024"),
        (["2004/06/25", "25.6.2004", "2003/02/01"], "2024/03/18"),
        (["25 June 2004"], "2024-03-18"),
        ([], "2024-03-18"),
    ],
)
def test_a_date_of_a_column_in_several_notations_is_written_in_the_most_frequent(texts, text):
    assert Style.of(DateNotation("dmy", "any"), texts).text(pd.Timestamp(2024, 3, 18)) == text
