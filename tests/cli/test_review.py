"""``metaod review``: the screens, the answers and the marks file; learning is tested elsewhere."""

import gzip
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import made_review
import numpy as np
import pandas as pd
import pytest
from made_review import MadeModel
from made_selection import pick_with
from rich.cells import cell_len
from sklearn.metrics import average_precision_score

from metaod.cli import review as command
from metaod.detection import Reason
from metaod.review import TableMarks
from metaod.tables import read_table
from metaod.wrong_cells import Pattern

QUESTION = "outlier? y yes, n no, ? unsure, b back, q quit: "


def made_table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "order": [f"A-{row}" for row in range(n)],
            "price": rng.normal(50, 5, n).round(2),
            "weight": rng.normal(3, 0.4, n).round(3),
            "zone": rng.choice(["north", "south"], n, p=[0.7, 0.3]),
        }
    )
    frame.loc[0, ["price", "zone"]] = [250.0, "Mars"]
    frame.loc[1, "weight"] = np.nan
    return frame


@pytest.fixture
def table(tmp_path):
    made_table().to_csv(tmp_path / "orders.csv", index=False)
    return tmp_path / "orders.csv"


@pytest.fixture
def marks(tmp_path):
    return tmp_path / "orders.marks.csv"


@pytest.fixture
def call(run, monkeypatch):
    monkeypatch.setattr(command, "_fitted", made_review.made_result)

    def review(answers, *arguments, code=0):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        return run("review", *arguments, "--category", "zone", code=code)

    return review


def widest(out):
    """Width of the widest line, without those that hold paths."""
    return max(cell_len(line) for line in out.splitlines() if "/" not in line)


def answers_in(path):
    marks = {}
    for line in pd.read_csv(path).to_dict("records"):
        row = line["row"], line.get("content")
        if line["answer"] == "withdrawn":
            del marks[row]
        else:
            marks[row] = line["answer"]
    return [(row, answer) for (row, _), answer in marks.items()]


# screens


def test_a_row_with_the_columns_that_set_it_apart_and_the_count(call, table):
    out = call("", table).splitlines()
    assert out[0].endswith("orders.csv: 60 rows × 4 columns")
    start = out.index("row 1   answered 0, outliers 0, about 12 left (6 to 21)")
    assert out[start + 1] == "why it is unusual:"
    assert out[start + 2].split() == ["price", "250", "usually", "43.7", "to", "57.6"]
    assert out[start + 3].endswith("Mars   in no other row, usually north")
    assert out[start + 4].split()[:3] == ["order", "A-0", "weight"]
    assert out[start + 5] == QUESTION


def test_reasons_come_first_and_in_their_order(call, table, monkeypatch):
    reasons = [
        Reason("weight", 3.0, 0.5, "usually 4 to 5", ("zone=north",)),
        Reason("zone", "Mars", 0.3, "in no other row"),
        Reason("order", None, 0.01, "rare"),  # explains too little
    ]
    monkeypatch.setattr(MadeModel, "reasons", {0: reasons})
    out = call("", table).splitlines()
    start = out.index("why it is unusual:")
    shown = [line.split()[0] for line in out[start + 1 : start + 4]]
    assert shown == ["weight", "zone", "price"]  # the price is rare, but no reason
    assert out[start + 1].endswith("usually 4 to 5 with zone=north")
    out = call("ynn\n", table, "--batch", 3)
    assert "(usually 4 to 5 with zone=north)" in out


def test_one_answer_is_for_a_whole_pattern(call, table, marks, monkeypatch):
    pattern = Pattern((0, 7, 4), ("price",), "price high", where="with zone 'Mars'")
    monkeypatch.setattr(MadeModel, "patterns", (pattern,))
    out = call("p\nb\np\ny\nb\np\nn\n", table)
    assert "like others: 3 rows with zone 'Mars': price high\n" in out
    listed = out.split("\n3 rows ")[1].splitlines()
    assert [line.split()[0] for line in listed[1:4]] == ["1", "5", "8"]
    assert "took back the answer for row 1, 5, 8" in " ".join(out.split())
    assert answers_in(marks) == [(1, "no"), (5, "no"), (8, "no")]
    out = call("p\n", table, code=2)  # row 2 is in no pattern
    assert "'p' is not an answer" in out


def test_the_strategy_reaches_the_review(call, table, labelled):
    MadeModel.asked_for.clear()
    call("", table)
    call("", table, "--strategy", "learn")
    call("", labelled, "--label", "fault", "--answers", 2, "--strategy", "learn")
    assert MadeModel.asked_for == ["found", "learn", "learn"]
    assert "must be one of {'found', 'learn'}" in call("", table, "--strategy", "best", code=2)


def test_a_gap_and_a_row_that_nothing_sets_apart(call, table):
    out = call("y\nn\n", table)
    second, third = out.split("\nrow ")[2:]
    assert second.startswith("2   answered 1, outliers 1, about 12 left")
    assert "  weight   missing   in no other row\n" in second
    assert "no single value is unusual; least usual:\n" in third


def test_screens_of_many_columns_fit_in_80_columns_and_24_lines(call, tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(40, 150)).round(4))
    wide.columns = [f"measurement number {place}" for place in range(150)]
    wide.iloc[0, :12] = 99
    wide.assign(zone="a").to_csv(tmp_path / "wide.csv", index=False)
    out = call("y\nn\n", tmp_path / "wide.csv")
    assert widest(out) <= 80
    first, second = out.split("\nrow ")[1:3]
    assert first.count("usually") == 8
    assert first.count("\n") <= 23
    assert second.count("\n") <= 23
    assert "more\n" + QUESTION in first
    out = call("n" * 7 + "\n", tmp_path / "wide.csv", "--batch", 7)
    assert widest(out) <= 80


def test_text_that_could_control_the_terminal(call, tmp_path):
    frame = made_table()
    frame["name\x1b[31m"] = [f"x{row}" for row in range(60)]
    frame.loc[0, "zone"] = "\x1b]0;title\x07\u202e東京" + "very long " * 5000
    frame.loc[0, "order"] = "東" * 500
    frame.to_csv(tmp_path / "bad.csv", index=False)
    for options, answers in (((), "y\n"), (("--batch", "3"), "ynn\n")):
        out = call(answers, tmp_path / "bad.csv", "--id", "order", *options)
        assert all(character.isprintable() or character == "\n" for character in out)
        assert widest(out) <= 80
        (tmp_path / "bad.marks.csv").unlink()


# answers


def test_piped_answers_are_written_and_counted(call, table, marks):
    out = call("y\nno\n?\nYES\r\nunsure\n\n", table)
    assert answers_in(marks) == [(1, "yes"), (2, "no"), (3, "unsure"), (4, "yes"), (5, "unsure")]
    assert "answered 5 rows (2 outliers, 1 not, 2 unsure)\n" in out
    assert f"next: metaod detect {table} --marks {marks}\n" in out
    assert "(with the options of this review, so that the ranking is the same)\n" in out


def test_a_review_goes_on_where_it_stopped(call, table, marks):
    call("y\n?\nq\nn\n", table)
    out = call("n\n", table)
    assert "2 earlier answers" in out
    assert "row 3   answered 2, outliers 1" in out  # unsure rows are not asked again
    assert answers_in(marks) == [(1, "yes"), (2, "unsure"), (3, "no")]
    assert "answered 1 row (0 outliers, 1 not, 0 unsure); 3 in all\n" in out


def test_back_takes_answers_back_and_asks_again(call, table, marks):
    out = call("y\ny\nb\nb\nn\n", table)
    shown = [line.split()[1] for line in out.splitlines() if line.startswith("row ")]
    assert shown == ["1", "2", "3", "2", "1", "2"]
    assert answers_in(marks) == [(1, "no")]


def test_back_over_the_answers_of_an_earlier_review(call, table, marks):
    call("y\nn\n", table)
    out = call("b\ny\n", table)
    assert answers_in(marks) == [(1, "yes"), (2, "yes")]
    assert "took back the answer for row 2; answer it again to keep it\n" in out
    assert "row 2   answered 1, outliers 1" in out


def test_back_without_an_answer(call, table, marks):
    out = call("b\n", table)
    assert "there is no earlier answer\n" in out
    assert "answered 0 rows" in out
    assert "next:" not in out
    assert not marks.exists()


def test_every_row_is_answered(call, tmp_path):
    made_table(3).to_csv(tmp_path / "few.csv", index=False)
    assert "every row is answered\n" in call("y\nn\nn\ny\n", tmp_path / "few.csv")
    assert "every row is answered\n" in call("y\n", tmp_path / "few.csv")


def test_a_bad_answer_in_a_pipe(call, table, marks):
    assert "standard input, line 2: 'maybe' is not an answer" in call(
        "y\nmaybe\nn\n", table, code=2
    )
    assert answers_in(marks) == [(1, "yes")]


def test_a_list_of_rows(call, table, marks):
    out = call("yes no, unsure\nb\n3 1\nnone\n", table, "--batch", 3)
    assert "3 rows   answered 0, outliers 0, about 12 left (6 to 21)\n" in out
    assert "1  A-0: price 250 (usually 43.7 to 57.6)\n" in out
    assert "2  A-1: weight missing (in no other row)\n" in out
    assert ": no single value is unusual\n" in out
    assert [row for row, _ in answers_in(marks)] == [1, 2, 3, 4, 5, 6]
    assert [word for _, word in answers_in(marks)] == ["yes", "no", "yes", "no", "no", "no"]


def test_bad_answers_for_a_list(call, table, marks):
    cases = {
        "yn": "line 1: 2 answers for 3 rows; give one letter for each row",
        "7": "'7' is not one of the rows",
        "1 x": "'x' is not an answer",
        "none 7": "'none' is not an answer",
    }
    for given, said in cases.items():
        assert said in call(f"{given}\n", table, "--batch", 3, code=2)
        assert not marks.exists()


# a terminal, a kill and two reviews


class Terminal:
    """The command in a process of its own, at a terminal of 80 columns."""

    def __init__(self, *arguments):
        self.master, worker = pty.openpty()
        environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        words = [sys.executable, "-m", "made_review", "review", *map(str, arguments)]
        self.process = subprocess.Popen(
            words,
            stdin=worker,
            stdout=worker,
            stderr=worker,
            env=environment,
            start_new_session=True,
        )
        os.close(worker)

        self.shown = ""

    def read_until(self, text):
        """What is shown next, up to a text."""
        limit = time.monotonic() + 120
        while text not in self.shown and time.monotonic() < limit:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.shown += os.read(self.master, 4096).decode()
                except OSError:  # the process has ended
                    break
        before, found, self.shown = self.shown.partition(text)
        assert found, before
        return before

    def exit_code(self):
        """Wait for the end of the process; what it still shows is read, so that it can end."""
        while select.select([self.master], [], [], 120)[0]:
            try:
                os.read(self.master, 4096)
            except OSError:
                break
        return self.process.wait(120)

    def press(self, keys):
        os.write(self.master, keys.encode())


@pytest.fixture
def terminal(table):
    started = []

    def start(*arguments):
        started.append(Terminal(table, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        os.close(one.master)


def test_keys_of_a_terminal_need_no_enter(terminal, marks):
    screen = terminal()
    screen.read_until(QUESTION)
    screen.press("x")
    assert "'x' is not an answer" in screen.read_until(QUESTION)
    screen.press("y")
    screen.read_until("row 2")
    screen.read_until(QUESTION)
    assert answers_in(marks) == [(1, "yes")]
    screen.press("b")
    screen.read_until("row 1")
    screen.read_until(QUESTION)
    screen.press("n")
    screen.read_until(QUESTION)
    screen.process.send_signal(signal.SIGINT)
    screen.read_until("answered 1 row (0 outliers, 1 not, 0 unsure)")
    assert screen.exit_code() == 130
    assert answers_in(marks) == [(1, "no")]


# the marks file


def test_the_marks_file_is_beside_the_table_or_named(call, table, tmp_path):
    with gzip.open(tmp_path / "zipped.CSV.gz", "wb") as packed:
        packed.write(table.read_bytes())
    call("y\n", tmp_path / "zipped.CSV.gz")
    assert answers_in(tmp_path / "zipped.marks.csv") == [(1, "yes")]
    call("n\n", table, "--marks", tmp_path / "mine.csv")
    assert answers_in(tmp_path / "mine.csv") == [(1, "no")]
    assert not (tmp_path / "orders.marks.csv").exists()


def test_the_key_is_written_and_finds_changed_rows(call, table, marks):
    call("y\nn\n", table, "--id", "order")
    assert pd.read_csv(marks)["id"].tolist() == ["A-0", "A-1"]
    before = marks.read_bytes()
    changed = made_table().drop(index=1).iloc[::-1].assign(price=7.0)
    changed.to_csv(table, index=False)
    out = " ".join(call("q\n", table, "--id", "order").split())
    assert (
        "1 mark of the marks file matches no row and is not used (kept in the file): row 2" in out
    )
    assert "answered 1, outliers 1" in out
    assert marks.read_bytes() == before


def test_nothing_is_fitted_before_the_marks_file_is_open(call, table, marks, monkeypatch):
    monkeypatch.setattr(command, "_fitted", lambda *_: pytest.fail("fitted"))
    marks.write_text("row,answer\n61,yes\n")
    assert "row 61 does not exist" in call("y\n", table, code=2)
    marks.unlink()
    with TableMarks(marks, read_table(table)):
        assert "is open in another review" in call("y\n", table, code=2)


def test_the_learning_review_asks_and_learns(call, table, marks, monkeypatch):
    monkeypatch.undo()
    pick_with(monkeypatch)
    out = call("y\nn\nb\n?\ny\n", table)
    asked = [int(line.split()[1]) for line in out.splitlines() if line.startswith("row ")]
    assert asked[0] == 1  # the most outlying row
    assert asked[1] == asked[3]  # asked again after back
    assert len(set(asked)) == 5 - 1
    assert re.search(r"about \d+ left \(\d+ to \d+\)$", out, re.MULTILINE)
    assert [word for _, word in answers_in(marks)] == ["yes", "unsure", "yes"]
    again = call("", table)
    assert f"row {asked[-1]}   answered 3, outliers 2" in again


# the label plays the reviewer


@pytest.fixture
def labelled(tmp_path):
    frame = made_table().assign(fault=0)
    frame.loc[[0, 1, 2, 3, 51, 52, 53, 54], "fault"] = 1
    frame.to_csv(tmp_path / "labelled.csv", index=False)
    return tmp_path / "labelled.csv"


def test_the_label_answers_about_half_of_the_rows_and_the_others_are_measured(
    call, labelled, monkeypatch
):
    seen, asked = [], []

    def fitted(table, options):
        seen.append(table)
        found = made_review.made_result(table, options)
        model = found.model
        start = model.review
        monkeypatch.setattr(
            model,
            "review",
            lambda askable, **rest: (asked.append(askable), start(askable, **rest))[1],
            raising=False,
        )
        return found

    monkeypatch.setattr(command, "_fitted", fitted)
    out = call("", labelled, "--label", "fault", "--answers", 12)
    assert "fault" not in seen[0].frame
    label, rest = seen[0].label, ~asked[0]
    assert (rest.sum(), label[rest].sum()) == (30, 4)
    assert "which is never asked: 30 rows, 4 outliers\n" in out
    found = [line.split() for line in out.splitlines() if len(line.split()) == 3]
    rows = [line for line in found if line[0].isdecimal()]
    assert [row[0] for row in rows] == ["0", "5", "10", "12"]
    first = np.flatnonzero(asked[0])[:12]
    assert [int(row[1]) for row in rows] == [label[first[:n]].sum() for n in (0, 5, 10, 12)]
    before = np.linspace(1, 0, 60)
    after = before + label[first].sum() * (np.arange(60) >= 50)
    for row, scores in ((rows[0], before), (rows[-1], after)):
        expected = average_precision_score(label[rest], scores[rest])
        assert float(row[2]) == pytest.approx(expected, abs=6e-4)
    assert float(rows[-1][2]) > float(rows[0][2])
    assert list(labelled.parent.glob("*.marks.csv")) == []


def test_ten_answers_by_default_and_the_example(call, run, labelled, monkeypatch, tmp_path):
    out = call("", labelled, "--label", "fault", "--batch", 4)
    counts = [line.split()[0] for line in out.splitlines() if len(line.split()) == 3]
    assert [count for count in counts if count.isdecimal()] == ["0", "8", "10"]
    monkeypatch.chdir(tmp_path)
    assert "300 rows, 12 outliers" in run("review", "--example", "--answers", "7")
    assert list(tmp_path.glob("*.marks.csv")) == []


def test_options_that_exclude_each_other(call, labelled, table):
    cases = {
        ("--answers", "5"): "--answers counts the answers that a label gives; name the label",
        ("--label", "zone"): "is not a label of outliers",
        ("--label", "zone", "--marks", "x"): "--marks keeps answers of people",
    }
    for options, said in cases.items():
        assert said in call("", table, *options, code=2)
    assert "answers come from stdin, so the table cannot; name a file" in call("", "-", code=2)
