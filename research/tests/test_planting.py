"""Planted errors: every marked cell differs, no other does, and each kind is what it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.wrong_cells.planting import KINDS, MODES, add_dependencies, plant, plant_any


def make_table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Rome", "Oslo", "Bonn", "Paris", "New York"], n)
    states = {"Rome": "IT", "Oslo": "NO", "Bonn": "DE", "Paris": "FR", "New York": "US"}
    table = pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + n),
            "net": rng.gamma(2, 50, n).round(2),
            "vat": rng.gamma(2, 10, n).round(2),
            "age": rng.integers(20, 70, n),
            "weight": rng.normal(70, 10, n),
            "city": city,
            "state": [states[name] for name in city],
            "day": pd.date_range("2019-01-01", periods=n).strftime("%Y-%m-%d"),
            "at": pd.date_range("2019-01-01", periods=n, freq="h"),
            "paid": rng.random(n) < 0.5,
            "note": np.where(rng.random(n) < 0.2, None, "call back"),
        }
    )
    table.insert(3, "gross", (table["net"] + table["vat"]).round(2))
    return table


def as_text(frame):
    """Cells as a reader compares them: numbers by value, gaps alike."""

    def cell(value):
        if pd.isna(value):
            return "gap"
        if isinstance(value, bool):
            return str(value)
        try:
            return repr(float(value))
        except (TypeError, ValueError):
            return str(value)

    return frame.astype(object).map(cell).to_numpy(object)


def cells_of(planted, kind, frame, column=None):
    """Old and new values of the cells of a kind."""
    rows, places = np.nonzero(planted.kinds == list(KINDS).index(kind) + 1)
    if column is not None:
        chosen = places == frame.columns.get_loc(column)
        rows, places = rows[chosen], places[chosen]
    return [
        (frame.iloc[planted.source[r], p], planted.frame.iloc[r, p])
        for r, p in zip(rows, places, strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 120),
    st.lists(st.sampled_from(list(KINDS)), min_size=1, unique=True),
    st.floats(0.001, 0.3),
    st.sampled_from(MODES),
)
def test_marked_cells_differ_and_no_others(seed, n, kinds, share, mode):
    table = make_table(n, seed)
    before = table.copy()
    planted = plant(table, kinds, share, seed, mode=mode)
    pd.testing.assert_frame_equal(table, before)
    again = plant(table, kinds, share, seed, mode=mode)
    pd.testing.assert_frame_equal(planted.frame, again.frame)
    assert planted.mask.shape == planted.kinds.shape == planted.frame.shape
    assert list(planted.frame.columns) == list(table.columns)
    changed = as_text(planted.frame) != as_text(table.iloc[planted.source])
    key = planted.repeated[:, None] & (np.arange(table.shape[1]) == 0)  # the new key of a copy
    assert ((changed == planted.mask) | key).all()
    named = {list(KINDS)[code - 1] for code in np.unique(planted.kinds[planted.mask])}
    assert named <= set(kinds)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_amounts(mode, share):
    planted = plant(make_table(1000), ["sign", "typo", "far outlier"], share, 1, mode=mode)
    assert 0.5 * share <= planted.rows.mean() <= 1.5 * share
    if mode == "systematic":
        assert planted.mask.any(axis=0).sum() == 1
        assert len(np.unique(planted.kinds)) == 2
    if mode == "clustered":
        rows = np.flatnonzero(planted.mask.any(axis=1))
        assert np.median(np.diff(rows)) == 1


def test_several_cells_of_a_row():
    cells = plant(make_table(1000), ["sign", "digit slip"], 0.1, 0).mask.sum(axis=1)
    assert (cells == 1).sum() > (cells > 1).sum() > 0


def test_whole_columns_stay_whole_and_decimals_are_kept():
    table = make_table()
    planted = plant(table, ["sign", "decimal shift", "unit", "far outlier", "other row"], 0.2, 0)
    assert planted.frame["age"].dtype == table["age"].dtype
    assert planted.mask[:, 4].any()
    assert np.allclose(planted.frame["net"], planted.frame["net"].round(2), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_planted(kind):
    planted = plant(make_table(), [kind], 0.1, 0)
    assert planted.rows.sum() >= 20


def test_numeric_kinds():
    table = make_table()
    of = {kind: plant(table, [kind], 0.2, 0) for kind in KINDS}
    assert all(new == -old for old, new in cells_of(of["sign"], "sign", table))
    shifted = cells_of(of["decimal shift"], "decimal shift", table, "weight")
    assert {round(np.log10(new / old)) for old, new in shifted} <= {-2, -1, 1, 2, 3}
    far = cells_of(of["far outlier"], "far outlier", table, "age")
    low, high = table["age"].min(), table["age"].max()
    assert all(new > high + 2 * table["age"].std() or new < low for _, new in far)
    codes = [new for _, new in cells_of(of["sentinel"], "sentinel", table, "age")]
    assert len(set(codes)) == 1
    assert codes[0] not in set(table["age"])
    broken = of["relation"].frame
    off = ~np.isclose(broken["net"] + broken["vat"], broken["gross"])
    assert (off == of["relation"].mask[:, 1:4].any(axis=1)).mean() > 0.99


def test_swapped_cells_change_places():
    planted = plant(make_table(), ["swap"], 0.05, 0)
    for row in np.flatnonzero(planted.mask.any(axis=1)):
        places = np.flatnonzero(planted.mask[row])
        old = make_table().iloc[row, places].astype(str)
        assert sorted(planted.frame.iloc[row, places].astype(str)) == sorted(old)


def test_text_kinds():
    table = make_table()
    for old, new in cells_of(plant(table, ["form"], 0.2, 0), "form", table, "city"):
        assert new.lower()[:1] in (old.lower()[:1], " ")
    for old, new in cells_of(plant(table, ["typo"], 0.2, 0), "typo", table, "city"):
        assert abs(len(old) - len(new)) <= 1
        assert new not in set(table["city"])
    planted = plant(table, ["dependency"], 0.1, 0)
    levels = set(table["city"]) | set(table["state"])
    assert all(new in levels for _, new in cells_of(planted, "dependency", table))


def test_words_make_a_column_text_as_in_a_file():
    planted = plant(make_table(), ["stray word"], 0.2, 0)
    column, wrong = planted.frame["age"], planted.mask[:, 4]
    assert pd.to_numeric(column, errors="coerce")[~wrong].notna().all()
    assert pd.to_numeric(column, errors="coerce")[wrong].isna().any()
    days = plant(make_table(), ["date form"], 0.2, 0)
    parsed = pd.to_datetime(days.frame["day"], format="%Y-%m-%d", errors="coerce")
    assert parsed[~days.mask[:, 8]].notna().all()


def test_repeated_rows():
    table = make_table()
    exact = plant(table, ["repeated row"], 0.05, 0)
    assert len(exact.frame) == len(table) + 20
    assert (exact.frame.duplicated(keep=False).to_numpy() == exact.repeated).all()
    keyed = plant(table, ["repeated row, new key"], 0.05, 0)
    assert not keyed.frame.duplicated().any()
    assert keyed.frame["id"].is_unique
    without = keyed.frame.drop(columns="id").duplicated(keep=False)
    assert (without.to_numpy() == keyed.repeated).all()


def test_what_a_table_cannot_hold_is_left_out():
    numbers = make_table()[["weight"]]
    assert not plant(numbers, ["typo", "dependency", "swap"], 0.1, 0).rows.any()


def test_empty_columns_stay_empty():
    table = make_table().assign(age=np.nan, note=None)
    planted = plant(table, set(KINDS) - {"swap"}, 0.3, 0)
    assert planted.frame[["age", "note"]].isna().all(axis=None)


def test_dependencies_are_added_and_then_broken():
    table = make_table()[["net", "weight", "age"]]
    added = [add_dependencies(table, seed) for seed in range(5)]
    assert all(frame.shape[1] == 4 for frame in added)
    broken = [plant(frame, ["relation", "dependency"], 0.1, 0).rows.any() for frame in added]
    assert all(broken)


def test_drawn_amounts():
    shares = [plant_any(make_table(300), seed).rows.mean() for seed in range(12)]
    assert 0 < min(shares) < 0.03 < max(shares) < 0.25
