"""What is suggested for a wrong number: never one that its column could not have."""

import numpy as np
import pandas as pd
import pytest

from metaod.tables import read_table
from metaod.wrong_cells import find_wrong_cells

N_ROWS, ROW = 500, 70


def suggested(value, **columns):
    """Return what is suggested for a value of the first column, and the kind."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(columns).astype({next(iter(columns)): object})
    frame.iloc[ROW, 0] = value
    frame["other"] = rng.normal(50, 9, len(frame)).round(2)
    cells = find_wrong_cells(read_table(frame)).cells
    own = cells[(cells["row"] == ROW) & (cells["column"] == next(iter(columns)))]
    return own["suggestion"].tolist(), own["kind"].tolist()


def drawn():
    rng = np.random.default_rng(1)
    return {
        "quantity": rng.integers(1, 20, N_ROWS),
        "potassium": rng.normal(4.3, 0.4, N_ROWS).round(1),
        "answer": rng.integers(1, 6, N_ROWS),
        "ean": 4_000_000_000_000 + rng.choice(10**11, N_ROWS, replace=False),
        "money": rng.lognormal(5, 1, N_ROWS).round(2),
    }


WRONG = [
    ("quantity", -21, [None]),
    ("quantity", -18, [18, None]),
    ("potassium", 44.0, [4.4]),
    ("answer", 7, [None]),
    ("ean", 400_638_661_005, [None]),
    ("money", 28.3495 * 5_000, [None]),
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_a_correction_is_a_number_that_the_column_could_have(name, value, expected):
    found, _ = suggested(value, **{name: drawn()[name]})
    assert len(found) <= 1
    assert all(own in expected for own in found)


def test_an_identifier_of_another_length_is_told_as_such():
    _, kinds = suggested(400_638_661_005, ean=drawn()["ean"])
    assert kinds == ["digits"]


def test_a_word_beside_a_number_is_replaced_by_what_follows_from_other_columns():
    rng = np.random.default_rng(2)
    quantity, price = drawn()["quantity"], rng.gamma(3, 4, N_ROWS).round(2) + 1
    frame = {"quantity": quantity, "price": price, "amount": (quantity * price).round(2)}
    assert suggested("ca. 30", **frame) == ([quantity[ROW]], ["type"])


@pytest.mark.parametrize("step", [1, 3])
def test_repeated_numbers_of_a_series_are_found(step):
    rng = np.random.default_rng(0)
    number = 1_000 + step * np.arange(1_000)
    rows = rng.choice(np.arange(1, 1_000), 15, replace=False)
    number[rows] = number[rng.choice(1_000, 15)]
    frame = pd.DataFrame(
        {"number": number, "x": rng.normal(size=1_000), "y": rng.gamma(2, 9, 1_000)}
    )
    found = {own.row for own in find_wrong_cells(frame).findings() if own.kind == "key"}
    assert len(found) >= 14


def test_exchanged_names_are_told_as_such():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "first": rng.choice(["Anna", "Maria", "Paul", "Jonas", "Clara", "Emil"], N_ROWS),
            "last": rng.choice(["Schmidt", "Weber", "Koch", "Wolf", "Braun", "Lang"], N_ROWS),
            "age": rng.integers(18, 80, N_ROWS),
        }
    )
    right = frame.loc[ROW].copy()
    frame.loc[ROW, ["first", "last"]] = [right["last"], right["first"]]
    found = find_wrong_cells(frame).findings()
    assert {(own.column, own.kind, own.suggestion) for own in found} == {
        (name, "swapped", right[name]) for name in ("first", "last")
    }


def test_a_code_of_another_length_is_found():
    rng = np.random.default_rng(4)
    code = [f"E{number}" for number in 10**12 + rng.choice(10**11, N_ROWS, replace=False)]
    code[ROW] = code[ROW][:-1]
    found = find_wrong_cells(pd.DataFrame({"code": code, "x": rng.normal(size=N_ROWS)})).findings()
    assert [(own.row, own.column, own.kind) for own in found] == [(ROW, "code", "pattern")]
