"""Errors that counting shows: what repeats, and what breaks a rule of nearly all rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import read_table
from metaod.wrong_cells import CONFIDENT, WrongCellFinder, find_wrong_cells

N_ROWS = 300
DATES = ("placed", "sent")
SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=8)


def found_kinds(frame):
    cells = find_wrong_cells(read_table(frame)).cells
    cells = cells[cells["score"] >= CONFIDENT]
    return set(zip(cells["row"], cells["column"], cells["kind"], strict=True))


def orders_of_a_shop(rng, n_rows=N_ROWS):
    placed = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n_rows), unit="D")
    return pd.DataFrame(
        {
            "number": [f"A-{number:05d}" for number in rng.permutation(n_rows) + 100],
            "placed": placed,
            "sent": placed + pd.to_timedelta(rng.integers(0, 20, n_rows), unit="D"),
            "amount": rng.gamma(2, 50, n_rows).round(2),
            "weight": rng.gamma(3, 2, n_rows).round(3),
            "shop": rng.choice(["north", "south", "west"], n_rows),
        }
    )


@few
@given(SEEDS)
def test_a_number_that_is_used_twice_is_found_at_the_later_row(seed):
    rng = np.random.default_rng(seed)
    frame = orders_of_a_shop(rng)
    earlier, later = np.sort(rng.choice(N_ROWS, 2, replace=False))
    frame.loc[later, "number"] = frame.loc[earlier, "number"]
    assert (later, "number", "key") in found_kinds(frame)


def ranks_with_ties(rng, n_rows):
    ranks = np.arange(1, n_rows + 1)
    ranks[10] = ranks[9]
    return rng.permutation(ranks)


def drawn_numbers(rng, n_rows):
    """Return numbers that repeat as chance has it: about one pair among 300."""
    return np.append(rng.choice(45_000, n_rows - 1, replace=False), 7)[::-1].copy()


@pytest.mark.parametrize("numbers", [ranks_with_ties, drawn_numbers])
def test_numbers_may_repeat_by_chance_or_as_ranks(numbers):
    rng = np.random.default_rng(0)
    frame = orders_of_a_shop(rng).assign(number=numbers(rng, N_ROWS))
    frame.loc[N_ROWS - 1, "number"] = frame.loc[0, "number"] if numbers is drawn_numbers else 250
    kinds = {kind for _, column, kind in found_kinds(frame) if column == "number"}
    assert ("key" in kinds) == (numbers is not drawn_numbers)


@few
@given(SEEDS, st.booleans())
def test_a_row_that_was_entered_twice_is_found(seed, is_exact):
    rng = np.random.default_rng(seed)
    frame = orders_of_a_shop(rng)
    again = frame.iloc[[int(rng.integers(N_ROWS))]].copy()
    if not is_exact:
        again["number"] = "A-90000"
    kinds = {(row, kind) for row, _, kind in found_kinds(pd.concat([frame, again]))}
    assert (N_ROWS, "duplicate") in kinds


@few
@given(SEEDS)
def test_answers_of_a_short_survey_may_repeat(seed):
    rng = np.random.default_rng(seed)
    answers = pd.DataFrame(rng.integers(1, 4, (N_ROWS, 3)), columns=["q1", "q2", "q3"])
    assert {kind for _, _, kind in found_kinds(answers)} <= {"number", "category"}


@few
@given(SEEDS)
def test_a_date_before_the_one_that_it_follows_is_found_with_it(seed):
    rng = np.random.default_rng(seed)
    frame = orders_of_a_shop(rng)
    row = int(rng.integers(N_ROWS))
    frame.loc[row, "sent"] = frame.loc[row, "placed"] - pd.Timedelta(days=9)
    places = {(row, column) for row, column, _ in found_kinds(frame)}
    assert places & {(row, "sent"), (row, "placed")}


@few
@given(SEEDS)
def test_dates_without_an_order_have_none_that_is_broken(seed):
    rng = np.random.default_rng(seed)
    frame = orders_of_a_shop(rng)
    frame["sent"] = rng.permutation(frame["placed"])
    assert "order" not in {kind for _, _, kind in found_kinds(frame)}


def stays_in_hospital(rng, n_rows=1_000):
    """Return stays; only women have births, at 18 to 44 years."""
    reason = rng.choice(["birth", "heart", "bone"], n_rows, p=[0.4, 0.3, 0.3])
    is_birth = reason == "birth"
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D")
    days = rng.poisson(6, n_rows)
    return pd.DataFrame(
        {
            "reason": reason,
            "sex": np.where(is_birth, "f", rng.choice(["f", "m"], n_rows, p=[0.1, 0.9])),
            "age": np.where(is_birth, rng.integers(18, 45, n_rows), rng.integers(30, 95, n_rows)),
            "admitted": admitted,
            "discharged": admitted + pd.to_timedelta(days, unit="D"),
            "days": days,
            "pulse": rng.normal(75, 9, n_rows).round(),
        }
    )


@few
@given(SEEDS, st.sampled_from([("sex", "m", "dependency"), ("age", 84, "number")]))
def test_a_value_that_never_occurs_with_another_is_found_with_it(seed, planted):
    rng = np.random.default_rng(seed)
    frame = stays_in_hospital(rng)
    column, value, kind = planted
    row = int(rng.choice(np.flatnonzero(frame["reason"] == "birth")))
    frame.loc[row, column] = value
    cells = find_wrong_cells(read_table(frame)).findings()
    found = {(own.row, own.column): own for own in cells}
    assert (row, column) in found or (row, "reason") in found
    if (row, column) in found:
        assert found[row, column].kind == kind
        assert found[row, column].why == "with reason 'birth'"


@few
@given(SEEDS, st.sampled_from([1, 24, 1 / 7]))
def test_a_number_of_days_hours_or_weeks_that_two_dates_do_not_give_is_found(seed, per_day):
    rng = np.random.default_rng(seed)
    frame = stays_in_hospital(rng)
    days = rng.integers(20, 200, len(frame))
    frame["discharged"] = frame["admitted"] + pd.to_timedelta(days, unit="D")
    frame["days"] = (days * per_day).round()
    row = int(rng.integers(len(frame)))
    usual, frame.loc[row, "days"] = frame.loc[row, "days"], frame.loc[row, "days"] + 5
    (own,) = [
        each
        for each in find_wrong_cells(read_table(frame)).findings()
        if (each.row, each.column) == (row, "days")
    ]
    assert own.kind == "formula"
    assert own.suggestion == pytest.approx(usual, abs=1)


def test_dates_that_are_nearly_always_missing_give_no_duration():
    rng = np.random.default_rng(0)
    frame = stays_in_hospital(rng)
    frame.loc[8:, "discharged"] = pd.NaT
    frame["days"] = rng.integers(1, 90, len(frame))
    assert "formula" not in {kind for _, _, kind in found_kinds(frame)}


@few
@given(SEEDS, st.integers(-400, 4_000))
def test_later_dates_are_judged_by_their_distances_alone(seed, days):
    rng = np.random.default_rng(seed)
    finder = WrongCellFinder().fit(read_table(orders_of_a_shop(rng)))
    later = orders_of_a_shop(rng)
    row = int(rng.integers(N_ROWS))
    later.loc[row, "sent"] = later.loc[row, "placed"] - pd.Timedelta(days=9)
    moved = later.assign(**{name: later[name] + pd.Timedelta(days=days) for name in DATES})
    found = finder.find(read_table(moved), moving=DATES).findings()
    assert {own.row for own in found if own.column in DATES} == {row}


def test_a_text_without_the_form_or_mark_of_nearly_all_is_a_finding():
    n = 400
    mails = [f"user{i}@mail.example" for i in range(n)]
    products = [f"AB-{1000 + i}" for i in range(n)]
    comments = [f"{'yes' if i % 2 else 'no'}, ticket {i}" for i in range(n)]
    frame = pd.DataFrame({"mail": mails, "product": products, "comment": comments})
    frame["amount"] = np.random.default_rng(0).normal(100, 10, n).round(2)
    assert not found_kinds(frame)  # the first ten are shorter, as numbers are
    wrong = {(20, "mail"): "user20.mail.example", (140, "mail"): "user140@@mail.example"}
    wrong |= {(60, "product"): "n/a?", (100, "product"): "ab-1100"}
    for (row, column), text in wrong.items():
        frame.loc[row, column] = text
    found = found_kinds(frame)
    assert {(row, column) for row, column, _ in found} == set(wrong)
    assert {kind for *_, kind in found} <= {"pattern", "spacing", "spelling"}


def test_one_of_two_corrections_of_the_same_error_is_suggested():
    rng = np.random.default_rng(0)
    units, price = rng.integers(1, 60, 400), rng.choice([249, 99, 1290, 35], 400)
    frame = pd.DataFrame({"units": units, "price": price, "revenue": units * price})
    frame.loc[33, "units"] *= 10
    cells = find_wrong_cells(read_table(frame)).cells
    suggested = cells[(cells["row"] == 33) & cells["suggestion"].notna()]
    assert suggested[["column", "suggestion"]].to_numpy().tolist() == [["units", units[33]]]


def test_a_mistyped_number_is_corrected_to_one_that_many_rows_have():
    rng = np.random.default_rng(0)
    status = rng.choice([200, 404, 500], 400, p=[0.86, 0.1, 0.04])
    frame = pd.DataFrame({"status": status, "ms": rng.lognormal(4, 1, 400).round(1)})
    frame.loc[5, "status"] = 20
    cells = find_wrong_cells(read_table(frame)).cells.set_index(["row", "column"])
    assert cells.loc[(5, "status"), "suggestion"] == 200


@few
@given(SEEDS, st.integers(20, 400))
def test_the_only_later_date_is_wrong_far_from_the_others_not_at_their_edge(seed, days):
    rng = np.random.default_rng(seed)
    placed = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 31, 300), unit="D")
    frame = pd.DataFrame({"placed": placed, "price": rng.lognormal(3, 0.5, 300).round(2)})
    finder = WrongCellFinder().fit(read_table(frame))
    moved = frame.assign(placed=frame["placed"] + pd.Timedelta(days=days)).sample(
        150, random_state=seed
    )
    moved = moved.reset_index(drop=True)
    moved.loc[:1, "placed"] = moved["placed"].min() - pd.Timedelta(days=3)
    moved.loc[2, "placed"] += pd.Timedelta(days=3650)
    cells = finder.find(read_table(moved), moving={"placed"}).cells
    assert set(cells["row"][cells["column"] == "placed"]) == {2}


def answers_that_agree(rng, n_rows=2_000, n_questions=12):
    """Return answers of people who agree more or less with everything."""
    leaning = rng.normal(3.2, 0.9, n_rows)[:, None] + rng.normal(0, 0.6, (n_rows, n_questions))
    names = [f"q{n}" for n in range(n_questions)]
    return pd.DataFrame(np.clip(leaning.round(), 1, 5).astype(int), columns=names)


def test_answers_that_depend_on_each_other_may_repeat():
    answers = answers_that_agree(np.random.default_rng(8))
    assert answers.duplicated().sum() >= 20
    assert "duplicate" not in {kind for _, _, kind in found_kinds(answers)}


def test_copies_are_found_among_answers_that_depend_on_each_other():
    rng = np.random.default_rng(8)
    answers = answers_that_agree(rng, 600, 12).assign(age=rng.integers(18, 80, 600))
    copied = pd.concat([answers, answers.sample(5, random_state=1)], ignore_index=True)
    rows = {row for row, _, kind in found_kinds(copied) if kind == "duplicate"}
    assert rows >= set(range(600, 605))


@pytest.mark.parametrize(("n_infinite", "n_found"), [(1, 1), (200, 0)])
def test_infinite_numbers_are_wrong_unless_they_are_usual(n_infinite, n_found):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2_000, 2)), columns=["x", "y"])
    frame.loc[rng.choice(2_000, n_infinite, replace=False), "y"] = -np.inf
    assert len(found_kinds(frame)) == n_found
