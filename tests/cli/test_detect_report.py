"""``metaod detect --report``."""

import numpy as np
import pandas as pd
import pytest
from made_commands import parse, words_of
from made_summary import Page

from metaod.errors import BadParameter, UserError
from metaod.review import TableMarks
from metaod.tables import read_table


def write(path, seed=0):
    frame = pd.DataFrame(np.random.default_rng(seed).normal(size=(60, 3)), columns=list("abc"))
    frame.loc[[3, 8, 20], ["a", "b"]] += 4
    frame["bad"] = np.isin(np.arange(60), [3, 8, 20]).astype(int)
    frame.to_csv(path, index=False)
    return path


def texts(path):
    return " ".join("".join(Page(path.read_text("utf-8")).texts).split())


def test_the_report_is_written_and_named(call, tmp_path):
    target = tmp_path / "r.html"
    out = call(write(tmp_path / "t.csv"), "--top-n", 4, "--report", target).out
    assert out.splitlines()[-1] == f"report: {target}"
    assert "4 of 60 rows are unusual" in texts(target)
    assert list(tmp_path.glob("*.new")) == []


def test_its_command_can_be_given_again_and_writes_the_same_bytes(call, tmp_path):
    table, target = write(tmp_path / "my t.csv"), tmp_path / "report.html"
    call(table, "--label", "bad", "--ignore", "c", "--seed", 3, "--report", target)
    first = target.read_bytes()
    [command] = [line for line in Page(first.decode()).texts if line.startswith("metaod detect")][
        -1:
    ]
    words = words_of(command)
    parse(words)
    words[words.index("report.html")] = str(target)
    call(*words[1:])
    assert target.read_bytes() == first


def test_several_tables_have_a_report_each_in_a_folder(call, tmp_path):
    tables = [write(tmp_path / f"{name}.csv", seed) for seed, name in enumerate("ab")]
    out = call(*tables, "--report", f"{tmp_path}/reports/").out
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == [
        "a-report.html",
        "b-report.html",
    ]
    assert out.count("report: ") == 2
    with pytest.raises(UserError, match=r"end its name with a slash: --report .*one/"):
        call(*tables, "--report", tmp_path / "one.html")


def test_a_saved_pick_and_marks_have_reports(call, tmp_path):
    table, pick, target = write(tmp_path / "t.csv"), tmp_path / "pick.mod", tmp_path / "r.html"
    call(table, "--save", pick)
    call(write(tmp_path / "new.csv", 1), "--apply", pick, "--report", target)
    assert "of a saved pick" in texts(target)
    with TableMarks(tmp_path / "t.marks.csv", read_table(table)) as marks:
        marks.add({3: True, 0: False})
    call(table, "--marks", tmp_path / "t.marks.csv", "--report", target)
    assert "learned from 2 marks" in texts(target)


@pytest.mark.parametrize("name", ["r.csv", "r", "-"])
def test_other_endings_are_refused_before_anything_is_done(call, tmp_path, name):
    table = write(tmp_path / "t.csv")
    with pytest.raises(BadParameter, match="'--report'"):
        call(table, "--report", name if name == "-" else tmp_path / name)
