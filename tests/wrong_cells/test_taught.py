"""What answers about findings change."""

import numpy as np
import pandas as pd
import pytest
from made_findings import made_findings

from metaod.wrong_cells import Finding, WrongCells


@pytest.fixture
def found():
    return made_findings(
        10,
        (4, "q3", 99, "1 to 5", "code", "", None, 0.95),
        (7, "q3", 99, "1 to 5", "code", "", None, 0.9),
        (2, "price", 1240, "about 12", "decimal", "", 12.4, 0.8),
        (7, "q3x", 99, "1 to 5", "code", "", None, 0.7),
        (5, "q3", 99, "1 to 5", "code", "", None, 0.2),
    )


def scores_of(found):
    return found.cells.set_index(["row", "column"])["score"].to_dict()


def test_without_answers_nothing_changes(found):
    taught = found.taught({})
    pd.testing.assert_frame_equal(taught.cells, found.cells)
    assert np.array_equal(taught.row_scores, found.row_scores)


def test_rejected_findings_hide_those_of_their_kind_and_column(found):
    taught = found.taught({(4, "q3"): False})
    left = [(own.row, own.column) for own in taught.findings()]
    assert left == [(2, "price"), (7, "q3x"), (7, "q3")]  # one does not hide a certain one
    assert scores_of(taught)[7, "q3"] == pytest.approx(0.45)
    assert scores_of(taught)[4, "q3"] == taught.row_scores[4] == 0
    assert 0 < taught.row_scores[5] < found.row_scores[5]
    assert 0.7 <= taught.row_scores[7] < found.row_scores[7]
    assert taught.row_scores[2] == found.row_scores[2]
    others = found.cells.assign(row=[4, 7, 2, 5, 5], column=["q3", "q3", "price", "q3", "q3"])
    several = WrongCells(others.assign(kind="code"), found.row_scores)
    assert [own.row for own in several.taught({(4, "q3"): False, (5, "q3"): False}).findings()] == [
        2
    ]


def test_a_confirmed_finding_is_certain_and_outweighs_a_rejected_one(found):
    taught = found.taught({(2, "price"): True})
    assert (taught.findings()[0].score, taught.row_scores[2]) == (1, 1)
    assert scores_of(taught)[7, "q3"] == 0.9
    both = found.taught({(4, "q3"): False, (5, "q3"): True})
    assert 0.5 < scores_of(both)[7, "q3"] < 0.9
    assert np.all(both.row_scores <= 1)
    assert not both.flags()[4]


def test_an_answer_about_another_cell_is_ignored(found):
    pd.testing.assert_frame_equal(found.taught({(0, "price"): True}).cells, found.cells)


def test_long_names_values_and_expectations_are_cut():
    own = Finding(3, "c" * 1000, "v" * 1000, repr("e" * 1000), "spelling", 0.9, f"with {'d' * 999}")
    assert len(own.sentence()) < 300
    assert own.reason().endswith("misspelt?")


@pytest.mark.parametrize(
    ("score", "word"), [(1.0, "almost certain"), (0.89, "likely"), (0.5, "possible")]
)
def test_scores_have_words(found, score, word):
    cells = found.cells.assign(score=score)
    assert {own.certainty for own in WrongCells(cells, found.row_scores).findings()} == {word}
