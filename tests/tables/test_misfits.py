"""Cells that do not fit their column: where they are found, and that nothing else changes."""

import csv
import io

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metaod.tables import Preparation, read_table

N = 40
ROWS = np.arange(N)
COLUMNS = {
    "whole": [str(row * 37 % 29 - 4) for row in ROWS],
    "real": [f"{row * 7 % 31 / 4:.2f}" for row in ROWS],
    "money": [f"${1000 + row * 77 % 501:,}.50" for row in ROWS],
    "share": [f"{row * 13 % 97} %" for row in ROWS],
    "day": [f"2024-{1 + row % 12:02d}-{1 + row * 5 % 28:02d}" for row in ROWS],
    "date": [f"{1 + row * 5 % 28:02d}.{1 + row % 12:02d}.2024" for row in ROWS],
    "clock": [f"{row % 24:02d}:{row * 7 % 60:02d}" for row in ROWS],
    "word": [("red", "green", "blue")[row % 3] for row in ROWS],
}
STRAYS = st.text(
    st.sampled_from([*"0123456789", *".,;:/-+%$€#()'\" ", *"abexTNAo", "ß", "\u00a0"]),
    min_size=1,
    max_size=6,
).map(str.strip) | st.sampled_from(
    ["5;5", "12O.5", "#REF!", "1986", "2024-02-30", "13/25/2024", "1.234,5", "12,5", "1e999",
     "true", "soon", "empty", "[1, 2]", "007", "0x1F", "24:75", "1_000", "10 kg", "(3)"]
)  # fmt: skip
PLACES = st.tuples(st.sampled_from(list(COLUMNS)[:-1]), st.integers(0, N - 1))


def as_csv(columns):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([columns, *zip(*columns.values(), strict=True)])
    return text.getvalue()


def from_csv(columns, **options):
    return read_table(io.StringIO(as_csv(columns)), **options)


def from_memory(columns, **options):
    return read_table(columns, **options)


def from_frame(columns):
    frame = pd.DataFrame(columns)
    return Preparation(time=["day", "date"]).fit(frame).read(frame)


def changed(place, stray):
    column, row = place
    return {**COLUMNS, column: [*COLUMNS[column][:row], stray, *COLUMNS[column][row + 1 :]]}


def kinds(frame):
    return [dtype.kind.replace("i", "f") for dtype in frame.dtypes]


def assert_only_the_cell_differs(table, usual, place, stray):
    """Compare a table in which a cell was replaced with the usual one."""
    column, row = place
    assert kinds(table.frame) == kinds(usual.frame)
    others = table.frame.drop(index=row)
    expected = usual.frame.drop(index=row)
    for name in others:
        left = others[name].astype(expected[name].dtype)
        pd.testing.assert_series_equal(left, expected[name])
    assert set(table.misfits) <= {column}
    for own in table.misfits.values():
        assert (own.rows.tolist(), own.texts, own.n_values) == ([row], [stray], N)
        assert pd.isna(table.frame[column].iloc[row])


@settings(deadline=None, max_examples=60)
@given(PLACES, STRAYS, st.sampled_from([from_csv, from_memory, from_frame]))
def test_a_stray_cell_changes_nothing_else(place, stray, source):
    assume(stray)
    usual = source(COLUMNS)
    assert not usual.misfits
    assert_only_the_cell_differs(source(changed(place, stray)), usual, place, stray)


def test_notations_of_quantities_give_their_numbers_in_every_matrix():
    for table in (from_csv(COLUMNS), pd.DataFrame(COLUMNS)):
        preparation = Preparation(time=["day", "date"]).fit(table)
        read = preparation.read(table)
        X = preparation.transform(table).X
        for name in ("money", "share", "whole", "real"):
            np.testing.assert_array_equal(X[:, preparation.names_.index(name)], read.frame[name])
