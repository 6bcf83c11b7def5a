"""Which columns set a row apart, and what is said about them."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metaod.review import RowView
from metaod.tables import Preparation, Table, prepare, read_table


def made(n=400, **columns):
    rng = np.random.default_rng(0)
    plain = {
        "temperature": rng.normal(60, 5, n).round(2),
        "power": np.exp(rng.normal(1, 0.8, n)).round(3),
        "plant": rng.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1]),
        "serviced": rng.random(n) < 0.3,
        "doors": rng.choice([2, 4], n),
    }
    return pd.DataFrame({**plain, **columns})


def view(frame, **roles):
    table = read_table(frame)
    if "plant" in frame:  # text that is unrelated to other columns is not used by itself
        roles["category"] = ["plant", *roles.get("category", ())]
    return RowView(table, prepare(table, **roles).record)


def changed(row=7, **cells):
    frame = made()
    for name, value in cells.items():
        frame[name] = frame[name].astype(object)
        frame.loc[row, name] = value
    return frame.infer_objects()


def first(frame, row=7, **roles):
    return view(frame, **roles).cells(row)[0]


def test_a_number_far_out_is_shown_with_the_usual_range():
    cell = first(changed(temperature=99.5))
    assert (cell.name, cell.value) == ("temperature", 99.5)
    low, high = np.quantile(made()["temperature"], (0.05, 0.95))
    words = cell.usual.split()
    assert words[0] == "usually"
    assert float(words[1]) == pytest.approx(low, abs=0.2)
    assert float(words[3]) == pytest.approx(high, abs=0.2)
    assert cell.sets_apart


def test_the_usual_range_ends_at_values_of_other_rows():
    units = np.array([120, 141, 128, 114, 133, 143, 119, 125, -127, 138, 131, 122])
    cell = first(pd.DataFrame({"units": units, "n": np.arange(12) % 5}), row=8)
    assert cell.usual == "usually 114 to 141"


def test_a_rare_category_is_shown_with_its_share():
    assert first(changed(plant="east")).usual == "in no other row, usually north"
    frame = changed(plant="east")
    frame.loc[[8, 9], "plant"] = "east"
    cell = first(frame)
    assert (cell.name, cell.usual) == ("plant", "in 0.8% of the rows, usually north")


def test_a_gap_where_there_is_never_one():
    cell = first(changed(temperature=None))
    assert (cell.name, cell.value, cell.usual) == ("temperature", None, "in no other row")
    assert cell.surprise == pytest.approx(math.log(400))
    cell = first(changed(plant=None))
    assert (cell.name, cell.usual) == ("plant", "in no other row, usually north")


def test_a_gap_of_a_column_that_is_not_used_counts_too():
    dates = pd.Series(pd.date_range("2024-01-01", periods=400)).where(np.arange(400) != 7)
    cell = first(made(day=dates))
    assert (cell.name, cell.usual) == ("day", "in no other row")
    assert view(made(day=dates)).cells(8)[-1].usual == ""


def test_a_value_where_there_is_hardly_ever_one():
    values = np.full(400, np.nan)
    values[[3, 7, *range(100, 112)]] = np.linspace(1, 2, 14)
    cell = first(made(refund=values))
    assert (cell.name, cell.usual) == ("refund", "missing in 96.5% of the rows")


def test_numbers_of_a_few_values_are_compared_as_categories():
    cell = first(changed(doors=9))
    assert (cell.name, cell.usual) == ("doors", "in no other row, usually 2")


def test_a_column_of_one_number_and_a_few_others():
    values = np.zeros(400)
    values[5:20] = np.arange(15) + 1.0
    cell = first(made(errors=values))
    assert (cell.name, cell.value, cell.usual) == ("errors", 3.0, "usually 0 (96.2% of the rows)")


def test_usual_rows_have_no_cell_that_sets_them_apart():
    frame = made()
    shown = view(frame)
    apart = [sum(cell.sets_apart for cell in shown.cells(row)) for row in range(len(frame))]
    assert np.mean(apart) < 0.25
    assert max(apart) <= 2


def test_a_skewed_column_is_compared_on_the_side_of_the_value():
    frame = changed(power=float(np.quantile(made()["power"], 0.97)))
    cells = {cell.name: cell for cell in view(frame).cells(7)}
    assert not cells["power"].sets_apart


def test_columns_that_name_the_rows_never_set_them_apart():
    frame = made(order=[f"A-{row}" for row in range(400)], note=["x"] * 399 + ["only here"])
    cells = {cell.name: cell for cell in view(frame, id="order", ignore="note").cells(399)}
    assert cells["order"].surprise == cells["note"].surprise == 0
    assert cells["order"].usual == cells["note"].usual == ""


def test_all_columns_are_there_the_most_surprising_first():
    frame = changed(plant="east", temperature=99.5)
    cells = view(frame).cells(7)
    assert sorted(cell.name for cell in cells) == sorted(frame.columns)
    assert {cell.name for cell in cells[:2]} == {"plant", "temperature"}
    assert [cell.surprise for cell in cells] == sorted((c.surprise for c in cells), reverse=True)


def test_dates_and_durations_in_use():
    born = pd.Series(pd.date_range("1960-01-01", periods=400, freq="30D"))
    born[7] = pd.Timestamp("1820-05-01")
    cell = first(made(born=born), time="born")
    assert cell.name == "born"
    assert cell.usual.startswith("usually 1961-")
    took = pd.Series(pd.to_timedelta(np.arange(400) + 600, unit="s"))
    took[7] = pd.Timedelta(days=3)
    cell = first(made(took=took))
    assert cell.name == "took"
    assert cell.usual.startswith("usually 00:10")


@settings(max_examples=50)
@given(z=st.floats(0.01, 50))
def test_the_surprise_of_a_number_is_the_tail_of_students_t(z):
    frame = pd.DataFrame({"x": np.linspace(-1, 1, 401), "y": np.arange(401) % 7})
    frame.loc[0, "x"] = z * 0.9 / 1.6449  # units of its 95 % quantile
    cells = {cell.name: cell for cell in view(frame).cells(0)}
    assert cells["x"].surprise == pytest.approx(-np.log(2 * stats.t.sf(z, 2)), rel=0.02, abs=0.01)


@settings(max_examples=40)
@given(
    st.lists(
        st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-5, 5)),
        min_size=12, max_size=40,
    )
)  # fmt: skip
def test_any_numbers_can_be_compared(values):
    frame = pd.DataFrame(
        {"x": pd.array(values, dtype="Float64"), "y": np.arange(len(values)) % 5.0}
    )
    shown = view(frame.astype({"x": "float64"}))
    for row in range(len(values)):
        for cell in shown.cells(row):
            assert math.isfinite(cell.surprise)
            assert cell.surprise >= 0


def test_a_cell_has_the_text_of_the_file(tmp_path):
    lines = [f"{i},{i % 9}0 €;{i % 28 + 1:02}.03.2024;{i}" for i in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["price;day;n", *lines]) + "\n", encoding="utf-8")
    table = read_table(path)
    cells = {cell.name: cell for cell in RowView(table, prepare(table).record).cells(3)}
    assert (cells["price"].value, cells["price"].text) == (3.3, "3,30 €")
    assert cells["day"].text == "04.03.2024"
    assert cells["n"].text == ""


# a view of the fitted table, made from its matrix, says the same as one of the table itself


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    n_rows = 200
    days = pd.to_timedelta(rng.integers(0, 90, (2, n_rows)).ravel(), "D").to_numpy()
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "level": rng.integers(0, 3, n_rows).astype(float),
            "category": rng.choice(list("xyz"), n_rows),
            "date": pd.Timestamp("2024-01-01") + days[:n_rows],
            "duration": pd.to_timedelta(rng.integers(0, 9000, n_rows), "s"),
            "truth": rng.random(n_rows) < 0.9,
            "unused": pd.Timestamp("2024-01-01") + days[n_rows:],
        }
    )
    for name in ("number", "category", "date", "unused"):
        frame.loc[rng.choice(n_rows, 6, replace=False), name] = None
    preparation = Preparation(time="date", category="category").fit(frame)
    fitted = RowView.of_fitted(preparation, preparation.transform(frame).X, Table(frame))
    return RowView(read_table(frame), preparation.record_), fitted


def test_all_cells_of_the_table_are_described_alike(views):
    of_table, of_fitted = views
    for row in range(200):
        for cell in of_table.cells(row):
            assert of_fitted.cell(cell.name, cell.value) == cell
