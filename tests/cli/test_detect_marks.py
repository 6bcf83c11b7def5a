"""``metaod detect --marks``: answers of a review change the scores, and a saved pick keeps them."""

import json

import numpy as np
import pandas as pd
import pytest

from metaod.detection import MetaOD
from metaod.errors import BadFile, BadParameter, UserError
from metaod.review import TableMarks
from metaod.tables import read_table

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(120, 3)).round(3), columns=["a", "b", "c"])
FRAME.insert(0, "order", [f"A-{row}" for row in range(120)])
FRAME.loc[[10, 30], "a"] = 9.0
FRAME.loc[[20, 40], "b"] = 9.0


@pytest.fixture
def table(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.fixture
def marks(tmp_path, table):
    """Rows 11 and 31 are outliers, 21 is not, 42 is unsure."""
    with TableMarks(tmp_path / "t.marks.csv", read_table(table), "order") as file:
        file.add({10: True, 30: True, 20: False, 41: None})
    return tmp_path / "t.marks.csv"


def scores(path):
    return pd.read_csv(path)["score"].to_numpy()


def test_marks_change_the_scores_that_are_written(call, table, marks, tmp_path):
    call(table, "-o", tmp_path / "plain.csv")
    out = call(table, "--marks", marks, "-o", tmp_path / "marked.csv").out
    assert "learned from 3 marks (2 outliers, 1 not); 1 unsure\n" in out
    plain, marked = (pd.read_csv(tmp_path / name)["rank"] for name in ("plain.csv", "marked.csv"))
    assert set(marked[[10, 30]]) == {1, 2}
    assert marked[20] > plain[20]
    fitted = MetaOD().fit(table, marks={10: True, 30: True, 20: False, 41: None})
    np.testing.assert_allclose(scores(tmp_path / "marked.csv"), fitted.decision_scores_)


def test_json_tells_how_many_marks_were_used(call, table, marks):
    assert json.loads(call(table, "--json").out)["marks"] is None
    document = json.loads(call(table, "--marks", marks, "--json").out)
    counts = {"used": 3, "outliers": 2, "others": 1, "unsure": 1, "unmatched": []}
    assert document["marks"] == counts


def test_a_label_beside_marks(call, table, marks):
    labelled = FRAME.assign(fault=(FRAME["a"] == 9).astype(int))
    labelled.to_csv(table, index=False)
    marks.write_text("row,answer\n11,yes\n")
    out = call(table, "--marks", marks, "--label", "fault").out
    assert "The measures count all rows, those that are marked too." in out


def test_what_is_refused(call, table, marks, tmp_path):
    with pytest.raises(BadParameter, match="--apply"):
        call(table, "--marks", marks, "--apply", tmp_path / "pick.mod")
    with pytest.raises(UserError, match="are of one table, and there are several"):
        call(table, table, "--marks", marks)
    with pytest.raises(BadFile, match="does not exist"):
        call(table, "--marks", tmp_path / "no.csv")
