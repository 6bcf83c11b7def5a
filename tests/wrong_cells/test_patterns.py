"""Patterns of findings: which cells are joined, what they are called, and which support others."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaod.tables import read_table
from metaod.wrong_cells import Finding, Pattern, find_patterns, find_wrong_cells, with_shared_values


def cell(row, column, value, kind, *, score=0.9, slip="", expected=""):
    return Finding(row, column, value, expected, kind, score, "", None, slip)


FORMS = {
    "2 cells: 99 in 'q3', 'q5'; 1 to 5 would be usual; looks like a code for missing": [
        cell(4, "q3", 99, "code", expected="1 to 5"),
        cell(4, "q5", 99, "code", expected="1 to 5"),
        cell(9, "q5", 99, "code", expected="1 to 5"),
    ],
    "3 rows: amount × 100": [
        cell(4, "amount", 1200, "decimal", slip="× 100"),
        cell(90, "amount", 1300, "formula", slip="× 100"),
        cell(50, "amount", 1400, "decimal", slip="× 100"),
    ],
    "2 rows: total without tax": [
        cell(4, "total", 12, "formula", slip="without tax"),
        cell(90, "total", 13, "formula", slip="without tax"),
    ],
    "rows 901 to 904: temperature stuck at 21.4": [
        cell(row, "temperature", 21.4, "number") for row in (900, 901, 903, 902)
    ],
    "rows 901 to 904: temperature missing": [
        cell(row, "temperature", None, "missing") for row in (900, 901, 903, 902)
    ],
    "rows 11 to 16: 'price' (1, 2, 3); far from all other values": [
        cell(row, "price", value, "far") for value, row in enumerate((10, 12, 15), 1)
    ],
    "2 rows: height and width exchanged": [
        cell(4, "width", 180, "swapped", slip="with height"),
        cell(4, "height", 70, "swapped", slip="with width"),
        cell(60, "width", 182, "swapped", slip="with height"),
    ],
    "3 rows: 'city' ('Brelin', 'Bon', 'Hambrug'); misspelt?": [
        cell(4, "city", "Brelin", "spelling"),
        cell(60, "city", "Bon", "spelling"),
        cell(90, "city", "Hambrug", "spelling"),
    ],
}


@pytest.mark.parametrize("sentence", FORMS)
def test_cells_that_are_wrong_in_the_same_way_are_one_pattern(sentence):
    findings = FORMS[sentence]
    [pattern] = find_patterns(findings)
    n_cells = len(findings)
    assert pattern.sentence() == sentence.replace("2 cells", f"{n_cells} cells").replace(
        "2 rows: height", f"{n_cells} cells: height"
    )
    assert set(pattern.rows) == {own.row for own in findings}
    assert pattern.to_dict()["rows"] == [row + 1 for row in pattern.rows]


def test_few_broken_rules_without_a_common_slip_stay_single():
    broken = [cell(9 * row, "total", row, "formula", expected=f"{row + 1}") for row in range(6)]
    assert [len(own.rows) for own in find_patterns(broken[:4])] == [1] * 4
    assert [len(own.rows) for own in find_patterns(broken)] == [6]


KINDS = ("decimal", "code", "formula", "missing", "spelling", "swapped", "far", "duplicate")
cells = st.builds(
    cell,
    st.integers(0, 30),
    st.sampled_from("abc"),
    st.sampled_from([1, 99, "x"]),
    st.sampled_from(KINDS),
    score=st.floats(0.3, 1.0),
    slip=st.sampled_from(["", "× 10", "with b"]),
)


@given(st.lists(cells, unique_by=lambda own: (own.row, own.column)))
def test_every_finding_is_in_one_pattern_and_the_largest_come_first(findings):
    patterns = find_patterns(findings)
    held = [own for pattern in patterns for own in pattern.findings]
    assert sorted(held, key=findings.index) == findings
    totals = [sum(own.score for own in pattern.findings) for pattern in patterns]
    assert totals == sorted(totals, reverse=True)
    for pattern in patterns:
        assert pattern.rows == tuple(dict.fromkeys(own.row for own in pattern.findings))
        assert len(pattern.rows) > 1 or len(pattern.findings) == 1


def stores(n_rows=400, share=0.1):
    rng = np.random.default_rng(0)
    others = ["Ulm", "Jena", "Mainz"]
    store = np.where(rng.random(n_rows) < share, "Bonn", rng.choice(others, n_rows))
    return pd.DataFrame({"store": store, "weekday": rng.integers(0, 7, n_rows)})


@pytest.mark.parametrize(("share", "where"), [(0.1, "with store 'Bonn'"), (0.9, "")])
def test_a_value_that_few_other_rows_have_is_named(share, where):
    frame = stores(share=share)
    rows = tuple(np.flatnonzero(frame["store"] == "Bonn")[:12].tolist())
    pattern = Pattern(rows, ("amount",), "amount × 100")
    [named] = with_shared_values([pattern], frame, lambda rows: frame.iloc[rows])
    assert named.where == where
    assert named.sentence() == f"12 rows {where}: amount × 100".replace(" : ", ": ")


def test_a_value_that_a_column_of_the_pattern_has_is_not_named():
    frame = stores()
    rows = tuple(np.flatnonzero(frame["store"] == "Bonn")[:12].tolist())
    [named] = with_shared_values(
        [Pattern(rows, ("store",), "store")], frame, lambda rows: frame.iloc[rows]
    )
    assert named.where == ""


@pytest.fixture(scope="module")
def invoices():
    rng = np.random.default_rng(3)
    net = rng.gamma(2, 500, 1200).round(2)
    tax = (net * rng.choice([0.07, 0.19], 1200)).round(2)
    return pd.DataFrame({"net": net, "tax": tax, "total": (net + tax).round(2)})


def test_a_rule_that_is_often_broken_in_the_same_way_is_found_and_answered_as_one(invoices):
    rows = np.random.default_rng(4).choice(1200, 17, replace=False)
    frame = invoices.copy()
    frame.loc[rows, "total"] = frame.loc[rows, "net"]
    found = find_wrong_cells(read_table(frame))
    pattern = find_patterns(found.findings())[0]
    assert pattern.what == "total without tax"
    assert set(pattern.rows) <= set(rows.tolist())
    assert len(pattern.rows) >= 15
    assert found.flags()[list(pattern.rows)].all()
    assert found.n_findings == len(found.findings())
    first = pattern.findings[0]
    rejected = found.taught({(first.row, first.column): False})
    assert not [own for own in rejected.findings() if own.slip == "without tax"]
    confirmed = found.taught({(first.row, first.column): True})
    assert len(confirmed.findings()) == len(found.findings())


def test_broken_rules_without_a_common_cause_support_nothing(invoices):
    rng = np.random.default_rng(4)
    rows = rng.choice(1200, 17, replace=False)
    frame = invoices.copy()
    frame.loc[rows, "total"] = (frame.loc[rows, "total"] * rng.uniform(0.5, 0.9, 17)).round(2)
    cells = find_wrong_cells(read_table(frame)).cells
    assert not cells["together"].any()
