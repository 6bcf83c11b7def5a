"""Rows in which a cell is replaced are prepared as if the table had held the new value."""

import numpy as np
import pandas as pd
import pytest

from metaod.tables import Preparation, ReadRows, read_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n_rows = 300
    country = rng.choice(["DE", "FR", "IT"], n_rows)
    middles = {"DE": 0.0, "FR": 40.0, "IT": 80.0}
    frame = pd.DataFrame(
        {
            "price": [middles[name] for name in country] + rng.normal(size=n_rows),
            "country": country,
            "weight": rng.normal(size=n_rows),
            "made": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n_rows), "D"),
            "ok": rng.random(n_rows) < 0.9,
            "note": "same",
        }
    )
    frame.loc[:2, "price"] = [80.0, 0.0, 40.0]
    frame.loc[:2, "country"] = ["DE", "FR", "XX"]
    frame.loc[3:9, "weight"] = np.nan
    frame.loc[3:5, "note"] = None
    frame.loc[4:20, "country"] = None
    frame.loc[6, "weight"] = np.inf
    return frame


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("price", 41.5),
        ("country", "IT"),
        ("country", "new"),
        ("weight", 0.25),
        ("ok", 0.0),
        ("made", 19750.0),
        ("note", None),
    ],
)
def test_a_replaced_cell_is_prepared_as_a_cell_of_the_table(frame, name, value):
    preparation = Preparation(time="made").fit(frame)
    assert len(preparation.record_.evidence) == 2  # gaps and combinations
    rows = np.arange(12)
    read = ReadRows.of(preparation, frame.iloc[rows])
    place = list(frame.columns).index(name)
    found = read.replaced(rows, np.full(12, place), [value] * 12)
    changed = frame.iloc[rows].copy()
    own = {"made": pd.Timestamp("2024-01-28"), "ok": False, "note": "same"}.get(name, value)
    changed[name] = own
    np.testing.assert_allclose(found, preparation.transform(changed).X, atol=1e-9)


def test_cells_are_replaced_one_in_each_row(frame):
    preparation = Preparation(time="made").fit(frame)
    read = ReadRows.of(preparation, frame.iloc[:4])
    found = read.replaced(np.array([0, 0, 3]), np.array([0, 1, 2]), [1.0, "FR", 2.0])
    for row, (source, name, value) in enumerate(
        [(0, "price", 1.0), (0, "country", "FR"), (3, "weight", 2.0)]
    ):
        changed = frame.iloc[[source]].copy()
        changed[name] = value
        np.testing.assert_allclose(found[[row]], preparation.transform(changed).X, atol=1e-9)


def test_several_cells_are_changed_one_after_another(frame):
    preparation = Preparation(time="made").fit(frame)
    rows = np.array([2, 4, 7])
    read = ReadRows.of(preparation, frame.iloc[:9]).take(rows)
    first = read.changed(np.array([0, 1, 2]), [1.0, "FR", 2.0])
    found = first.changed(np.array([1, 2, 0]), ["new", 0.5, 7.0])
    changed = frame.iloc[rows].copy()
    for row, name, value in zip(
        [2, 4, 7, 2, 4, 7],
        ["price", "country", "weight", "country", "weight", "price"],
        [1.0, "FR", 2.0, "new", 0.5, 7.0],
        strict=True,
    ):
        changed.loc[row, name] = value
    np.testing.assert_allclose(found.X, preparation.transform(changed).X, atol=1e-9)
    assert [found.value(row, 1) for row in range(2)] == ["new", "FR"]
    assert [found.value(row, 2) for row in (1, 2)] == [0.5, 2.0]
    assert read.value(0, 1) == "XX"


def test_values_are_numbers_texts_or_gaps(frame):
    read = ReadRows.of(Preparation().fit(frame), frame.iloc[:8])
    assert read.value(0, 0) == 80.0
    assert read.value(2, 1) == "XX"
    assert [read.value(row, 2) for row in (3, 6)] == [None, None]


def test_text_of_new_rows_is_read_in_the_notation_of_the_fitted_ones(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{1000 + row},5;{'a' if row % 3 else 'b'}" for row in range(40)]
    path.write_text("price;kind\n" + "\n".join(lines))
    table = read_table(path)
    preparation = Preparation().fit(table)
    read = ReadRows.of(preparation, pd.DataFrame({"price": ["1003,5"], "kind": ["a"]}))
    assert read.value(0, 0) == 1003.5
