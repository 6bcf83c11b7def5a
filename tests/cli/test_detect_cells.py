"""``metaod detect``: wrong cells on the screen, in files, and in a corrected copy."""

import json

import numpy as np
import pandas as pd
import pytest
from made_findings import FarFinder
from made_selection import selecting

from metaod.cli.detection import _row_numbers as row_numbers
from metaod.cli.main import main
from metaod.detection import _cells as cells
from metaod.detection import _estimator as estimator


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(estimator, "make_selection", selecting())
    monkeypatch.setattr(cells, "WrongCellFinder", FarFinder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    frame = pd.DataFrame({"a": np.arange(60) % 7, "b": np.arange(60) % 11 + 0.5})
    frame.loc[9, "b"] = 5000.5
    frame.to_csv("t.csv", index=False, sep=";")

    def run(*words, code=0):
        with pytest.raises(SystemExit) as ended:
            main(["detect", *words])
        assert ended.value.code in (code, code or None)
        return capsys.readouterr()

    return run


def test_findings_come_first_and_lead_to_a_corrected_copy(call, tmp_path):
    out = call("t.csv", "--cells", "cells.csv", "-o", "s.csv").out
    assert out.index("probably wrong: 1 cell in 1 row") < out.index("flagged:")
    assert max(map(len, (line.rstrip() for line in out.splitlines()))) <= 80
    suspect = pd.read_csv("s.csv", sep=";", keep_default_na=False)["suspect"]
    assert np.flatnonzero(suspect != "").tolist() == [9]
    found = pd.read_csv("cells.csv", dtype=str, keep_default_na=False)
    found.assign(accept="yes", suggestion="9.5").to_csv("cells.csv", index=False)
    out = call("t.csv", "--accept", "cells.csv", "--fix", "fixed.csv").out
    before, after = (tmp_path / "t.csv").read_bytes(), (tmp_path / "fixed.csv").read_bytes()
    assert after == before.replace(b"5000.5", b"9.5")
    assert (tmp_path / "fixed.csv.log.csv").read_text().splitlines()[1] == "10,b,5000.5,9.5"
    assert "fixed.csv" in out
    assert "probably wrong: no cells" in call("fixed.csv").out
    found = json.loads(call("t.csv", "--json").out)["wrong"]
    assert (found["n_cells"], found["cells"][0]["row"]) == (1, 10)
    assert json.loads(call("t.csv", "--rows-only", "--json").out)["wrong"] is None


def test_a_pick_of_rows_only_finds_no_cells(call, tmp_path):
    call("t.csv", "--rows-only", "--save", "pick.mod")
    call("t.csv", "--apply", "pick.mod", "--cells", "cells.csv", code=2)
    assert not (tmp_path / "cells.csv").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--fix", "f.csv"],
        ["--accept", "cells.csv"],
        ["--rows-only", "--cells", "c.csv"],
        ["--cells", "c.txt"],
        ["--cells", "t.csv"],
    ],
)
def test_options_that_do_not_fit_are_an_error_in_one_line(call, words):
    error = call("t.csv", *words, code=2).err
    assert error.startswith("metaod: error: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("rows", "n_lines", "numbers"),
    [
        ([8], 1, "9"),
        ([275, 50, 1999], 1, "276, 51, 2000"),
        ([275, 50, 1999, 43], 1, "276, 51, ..."),
        ([275, 50, 1999, 43], 2, "276, 51, 2000,\n44"),
        (range(9), 3, "1, 2, 3, 4, 5,\n6, ..."),
    ],
)
def test_row_numbers_of_a_pattern_fill_the_lines_of_its_sentence(rows, n_lines, numbers):
    assert row_numbers(rows, n_lines) == numbers
