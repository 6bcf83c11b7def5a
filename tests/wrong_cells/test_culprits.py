"""Which cell is named if the numbers of a row break a rule."""

import numpy as np
import pandas as pd
import pytest

from metaod.tables import read_table
from metaod.wrong_cells import find_wrong_cells

N_ROWS = 400
ROW = 50


def invoices():
    rng = np.random.default_rng(0)
    quantity = rng.integers(1, 20, N_ROWS)
    price = rng.gamma(3, 4, N_ROWS).round(2) + 1
    net = (quantity * price).round(2)
    vat = (net * 0.19).round(2)
    return pd.DataFrame(
        {
            "quantity": quantity,
            "price": price,
            "net": net,
            "vat": vat,
            "gross": (net + vat).round(2),
        }
    )


def survey():
    rng = np.random.default_rng(1)
    answers = rng.integers(1, 6, (N_ROWS, 5))
    frame = pd.DataFrame(answers, columns=[f"q{n}" for n in range(1, 6)])
    return frame.assign(total=answers.sum(axis=1))


TABLES = {"invoices": invoices, "survey": survey}
WRONG = [
    ("invoices", "gross", lambda value: round(value * 10, 2), "formula"),
    ("invoices", "vat", lambda value: -value, "formula"),
    ("survey", "total", lambda value: value + 7, "formula"),
    ("survey", "q2", lambda _: 99, "code"),
]


@pytest.mark.parametrize(("table", "column", "wrong", "kind"), WRONG)
def test_one_cell_is_to_blame_for_a_broken_rule(table, column, wrong, kind):
    frame = TABLES[table]().astype(float)
    right = frame.loc[ROW, column]
    frame.loc[ROW, column] = wrong(right)
    found = find_wrong_cells(read_table(frame)).findings()
    assert [(own.row, own.column, own.kind) for own in found] == [(ROW, column, kind)]
    assert found[0].suggestion == right


def test_exchanged_terms_of_a_sum_are_both_named():
    frame = invoices()
    frame.loc[ROW, ["net", "gross"]] = frame.loc[ROW, ["gross", "net"]].tolist()
    found = find_wrong_cells(read_table(frame)).findings()
    right = invoices().loc[ROW]
    assert {(own.column, own.kind, own.suggestion) for own in found} == {
        (name, "swapped", right[name]) for name in ("net", "gross")
    }


def test_a_correction_agrees_with_a_rule_of_the_other_rows():
    frame = invoices()[["quantity", "price", "net"]]
    frame.loc[ROW, ["quantity", "net"]] = 900, frame.loc[ROW, "price"]
    found = find_wrong_cells(read_table(frame)).findings()
    assert [(own.column, own.suggestion) for own in found] == [("quantity", 1)]


def test_cells_that_one_correction_explains_are_no_findings_in_a_run_of_rows():
    frame = survey()
    frame.loc[:3, "total"] += 7
    found = find_wrong_cells(read_table(frame)).findings()
    assert {own.row for own in found} == set(range(4))
    assert len(found) == 4
