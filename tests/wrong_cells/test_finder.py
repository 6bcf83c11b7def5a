"""Wrong cells of whole tables, by the shipped score."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import read_table
from metaod.wrong_cells import CONFIDENT, WrongCellFinder, find_patterns, find_wrong_cells

N_ROWS = 500
PLANTED = {
    ("age", 3): (444, "digits"),
    ("category", 10): ("Lebnsmittel", "spelling"),
    ("state", 40): ("BE", "dependency"),
    ("net", 50): ("12O.5", "type"),
    ("date", 60): ("1986", "type"),
    ("q3", 70): (99, "code"),
    ("q3", 71): (99, "code"),
    ("vat", 80): (-94.47, "formula"),
    ("city", 90): ("berlin ", "spacing"),
}


def clean_frame():
    """Return a table as an office keeps it, without errors."""
    rng = np.random.default_rng(1)
    net = rng.gamma(2, 500, N_ROWS).round(2)
    vat = (net * 0.19).round(2)
    city = rng.choice(["Berlin", "Hamburg", "Bonn", "Köln"], N_ROWS)
    states = {"Berlin": "BE", "Hamburg": "HH", "Bonn": "NW", "Köln": "NW"}
    days = pd.date_range("2023-01-01", periods=N_ROWS).strftime("%Y-%m-%d")
    return pd.DataFrame(
        {
            "invoice": np.arange(1000, 1000 + N_ROWS),
            "date": days.to_numpy(dtype=object),
            "age": rng.integers(18, 80, N_ROWS),
            "city": city,
            "state": [states[name] for name in city],
            "category": rng.choice(["Lebensmittel", "Miete", "Gehalt"], N_ROWS, p=[0.6, 0.2, 0.2]),
            "net": net,
            "vat": vat,
            "gross": (net + vat).round(2),
            "q1": rng.integers(1, 6, N_ROWS),
            "q3": rng.integers(1, 6, N_ROWS),
        }
    )


@pytest.fixture(scope="module")
def clean():
    return clean_frame()


@pytest.fixture(scope="module")
def dirty(clean):
    frame = clean.astype(object)
    frame.loc[40, ["city", "state"]] = "Hamburg", "HH"
    for (column, row), (value, _) in PLANTED.items():
        frame.loc[row, column] = value
    return frame


@pytest.fixture(scope="module")
def found(dirty):
    return find_wrong_cells(read_table(dirty))


def keyed(found, least=CONFIDENT):
    return {(own.row, own.column): own for own in found.findings(least)}


def test_planted_errors_are_found_with_their_kinds(found):
    cells = keyed(found)
    kinds = {place: cells[row, place].kind for (place, row) in PLANTED if (row, place) in cells}
    missed = [place for place in PLANTED if (place[1], place[0]) not in cells]
    assert missed == []
    assert len(cells) <= len(PLANTED) + 2
    for (column, row), (_, kind) in PLANTED.items():
        assert cells[row, column].kind == kind, (column, kinds)


def test_findings_name_what_would_be_usual(found, clean):
    cells = keyed(found)
    assert cells[3, "age"].suggestion == 44
    assert cells[10, "category"].suggestion == "Lebensmittel"
    assert cells[40, "state"].suggestion == "HH"
    assert cells[40, "state"].why == "with city 'Hamburg'"
    assert cells[50, "net"].suggestion == clean.loc[50, "net"]  # vat and gross tell
    assert cells[90, "city"].suggestion == "Berlin"


def test_a_number_that_is_usual_but_for_its_category_names_the_category():
    rng = np.random.default_rng(0)
    usual = {"Miete": -980, "Strom": -85, "Gehalt": 3200, "Lebensmittel": -45}
    text = rng.choice([*usual], 600, p=[0.15, 0.15, 0.1, 0.6])
    amount = [round(usual[own] * (1 + 0.03 * rng.normal()), 2) for own in text]
    account = rng.choice(["A", "B"], 600)
    frame = pd.DataFrame({"text": text, "amount": amount, "account": account})
    row = int(np.flatnonzero(text == "Gehalt")[3])
    frame.loc[row, "amount"] = -45.3
    cells = find_wrong_cells(read_table(frame)).cells.set_index(["row", "column"])
    cell = cells.loc[(row, "amount")]
    assert cell["why"] == "with text 'Gehalt'"
    low, high = (float(end.replace(",", "")) for end in cell["expected"].split(" to "))
    assert 2800 < low < 3200 < high < 3600


@pytest.mark.parametrize("is_ordered", [True, False])
def test_a_number_that_repeats_the_row_before_in_time_is_named(is_ordered):
    rng = np.random.default_rng(5)
    date = pd.date_range("2024-01-01", periods=N_ROWS).astype(str)
    load = rng.normal(50, 10, N_ROWS).round(2)
    use = (load * 3 + rng.normal(0, 0.5, N_ROWS)).round(2)
    frame = pd.DataFrame({"date": date, "load": load, "use": use})
    row = int(np.argmax(np.abs(np.diff(load)))) + 1
    frame.loc[row, "use"] = frame["use"][row - 1]
    shuffled = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    if not is_ordered:
        shuffled = shuffled.drop(columns="date")
    (found,) = find_wrong_cells(read_table(shuffled)).findings()
    assert (found.column, found.value) == ("use", frame["use"][row])
    assert (found.kind == "copied") is is_ordered


def test_an_infinite_number_is_no_number(clean):
    frame = clean.assign(net=clean["net"].where(clean.index != 5, np.inf))
    cell = keyed(find_wrong_cells(read_table(frame)))[5, "net"]
    assert (cell.kind, cell.expected) == ("type", "a number")


def test_the_code_for_missing_is_one_pattern(found):
    [pattern] = [own for own in find_patterns(found.findings()) if own.kind == "code"]
    assert sorted(own.row for own in pattern.findings) == [70, 71]


def test_row_scores_follow_the_cells(found):
    flagged = found.flags()
    assert set(np.flatnonzero(flagged)) >= {row for _, row in PLANTED}
    assert ((found.row_scores >= CONFIDENT) >= flagged).all()
    assert found.row_scores.max() <= 1


def test_a_clean_table_has_hardly_any_findings(clean):
    assert find_wrong_cells(read_table(clean)).flags().mean() <= 0.01


def test_the_order_of_rows_and_columns_does_not_matter(dirty, found):
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(len(dirty)), rng.permutation(dirty.shape[1])
    again = find_wrong_cells(read_table(dirty.iloc[rows, columns].reset_index(drop=True)))
    np.testing.assert_allclose(again.row_scores, found.row_scores[rows], atol=1e-9)
    moved = {(int(rows[row]), column): own.score for (row, column), own in keyed(again).items()}
    assert moved == pytest.approx({place: own.score for place, own in keyed(found).items()})


def test_a_further_clean_column_hardly_changes_the_findings(dirty, found):
    noise = np.random.default_rng(3).normal(size=len(dirty))
    again = find_wrong_cells(read_table(dirty.assign(noise=noise)))
    planted = {(row, column) for column, row in PLANTED}
    assert len(planted & keyed(again).keys()) >= len(planted) - 1


def test_rows_that_repeat_are_found(clean):
    copy = clean.iloc[[200]]
    renamed = clean.iloc[[210]].assign(invoice=5000)
    frame = pd.concat([clean, copy, renamed], ignore_index=True)
    found = keyed(find_wrong_cells(read_table(frame)))
    assert found[N_ROWS, "invoice"].kind == found[N_ROWS + 1, "invoice"].kind == "duplicate"
    assert "row 201" in found[N_ROWS, "invoice"].expected
    assert "row 211" in found[N_ROWS + 1, "invoice"].expected


@settings(max_examples=8)
@given(st.sampled_from(["age", "net", "q1"]), st.integers(0, N_ROWS - 1), st.sampled_from([-1, 1]))
def test_a_value_far_beyond_all_others_is_the_most_suspicious(column, row, sign):
    frame = clean_frame()
    spread = frame[column].std()
    frame[column] = frame[column].astype(float)
    frame.loc[row, column] = round(frame[column].mean() + sign * 300 * spread)
    found = find_wrong_cells(read_table(frame))
    assert (found.cells["row"][0], found.cells["column"][0]) == (row, column)
    assert found.cells["score"][0] > CONFIDENT


def test_later_rows_are_compared_with_the_fitted_ones(clean):
    clean = clean.drop(columns=["invoice", "date"])
    finder = WrongCellFinder().fit(read_table(clean))
    later = clean.sample(40, random_state=1).reset_index(drop=True)
    quiet = finder.find(read_table(later))
    later["state"] = later["state"].astype(object)
    later.loc[5, ["city", "state"]] = "Berlin", "HH"
    later.loc[9, "gross"] = round(later.loc[9, "gross"] * 10, 2)
    cells = keyed(finder.find(read_table(later)), least=0.2)
    assert cells[9, "gross"].score > CONFIDENT
    assert (5, "state") in cells
    assert quiet.flags().mean() <= 0.1


def test_rows_of_the_fitted_table_are_not_called_repeated(clean):
    finder = WrongCellFinder().fit(read_table(clean))
    again = finder.find(read_table(clean.head(30)))
    assert "duplicate" not in set(again.cells["kind"])


CELLS = st.one_of(st.none(), st.integers(-3, 10**6), st.text(max_size=6), st.floats(-1e300, 1e300))


@settings(max_examples=30)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=25))
def test_any_table_is_searched(rows):
    frame = pd.DataFrame(rows, columns=list("abc")).astype(object)
    found = find_wrong_cells(read_table(frame))
    assert len(found.row_scores) == len(frame)
    assert np.isfinite(found.row_scores).all()
    assert found.cells["score"].between(0, 1).all()


def test_the_rows_of_a_large_table_beyond_the_reference_are_searched():
    rng = np.random.default_rng(5)
    a = rng.normal(50, 10, 30_000).round(1)
    b = (a * 2 + rng.normal(0, 1, 30_000)).round(1)
    frame = pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 9, 30_000)})
    rows = rng.permutation(30_000)[:6]
    frame.loc[rows, "b"] *= 10
    found = find_wrong_cells(read_table(frame))
    assert set(found.cells["row"][:6]) == set(rows.tolist())
    assert found.flags().mean() < 0.002


def test_findings_do_not_depend_on_the_number_of_threads():
    frame = pd.concat([clean_frame().assign(n=n) for n in range(5)], ignore_index=True)
    frame.loc[11, "gross"] *= 10
    found = [WrongCellFinder(n_jobs=n).fit(read_table(frame)).found_ for n in (None, 3)]
    np.testing.assert_array_equal(found[0].row_scores, found[1].row_scores)


def test_very_wide_and_very_short_tables_have_no_findings():
    wide = pd.DataFrame(np.zeros((12, 2_100))).rename(columns="c{}".format)
    for frame in (wide, clean_frame().head(6)):
        found = find_wrong_cells(read_table(frame))
        assert len(found.cells) == 0
        assert not found.flags().any()


def test_columns_that_later_rows_lack_are_not_looked_at():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": range(200), "size": rng.normal(size=200).round(3)})
    finder = WrongCellFinder().fit(read_table(frame))
    later = read_table(frame.iloc[[3]].assign(size=900.0)[["size"]])
    assert {own.column for own in finder.find(later).findings()} == {"size"}
