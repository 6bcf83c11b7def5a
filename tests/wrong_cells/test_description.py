"""What is said of wrong cells: the kind, what would be usual, and the correction."""

import numpy as np
import pandas as pd
import pytest

from metaod.tables import Preparation, read_table
from metaod.wrong_cells import WrongCellFinder, find_wrong_cells

N_ROWS = 400


def cells_of(frame):
    """Return all cells with any suspicion by row and column, the most suspicious ones."""
    found = find_wrong_cells(read_table(frame)).findings(0.0)
    return {(own.row, own.column): own for own in found}


def find_with(frame, **roles):
    """Return the wrong cells of a table in a context that the user names."""
    table = read_table(frame)
    preparation = Preparation(**roles).fit(table)
    given = preparation.given(preparation.rows_of(table)[0])
    return WrongCellFinder().fit(table, given).found_


def measures():
    """Return people with a height in cm and a weight that follows from it."""
    rng = np.random.default_rng(7)
    height = rng.normal(170, 8, N_ROWS).round(1)
    weight = (height * 0.5 - 15 + rng.normal(0, 3, N_ROWS)).round(1)
    return pd.DataFrame({"height": height, "weight": weight, "age": rng.integers(20, 70, N_ROWS)})


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("see note", None), ("error", None), ("1 or 2", None), ("2 kg", 2), ("l.5", 1.5), ("~3", 3)],
)
def test_only_a_text_with_one_number_is_repaired(text, suggestion):
    frame = measures().astype(object)
    frame["dose"] = np.random.default_rng(2).integers(0, 9, N_ROWS) / 2
    frame["dose"] = frame["dose"].astype(object)
    frame.loc[3, "dose"] = text
    own = cells_of(frame)[3, "dose"]
    assert (own.kind, own.suggestion) == ("type", suggestion)


@pytest.mark.parametrize(
    ("kind", "factor"), [("decimal", 10), ("decimal", 100), ("unit", 1 / 2.54), ("sign", -1)]
)
@pytest.mark.parametrize("row", [5, 17, 200])
def test_a_slip_is_named_and_corrected_with_the_decimals_of_the_column(kind, factor, row):
    frame = measures()
    right = frame.loc[row, "height"]
    frame.loc[row, "height"] = round(right * factor, 1)
    own = cells_of(frame)[row, "height"]
    assert own.kind == kind
    assert own.suggestion == pytest.approx(right, abs=0.16)
    assert own.suggestion == round(own.suggestion, 1)
    assert own.expected == f"{own.suggestion:g}"


def test_a_share_is_corrected_with_the_decimals_of_its_column():
    rng = np.random.default_rng(9)
    share = rng.uniform(0.3, 0.5, N_ROWS).round(2)
    frame = pd.DataFrame({"share": share, "size": rng.normal(size=N_ROWS)})
    frame.loc[7, "share"] = 33.07
    own = cells_of(frame)[7, "share"]
    assert own.suggestion is None or own.suggestion == round(own.suggestion, 2)


def test_numbers_of_two_values_are_neither_codes_nor_in_another_unit():
    rng = np.random.default_rng(3)
    group = rng.choice(["alive", "dead"], N_ROWS)
    frame = pd.DataFrame(
        {"group": group, "dead": (group == "dead") * 1, "age": rng.normal(size=N_ROWS)}
    )
    rows = [int(np.flatnonzero(group == own)[5]) for own in ("alive", "dead")]
    frame.loc[rows, "dead"] = 1 - frame.loc[rows, "dead"]
    kinds = {own.kind for own in cells_of(frame).values() if own.column == "dead"}
    assert kinds.isdisjoint({"code", "unit", "digits"})


def test_a_rare_value_is_no_suggestion_for_a_gap():
    rng = np.random.default_rng(4)
    names = [f"name {number}" for number in rng.integers(0, 150, N_ROWS)]
    frame = pd.DataFrame({"name": names, "size": rng.normal(size=N_ROWS)})
    frame.loc[9, "name"] = None
    own = cells_of(frame)[9, "name"]
    assert (own.kind, own.expected, own.suggestion) == ("missing", "", None)


def test_the_other_date_of_an_order_is_named_only_if_it_may_be_right():
    rng = np.random.default_rng(0)
    placed = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, N_ROWS), unit="D")
    sent = placed + pd.to_timedelta(rng.integers(0, 20, N_ROWS), unit="D")
    frame = pd.DataFrame({"placed": placed, "sent": sent, "amount": rng.gamma(2, 50, N_ROWS)})
    frame.loc[31, "placed"] = pd.Timestamp("2124-05-01")
    frame.loc[40, "sent"] = frame.loc[40, "placed"] - pd.Timedelta(days=9)
    cells = cells_of(frame)
    assert cells[40, "sent"].kind == "order"
    assert "2124" not in cells[31, "sent"].expected


def ends_of(expected):
    return [float(end.replace(",", "")) for end in expected.split(" to ")]


def test_a_usual_range_does_not_hold_the_number_that_is_wrong():
    rng = np.random.default_rng(2)
    sizes = {name: np.exp(rng.normal(0, 2, N_ROWS)).round(2) for name in "abc"}
    frame = pd.DataFrame(sizes)
    for row, name in enumerate(sizes):
        frame.loc[row, name] = -frame.loc[row + 9, name]
    cells = cells_of(frame)
    for row, name in enumerate(sizes):
        low, _ = ends_of(cells[row, name].expected)
        assert low >= 0


def test_a_narrow_range_of_large_numbers_keeps_its_ends_apart():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"pressure": 101_325 + rng.integers(-9, 10, N_ROWS), "y": rng.normal(size=N_ROWS)}
    )
    frame.loc[4, "pressure"] = 101_400
    low, high = ends_of(cells_of(frame)[4, "pressure"].expected)
    assert 101_316 <= low < high <= 101_334


def test_a_context_is_named_only_with_what_is_usual_in_it():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"shop": rng.choice(["a", "b"], N_ROWS), "sold": rng.poisson(60, N_ROWS)})
    frame["takings"] = (frame["sold"] * 9 + rng.normal(0, 5, N_ROWS)).round()
    frame.loc[5:9, "takings"] += 300
    cells = find_with(frame, by="shop").cells.query("kind in ('number', 'far')")
    assert (cells["why"] != "").any()
    assert (cells["expected"] != "")[cells["why"] != ""].all()


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_on_a_side_that_does_not_count_are_no_evidence_on_others(seed):
    rng = np.random.default_rng(seed)
    size, part = rng.uniform(30, 140, N_ROWS).round(), rng.choice(list("ab"), N_ROWS)
    rent = (size * 12 + 200 * (part == "a") + rng.normal(0, 30, N_ROWS)).round()
    rent[:10] = (rent[:10] * 0.3).round()
    rent[10] *= 4
    frame = pd.DataFrame({"size": size, "part": part, "rent": rent})
    scores = find_with(frame, by="part", high="rent").row_scores
    assert scores[:10].max() < 0.2
    assert scores[10] > 0.5
