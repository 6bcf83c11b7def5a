"""Answers about findings: what they teach, correct, and take back."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_findings import made_findings
from made_selection import selecting

from metaod.detection import ReviewSession, describe_findings, detect
from metaod.detection import _estimator as estimator
from metaod.tables import read_table

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"name": [f"n{row}" for row in range(60)], "q": 1.0 + RNG.integers(5, size=60),
                      "net": RNG.normal(size=60)})  # fmt: skip
CODES = [(row, "q", 99, "1 to 5", "code", "", None, 0.9) for row in (3, 8, 20)]
SHIFT = (12, "net", 1240.0, "about 12.4", "decimal", "", 12.4, 0.8)


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(estimator, "make_selection", selecting())
    found = detect(read_table(FRAME), id=["name"])
    return ReviewSession(replace(found, wrong=made_findings(60, *CODES, SHIFT)))


def finding(session, row):
    return session.found.findings_of(row)[0]


def rows_of(session):
    return [own.row for own in session.found.wrong.findings()]


def test_an_accepted_finding_marks_its_row_and_gets_the_suggested_value(session):
    before = session.found.ranks[12]
    session.judge([finding(session, 12)], True)
    assert session.answers == {12: True}
    assert session.found.ranks[12] == 1 < before
    assert session.found.wrong.row_scores[12] == 1
    assert session.corrections == {(12, "net"): "12.4"}
    assert session.take_back() == [(12, "net")]
    assert (session.answers, session.corrections) == ({}, {})
    assert session.found.ranks[12] == before
    assert not session.take_back()


def test_a_rejected_finding_lowers_its_group_and_marks_nothing(session):
    session.judge([finding(session, 8)], False)
    assert rows_of(session) == [12, 3, 20]
    assert session.answers == session.corrections == {}
    session.take_back()
    assert rows_of(session) == [3, 8, 20, 12]


def test_a_group_is_answered_at_once_with_one_value(session):
    group = session.alike(finding(session, 20))
    assert [own.row for own in group] == [3, 8, 20]
    session.judge(group, True, "")
    assert session.corrections == {(row, "q"): "" for row in (3, 8, 20)}
    left = describe_findings(session.found, session.judged)
    assert [group["cells"][0]["row"] for group in left["groups"]] == [13]
    assert (left["n_cells"], left["n_rows"]) == (1, 1)


def test_a_row_that_a_person_has_marked_keeps_its_mark(session):
    session.tell({12: False})
    session.judge([finding(session, 12)], True)
    session.take_back()
    assert session.answers == {12: False}


def test_groups_name_their_rows_and_only_the_first_cells_are_listed(session):
    many = [(row, "q", 99, "1 to 5", "code", "", None, 0.9) for row in range(40)]
    several = [(row, "net", 100.0 + row, "1", "decimal", "", None, 0.8) for row in range(3)]
    session.first = replace(session.first, wrong=made_findings(60, *many, *several))
    codes, shifts = describe_findings(session.first)["groups"]
    assert (codes["n_cells"], len(codes["cells"]), codes["is_same"]) == (40, 10, True)
    assert codes["cells"][0]["names"] == ["n0"]
    assert (shifts["n_cells"], shifts["is_same"]) == (3, False)
