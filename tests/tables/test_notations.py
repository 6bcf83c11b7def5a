"""Numbers, dates and durations are read back from every notation, and codes stay text."""

import datetime as dt
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metaod._state import decode
from metaod.errors import BadColumn, Setting, UserError
from metaod.tables import Preparation, prepare, read_table
from metaod.tables._notations import DateNotation, Notation, NumberNotation
from metaod.tables._number_notation import FEW

quick = settings(derandomize=True, deadline=None, max_examples=100)


def read(values, **options):
    frame = pd.DataFrame({"v": pd.Series(values, dtype=object), "w": range(len(values))})
    return read_table(frame, **options)


def grouped(digits, group):
    parts = []
    while len(digits) > 3:
        digits, last = digits[:-3], digits[-3:]
        parts.insert(0, last)
    return group.join([digits, *parts])


def write_number(cents, decimal, group, places):
    whole, part = divmod(abs(cents), 10**places)
    text = grouped(str(whole), group) if group else str(whole)
    return f"{text}{decimal}{part:0{places}d}" if places else text


NEGATIVES = {"before": "-{}", "behind": "{}-", "parentheses": "({})", "unicode": "\u2212{}"}
MARKS = [
    "{}",
    "${}",
    "$ {}",
    "{} €",
    "{}€",
    "EUR {}",
    "{} USD",
    "£{}",
    "¥{}",
    "₹ {}",
    "{} kg",
    "{}cm",
]


@quick
@given(
    numbers=st.lists(st.integers(-(10**11), 10**11), min_size=2, max_size=30),
    marks=st.sampled_from([".,", ".", ",.", ",", ".'", ",\u202f", ", ", ".\u2019", ",\u00a0"]),
    negative=st.sampled_from(sorted(NEGATIVES)),
    mark=st.sampled_from(MARKS),
)  # fmt: skip
def test_numbers_are_read_back(numbers, marks, negative, mark):
    decimal, group = marks[0], marks[1:]
    texts = []
    for number in numbers:
        text = mark.format(write_number(number, decimal, group, 2))
        texts.append(NEGATIVES[negative].format(text) if number < 0 else text)
    column = read(texts).frame["v"]
    np.testing.assert_array_equal(column.to_numpy(float), [number / 100 for number in numbers])


@quick
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=30),
    st.sampled_from(",."),
    st.sampled_from([("%", -3), ("‰", -4)]),
)
def test_percentages_are_shares(numbers, decimal, mark):
    sign, power = mark
    texts = [f"{'-' if n < 0 else ''}{write_number(n, decimal, '', 1)} {sign}" for n in numbers]
    column = read(texts).frame["v"]
    np.testing.assert_array_equal(column, [float(f"{number}e{power}") for number in numbers])


DATES = st.datetimes(pd.Timestamp("1969-01-01"), pd.Timestamp("2068-12-31"))
FORMS = [
    *("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%Y.%m.%d", "%d %b %Y", "%d-%b-%y", "%B %d, %Y", "%b %d %Y", "%a, %d %b %Y", "%d. %B %Y"),
]
CLOCKS = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%SZ", ", %H:%M"]


@quick
@given(
    dates=st.lists(DATES, min_size=2, max_size=30),
    form=st.sampled_from(FORMS),
    clock=st.sampled_from(CLOCKS),
)
def test_dates_are_read_back(dates, form, clock):
    if clock.endswith("%S") or "%S" in clock:
        dates = [date.replace(microsecond=0) for date in dates]
    elif clock:
        dates = [date.replace(second=0, microsecond=0) for date in dates]
    else:
        dates = [date.replace(hour=0, minute=0, second=0, microsecond=0) for date in dates]
    texts = [date.strftime(form + clock) for date in dates]
    month_first = form.startswith("%m")
    column = read(texts, dayfirst=not month_first).frame["v"]
    assert column.tolist() == [pd.Timestamp(date) for date in dates]


@quick
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30), st.integers(0, 4))
def test_durations_are_read_back(seconds, form):
    texts = []
    for total in seconds:
        minutes, second = divmod(total, 60)
        hour, minute = divmod(minutes, 60)
        day, rest = divmod(hour, 24)
        texts.append(
            [
                f"{hour}:{minute:02d}:{second:02d}",
                f"{hour}h {minute}m {second}s",
                f"{day} days {rest:02d}:{minute:02d}:{second:02d}",
                f"PT{hour}H{minute}M{second}S",
                str(dt.timedelta(seconds=total)),
            ][form]
        )
    assert read(texts).frame["v"].tolist() == seconds


CODES = {
    "leading zeros": ["01000", "20095", "00007"],
    "phones": ["+49 30 123456", "+49 40 9876543", "+1 555 0100"],
    "phones in groups": ["612 345 678", "911 222 333", "644 000 111"],
    "short phones": ["555-1234", "555-9876", "555-0000"],
    "postcodes": ["12345-6789", "90210-0001", "10001-1234"],
    "postcodes of Canada": ["K1A 0B1", "M5V 3L9", "V6B 4Y8"],
    "versions": ["1.2.3", "1.10.0", "2.0.1"],
    "versions like dates": ["10.2.24", "10.3.1", "9.12.30"],
    "addresses": ["10.0.0.1", "192.168.0.12", "127.0.0.1"],
    "long addresses": ["192.168.100.101", "192.168.100.102", "192.168.100.117"],
    "articles": ["1001A", "1002A", "1003A"],
    "ordinals": ["1st", "2nd", "3rd"],
    "ranges": ["10-20", "20-30", "30-40"],
    "two units": ["12 kg", "12 lb", "3 kg"],
    "two currencies": ["$12", "€12", "$3"],
    "list": ["(1)", "(2)", "(3)"],
    "times and words": ["9:15", "noon", "10:30"],
    "quarters": ["2024Q1", "2024Q2", "2024Q3"],
    "rooms": ["A12", "B7", "C3"],
    "cards": ["4111 1111 1111 1111", "5500 0000 0000 0004", "3400 0000 0000 009"],
    "fractions": ["1/2", "3/4", "5/8"],
}


@pytest.mark.parametrize("values", CODES.values(), ids=CODES)
def test_codes_stay_text(values):
    assert read(values).frame["v"].tolist() == values


@quick
@given(st.lists(st.text(st.characters(codec="ascii"), max_size=8), min_size=2, max_size=8))
def test_any_text_is_left_alone_or_read_whole(values):
    try:
        table = read(values)
    except UserError:
        assume(False)
        raise
    column = table.frame["v"]
    if "v" in table.written:
        assert any("'v'" in str(warning) for warning in table.warnings)
        assert (column.notna() | ~pd.Series(values).str.contains(r"\d")).all()


def test_what_was_read_is_told_once_per_notation():
    frame = pd.DataFrame({"a": ["$1", "$2"], "b": ["$3", "$4"], "c": ["5%", "6%"]})
    assert [warning.values["columns"] for warning in read_table(frame).warnings] == [
        "columns 'a', 'b' were",
        "column 'c' was",
    ]


def test_dates_that_may_begin_with_the_day_or_the_month():
    texts = ["03/04/2024", "05/06/2024"]
    table = read(texts)
    assert table.frame["v"].dt.month.tolist() == [3, 5]
    [warning] = table.warnings
    assert warning.code == "uncertain-notation"
    assert warning.values["setting"] == Setting("dayfirst", True)
    assert warning.values["notation"] == "dates written month/day/year"
    settled = read(texts, dayfirst=True)
    assert settled.frame["v"].dt.month.tolist() == [4, 6]
    assert [warning.code for warning in settled.warnings] == ["notation"]


def test_an_order_of_dates_that_does_not_fit_has_no_effect_and_a_note():
    for texts, dayfirst in ((["03/14/2024"] * 2, True), (["14/03/2024"] * 2, False)):
        table = read(texts, dayfirst=dayfirst)
        assert table.frame["v"].dt.month.tolist() == [3, 3]
        [warning] = table.warnings
        assert warning.values["no_effect"].values["dayfirst"] == Setting("dayfirst", dayfirst)
        assert read(texts, dayfirst=not dayfirst).warnings == read(texts).warnings


def test_another_column_decides_the_order_of_dates_and_the_decimal_mark():
    frame = pd.DataFrame({"a": ["03/04/2024", "05/06/2024"], "b": ["14/04/2024", "1/2/2024"]})
    assert read_table(frame).frame["a"].dt.month.tolist() == [4, 6]
    numbers = pd.DataFrame({"a": ["1,234", "2,345"], "b": ["0,5", "1,75"]})
    table = read_table(numbers)
    assert table.frame["a"].tolist() == [1.234, 2.345]
    assert [warning.values["columns"] for warning in table.warnings] == ["columns 'a', 'b' were"]
    assert table.written["a"].notation == NumberNotation(",")
    assert read_table(numbers[["a"]]).frame["a"].tolist() == [1234, 2345]
    [warning] = read_table(numbers[["a"]]).warnings
    assert warning.values["setting"] == Setting("decimal", ",")
    assert read_table(numbers[["a"]], decimal=",").frame["a"].tolist() == [1.234, 2.345]


def test_plain_numbers_may_have_thousands_where_other_columns_have_decimal_commas():
    frame = pd.DataFrame({"a": ["1.234", "12.100"], "b": ["0,5", "1,75"]})
    table = read_table(frame)
    assert table.frame["a"].tolist() == [1234, 12100]
    assert any("'a'" in str(warning) for warning in table.warnings)
    assert prepare(frame).X[:, 0].tolist() == [1234, 12100]
    assert read_table(frame[["a"]]).frame["a"].tolist() == [1.234, 12.1]
    assert read_table(frame[["a"]]).warnings == ()


def test_amounts_of_equal_length_are_no_telephone_numbers():
    assert read(["1.234.567,89", "7.654.321,00"]).frame["v"].tolist() == [1234567.89, 7654321]


def test_separators_of_records_around_a_number_are_blanks():
    frame = read_table(pd.DataFrame({"a": ["\x1c1", "2\x1f", "3"]})).frame
    assert frame["a"].tolist() == [1, 2, 3]


def test_rounded_whole_numbers_are_told():
    assert read([f"${2**53 + 1}", "$5"]).warnings[0].code == "rounded-numbers"


def test_declared_text_is_read_too(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"v": ["$1", "$2.50"], "w": ["5 kg", "none"]}).to_parquet(path)
    table = read_table(path)
    assert table.frame["v"].tolist() == [1, 2.5]
    assert table.frame["w"].tolist() == ["5 kg", "none"]


def test_the_first_of_every_month_tells_where_the_day_is():
    assert read(["01/03/2024", "01/04/2024"]).frame["v"].dt.month.tolist() == [3, 4]


def test_zeros_of_spreadsheets():
    values = ["$ -", "$ 5.00", "$ (3.00)", "($1,000.00)"]
    assert read(values).frame["v"].tolist() == [0, 5, -3, -1000]
    assert read(["0", "5 %"]).frame["v"].tolist() == [0, 0.05]


@pytest.mark.parametrize(
    "saved",
    [{"tag": "x"}, {"tag": "dates", "order": "dmy"}, {"tag": "numbers", "mark": 1},
     {"tag": "dates", "order": "mdy", "separator": "|"}, {"tag": "durations"}],
)  # fmt: skip
def test_other_values_are_no_notation(saved):
    with pytest.raises((KeyError, TypeError, ValueError)):
        decode(Notation, saved)


# later rows


def fitted(values, **roles):
    frame = pd.DataFrame({"v": values, "w": np.arange(float(len(values)))})
    return Preparation.from_dict(Preparation(**roles).fit(frame).to_dict())


def later(values):
    return pd.DataFrame({"v": pd.Series(values, dtype=object), "w": [0.5] * len(values)})


def both_ways(preparation, values):
    """Prepare rows of a frame and of a read table, which must agree; return the column."""
    frame = later(values)
    first = preparation.transform(frame).X[:, 0]
    for reading in (frame, io.StringIO(frame.to_csv(index=False))):
        np.testing.assert_array_equal(preparation.transform(read_table(reading)).X[:, 0], first)
    return first.tolist()


def days(text):
    return (pd.Timestamp(text) - pd.Timestamp(0)).days


@pytest.mark.parametrize(
    "texts",
    [["01/02/2024", "03/04/2024"], ["2024-02-01", "2024-04-03"], ["01.02.2024", "03.04.2024"]],
)
def test_later_dates_are_read_as_the_fitted_ones(texts):
    preparation = fitted(["14/03/2024", "15/03/2024", "16/04/2024"], time="v")
    assert both_ways(preparation, texts) == [days("2024-02-01"), days("2024-04-03")]


def test_another_reading_of_later_rows_is_told():
    preparation = fitted(["14/03/2024", "15/03/2024", "16/04/2024"], time="v")
    table = read_table(later(["01/02/2024", "03/04/2024"]))
    [message] = preparation.transform(table).record.messages
    assert message.values["note"].endswith("day/month/year, as the fitted rows were")


def test_later_numbers_are_read_as_the_fitted_ones():
    preparation = fitted(["1,5", "2,75", "0,125"])
    assert both_ways(preparation, ["1,234", "2,345"]) == [1.234, 2.345]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (["12 kg", "3 kg"], ["12 lb", "3 lb"]),
        (["$12", "$3"], ["€12", "€3"]),
        (["14/03/2024", "15/03/2024"], ["03/14/2024", "03/15/2024"]),
        (["12", "3"], ["12%", "3%"]),
    ],
)
def test_other_units_in_later_rows_do_not_fit(first, then):
    preparation = fitted(first, time="v" if "/" in first[0] else None)
    for table in (later(then), read_table(later(then))):
        read = preparation.read(table)
        assert read.frame["v"].isna().all()
        assert (read.misfits["v"].rows.tolist(), read.misfits["v"].texts) == ([0, 1], then)
    with pytest.raises(BadColumn, match="'v'"):
        preparation.transform(read_table(later(then), bad_values="error"))


@pytest.mark.parametrize(
    ("first", "then", "values"),
    [
        (["98,65 €", "5,00 €"], ["1.234,50 €", "5,00 €"], [1234.5, 5]),
        (["5 €", "12 €"], ["5,50 €", "12,00 €"], [5.5, 12]),
        (["$5", "$12.50"], ["$1,234", "$2,345"], [1234, 2345]),
        (["1.234,50 €", "5,00 €"], ["98,65 €", "5,00 €"], [98.65, 5]),
    ],
)
def test_later_numbers_may_be_larger_or_have_decimals(first, then, values):
    preparation = fitted(first)
    assert both_ways(preparation, then) == values
    assert preparation.transform(read_table(later(then))).record.messages == ()


def test_a_named_category_keeps_its_texts():
    preparation = fitted(["$1", "$2", "$1", "$2"], category="v")
    frame = later(["$1", "$2"])
    for table in (frame, read_table(frame)):
        assert preparation.transform(table).record.columns[0].n_unseen == 0


NOTATIONS = [
    NumberNotation(".", ",", "$"), NumberNotation(",", ".", "EUR"), NumberNotation(".", "", "kg"),
    NumberNotation(",", " ", "%"), NumberNotation(".", "'"), NumberNotation(".", ",", "₹"),
    DateNotation("dmy", "."), DateNotation("mdy", "/"), DateNotation("ymd", "-"),
]  # fmt: skip
PIECES = ["1", "0", "12", "007", "1,234", "1.234", "2024", "31", ",", ".", "-", "+", "(", ")", " ",
          "$", "EUR", "kg", "%", "'", "₹", "/", ":", "e3", "12:30", "\u2212"]  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.sampled_from(NOTATIONS),
    st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), min_size=1, max_size=5),
)
def test_few_and_many_texts_are_read_alike(notation, texts):
    values, fits = notation.parse(texts)
    many_values, many_fits = notation.parse(texts * FEW)
    np.testing.assert_array_equal(many_fits, np.tile(fits, FEW))
    np.testing.assert_array_equal(many_values[: len(texts)][fits], values[fits])
