"""The cells of a file as it has them, and as numbers where no digit is lost."""

import io
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import read_table
from metaod.tables._table import _as_numbers

CELL = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.sampled_from(["", "NA", "-", "007", "+1", "1e400", "-0", "1.50", " 3 ", "1,5", "a", ".5"]),
)


@given(st.lists(CELL, min_size=1, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_columns_become_numbers_only_if_every_digit_stays(texts):
    column = _as_numbers(pa.chunked_array([texts]), ".")
    for text, value in zip(texts, column.to_pylist(), strict=True):
        if pa.types.is_string(column.type):
            assert value == (text or None)
        elif value is None:
            assert text in ("", "NA", "-")
        else:
            assert Decimal(text) == Decimal(repr(value))
            assert text.strip() == "0" or not text.strip().lstrip("-").startswith("00")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-20", "NA"], [1, -20, None]),
        (["1.50", "3", ""], [1.5, 3.0, None]),
        (["0.30000000000000004"], [0.30000000000000004]),
        (["0.300000000000000041"], ["0.300000000000000041"]),
        (["123456789012345"], [123456789012345]),
        (["1234567890123456"], ["1234567890123456"]),
        (["01", "2"], ["01", "2"]),
        (["NA", ""], ["NA", None]),
        (["2024-01-01"], ["2024-01-01"]),
    ],
)
def test_examples(texts, expected):
    assert _as_numbers(pa.chunked_array([texts]), ".").to_pylist() == expected


def test_a_decimal_comma_is_read():
    assert _as_numbers(pa.chunked_array([["1,5", "1.5"]]), ",").to_pylist() == ["1,5", "1.5"]
    assert _as_numbers(pa.chunked_array([["1,5", "2"]]), ",").to_pylist() == [1.5, 2.0]


def test_the_original_has_all_columns_as_text():
    text = "key;y;x\n1;n;0,50\n02;Y;NA\n"
    table = read_table(io.StringIO(text), label="y")
    assert table.original.names == ("key", "y", "x")
    cells = table.original.read().to_pydict()
    assert cells == {"key": ["1", "02"], "y": ["n", "Y"], "x": ["0,50", "NA"]}
