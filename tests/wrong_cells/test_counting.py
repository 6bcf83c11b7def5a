"""Errors that counting shows: repeated keys, repeated rows, and dates in the wrong order."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaod.tables import read_table
from metaod.wrong_cells import CONFIDENT, find_wrong_cells

N_ROWS = 300
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
