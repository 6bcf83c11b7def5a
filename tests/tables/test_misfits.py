"""Cells that do not fit their column: where they are found, and that nothing else changes."""

import csv
import io
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metaod.tables import Preparation, read_table, stream_table

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


@settings(deadline=None, max_examples=30)
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


@cache
def fitted():
    usual = from_csv(COLUMNS)
    return usual, Preparation(time=["day", "date"]).fit(usual)


def late(place, stray, n_rows=3):
    """Return later rows, of which one has the stray cell."""
    rows = [(place[1] + step) % N for step in range(n_rows)]
    columns = {name: [cells[row] for row in rows] for name, cells in COLUMNS.items()}
    columns[place[0]][1 % n_rows] = stray
    return rows, columns


@settings(deadline=None, max_examples=30)
@given(PLACES, STRAYS, st.sampled_from([from_csv, pd.DataFrame]), st.integers(1, 4))
def test_later_rows_are_read_as_the_first_table(place, stray, source, n_rows):
    assume(stray)
    usual, preparation = fitted()
    rows, columns = late(place, stray, n_rows)
    table = preparation.read(source(columns))
    assert kinds(table.frame) == kinds(usual.frame)
    preparation.transform(source(columns))
    assert set(table.misfits) <= {place[0]}
    for own in table.misfits.values():
        assert own.rows.tolist() == [1 % n_rows]
        # of a few rows, 1.50 may be read as a number before it is no date
        assert own.texts == [stray] or float(own.texts[0]) == float(stray)
        assert pd.isna(table.frame[place[0]].iloc[1 % n_rows])
    for step, row in enumerate(rows):
        for name in set(COLUMNS) - {place[0]}:
            assert table.frame[name].iloc[step] == usual.frame[name].iloc[row]


@settings(deadline=None, max_examples=30)
@given(PLACES, STRAYS, st.sampled_from([from_csv, from_memory]))
def test_findings_and_missing_values_give_the_same_frame(place, stray, source):
    assume(stray)
    finding, missing = (
        source(changed(place, stray), bad_values=mode) for mode in (None, "missing")
    )
    pd.testing.assert_frame_equal(finding.frame, missing.frame)
    assert not missing.misfits
    assert [note.code for note in finding.warnings].count("bad-values-finding") == len(
        finding.misfits
    )


@settings(deadline=None, max_examples=10)
@given(st.lists(st.tuples(PLACES, STRAYS), min_size=1, max_size=4), st.integers(3, 90))
def test_chunks_have_the_misfits_of_the_table(tmp_path_factory, strays, chunk_rows):
    columns = {name: cells * 3 for name, cells in COLUMNS.items()}
    for (column, row), stray in strays:  # rows that are in the last third
        columns[column][2 * N + row] = stray or "x"
    path = tmp_path_factory.mktemp("chunks") / "t.csv"
    path.write_text(as_csv(columns), newline="")
    at_once = read_table(path)
    stream = stream_table(path)
    stream.file.chunk_rows = chunk_rows
    stream.draw(10**6, seed=0)
    found, first = {}, 0
    for chunk in stream.chunks():
        for name, own in chunk.misfits.items():
            found.setdefault(name, []).extend(zip(own.rows + first, own.texts, strict=True))
        first += chunk.n_rows
    expected = {
        name: list(zip(own.rows, own.texts, strict=True)) for name, own in at_once.misfits.items()
    }
    assert found == expected
    rows = np.array([*range(3 * N)][::-7])
    taken, own = stream.take(rows).misfits, at_once.take(rows).misfits
    assert {name: (item.rows.tolist(), item.texts) for name, item in taken.items()} == {
        name: (item.rows.tolist(), item.texts) for name, item in own.items()
    }


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, N - 1), max_size=20), st.data())
def test_rows_that_are_taken_keep_their_misfits(rows, data):
    wrong = data.draw(st.lists(st.integers(0, N - 1), min_size=1, max_size=5, unique=True))
    columns = COLUMNS
    for row in wrong:
        columns = {
            **columns,
            "real": [*columns["real"][:row], f"x{row}", *columns["real"][row + 1 :]],
        }
    taken = from_memory(columns).take(np.array(rows, dtype=np.intp))
    expected = {place: f"x{row}" for place, row in enumerate(rows) if row in wrong}
    found = taken.misfits.get("real")
    assert ({} if found is None else dict(zip(found.rows, found.texts, strict=True))) == expected
    given_cells = taken.given()["real"].tolist()
    assert {place: given_cells[place] for place in expected} == expected
    assert [taken.text("real", place) for place in range(len(rows))] == [
        expected.get(place, "") for place in range(len(rows))
    ]


def column_of(cells, **options):
    """Read cells beside a column of numbers; return the table."""
    return from_memory({"v": cells, "w": [str(row**2) for row in range(len(cells))]}, **options)


@pytest.mark.parametrize("source", [from_csv, from_memory])
def test_failed_formulas_are_misfits_of_numbers_and_missing_among_words(source):
    wrong = changed(("real", 3), "#REF!")
    table = source({**wrong, "word": [*COLUMNS["word"][:-1], "#REF!"]})
    assert {name: own.texts for name, own in table.misfits.items()} == {"real": ["#REF!"]}
    assert table.frame["word"].isna().sum() == 1
    half = source({**COLUMNS, "real": [*COLUMNS["real"][:20], *["#DIV/0!"] * 20]})
    assert (half.frame["real"].dtype.kind, len(half.misfits["real"].rows)) == ("f", 20)
    for options in ({"na": "#REF!"}, {"bad_values": "missing"}, {"bad_values": "error"}):
        assert not source(wrong, **options).misfits
        assert source(wrong, **options).frame["real"].isna().sum() == 1


@pytest.mark.parametrize(
    ("cells", "kind", "n_misfits"),
    [
        ([*map(str, range(80)), *["x"] * 20], "f", 20),
        ([*map(str, range(79)), *["x"] * 21], "O", 0),
        ([*COLUMNS["day"], *["x"] * 20], "M", 20),
        ([*COLUMNS["day"], *["x"] * 21], "O", 0),
        (["1", "2", "3", "4", "x"], "f", 1),
        ([*["0", "1", "2"] * 20, *["3+"] * 5], "O", 0),  # a level of a category
        ([*["0", "1", "2"] * 20, "3+"], "f", 1),
        ([*map(str, range(60, 120)), "0071"], "f", 1),
        ([*map(str, range(600, 660)), "007"], "O", 0),  # codes of one length
        ([*["true", "false"] * 20, "ture"], "b", 1),
        ([*["0", "1"] * 20, "true"], "f", 1),
        ([*["10:15", "23:40"] * 20, "24:15"], "f", 0),  # a duration
        ([*["10:15", "23:40"] * 20, "24:75"], "f", 1),
        ([*["6/15/2012"] * 40, *(f"6/15/201{mark}" for mark in "abcdefgh")], "M", 8),
        ([*["3 patients", "14 patients"] * 20, "6xpatients", "x patients"], "f", 2),
    ],
    ids=str,
)
def test_columns_are_what_most_of_their_cells_are(cells, kind, n_misfits):
    table = column_of(cells)
    found = table.frame["v"].dtype
    assert ("b" if found == "boolean" else found.kind.replace("U", "O")) == kind
    assert sum(len(own.rows) for own in table.misfits.values()) == n_misfits


def test_a_category_that_no_later_row_has_is_no_misfit():
    fitted = Preparation().fit(pd.DataFrame({"x": [0.0, 1.0, 3.0], "y": [1.0, 2.0, 5.0]}))
    later = pd.DataFrame({"x": pd.Categorical([None, None], categories=["never"]), "y": 1.0})
    assert not fitted.read(later).misfits
    assert np.isfinite(fitted.transform(later).X).all()


def test_misfits_of_many_columns_are_one_note():
    columns = {f"v{place}": [*map(str, range(20)), "x"] for place in range(9)}
    [note] = [own for own in from_memory(columns).warnings if own.code == "bad-values-finding"]
    assert note.values["n_values"] == 9
